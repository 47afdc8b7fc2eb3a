"""Statements of passages, read in their documents: without headings, with whole rows and notes."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from rag.answering.assessing.editions import (
    SAME_TEXT,
    EditionDate,
    are_different,
    are_editions,
    edition_date,
    edition_kind,
    jaccard,
    names_day,
    overlap,
    repeats,
    today,
    word_runs,
    word_set,
    words_of,
)
from rag.answering.languages import alternatives
from rag.answering.markup import unmarked
from rag.answering.statements.rows import BETWEEN, body, rows_within, tables_within
from rag.answering.statements.sentences import (
    ENDED,
    LONGEST_STATEMENT,
    NOTE_MARK,
    Statement,
    list_of,
    plain_words,
    procedure_of,
    statements,
)
from rag.answering.words import DIGITS, LETTERS
from rag.chunking.contexts import title_of
from rag.lexical.references import NUMBERED, Reference
from rag.types import Chunk, Citation, Document, Hit, Page, Span, name_stem

_EDGE_LINES = 4
"""Lines at the top and at the bottom of a page where such a line may stand."""
_LEAST_SHARE_OF_PAGES = 0.4
"""Of the pages: left and right ones may differ, and the first often has none."""
_LONGEST_RUNNING_LINE = 120
_SEVERAL_WORDS = 4
"""Words of a line in which a page number may stand among them."""

_LINE = re.compile(r"[^\n]+")
_FOLIO = re.compile(
    rf"^[ \t]*(?:{alternatives('page')})[ \t]+\d+"
    rf"(?:[ \t]*(?:/|\||{alternatives('out_of')})[ \t]*\d+)?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_REST_OF_SENTENCE = re.compile(r"\s*[a-zß-ÿα-ωа-џ].*[.!?]\s*")
"""A line that goes on a sentence; a rule may be said twice, and end alike."""
_NUMBER = re.compile(r"(?<![\d.,])\d{1,6}(?![\d.,])")


def running_lines(document: Document) -> list[Span]:
    """Return the spans of the running headers and footers of a PDF, in order."""
    if document.media_type != "application/pdf" or len(document.pages) < 2:
        return []
    pages = [list(_edges(document.text, page)) for page in document.pages]
    counts = Counter(key for page in pages for key in {key for _, keys in page for key in keys})
    least = max(2, _LEAST_SHARE_OF_PAGES * len(pages))
    return [span for page in pages for span, keys in page if any(counts[k] >= least for k in keys)]


def blank_running_heads(chunk: Chunk, running: Iterable[Span]) -> str:
    """The text of a passage with running lines and page numbers blank, all else in its place."""
    text = chunk.text
    inside = [
        (max(start - chunk.start, 0), min(end - chunk.start, len(text)))
        for start, end in running
        if start < chunk.end and end > chunk.start
    ]
    for start, end in [*inside, *(match.span() for match in _FOLIO.finditer(text))]:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _edges(text: str, page: Page) -> Iterator[tuple[Span, set[str]]]:
    """The lines at the edges, each with what makes it the same as those of other pages.

    Only numbers of pages may differ: they stand alone, or grow with the pages in a line of several
    other words. "Total amount: 225.00" and "Week 4" say something.
    """
    matches = _LINE.finditer(text, page.start, page.end)
    lines = [match.span() for match in matches if match.group().strip()]
    for start, end in dict.fromkeys((*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:])):
        if end - start > _LONGEST_RUNNING_LINE or _REST_OF_SENTENCE.fullmatch(text, start, end):
            continue
        line = " ".join(text[start:end].split())
        keys = {line if LETTERS.search(line) else DIGITS.sub("0", line)}
        for number in _NUMBER.finditer(line) if len(line.split()) >= _SEVERAL_WORDS else ():
            offset = int(number[0]) - page.number
            keys.add(f"{line[: number.start()]}{offset}#{line[number.end() :]}")
        yield (start, end), keys


BEFORE_NOTE = " … "
"""Between a statement and its notes."""
_MARK = re.compile(rf"(?<=[^\s*])(?<!m)({NOTE_MARK})(?![\w*])")
"""A mark behind a word or sign; "m²" is a unit, and two stars are bold type."""
_EMPHASIS = re.compile(r"(?<![\w\\*])\*(?=\S)[^*\n]{1,300}(?<=[^\s\\])\*(?!\w)")
"""Words between two stars, which are no marks of notes."""
_NOTE = re.compile(
    rf"^[ \t]*\\?(?P<mark>{NOTE_MARK}):?[ \t]*(?P<words>[^\W_].*(?:\n(?![ \t]*\\?{NOTE_MARK}).+)*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Footnote:
    """A note that begins at ``start`` of a document, on a ``page`` if it has any, with its mark."""

    start: int
    page: int | None
    mark: str
    words: str


def footnotes(document: Document) -> list[Footnote]:
    """The notes of a document. A star before several lines marks the items of a list."""
    notes = [
        Footnote(match.start(), document.page_at(match.start()), match["mark"], match["words"])
        for match in _NOTE.finditer(document.text)
        if not _EMPHASIS.match(document.text, match.start("mark"))
    ]
    marks = Counter(note.mark for note in notes)
    return [note for note in notes if note.mark[0] != "*" or marks[note.mark] == 1]


def with_footnotes(
    statements: Sequence[Statement], offset: int, document: Document, notes: Sequence[Footnote]
) -> Iterator[Statement]:
    """Yield statements with the notes that their marks refer to.

    A note is the nearest one on the page of its mark, which may draw it first, or else the next one
    behind; one in Markdown has a name, and may stand anywhere. ``offset`` is where the passage of
    the statements begins in the document.
    """
    for one in statements:
        start = offset + one.start
        end = start + len(one.quote)
        own_notes = list[str]()
        marked = _EMPHASIS.sub(" ", f"{one.quote} {one.text}") if notes else ""
        for mark in dict.fromkeys(_MARK.findall(marked)):
            page = document.page_at(start + max(one.quote.find(mark), 0))
            places = [
                (page is None or note.page != page, note.start < end, abs(note.start - end), note)
                for note in notes
                if note.mark == mark and not start <= note.start < end
            ]
            elsewhere, before, _, note = min(places, default=(True, True, 0, None))
            if note and not (elsewhere and before and mark[0] != "["):
                words = " ".join(unmarked(note.words).split())
                if 0 < len(words) <= LONGEST_STATEMENT:
                    own_notes.append(words if mark[0] == "[" else f"{mark} {words}")
        text = BEFORE_NOTE.join((one.text, *own_notes))
        yield replace(one, text=text, notes=tuple(own_notes))


_JOINTS = re.compile(r"(?<=\w)[-_]+(?=\w)")
"""What stands for spaces in names of files: "pump-1.7-manual"."""

CUT_WORDS = 8
"""A sentence of so many words without an end was cut off by its passage."""
_LOWER = re.compile(r"[a-zß-ÿα-ωа-џ]|[)\]},;:.!?%]")
"""What no sentence begins with: the rest of one that an earlier passage has."""
_LONGEST_BREAK = 200
"""Characters of white space behind a passage that are looked at."""


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document with where its lines stand that say nothing by themselves.

    ``page_heads`` are the heads of its pages, by their numbers.
    """

    document: Document
    mute: tuple[Span, ...]
    page_heads: Mapping[int, str]
    notes: Sequence[Footnote]


