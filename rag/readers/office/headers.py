"""The headers of the sections of a document."""

from __future__ import annotations

from collections.abc import Iterable


def section_titles(headers: Iterable[Iterable[str]]) -> set[str]:
    """Return the lines that name sections: headers that have any differ in them.

    Each header has its lines.
    """
    lines = [own for header in headers if (own := {line for line in header if line})]
    shared = lines[0].intersection(*lines) if lines else set[str]()
    names = {frozenset(own - shared) for own in lines if own - shared}
    return set[str]().union(*names) if len(names) > 1 else set()
