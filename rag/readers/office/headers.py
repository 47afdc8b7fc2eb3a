"""The headers of the sections of a document."""

from __future__ import annotations

from collections.abc import Iterable


def section_titles(headers: Iterable[Iterable[str]]) -> set[str]:
    """Return the lines that name a section: not all headers have them. Each has its lines."""
    lines = [*map(set, headers)]
    return lines[0].union(*lines) - lines[0].intersection(*lines) if lines else set()
