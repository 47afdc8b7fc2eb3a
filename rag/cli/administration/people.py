"""Verbs for who may do what: people, members, links, and the audit log."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from rag import (
    BUDGETS,
    AuditLine,
    InvalidInput,
    LinkData,
    LinkRow,
    MemberData,
    NewLinkData,
    PersonData,
    TokenRow,
    audit_actor,
    audit_csv,
    share_path,
)
from rag.cli import inputs
from rag.cli.printing import Output


def members(args: argparse.Namespace) -> Output:
    access = inputs.workspace(args).base(args.kb).access
    if args.action != "list":
        email = _needed(args.email, "Say who.", "Give the e-mail address after the action.")
        if args.action == "remove":
            access.remove_member(email)
        elif args.action == "add":
            access.add_member(email, args.role)
        else:
            access.change_member(email, args.role)
    rows = list(map(MemberData.of, access.members()))
    lines = [f"{row.email:40} {row.role}" for row in rows]
    return Output(
        {"members": rows}, "\n".join(lines) or "No members: only the command line has access."
    )


def people(args: argparse.Namespace) -> Output:
    accounts = inputs.workspace(args).access.people
    if args.action == "delete":
        email = _needed(args.email, "Say who.", "Give the e-mail address after delete.")
        removed = accounts.forget(accounts.by_email(email))
        counts = ", ".join(f"{number} {what}" for what, number in removed.items())
        return Output({"deleted": email, **removed}, f"deleted {email}: {counts}")
    rows = [PersonData.of(person) for person in accounts.list_all()]
    lines = [f"{row.email:40} {row.name}" + ", administrator" * row.administrator for row in rows]
    return Output({"people": rows}, "\n".join(lines) or "No one has signed in yet.")


def link(args: argparse.Namespace) -> Output:
    access = inputs.workspace(args).base(args.kb).access
    if args.action == "create":
        secret, row = access.create_link(args.name or "", args.days, tour_id=args.tour)
        path = share_path(secret, row.tour_id)
        text = f"{path}\n\nThis is shown once. {_link_line(row)}"
        return Output(NewLinkData.of(row, path=path), text)
    if args.action == "revoke":
        if args.tour is not None:
            raise InvalidInput(
                "`link KB revoke` takes no --tour.", "Give the id of the link instead."
            )
        access.revoke_link(
            _needed(args.name, "Specify the link.", "Give its id. `link KB list` shows the ids.")
        )
    rows = [row for row in access.links() if args.tour in (None, row.tour_id)]
    lines = [_link_line(row) for row in rows]
    return Output({"links": list(map(LinkData.of, rows))}, "\n".join(lines) or "No link yet.")


def audit(args: argparse.Namespace) -> Output:
    since = None if args.days is None else datetime.now(UTC) - timedelta(days=args.days)
    lines = inputs.workspace(args).access.audit.lines(
        args.person, args.kb, args.kind, since, limit=args.limit
    )
    if args.output is not None:
        inputs.write(args.output, audit_csv(lines).encode("utf-8", "replace"))
        return Output({"entries": len(lines)}, f"{len(lines)} entries in {args.output}")
    text = "\n".join(map(_entry_line, lines))
    return Output({"entries": list(map(_entry, lines))}, text or "No entry.")


def _needed(value: str | None, message: str, hint: str) -> str:
    if not value:
        raise InvalidInput(message, hint)
    return value


def _link_line(row: LinkRow) -> str:
    if row.revoked:
        state = f"revoked {row.revoked:%Y-%m-%d}"
    else:
        state = f"{'valid until' if row.valid else 'expired'} {row.expires:%Y-%m-%d}"
    tour = "" if row.tour_id is None else f", tour {row.tour_id}" if row.tour_id else ", no tour"
    return f"{row.id}  {row.name:20} {state}{tour}"


def _entry(line: AuditLine) -> dict[str, Any]:
    entry = line.entry
    return {
        "at": entry.at,
        "who": audit_actor(line),
        "via": entry.via,
        "key": entry.key_id,
        "knowledge_base": entry.base,
        "kind": entry.kind,
        "action": entry.action,
        "detail": entry.detail,
    }


def _entry_line(line: AuditLine) -> str:
    entry = line.entry
    about = " ".join(filter(None, (entry.action, entry.detail)))
    return f"{entry.at:%Y-%m-%dT%H:%M:%S}  {audit_actor(line):30} {entry.base:20} {about}"


def token(args: argparse.Namespace) -> Output:
    access = inputs.workspace(args).access
    tokens = access.tokens
    if args.action == "list":
        rows = tokens.list_all()
        lines = [_line(row) for row in rows]
        return Output(
            {"tokens": [row.extend(valid=row.valid) for row in rows]},
            "\n".join(lines) or "No token yet.",
        )
    if not args.name:
        raise InvalidInput(
            "Specify the token.",
            "Give a name after create, or an id after revoke. `token list` shows the ids.",
        )
    if args.action == "revoke":
        tokens.revoke(args.name)
        return Output({"revoked": args.name}, f"revoked {args.name}")
    days = None if args.forever else args.days
    owner = access.people.by_email(args.owner).id if args.owner else ""
    limits = {name: getattr(args, f"most_{name}") for name in BUDGETS}
    budget = {name: most for name, most in limits.items() if most is not None}
    secret, row = tokens.create(args.name, args.scope or ["read"], days, owner, budget)
    text = f"{secret}\n\nThis is shown once. {_line(row)}"
    return Output(row.extend(valid=row.valid, token=secret), text)


def _line(row: TokenRow) -> str:
    if row.revoked:
        state = f"revoked {row.revoked:%Y-%m-%d}"
    else:
        verb = "valid until" if row.valid else "expired"
        state = f"{verb} {row.expires:%Y-%m-%d}" if row.expires else "does not expire"
    used = f"used {row.used:%Y-%m-%d %H:%M}" if row.used else "never used"
    return f"{row.id}  {row.name:20} {', '.join(row.scopes)}  {state}, {used}"
