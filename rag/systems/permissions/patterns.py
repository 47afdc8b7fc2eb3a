"""Names with ``*`` and ``?``, and the first of them that fits a name."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

from rag.errors import InvalidInput

MOST_COMPARISONS = 5_000_000
"""Names times the patterns that they are compared with: some seconds."""
_LITERAL = re.compile(r"[^*?]*")


class Patterns:
    """Patterns in their order, without case; brackets are literal.

    A name is compared with those alone that begin as it does.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = list(patterns)
        self._numbers = dict[str, list[int]]()
        for number, pattern in enumerate(self._patterns):
            beginning = _LITERAL.match(pattern.casefold())
            self._numbers.setdefault(beginning[0] if beginning else "", []).append(number)
        self._lengths = sorted({len(beginning) for beginning in self._numbers})
        self._compiled = dict[int, re.Pattern[str]]()
        self._comparisons = 0

    def first_fit(self, name: str) -> str | None:
        """Return the first pattern that fits. Raises InvalidInput after too many comparisons."""
        name = name.casefold()
        best = len(self._patterns)
        for length in self._lengths:
            for number in self._numbers.get(name[:length], ()) if length <= len(name) else ():
                if number >= best:
                    break
                self._comparisons += 1
                if self._of(number).match(name):
                    best = number
        if self._comparisons > MOST_COMPARISONS:
            raise InvalidInput(
                "The access matrix has too many patterns for this many documents.",
                "Begin the patterns with a folder, or use a rule instead of patterns.",
            )
        return self._patterns[best] if best < len(self._patterns) else None

    def _of(self, number: int) -> re.Pattern[str]:
        if number not in self._compiled:
            pattern = self._patterns[number].casefold().replace("[", "[[]")
            self._compiled[number] = re.compile(r"\A" + fnmatch.translate(pattern))
        return self._compiled[number]
