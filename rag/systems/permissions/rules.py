"""Rules by which a user may see a document: JMESPath on its fields, with those of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag.errors import InvalidInput
from rag.http_tools.expressions import Expression
from rag.systems.user_fields import NAME, UserValue

LONGEST_RULE = 1000
_HINT = "Write it like department == user.department, see https://jmespath.org."
_OF_PARTS = {
    "subexpression",
    "index_expression",
    "pipe",
    "projection",
    "filter_projection",
    "value_projection",
}
"""Nodes whose children after the first are applied to what the first returns."""


class AccessRule:
    """A rule such as ``department == user.department || contains(tags, 'public')``."""

    def __init__(self, text: str) -> None:
        """Raise InvalidInput."""
        self._expression = Expression(text)
        self.user_fields = frozenset(_user_fields(self._expression.tree))

    def check_user(self, name: str, user: Mapping[str, UserValue]) -> None:
        """Raise InvalidInput for a field that the rule names and the user doesn't have.

        Two missing fields are equal in JMESPath, so everybody would see documents without it.
        """
        missing = self.user_fields - {NAME, *user}
        if missing:
            raise InvalidInput(
                f"The rule needs {', '.join(sorted(missing))} of the user {name!r}.",
                "Add the field to the user, or correct the rule.",
            )

    def allows(self, document: Mapping[str, Any], user: Mapping[str, UserValue]) -> bool:
        """Whether a user may see a document with these fields.

        Raises InvalidInput where the rule can't be applied or is neither true nor false.
        """
        name = str(document.get("name", ""))[:100]
        try:
            value = self._expression.search({**document, "user": user})
        except InvalidInput as error:
            raise InvalidInput(
                f"The rule can't be applied to {name!r}: {error.message}.", _HINT
            ) from error
        if not isinstance(value, bool):
            raise InvalidInput(f"The rule is neither true nor false for {name!r}.", _HINT)
        return value


def _user_fields(tree: Mapping[str, Any]) -> Iterator[str]:
    """Generate the fields that an expression takes from ``user``.

    Raises InvalidInput where it reaches ``user`` in another way: which fields it takes is not
    known then.
    """
    waiting = [(tree, True)]  # whether names are those at the top, not of a part
    while waiting:
        node, at_top = waiting.pop()
        kind, children = node["type"], list(node["children"])
        if kind == "field" and node["value"] == "user":
            raise InvalidInput("The rule uses user without one of its fields.", _HINT)
        if kind in ("current", "identity") and at_top:
            raise InvalidInput(
                "The rule uses @ or * for all fields at once.", f"Name the fields. {_HINT}"
            )
        if kind == "subexpression" and at_top and _is_user(children[0]):
            field = _first_field(children[1])
            if field is None:
                raise InvalidInput("The rule uses user without one of its fields.", _HINT)
            yield field
            children = [None, *children[1:]]
        of_part = kind in _OF_PARTS
        for number, child in enumerate(children):
            if isinstance(child, Mapping):
                inner = kind == "expref" or (of_part and number > 0)
                waiting.append((child, at_top and not inner))


def _is_user(node: Mapping[str, Any]) -> bool:
    return (node["type"], node.get("value")) == ("field", "user")


def _first_field(node: Mapping[str, Any]) -> str | None:
    """The field that the second part of ``user.FIELD`` or ``user.FIELD[0]`` takes."""
    while node["type"] == "index_expression":
        node = node["children"][0]
    return str(node["value"]) if node["type"] == "field" else None