@lru_cache(maxsize=32)
def _read(document: Document) -> _ReadDocument:
    mute = (*running_lines(document), *_headings(document))
    heads = {page.number: page.head for page in document.pages if page.head}
    return _ReadDocument(document, mute, heads, footnotes(document))


class Sources(Protocol):
    """Reads the documents that hits are from."""

    def document(self, hit: Hit) -> Document | None:
        """The document of a hit; None where it is gone, and for results of tools."""


class PassageReader:
    """Reads passages as statements; each document is looked at once.

    ``day`` is the ISO date on which editions are in force or not, "" for today.
    """

    def __init__(self, sources: Sources | None = None, day: str = "") -> None:
        self.day = day or today()
        self._sources = sources
        self._documents: dict[tuple[str, str], _ReadDocument | None] = {}
        self._statements: dict[tuple[str, Chunk], list[Statement]] = {}
        self._runs: dict[tuple[str, str], frozenset[int]] = {}
        self._editions: dict[frozenset[tuple[str, str]], str] = {}
        self._superseded: dict[tuple[tuple[str, str], tuple[str, str]], bool] = {}

    def statements(self, hit: Hit) -> list[Statement]:
        """Return the statements of a passage, in order; ``start`` is relative to the passage.

        A row that the passage contains only in part is returned in full. It can begin before 0 and
        end after the passage.
        """
        key = hit.base, hit.chunk
        if (read := self._statements.get(key)) is not None:
            return read
        chunk, source = hit.chunk, self._read_document(hit)
        if source is None:
            read = statements(blank_running_heads(chunk, ()))
        else:
            document = source.document
            text = blank_running_heads(chunk, [*source.mute, *_tabular(document, hit)])
            prose = statements(text)
            for row in rows_within(document, (chunk.start, chunk.end)):
                start, quote = row.start - chunk.start, document.text[row.start : row.end]
                prose.append(Statement(row.text, quote, start, "row", row.name, row.caption))
            prose.sort(key=lambda statement: statement.start)
            read = list(with_footnotes(prose, chunk.start, document, source.notes))
        self._statements[key] = read
        return read

    def page_text(self, hit: Hit, statement: Statement) -> str:
        """Return the text of the page that a statement of a passage is on; "" without pages."""
        source, start = self._read_document(hit), hit.chunk.start + statement.start
        document = source.document if source else None
        number = document.page_at(start) if document else None
        if document is None or number is None:
            return ""
        return next(document.text[p.start : p.end] for p in document.pages if p.number == number)

    def is_cut(self, hit: Hit, statement: Statement) -> bool:
        """Whether a sentence of a passage began before it, or goes on after it."""
        if statement.kind != "prose":
            return False
        quote, text, source = statement.quote, hit.chunk.text, self._read_document(hit)
        first = not text[: statement.start].strip()
        if first and hit.chunk.start and _LOWER.match(quote):
            return True
        if source is not None and _ends_paragraph(source.document.text, hit.chunk.end):
            return False
        last = not text[statement.start + len(quote) :].strip()
        return last and len(quote.split()) >= CUT_WORDS and not ENDED.search(unmarked(quote))

    def quoted(self, citation: Citation) -> Statement:
        """The quote of a citation as a statement: a row with the names of its columns.

        A quote that goes on behind a statement has what that one stands under: a list has the line
        that announces it.
        """
        quote = citation.quote or citation.hit.chunk.text
        own = self.statements(citation.hit)
        passage = citation.hit.chunk.text if citation.quote else ""
        begun = [
            one
            for one in own
            if one.quote == quote
            or (
                one.kind in ("prose", "item")
                and quote.startswith(one.quote)
                and passage.startswith(quote, max(one.start, 0))
            )
        ]
        if not begun:
            start = max(citation.hit.chunk.text.find(quote), 0)
            return Statement(plain_words(quote), quote, start)
        first = max(begun, key=lambda one: len(one.quote))
        whole = None if first.quote == quote else self.list_of(citation.hit, first)
        if whole and whole.quote == quote:
            return whole
        rest = " ".join(unmarked(quote[len(first.quote) :]).split())
        return replace(first, text=f"{first.text} {rest}".strip(), quote=quote)

    def list_of(self, hit: Hit, statement: Statement) -> Statement | None:
        """Return the list of an item, or behind a sentence, with the notes of its marks.

        None as in ``sentences.list_of``.
        """
        return self._with_notes(hit, list_of(hit.chunk.text, statement))

    def procedure_of(self, hit: Hit, statement: Statement, *, headed: bool) -> Statement | None:
        """Return the steps that a statement is one of, with the notes of their marks.

        See ``sentences.procedure_of``.
        """
        chunk, source = hit.chunk, self._read_document(hit)
        low, high = 0, len(chunk.text)
        for start, end in _headings(source.document) if source else ():
            if end <= chunk.start + statement.start:
                low = max(end - chunk.start, 0)
            else:
                high = min(start - chunk.start, high)
                break
        whole = procedure_of(chunk.text, statement, (low, high), headed=headed)
        return self._with_notes(hit, whole)

    def _with_notes(self, hit: Hit, whole: Statement | None) -> Statement | None:
        if whole is None:
            return None
        inside = range(whole.start, whole.start + len(whole.quote))
        own = (one.notes for one in self.statements(hit) if one.start in inside)
        notes = tuple(dict.fromkeys(itertools.chain.from_iterable(own)))
        return replace(whole, text=BEFORE_NOTE.join((whole.text, *notes)), notes=notes)

    def document(self, hit: Hit) -> Document | None:
        """The document of a hit; None where it is gone, and for results of tools."""
        source = self._read_document(hit)
        return source.document if source else None

    def context(self, hit: Hit, statement: Statement | None = None) -> str:
        """Return the context of a passage: the document's name, its headings and the page head.

        With a ``statement`` of the passage, the headings are those that it stands under.
        """
        source = self._read_document(hit)
        head = source.page_heads.get(hit.chunk.page or 0, "") if source else ""
        headings = self.heading_path(hit, statement) if statement else hit.chunk.heading
        return " ".join(filter(None, (document_words(hit.document), headings, head)))

    def heading_path(self, hit: Hit, statement: Statement) -> str:
        """Return the headings that a statement of a passage stands under, "Chapter > Section"."""
        source = self._read_document(hit)
        if source is None or not source.document.headings:
            return hit.chunk.heading
        return source.document.heading_at(hit.chunk.start + statement.start)

    def edition_date(self, hit: Hit) -> EditionDate:
        """Return the dates of the document of a passage."""
        source = self._read_document(hit)
        return edition_date(hit.document, source.document.text if source else "")

    def are_editions(self, one: Hit, other: Hit) -> bool:
        """Whether two passages are of editions of one document: see ``edition_kind``."""
        return bool(self._edition_kind(one, other))

    def are_one_document(self, one: Hit, other: Hit) -> bool:
        """Whether two passages are of editions of one document by its names, too.

        Contracts of two persons have most of their texts in common, and different words in their
        names: neither supersedes the other.
        """
        kind = self._edition_kind(one, other)
        words = words_of(one.document)
        return kind == "name" or (kind == "text" and words == words_of(other.document) != set())

    def _edition_kind(self, one: Hit, other: Hit) -> str:
        key = frozenset((_source(one), _source(other)))
        if len(key) == 1 or one.document == other.document:
            return ""
        if key not in self._editions:
            documents = [self.document(hit) for hit in (one, other)]
            titles = [title_of(document) if document else "" for document in documents]
            texts = [document.text for document in documents if document]
            self._editions[key] = edition_kind(
                (one.document, other.document),
                (titles[0], titles[1]),
                lambda: jaccard(*map(word_set, texts)) if len(texts) > 1 else 1.0,
                lambda: self._shared_runs(one, other),
            )
        return self._editions[key]

    def are_named_editions(self, one: Hit, other: Hit) -> bool:
        """Whether two passages are of editions of one document by its names.

        Documents that are each named by a day, and differ in almost all they say, are none: the
        minutes of two meetings may be called "council-2024-01-17" and "council-2024-07-24".
        """
        by_name = are_editions(one.document, other.document)  # mostly not: no document is read
        return by_name and self._edition_kind(one, other) == "name"

    def are_of_occasions(self, one: Hit, other: Hit) -> bool:
        """Whether two documents are each named by a day, and differ in almost all they say."""
        return (
            names_day(one.document)
            and names_day(other.document)
            and are_different(*self._shared_runs(one, other))
        )

    def are_alike(self, one: Hit, other: Hit) -> bool:
        """Whether the documents of two passages have most of their words in common."""
        return overlap(*self._shared_runs(one, other)) >= SAME_TEXT

    def _shared_runs(self, one: Hit, other: Hit) -> tuple[int, int, int]:
        runs = self._word_runs(one), self._word_runs(other)
        return len(runs[0] & runs[1]), len(runs[0]), len(runs[1])

    def _word_runs(self, hit: Hit) -> frozenset[int]:
        key = _source(hit)
        if key not in self._runs:
            document = self.document(hit)
            self._runs[key] = word_runs(document.text if document else "")
        return self._runs[key]

    def supersedes(self, one: Hit, other: Hit) -> bool:
        """Whether the document of a passage is in force instead of that of another one."""
        key = _source(one), _source(other)
        if key not in self._superseded:
            dates = self.edition_date(one), self.edition_date(other)
            prevails = dates[0].prevails_over(dates[1], self.day)
            self._superseded[key] = prevails and self.are_one_document(one, other)
        return self._superseded[key]

    def heading(self, hit: Hit, statement: Statement) -> str:
        """Return the heading that a statement of a passage stands under; "" for none."""
        source, start = self._read_document(hit), hit.chunk.start + statement.start
        above = [one for one in source.document.headings if one.start <= start] if source else []
        return above[-1].title if above else ""

    def is_part(self, reference: Reference, hit: Hit, statement: Statement) -> bool:
        """Whether a statement belongs to a numbered part: by its heading, or the line above it."""
        headings = self.heading_path(hit, statement).split(" > ")
        above = hit.chunk.text[: max(statement.start, 0) + len(statement.quote)]
        lines = [match for heading in headings if (match := NUMBERED.match(heading))]
        numbered = list(NUMBERED.finditer(above))
        if reference.within:
            bare = [line for line in numbered if not line["sign"] and not line["kind"]][-1:]
            if all(line["label"].casefold() != reference.within for line in bare):
                return False
            numbered = [line for line in numbered if not reference.divides(line)]
        own = [match for match in lines if reference.names(match)][-1:]
        own = own or [match for match in numbered if reference.names(match)][-1:]
        return any(match["label"].casefold() == reference.label for match in own)

    def repeats(self, hit: Hit, quote: str, heading: str = "") -> bool:
        """Whether the document of a passage has a quote from another one, too.

        Where it has a section with the ``heading`` that the quote stands under, that section counts
        alone: "The company pays 75%" of another insurance is something else.
        """
        document, sections = self.document(hit), list[str]()
        if document is None:
            return False
        wanted = " ".join(heading.split()).casefold()
        for at, one in enumerate(document.headings if wanted else ()):
            if " ".join(one.title.split()).casefold() == wanted:
                below = (h.start for h in document.headings[at + 1 :] if h.level <= one.level)
                sections.append(document.text[one.start : next(below, len(document.text))])
        return any(repeats(text, quote) for text in sections or [document.text])

    def labels(self, hit: Hit) -> str:
        """The columns of the tables that a passage has rows of, each table's once."""
        source = self._read_document(hit)
        if source is None:
            return ""
        tables = tables_within(source.document, (hit.chunk.start, hit.chunk.end))
        named = (BETWEEN.join(filter(None, table.labels)) for table in tables)
        return "; ".join(dict.fromkeys(filter(None, named)))

    def holding(self, hit: Hit, statement: Statement) -> Hit:
        """The hit, its passage widened to hold all of a row that goes on beyond it."""
        chunk, source = hit.chunk, self._read_document(hit)
        start = min(chunk.start + statement.start, chunk.start)
        end = max(chunk.start + statement.start + len(statement.quote), chunk.end)
        if source is None or (start, end) == (chunk.start, chunk.end):
            return hit
        wide = replace(chunk, start=start, end=end, text=source.document.text[start:end])
        return replace(hit, chunk=wide)

    def _read_document(self, hit: Hit) -> _ReadDocument | None:
        if self._sources is None or hit.from_tool:
            return None
        key = _source(hit)
        if key not in self._documents:
            document = self._sources.document(hit)
            self._documents[key] = _read(document) if document else None
        return self._documents[key]


