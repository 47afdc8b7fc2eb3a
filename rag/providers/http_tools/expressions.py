"""JMESPath expressions of files and answers that other programs wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jmespath

from rag.errors import InvalidInput


def compiled(path: str) -> Callable[[Any], Any]:
    """Compile an expression: None for "", and for data it can't be applied to.

    Raises InvalidInput.
    """
    if not path:
        return lambda _value: None
    try:
        expression = jmespath.compile(path)
    except (jmespath.exceptions.JMESPathError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"“{path[:100]}” is not a JMESPath expression.", "See https://jmespath.org."
        ) from error

    def search(value: Any) -> Any:
        try:
            return expression.search(value)
        except (jmespath.exceptions.JMESPathError, RecursionError):
            return None

    return search
