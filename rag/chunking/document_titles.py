"""The title of a document, and the words of its file name."""

from __future__ import annotations

import re

from rag.types import Document

_LONGEST_TITLE, _LONGEST_LINE = 200, 80
_TOP = 500  # characters at the top of a text without pages

# Titles that programs write into files whose author gave none.
_NO_TITLE = re.compile(
    r"(?:(?:untitled|no title|title|document|presentation|slide|sheet|book|page|scan|doc|draft)"
    r"[\s_-]*\d*|(?:microsoft )?(?:word|excel|powerpoint)\b.*|[^\s]*\.[a-z]{2,5}|[\W\d_]*)",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://([^/?#]*)([^?#]*).*", re.DOTALL)
_COPY = re.compile(r"(?:(?<!\s)\s++)?\(\d++\)$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_APART = re.compile(r"[\s_.,;+%()\[\]]+")
_DIGEST = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f-]{8,}", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_ENDS = ".,;:?!"


def name_words(name: str) -> list[str]:
    """The words of a file's name: no suffix, number of a copy, digest, or name that is a number.

    ``incident-2025-019.pdf`` gives ``incident 2025 019``; a code in capitals stays whole, as in
    ``KM-DOC-5101_final.pdf``. Of an address it is the last part of the path, else the host.
    """
    address = _ADDRESS.match(name)
    if address:
        name = address[2].strip("/") or address[1]
    stem = _COPY.sub("", _SUFFIX.sub("", name.rsplit("/", 1)[-1]))
    words = list[str]()
    for word in _APART.split(_CAMEL.sub(" ", stem)):
        whole = _is_code(word) or _DIGEST.fullmatch(word)
        words += [word] if whole else word.split("-")
    cleaned = [word for word in words if word and not _DIGEST.fullmatch(word)]
    return cleaned if any(map(_LETTER.search, cleaned)) else []


def _is_code(word: str) -> bool:
    return word.isupper() and any(char.isdigit() for char in word)


def title_of(document: Document) -> str:
    """The title that a document states, else its first heading or a first line that stands alone.

    "" where it has none of them that means anything.
    """
    return stated_title(document) or _first_heading(document) or _first_line(document)


def stated_title(document: Document) -> str:
    """The title that is noted in a document's file, "" for none that means anything."""
    stated = " ".join(document.metadata.get("title", "").split())
    return "" if _NO_TITLE.fullmatch(stated) else stated[:_LONGEST_TITLE]


def _first_heading(document: Document) -> str:
    """The first heading, where it is on the first page; one with a number is a chapter."""
    first = document.headings[0] if document.headings else None
    top = document.pages[0].end if document.pages else _TOP
    if first is None or first.start >= top or first.title[:1].isdigit():
        return ""
    return "" if _NO_TITLE.fullmatch(first.title) else first.title[:_LONGEST_TITLE]


def _first_line(document: Document) -> str:
    line, rest, _ = document.text[:_TOP].lstrip().partition("\n")
    line = line.strip()
    alone = rest and len(line) <= _LONGEST_LINE and line[-1:] not in _ENDS
    is_row = "\t" in line or "; " in line or " | " in line
    return line if alone and not is_row and not _NO_TITLE.fullmatch(line) else ""
