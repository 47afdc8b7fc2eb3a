"""The context of a passage: a few words about its place that are indexed but not shown.

Half of the answer to "which one" is around a passage and not in it: the name of the product in the
title or the running head, the year in the file name, the meaning of a figure in the first row of
the table. The context is put before the text that is embedded and indexed, with a line for each
kind. It is never put into the text that is shown, cited and labelled.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence

from rag.chunking.estimates import tokens
from rag.chunking.places import place_of
from rag.recipe import ContextLevel
from rag.types import Document

MOST_TOKENS = 50
"""Most tokens of a context, by an estimate that is the same for every embedder."""
_LEVELS: tuple[ContextLevel, ...] = ("none", "document", "headings", "table")
_DOCUMENT, _LABELS, _HEADINGS, _CAPTION, _HEAD = 18, 18, 18, 14, 10  # most tokens of each
_BEGINNING = 40  # words of a passage in which what is around it may be repeated
_BEGINNING_CHARACTERS = 1000
_LEAST_DIGITS = 3  # of a number in a name that is worth a place
_WORD = re.compile(r"\w+")
_FOLIO = re.compile(
    r"(?:\b(?:page|p\.|seite)\s*)?\b\d{1,4}(?:\s*(?:of|/|von)\s*\d+)?\s*$", re.IGNORECASE
)
_JOINTS = re.compile(r"\s*(?:\||\n|\t| {3,}| [–—•·-] )\s*")

_LONGEST_TITLE, _LONGEST_LINE = 200, 80
_TOP = 500  # characters at the top of a text without pages

# Titles that programs write into files whose author gave none.
_NO_TITLE = re.compile(
    r"(?:(?:untitled|no title|title|document|presentation|slide|sheet|book|page|scan|doc|draft)"
    r"[\s_-]*\d*|\W*(?:anonymous|unknown)\W*|(?:microsoft )?(?:word|excel|powerpoint)\b.*"
    r"|[^\s]*\.[a-z]{2,5}|[\W\d_]*)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://([^/?#]*)([^?#]*).*", re.DOTALL)
_COPY = re.compile(r"(?:(?<!\s)\s++)?\(\d++\)$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])|-(?=v\d+\.\d)")
_OF_YEAR = re.compile(r"\d{1,3}(?P<joint>[.-])(?:19|20)\d\d(?P=joint)\d{1,3}")
"""A number with a year in its middle, such as ``08.2025.2``: no date."""
_PART = re.compile(
    r"(?<![^\W_])v\d+(?:\.\d+)+(?![^\W_])"
    rf"|(?<![^\W_]){_OF_YEAR.pattern}(?![^\W_]|[.-]\d)|[^\s_.,;+%()\[\]]+",
    re.IGNORECASE,
)
"""A version, such as ``v1.11``, a number with a year, or what stands between separators."""
_DIGEST = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f-]{8,}", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_ENDS = ".,;:?!"
# A title of two lines often breaks after such a word, which ends no title.
_GOES_ON = re.compile(
    r"\s(?:a|an|and|as|at|by|for|from|in|into|of|on|or|the|to|via|with"
    r"|am|auf|aus|bei|das|der|des|die|für|im|mit|oder|und|von|vom|zu|zum|zur)$",
    re.IGNORECASE,
)


class Contexts:
    """The contexts of one document's passages; what they share is found once."""

    def __init__(self, document: Document, level: ContextLevel) -> None:
        self._document = document
        self._level = _LEVELS.index(level)
        self._page_starts = [page.start for page in document.pages]
        self._is_titled = bool(stated_title(document))
        self._about = _about(document) if self._level else []

    def of(self, start: int, end: int) -> str:
        """The context of ``text[start:end]``: at most five lines and ``MOST_TOKENS`` tokens or so.

        Nothing is said twice, and nothing with which the passage begins itself.
        """
        if not self._level:
            return ""
        excerpt = self._document.text[start : min(end, start + _BEGINNING_CHARACTERS)]
        budget = _SeenWords(_words(excerpt)[:_BEGINNING])
        # In the order in which they are kept where there is no room for all.
        about = budget.fit(self._about, _DOCUMENT, " · ")
        table = self._document.table_at(start) if self._level > 2 else None
        labels = budget.fit([", ".join(filter(None, table.labels))] if table else [], _LABELS)
        path = place_of(self._document, start, end).heading if self._level > 1 else ""
        headings = budget.fit_last(path.split(" > "), _HEADINGS, " > ")
        caption = budget.fit([table.caption] if table else [], _CAPTION)
        head = budget.fit(self._head(start), _HEAD, " · ")
        return "\n".join(filter(None, (about, headings, head, caption, labels)))

    def _head(self, start: int) -> list[str]:
        """Return the parts of the page's running head; none if the document states its title.

        If the document states its title, the running head is mostly that title.
        """
        if self._level < 2 or self._is_titled:
            return []
        index = bisect.bisect_right(self._page_starts, start) - 1
        head = self._document.pages[index].head if index >= 0 else ""
        return _JOINTS.split(_FOLIO.sub(" ", head))


