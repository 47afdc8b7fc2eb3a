"""The headers of the sections of a document."""

from __future__ import annotations

from collections.abc import Iterable


def section_titles(headers: Iterable[Iterable[str]]) -> set[str]:
    """Return the lines that name sections: some headers have one of them, others another one.

    Each header has its lines.
    """
    lines = [{line for line in header if line} for header in headers] or [set[str]()]
    titles = lines[0].union(*lines) - lines[0].intersection(*lines)
    return titles if len(titles) > 1 else set()
