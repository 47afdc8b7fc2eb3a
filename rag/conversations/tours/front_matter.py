"""Fields of a Markdown file before its text, which site generators read and do not show."""

from __future__ import annotations

from rag.readers.markdown import front_matter_length
from rag.types import Document


def front_matter(document: Document) -> int:
    """Return the length of the front matter of a Markdown document, 0 for none."""
    is_markdown = document.media_type == "text/markdown"
    return front_matter_length(document.text) if is_markdown else 0
