"""Guided tours: their stops, how they are stored, and how they are printed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from textwrap import shorten
from typing import Any, Literal

from pydantic import TypeAdapter

from rag.answering.markup import (
    CodeBlock,
    code_blocks,
    fenced_code,
    flowing,
    unmarked,
    without_markup,
)
from rag.errors import InvalidInput, NotFound
from rag.evaluation.report import html_page
from rag.evaluation.report.words import Markup, element, join, table
from rag.input_rules import find_fault, mend
from rag.library.documents.stored import documents_hash_now
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.settings.version import code_version
from rag.storage import Connection, Database, bases, documents
from rag.storage.access import links
from rag.types import Span
from rag.types.schema import Schema, Timestamp

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
    ``tested`` says how a comparison was tested, for readers who know statistics: it is folded.
    """

    kind: StopKind
    title: str
    text: str = ""
    quotes: tuple[TourQuote, ...] = ()
    values: tuple[TourValue, ...] = ()
    points: tuple[str, ...] = ()
    note: str = ""
    basis: AnswerBasis | None = None
    tested: str = ""

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


MOST_STOPS = 50
MOST_TOURS = 100

_STOPS = TypeAdapter(tuple[TourStop, ...])


class TourData(Schema):
    """A tour with its stops in order; ``changed`` is when it was last saved."""

    id: int
    title: str
    changed: Timestamp
    stops: tuple[TourStop, ...]


class Tours:
    """The tours of one knowledge base.

    ``only`` is the one tour that is there for the guests of its link, or None for all tours.
    """

    def __init__(self, database: Database, base_id: int, only: int | None = None) -> None:
        self._database = database
        self._base_id = base_id
        self._only = only

    @operation("guest")
    def list_tours(self) -> list[TourData]:
        """List all tours, the one changed last first."""
        rows = self._database.fetch(links.list_tours, self._base_id)
        return [_tour(row) for row in rows if self._only in (None, row.id)]

    @operation("guest")
    def get(self, tour_id: int) -> TourData:
        """Return one tour. Raises NotFound."""
        if self._only not in (None, tour_id):
            _required(None)
        row = self._database.fetch(links.tour_by_id, self._base_id, tour_id)
        return _tour(_required(row))

    @operation("viewer")
    def basis(
        self, question: str, answered: datetime, recipe: Recipe, cited: Collection[str] = ()
    ) -> AnswerBasis:
        """Return what an answer of a recipe rests on; ``cited`` has the ids of its documents.

        That is the documents as they are now, or nothing known if some are newer than the answer,
        or if one that it cites was deleted.
        """
        with self._database.read() as connection:
            newest = documents.newest(connection, self._base_id)
            stored = documents.names(connection, self._base_id, list(cited))
        unchanged = (newest is None or newest <= answered) and stored.keys() >= set(cited)
        now = self._database.fetch(documents_hash_now, self._base_id) if unchanged else ""
        return AnswerBasis(question, answered, now, recipe.hash)

    @operation("guest")
    def changes(self, basis: AnswerBasis) -> tuple[Literal["documents", "recipe"], ...]:
        """Name what changed since an answer; empty if it would be the same."""
        documents_now = self._database.fetch(documents_hash_now, self._base_id)
        recipe_now = self._database.fetch(bases.by_id, self._base_id).recipe.hash
        changed = list[Literal["documents", "recipe"]]()
        if documents_now != basis.documents:
            changed.append("documents")
        if recipe_now != basis.recipe:
            changed.append("recipe")
        return tuple(changed)

    @operation("owner", audit="sharing", audited_arguments=1)
    def create(self, title: str, stops: Sequence[TourStop] = ()) -> int:
        """Create a tour, with its first stops if there are any; return its id.

        Raises InvalidInput.
        """
        title = _checked_title(title)
        with self._database.write() as connection:
            if len(links.list_tours(connection, self._base_id)) >= MOST_TOURS:
                raise InvalidInput(
                    f"A knowledge base has at most {MOST_TOURS} tours.", "Delete one first."
                )
            tour_id = links.create_tour(connection, self._base_id, title, [])
            if stops:
                self._save(connection, tour_id, title, stops)
            return tour_id

    @operation("owner", audit="sharing")
    def add(self, tour_id: int, stops: Sequence[TourStop]) -> TourData:
        """Append stops to a tour. Raises NotFound, InvalidInput."""
        with self._database.write() as connection:
            tour = _tour(_required(links.tour_by_id(connection, self._base_id, tour_id, lock=True)))
            together = (*tour.stops, *stops)
            return self._save(connection, tour.id, tour.title, together)

    @operation("owner", audit="sharing")
    def save(self, tour: TourData, title: str, stops: Sequence[TourStop]) -> TourData:
        """Replace the title and the stops of a tour as it was read.

        Raises NotFound, and InvalidInput if the tour was changed since it was read.
        """
        with self._database.write() as connection:
            row = _required(links.tour_by_id(connection, self._base_id, tour.id, lock=True))
            if row.changed != tour.changed:
                raise InvalidInput(
                    "The tour was changed elsewhere.", "Load the tour again, and repeat your edit."
                )
            return self._save(connection, tour.id, _checked_title(title), stops)

    @operation("owner", audit="sharing", audited_arguments=ALL)
    def delete(self, tour_id: int) -> None:
        """Delete a tour; links to it then show no tour. Raises NotFound."""
        with self._database.write() as connection:
            if not links.delete_tour(connection, self._base_id, tour_id):
                _required(None)
            links.forget_tour(connection, self._base_id, tour_id)

    def _save(
        self, connection: Connection, tour_id: int, title: str, stops: Sequence[TourStop]
    ) -> TourData:
        if len(stops) > MOST_STOPS:
            raise InvalidInput(
                f"A tour has at most {MOST_STOPS} stops.", "Remove some, or start another tour."
            )
        notes = [stop.note for stop in stops]
        if fault := find_fault(notes):
            raise InvalidInput(f"{fault}.", "Remove it from the note.")
        if any(len(note) > LONGEST_NOTE for note in notes):
            raise InvalidInput(f"A note has at most {LONGEST_NOTE:,} characters.")
        data = [mend(_STOPS.dump_python((stop,), mode="json")[0]) for stop in stops]
        if not links.replace_tour(connection, self._base_id, tour_id, title, data):
            _required(None)
        return _tour(_required(links.tour_by_id(connection, self._base_id, tour_id)))