def _about(document: Document) -> list[str]:
    """The title, and the part of the file's name that is not in it."""
    title = title_of(document)
    if not title:
        return [" ".join(name_words(document.name))]
    return [*_JOINTS.split(title), " ".join(_rest_of_name(document.name, title))]


def _rest_of_name(name: str, title: str) -> list[str]:
    """The words of a name from the first to the last one that the title lacks.

    Words between these are kept although the title has them: ``Fees`` of "7220 Fees for Services"
    under the title "Consolidated Fees". A day or a number of a copy tells nothing.
    """
    title_words = "".join(_words(title))
    words = [word for word in name_words(name) if not _is_short_number(word)]
    news = [
        at
        for at, word in enumerate(words)
        if "".join(_words(word)) not in title_words and not _GOES_ON.fullmatch(f" {word}")
    ]
    return words[news[0] : news[-1] + 1] if news else []


def _is_short_number(word: str) -> bool:
    digits = "".join(_words(word))
    return digits.isdigit() and len(digits) < _LEAST_DIGITS


class _SeenWords:
    """The words that a passage and its context already contain, and the remaining token budget."""

    def __init__(self, beginning: Sequence[str]) -> None:
        self._lines = [f" {' '.join(beginning)} "]
        self._parts = list[str]()
        self._left = MOST_TOKENS

    def fit(self, parts: Iterable[str], most: int, joint: str = " ") -> str:
        """Return the new text in ``parts``, joined, in at most ``most`` tokens."""
        return joint.join(self._new(parts, min(most, self._left)))

    def fit_last(self, parts: Sequence[str], most: int, joint: str) -> str:
        """Do the same as ``fit``, but keep the last parts if there is no room for all."""
        return joint.join([*self._new(reversed(parts), min(most, self._left))][::-1])

    def _new(self, parts: Iterable[str], most: int) -> Iterator[str]:
        for original in parts:
            part = self._rest(original)
            words = f" {' '.join(_words(part))} "
            if most <= 0 or not words.strip() or any(words in line for line in self._lines):
                continue
            clipped = _clipped(part, most)
            used = tokens(clipped) + 1  # what joins it to the next
            most, self._left = most - used, self._left - used
            self._lines.append(words)
            self._parts.append(part)
            if clipped:
                yield clipped

    def _rest(self, part: str) -> str:
        """A part without those that are said already: a running head often has the title in it."""
        for previous in self._parts:
            part = re.sub(rf"(?<!\w){re.escape(previous)}(?!\w)", " ", part, flags=re.IGNORECASE)
        return part.strip(" -–—|·")


def _clipped(text: str, most: int) -> str:
    """The beginning of a text on one line, of whole words that are ``most`` tokens together."""
    clipped, used = list[str](), 0
    for word in text.split():
        used += tokens(word)
        if used > most:
            break
        clipped.append(word)
    return " ".join(clipped).rstrip(",;:")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


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
    for part in _PART.finditer(_CAMEL.sub(" ", stem)):
        word = part.group()
        whole = _is_code(word) or _DIGEST.fullmatch(word) or _OF_YEAR.fullmatch(word)
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
    """The first heading, where it is on the first page and no other one is of its level.

    One with a number is a chapter.
    """
    first = document.headings[0] if document.headings else None
    top = document.pages[0].end if document.pages else _TOP
    if first is None or first.start >= top or first.title[:1].isdigit():
        return ""
    if _begins_with_code(document):
        return ""
    return "" if _NO_TITLE.fullmatch(first.title) else first.title[:_LONGEST_TITLE]


def _begins_with_code(document: Document) -> bool:
    """Whether the first heading has a figure, and is one of several of its level."""
    first, *others = document.headings or (None,)
    if first is None or not any(map(str.isdigit, first.title)):
        return False
    return any(heading.level <= first.level for heading in others)


def _first_line(document: Document) -> str:
    if _begins_with_code(document) and not document.text[: document.headings[0].start].strip():
        return ""
    line, rest, below = document.text[:_TOP].lstrip().partition("\n")
    line = line.strip()
    alone = rest and len(line) <= _LONGEST_LINE and line[-1:] not in _ENDS
    second = below.partition("\n")[0].strip()
    if alone and _GOES_ON.search(line) and 0 < len(second) <= _LONGEST_LINE:
        line = f"{line} {second}"
        alone = second[-1:] not in _ENDS
    is_row = "\t" in line or "; " in line or " | " in line or _is_of_series(line, document.text)
    return line if alone and not is_row and not _NO_TITLE.fullmatch(line) else ""


def _is_of_series(line: str, text: str) -> bool:
    """Whether another line begins as this one does up to its first number, with another number."""
    number = _NUMBER.search(line)
    if number is None or not number.start():
        return False
    begins = re.compile(
        rf"^[ \t]*{re.escape(line[: number.start()])}({_NUMBER.pattern})", re.MULTILINE
    )
    return any(other[1] != number[0] for other in begins.finditer(text))
