"""Drops what only removed features stored.

Looks of the drift watch, spans of other systems and learned fusions go with their tables, and so
does the scope of the tokens that sent spans. A system that asked as a user of permission audits
gets the fields of that user into its request; one that lacks some of them was for audits alone.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

_USER = re.compile(r"\{user(?:\.([A-Za-z0-9_-]{1,64}))?\}")
_HEADER = re.compile(r"((Bearer|Token|Basic|ApiKey) )?TOUCHSTONE_TOOL_[A-Z0-9_]+")


def upgrade() -> None:
    op.drop_table("watch_look")
    op.drop_table("received_span")
    op.drop_table("learned_fusion")
    _fill_systems(op.get_bind())
    _narrow_tokens(op.get_bind())


def _fill_systems(connection: sa.Connection) -> None:
    names = ("base_id", "name", "version")
    system = sa.table("system", *map(sa.column, names), sa.column("definition", sa.JSON))
    for row in connection.execute(sa.select(system)).all():
        definition = _without_user(row.definition)
        mine = sa.and_(*(system.c[name] == getattr(row, name) for name in names))
        if definition is None:
            connection.execute(sa.delete(system).where(mine))
        else:
            connection.execute(sa.update(system).where(mine).values(definition=definition))


def _narrow_tokens(connection: sa.Connection) -> None:
    token = sa.table("api_token", sa.column("id"), sa.column("scopes", sa.JSON))
    for row in connection.execute(sa.select(token)).all():
        scopes = [scope for scope in row.scopes if scope != "traces"]
        mine = token.c.id == row.id
        if not scopes:
            connection.execute(sa.delete(token).where(mine))
        elif scopes != row.scopes:
            connection.execute(sa.update(token).where(mine).values(scopes=scopes))


def _without_user(definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a definition with the fields of its user filled in; None if it isn't complete then."""
    user = definition.get("user", {})
    body = json.dumps(_filled(json.loads(definition["body"]), user)) if definition["body"] else ""
    filled = {name: value for name, value in definition.items() if name != "user"} | {
        "url": _text(definition["url"], user, lambda value: quote(value, safe="")),
        "body": body if user else definition["body"],
        "headers": {name: _text(text, user) for name, text in definition["headers"].items()},
    }
    complete = not _USER.search(filled["url"] + filled["body"])
    return filled if complete and all(map(_HEADER.fullmatch, filled["headers"].values())) else None


def _filled(content: Any, user: Mapping[str, Any]) -> Any:
    if isinstance(content, dict):
        return {name: _filled(value, user) for name, value in content.items()}
    if isinstance(content, list):
        parts = list[Any]()
        for item in content:
            value = _filled(item, user)
            parts += value if isinstance(item, str) and isinstance(value, list) else [value]
        return parts
    if not isinstance(content, str):
        return content
    whole = _USER.fullmatch(content)
    return user.get(whole[1] or "name", content) if whole else _text(content, user)


def _text(text: str, user: Mapping[str, Any], written: Callable[[str], str] = str) -> str:
    def value(match: re.Match[str]) -> str:
        field = user.get(match[1] or "name", match[0])
        return (
            match[0]
            if field == match[0]
            else written(",".join([field] if isinstance(field, str) else field))
        )

    return _USER.sub(value, text)
