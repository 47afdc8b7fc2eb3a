"""The stops of a tour: what one screen shows, as plain values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from textwrap import shorten
from typing import Literal

from rag.answering.markup import (
    CodeBlock,
    code_blocks,
    fenced_code,
    flowing,
    unmarked,
    without_markup,
)
from rag.types import Span

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_CELL_END = re.compile(r"(?<=\S) *\t *(?=\S)")
_BLANKS = re.compile(r"(?<=\S) {2,}(?=[.,;:])")
"""What the end of a tag leaves before a sign."""
_GAP = re.compile(r"\n(?:[ \t]*\n){2,}")
"""Lines without words, such as those that had only marks."""
LONGEST_TOUR_TITLE = 80
"""Characters of the title of a tour."""
LONGEST_NOTE = 2_000
"""Characters of the note of a stop."""
_SHORT_TITLE = 60  # two lines on a small screen
StopKind = Literal["answer", "page", "why", "metrics", "comparison"]


@dataclass(frozen=True, slots=True)
class TourQuote:
    """A passage as its document has it, with the text around it.

    ``markdown`` is whether a backslash in it hides a mark of Markdown, and is not shown.
    """

    source: str
    text: str
    before: str = ""
    after: str = ""
    markdown: bool = True

    def parts(self) -> list[TourQuote | CodeBlock]:
        """Return the quote as it is shown: without marks, and blocks of code by themselves.

        A block with words of the quote itself is not parted from the rest.
        """
        words = len(self.before), len(self.before) + len(self.text)
        whole = f"{self.before}{self.text}{self.after}"
        parts, at = list[TourQuote | CodeBlock](), 0
        for start, end in [*_apart(whole, words), (len(whole), len(whole))]:
            first, last = (min(max(place, at), start) for place in words)
            if whole[at:start].strip():
                before, text, after = whole[at:first], whole[first:last], whole[last:start]
                parts.append(replace(self, text=text, before=before, after=after)._prose())
            parts += [one for one in code_blocks(whole[start:end]) if isinstance(one, CodeBlock)]
            at = end
        return parts

    def _prose(self) -> TourQuote:
        """The quote without the marks of Markdown in it and around it, and with flowing lines."""
        start = len(self.before)
        whole, words = f"{self.before}{self.text}{self.after}", (start, start + len(self.text))
        whole, [words] = without_markup(flowing(whole), [words])
        for new, pattern in ((" · ", _CELL_END), ("", _BLANKS), ("\n\n", _GAP)):
            places = [match.span() for match in pattern.finditer(whole)]
            whole, words = _with(new, places, whole, words)
        before, text, after = whole[: words[0]], whole[words[0] : words[1]], whole[words[1] :]
        if self.markdown:
            before, text, after = map(_unescaped, (before, text, after))
        if not text:
            before, after = f"{before}{after}".strip(), ""
        return TourQuote(self.source, text, before.lstrip(), after.rstrip(), markdown=False)


@dataclass(frozen=True, slots=True)
class TourValue:
    """A value as it is shown, such as ``nDCG@10``, ``0.812`` and ``0.74 to 0.87``."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AnswerBasis:
    """The question behind an answer, when it was answered, and what the knowledge base was then.

    ``documents`` and ``recipe`` are hashes of the documents and of the recipe that answered.
    ``documents`` is empty if documents were added, or a cited one was deleted, between the answer
    and its place in a tour.
    """

    question: str
    answered: datetime
    documents: str
    recipe: str


@dataclass(frozen=True, slots=True)
class TourStop:
    """One screen of a tour: a title, plain text, quotes, values and points.

    ``note`` has the words of the owner, who may leave it empty. ``basis`` is that of an answer.
    """

    kind: StopKind
    title: str
    text: str = ""
    quotes: tuple[TourQuote, ...] = ()
    values: tuple[TourValue, ...] = ()
    points: tuple[str, ...] = ()
    note: str = ""
    basis: AnswerBasis | None = None

    @property
    def heading(self) -> str:
        """The title, short enough for a list of stops.

        That of a comparison without the names of the runs, which its stop has.
        """
        whole = self.title
        if self.kind in ("why", "metrics", "comparison") and "?" in whole:
            whole = whole[: whole.index("?") + 1]
        title = shorten(whole, _SHORT_TITLE, placeholder=" …")
        if title == "…":  # a script without spaces
            title = f"{whole.strip()[: _SHORT_TITLE - 2]} …"
        return title or "Tour"

    def shown_text(self) -> str:
        """Return the text without the marks of Markdown."""
        text = unmarked(self.text)
        return _unescaped(text) if all(quote.markdown for quote in self.quotes) else text

    def with_note(self, note: str) -> TourStop:
        """Return the stop with another note."""
        return replace(self, note=note.strip())


def _unescaped(text: str) -> str:
    """A text without the backslashes before what Markdown would read as marks."""
    return _ESCAPED.sub(r"\1", text)


def _apart(whole: str, words: Span) -> Iterator[Span]:
    """The blocks of code that are shown by themselves."""
    first, last = words
    for (start, end), _ in fenced_code(whole):
        if end <= first or start >= last:
            yield start, end


def _with(new: str, places: Sequence[Span], text: str, span: Span) -> tuple[str, Span]:
    """A text with ``new`` in some places, and where a span of it is then."""
    pieces, at = list[str](), 0
    first, last = span
    for start, end in places:
        pieces += [text[at:start], new]
        at = end
        if start < span[0]:
            first += len(new) - (min(end, span[0]) - start)
        if start < span[1]:
            last += len(new) - (end - start) if end <= span[1] else start - span[1]
    return "".join([*pieces, text[at:]]), (first, last)
