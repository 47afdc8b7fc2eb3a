"""A kind of value that a question asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.answering.statements.rows import BETWEEN

_LONGEST_LINE = 60
"""Characters of a line in which a bare figure may be a value: "Adults: 12"."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value: how questions ask for it, and how texts give it.

    ``name`` is how a reason calls it, ``words`` are those of a question that only say what kind of
    value it wants. An ``exact`` kind is told by its form: a text without one has no answer.
    """

    name: str
    words: str
    question: re.Pattern[str]
    value: re.Pattern[str]
    exact: bool = False

    def is_in(self, text: str) -> bool:
        """Whether a text has a value of this kind."""
        return self.value.search(text) is not None


def is_list_like(text: str) -> bool:
    """Whether a text is a row, or a line that is no sentence: its figures need no unit."""
    return BETWEEN in text or (len(text) <= _LONGEST_LINE and not text.endswith("."))
