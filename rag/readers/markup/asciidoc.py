"""AsciiDoc: its text, with headings and blocks of code as Markdown writes them."""

from __future__ import annotations

import re

from rag.readers.characters import lines_of
from rag.readers.content import Content, Source
from rag.readers.markdown import plain_title
from rag.readers.text import load
from rag.types import Heading

_TITLE = re.compile(r"(?P<marks>={1,6}|#{1,6})[ \t]+(?P<title>\S.*)")
_DELIMITER = re.compile(r"(?P<mark>-{4,}+|\.{4,}+|/{4,}+|\+{4,}+|`{3,}+).*+")
"""Lines around code, literal text, comments and passed-through text, which have no titles."""
_CODE = "-.`"


def read_asciidoc(source: Source) -> Content:
    """The text as it is, but ``= Title`` is ``# Title`` and code stands between fences."""
    text, encoding = load(source)
    parts, headings, length, block, title = list[str](), list[Heading](), 0, "", ""
    for line in lines_of(text):
        bare = line.rstrip()
        delimiter = _DELIMITER.fullmatch(bare)
        heading = None if block else _TITLE.fullmatch(bare)
        if block and bare == block:
            line, block = _fence(block, line), ""
        elif delimiter and not block and (delimiter["mark"] == bare or bare[0] == "`"):
            block = delimiter["mark"]
            line = _fence(block, line)
        elif heading:
            level, words = len(heading["marks"]), plain_title(heading["title"])
            line = f"{'#' * level} {heading['title']}{line[len(bare) :]}"
            if words:
                headings.append(Heading(length, level, words))
                title = title or words
        parts.append(line)
        length += len(line)
    metadata = {"title": title, "encoding": encoding}
    filled = {key: value for key, value in metadata.items() if value}
    return Content("".join(parts), headings=tuple(headings), metadata=filled)


def _fence(mark: str, line: str) -> str:
    return line.replace(mark, "```", 1) if mark[0] in _CODE else line
