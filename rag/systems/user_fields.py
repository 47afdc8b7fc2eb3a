"""Fields of a user in a request: ``{user}`` is the name, ``{user.department}`` another field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rag.errors import InvalidInput

UserValue = str | list[str]

PLACEHOLDER = re.compile(r"\{user(?:\.([A-Za-z0-9_-]{1,64}))?\}")
NAME = "name"
"""The field that ``{user}`` alone means."""


def user_fields(content: Any) -> set[str]:
    """The fields of a user that the strings of plain data name."""
    if isinstance(content, Mapping):
        return set[str]().union(*map(user_fields, content.values()))
    if isinstance(content, list | tuple):
        return set[str]().union(*map(user_fields, content))
    if not isinstance(content, str):
        return set()
    return {match.group(1) or NAME for match in PLACEHOLDER.finditer(content)}


def filled(content: Any, user: Mapping[str, UserValue]) -> Any:
    """Fill the strings of plain data with the fields of a user.

    A string that is one placeholder becomes the value, and a list in a list its items. Within
    other text, the items of a list are separated by commas. Raises InvalidInput for a field that
    the user doesn't have.
    """
    if isinstance(content, Mapping):
        return {name: filled(value, user) for name, value in content.items()}
    if isinstance(content, list | tuple):
        parts = list[Any]()
        for item in content:
            value = filled(item, user)
            parts += value if isinstance(item, str) and isinstance(value, list) else [value]
        return parts
    if not isinstance(content, str):
        return content
    whole = PLACEHOLDER.fullmatch(content)
    return _value(whole, user) if whole else filled_text(content, user)


def filled_text(
    text: str, user: Mapping[str, UserValue], written: Callable[[str], str] = str
) -> str:
    """Fill a text; ``written`` spells each value, as for an address. Raises InvalidInput."""

    def value(match: re.Match[str]) -> str:
        field = _value(match, user)
        return written(",".join(field) if isinstance(field, list) else field)

    return PLACEHOLDER.sub(value, text)


def _value(match: re.Match[str], user: Mapping[str, UserValue]) -> UserValue:
    field = match.group(1) or NAME
    if field not in user:
        raise InvalidInput(
            f"The user {user.get(NAME, '')!r} has no field {field!r}."
            if user
            else "The request needs a user.",
            f"Add {field!r} to the user.",
        )
    return user[field]