def _tour(row: Any) -> TourData:
    return TourData.of(row, stops=_STOPS.validate_python(row.stops))


def _required(row: Any | None) -> Any:
    if row is None:
        raise NotFound(
            "The tour is not in this knowledge base.", "Check the address. The tour may be deleted."
        )
    return row


def _checked_title(title: str) -> str:
    title = " ".join(title.split())
    if not title or len(title) > LONGEST_TOUR_TITLE or not title.isprintable():
        raise InvalidInput(
            f"The title of a tour has 1 to {LONGEST_TOUR_TITLE} printable characters."
        )
    return title


def tour_html(tour: TourData, base_name: str) -> str:
    """Return a tour as an HTML page, one stop after another. All text is escaped."""
    body = join(
        element("p", f"{base_name} · {tour.changed:%Y-%m-%d}", class_="eyebrow"),
        element("h1", tour.title),
        *(_stop(number, stop) for number, stop in enumerate(tour.stops, start=1)),
    )
    return html_page(tour.title, code_version(), body)


def _stop(number: int, stop: TourStop) -> Markup:
    single = len(stop.points) == 1
    points = (
        element("p", *stop.points)
        if single
        else element("ul", *(element("li", point) for point in stop.points))
    )
    first = stop.kind == "answer"  # its points are its state, which decides how to read the rest
    return element(
        "section",
        element("h2", f"{number}. {stop.title}", class_="user"),
        element("p", stop.note, class_="lead user") if stop.note else None,
        points if stop.points and first else None,
        element("p", stop.shown_text(), class_="user") if stop.text else None,
        *map(_quote, stop.quotes),
        _values(stop) if stop.values else None,
        points if stop.points and not first else None,
        element("details", element("summary", "How it was tested"), element("p", stop.tested))
        if stop.tested
        else None,
    )


def _quote(quote: TourQuote) -> Markup:
    return element("div", element("h3", quote.source), *map(_part, quote.parts()))


def _part(part: TourQuote | CodeBlock) -> Markup:
    if isinstance(part, CodeBlock):
        return element("pre", part.code)
    words = element("mark", part.text) if part.text else None
    return element("p", part.before, words, part.after, class_="user indented")


def _values(stop: TourStop) -> Markup:
    rows = (
        element("tr", *(element("td", cell) for cell in (row.label, row.value, row.detail)))
        for row in stop.values
    )
    return table([element("th", name) for name in ("Measure", "Value", "Details")], rows)
