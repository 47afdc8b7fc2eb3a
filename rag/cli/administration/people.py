"""Verbs for who may do what: people, members, links, and the audit log."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from rag import (
    AuditLine,
    InvalidInput,
    LinkData,
    LinkRow,
    MemberData,
    PersonData,
    audit_actor,
    audit_csv,
)
from rag.cli import inputs
from rag.cli.printing import Output


def members(args: argparse.Namespace) -> Output:
    """List, add, change or remove the members of a knowledge base."""
    members = inputs.workspace(args).base(args.kb).members
    if args.action != "list":
        email = _needed(args.email, "Say who.", "Give the e-mail address after the action.")
        if args.action == "remove":
            members.remove(email)
        elif args.action == "add":
            members.add(email, args.role)
        else:
            members.change(email, args.role)
    listed = members.list_all()
    rows = [MemberData.of(member).dump() for member in listed]
    lines = [f"{row['email']:40} {row['role']}" for row in rows]
    return Output(
        {"members": rows}, "\n".join(lines) or "No members: only the command line has access."
    )


def people(args: argparse.Namespace) -> Output:
    """List who signed in or was invited, or delete somebody with what is theirs."""
    accounts = inputs.workspace(args).access.people
    if args.action == "delete":
        email = _needed(args.email, "Say who.", "Give the e-mail address after delete.")
        removed = accounts.forget(accounts.named(email))
        counts = ", ".join(f"{number} {what}" for what, number in removed.items())
        return Output({"deleted": email, **removed}, f"deleted {email}: {counts}")
    rows = [PersonData.of(person).dump() for person in accounts.list_all()]
    lines = [
        f"{row['email']:40} {row['name']}" + ", administrator" * bool(row["administrator"])
        for row in rows
    ]
    return Output({"people": rows}, "\n".join(lines) or "No one has signed in yet.")


def link(args: argparse.Namespace) -> Output:
    """Make, list or revoke links that show one knowledge base to people who have them."""
    links = inputs.workspace(args).base(args.kb).links
    if args.action == "create":
        secret, row = links.create(args.name or "", args.days)
        text = f"/share/{secret}\n\nThis is shown once. {_link_line(row)}"
        return Output({"path": f"/share/{secret}", **LinkData.of(row).dump()}, text)
    if args.action == "revoke":
        links.revoke(
            _needed(args.name, "Specify the link.", "Give its id. `link KB list` shows the ids.")
        )
    rows = links.list_all()
    lines = [_link_line(row) for row in rows]
    return Output(
        {"links": [LinkData.of(row).dump() for row in rows]}, "\n".join(lines) or "No link yet."
    )


def audit(args: argparse.Namespace) -> Output:
    """List who changed or read what, newest first."""
    since = None if args.days is None else datetime.now(UTC) - timedelta(days=args.days)
    lines = inputs.workspace(args).access.audit.lines(
        args.person, args.kb, args.kind, since, limit=args.limit
    )
    if args.output is not None:
        inputs.write(args.output, audit_csv(lines).encode("utf-8", "replace"))
        return Output({"entries": len(lines)}, f"{len(lines)} entries in {args.output}")
    rows = [_entry(line) for line in lines]
    return Output({"entries": rows}, "\n".join(map(_entry_line, rows)) or "No entry.")


def _needed(value: str | None, message: str, hint: str) -> str:
    if not value:
        raise InvalidInput(message, hint)
    return value


def _link_line(row: LinkRow) -> str:
    if row.revoked:
        state = f"revoked {row.revoked:%Y-%m-%d}"
    else:
        state = f"{'valid until' if row.valid else 'expired'} {row.expires:%Y-%m-%d}"
    return f"{row.id}  {row.name:20} {state}"


def _entry(line: AuditLine) -> dict[str, Any]:
    entry = line.entry
    return {
        "at": entry.at.isoformat(),
        "who": audit_actor(line),
        "via": entry.via,
        "key": entry.key_id,
        "knowledge_base": entry.base,
        "kind": entry.kind,
        "action": entry.action,
        "detail": entry.detail,
    }


def _entry_line(row: dict[str, Any]) -> str:
    about = " ".join(str(row[name]) for name in ("action", "detail") if row[name])
    return f"{row['at'][:19]}  {row['who']:30} {row['knowledge_base']:20} {about}"