def document_words(name: str) -> str:
    """Return the words of the name of a document: "pump 1.7 manual" for "pump-1.7_manual.pdf"."""
    return _JOINTS.sub(" ", name_stem(name))


def _source(hit: Hit) -> tuple[str, str]:
    """Return the knowledge base of a passage and its document there."""
    return hit.base, hit.chunk.document_id


def _headings(document: Document) -> Iterator[Span]:
    """Return the spans of the lines that contain only a heading."""
    for heading in document.headings:
        stop = document.text.find("\n", heading.start)
        end = stop if stop >= 0 else len(document.text)
        line = document.text[heading.start : end]
        is_bare = line.strip("# \t") == heading.title  # most are: no need to look for marks
        if is_bare or unmarked(line).split() == unmarked(heading.title).split():
            yield heading.start, end


def _ends_paragraph(text: str, at: int) -> bool:
    """Whether nothing more of a paragraph follows a place in a text."""
    rest = text[at : at + _LONGEST_BREAK]
    blank = rest[: len(rest) - len(rest.lstrip())]
    return blank.count("\n") > 1 or len(blank) == len(text) - at


def _tabular(document: Document, hit: Hit) -> Iterator[Span]:
    """Tables of a passage with their captions, which are read as rows."""
    for table in tables_within(document, (hit.chunk.start, hit.chunk.end)):
        if not body(document, table):
            continue
        start = table.start
        if table.caption:
            above = document.text[max(0, start - 2 * len(table.caption) - 8) : start]
            at = _last(above, table.caption)
            start -= len(above) - at if at >= 0 else 0
        yield start, table.end


def _last(text: str, caption: str) -> int:
    """Return the start of a caption at the end of a text, or -1. White space is ignored."""
    words = caption.split()
    at = text.rfind(words[0]) if words else -1
    while at >= 0:
        if text[at:].split() == words:
            return at
        at = text.rfind(words[0], 0, at)
    return -1
