"""The stops of a tour: what one screen shows, as plain values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from textwrap import shorten
from typing import Literal

from rag.answering.markup import unmarked, without_markup

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
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

    def without_marks(self) -> TourQuote:
        """Return the quote without the marks of Markdown in it and around it."""
        start = len(self.before)
        whole = f"{self.before}{self.text}{self.after}"
        text, [(first, last)] = without_markup(whole, [(start, start + len(self.text))])
        shown = TourQuote(self.source, text[first:last], text[:first], text[last:], markdown=False)
        if not self.markdown:
            return shown
        before, after = _unescaped(shown.before), _unescaped(shown.after)
        return replace(shown, text=_unescaped(shown.text), before=before, after=after)


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

    def without_marks(self) -> TourStop:
        """Return the stop without the marks of Markdown in its text and quotes."""
        quotes = tuple(quote.without_marks() for quote in self.quotes)
        text = unmarked(self.text)
        if all(quote.markdown for quote in self.quotes):
            text = _unescaped(text)
        return replace(self, text=text, quotes=quotes)

    def with_note(self, note: str) -> TourStop:
        """Return the stop with another note."""
        return replace(self, note=note.strip())


def _unescaped(text: str) -> str:
    """A text without the backslashes before what Markdown would read as marks."""
    return _ESCAPED.sub(r"\1", text)
