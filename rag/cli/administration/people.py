"""Verbs for who may do what: people, members, links, and the audit log."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from rag import AuditLine, InvalidInput, LinkRow, audit_actor, audit_csv
from rag.cli import inputs
from rag.cli.printing import Output


def members(args: argparse.Namespace) -> Output:
    """List, add, change or remove the members of a knowledge base."""
    held = inputs.workspace(args).base(args.kb).members
    if args.action != "list":
        email = _needed(args.email, "Say who.", "Give the e-mail address after the action.")
        if args.action == "remove":
            held.remove(email)
        elif args.action == "add":
            held.add(email, args.role)
        else:
            held.change(email, args.role)
    found = held.every()
    rows = [{"email": each.person.email, "role": each.role} for each in found]
    lines = [f"{row['email']:40} {row['role']}" for row in rows]
    return Output({"members": rows}, "\n".join(lines) or "No members: only the command line.")


def people(args: argparse.Namespace) -> Output:
    """List who signed in or was invited, or delete somebody with what is theirs."""
    held = inputs.workspace(args).access.people
    if args.action == "delete":
        email = _needed(args.email, "Say who.", "Give the e-mail address after delete.")
        gone = held.forget(held.named(email))
        told = ", ".join(f"{number} {what}" for what, number in gone.items())
        return Output({"deleted": email, **gone}, f"deleted {email}: {told}")
    rows = [
        {"email": each.email, "name": each.name, "administrator": each.administrator}
        for each in held.every()
    ]
    lines = [
        f"{row['email']:40} {row['name']}" + ", administrator" * bool(row["administrator"])
        for row in rows
    ]
    return Output({"people": rows}, "\n".join(lines) or "Nobody signed in yet.")


def link(args: argparse.Namespace) -> Output:
    """Make, list or revoke links that show one knowledge base to whoever has them."""
    held = inputs.workspace(args).base(args.kb).links
    if args.action == "create":
        secret, row = held.create(args.name or "", args.days)
        text = f"/share/{secret}\n\nThis is shown once. {_link_line(row)}"
        return Output({"path": f"/share/{secret}", **_link(row)}, text)
    if args.action == "revoke":
        held.revoke(_needed(args.name, "Say which link.", "Give its id: see link KB list."))
    found = held.every()
    lines = [_link_line(row) for row in found]
    return Output({"links": [_link(row) for row in found]}, "\n".join(lines) or "No link yet.")


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


def _link(row: LinkRow) -> dict[str, Any]:
    moments = {name: getattr(row, name) for name in ("created", "expires", "revoked")}
    told = {name: moment and moment.isoformat() for name, moment in moments.items()}
    return {"id": row.id, "name": row.name, **told, "valid": row.valid}


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
