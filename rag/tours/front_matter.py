"""Fields of a Markdown file before its text, which site generators read and do not show."""

from __future__ import annotations

import re

from rag.types import Document

_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?:(?:[\w\"'][\w .\"'-]{0,40}:|[ \t#\]}-])[^\n]*\n){1,60}?"
    r"(?:---|\.\.\.)[ \t]*(?:\n+|\Z)"
)


def front_matter(document: Document) -> int:
    """Return the length of the front matter of a Markdown document, 0 for none."""
    if document.media_type != "text/markdown":
        return 0
    fields = _FRONT_MATTER.match(document.text)
    return fields.end() if fields else 0
