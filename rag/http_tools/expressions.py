"""JMESPath expressions of files and answers that other programs wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jmespath

from rag.errors import InvalidInput


class Expression:
    """An expression that says why it can't be applied."""

    def __init__(self, path: str) -> None:
        """Raise InvalidInput."""
        try:
            self._expression = jmespath.compile(path)
        except (jmespath.exceptions.JMESPathError, ValueError, RecursionError) as error:
            raise InvalidInput(
                f"“{path[:100]}” is not a JMESPath expression.", "See https://jmespath.org."
            ) from error
        self.tree: Mapping[str, Any] = self._expression.parsed

    def search(self, value: Any) -> Any:
        """Return the part of a value. Raises InvalidInput."""
        try:
            return self._expression.search(value)
        except (jmespath.exceptions.JMESPathError, RecursionError) as error:
            raise InvalidInput(str(error)[:200], "See https://jmespath.org.") from error


def compiled(path: str) -> Callable[[Any], Any]:
    """Compile an expression: None for "", and for data it can't be applied to.

    Raises InvalidInput.
    """
    if not path:
        return lambda _value: None
    expression = Expression(path)

    def search(value: Any) -> Any:
        try:
            return expression.search(value)
        except InvalidInput:
            return None

    return search
