"""Rules by which a user may see a document: JMESPath on its fields, with those of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag.errors import InvalidInput
from rag.http_tools.expressions import Expression
from rag.systems.user_fields import NAME, UserValue

LONGEST_RULE = 1000
_HINT = "Write it like department == user.department, see https://jmespath.org."


class AccessRule:
    """A rule such as ``department == user.department || contains(tags, 'public')``."""

    def __init__(self, text: str) -> None:
        """Raises InvalidInput."""
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


def _user_fields(node: Mapping[str, Any]) -> Iterator[str]:
    """Generate the fields that an expression takes from ``user``."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        children = [child for child in node.get("children", ()) if isinstance(child, Mapping)]
        waiting += children
        if node.get("type") == "subexpression" and len(children) > 1:
            first, second = children[0], children[1]
            of_user = (first.get("type"), first.get("value")) == ("field", "user")
            if of_user and second.get("type") == "field":
                yield str(second["value"])
