"""Differences of two things: their columns, rows, tables or sentences side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.assessing.editions import are_editions, differ, on_one_matter
from rag.answering.comparing.grids import BEHIND_HEAD, Grid, cell_of, hit_of, label_terms
from rag.answering.comparing.wordings import Pair
from rag.answering.quoting import in_quotation_marks
from rag.answering.reading import PassageReader
from rag.answering.statements.rows import BETWEEN, Row
from rag.answering.statements.sentences import Statement
from rag.answering.vocabulary import Terms, Vocabulary
from rag.protocols import Embedder
from rag.types import Citation, Hit, name_stem

LINES = 10
"""Differences that are shown."""
ALIGNED = 3
"""Tables of two documents with so many rows of the same names describe the same of two things."""
PAIRS = 6
"""Pairs of statements of two editions that are shown."""
TELLING = 4
"""The least number of terms of a statement that says something."""
PASSAGES = 40
"""Passages of a thing whose sentences are compared."""
CANDIDATES = 12
"""Sentences of each side that are embedded."""
NAMING = 2
"""The name of a row is in one of so many first cells."""
LISTED_WORDS = 2
STEM = 3
"""Letters that all words of a term have, however they end: "city" is cut to "citi"."""
_LISTED = re.compile(r"[,;]\s*")
_NUMBER = re.compile(r"(?<=” )\[(\d+)\](?=\n|\Z)")
"""The number of a quote that ends a line."""
_BAR = str.maketrans({"|": "¦", "\n": " ", "“": "‘", "”": "’"})


@dataclass(frozen=True, slots=True)
class Differences:
    """Two things side by side: ``text`` is a table, or a sentence about each."""

    text: str
    citations: tuple[Citation, ...]
    reason: str
    certain: bool


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    one: str
    other: str
    rows: tuple[Row, Row]

    @property
    def differs(self) -> bool:
        return self.one.casefold() != self.other.casefold()


@dataclass(frozen=True, slots=True)
class _Sides:
    """The names of two things as terms: what tells each from the other."""

    one: Terms
    other: Terms

    def fit(self, terms: Terms, *, first: bool) -> float:
        """Weigh how well some terms name one side only: 0 for not at all, up to 2."""
        own, against = (self.one, self.other) if first else (self.other, self.one)
        codes = _codes(own)
        if codes and _codes(against):  # the codes alone tell "Corvane C16" from "C16R"
            own, against = codes, _codes(against)
        shared = terms & own
        if not shared or not codes <= terms or terms & against:
            return 0.0
        return len(shared) / len(own) + len(shared) / len(terms)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """Lines of two tables, or of two rows or columns of one."""

    grids: tuple[Grid, Grid]
    lines: tuple[_Line, ...]
    what: str


def differences(
    question: str,
    two: Pair,
    tables: Sequence[Grid],
    hits: Sequence[Hit],
    embedder: Embedder,
    reader: PassageReader,
    words: Vocabulary,
) -> Differences | None:
    """Show two things side by side; None where nothing is found about both.

    In this order: two columns of one table, the tables of two documents with the same rows, two
    rows of one table, a sentence about each.
    """
    one, other = words.terms(two.one), words.terms(two.other)
    sides = _Sides(one - other, other - one)
    if not sides.one or not sides.other:
        return None
    matter = words.terms(two.matter) if two.matter else frozenset[str]()
    meant = matter.union(*(words.terms(word) for word in two.words))
    aligned = [
        *_columns(tables, sides, words),
        *_documents(tables, sides, words),
        *_rows(tables, sides, words),
    ]
    for table in aligned:
        lines = [line for line in table.lines if line.differs]
        if meant:
            lines = [line for line in table.lines if label_terms(line.name, words) & meant]
        if lines:
            shown = _side_by_side(two, table, lines)
            if not are_editions(table.grids[0].document.name, table.grids[1].document.name):
                return shown
            pairs = _statement_pairs(sides, meant, hits, reader, words, rows=False)
            return _joined(shown, pairs) if pairs else shown
    pairs = _statement_pairs(sides, meant, hits, reader, words)
    if pairs:
        return pairs
    head = _shared_head(two, words) - one
    if head and sides.other - head:
        short = _Sides(sides.one, sides.other - head)
        sentences = _sentences(question, short, meant or head, hits, embedder, reader, words)
        if sentences:
            return sentences
    return _sentences(question, sides, meant, hits, embedder, reader, words)


def _shared_head(two: Pair, words: Vocabulary) -> Terms:
    """The noun of both things where it stands once: "primary and secondary caregiver leave"."""
    return words.terms(" ".join(two.other.split()[len(two.one.split()) :]))


def _columns(tables: Sequence[Grid], sides: _Sides, words: Vocabulary) -> Iterator[_Aligned]:
    for grid in tables:
        labels = [label_terms(grid.label(column), words) for column in range(grid.width)]
        at = [_best([sides.fit(label, first=first) for label in labels]) for first in (True, False)]
        if at[0] is None or at[1] is None or at[0] == at[1]:
            continue
        lines = tuple(
            _Line(row.name, cell_of(row, at[0]), cell_of(row, at[1]), (row, row))
            for row in grid.rows
            if cell_of(row, at[0]) or cell_of(row, at[1])
        )
        what = f"the columns “{grid.label(at[0])}” and “{grid.label(at[1])}” in {{}}"
        yield _Aligned((grid, grid), lines, what)


def _rows(tables: Sequence[Grid], sides: _Sides, words: Vocabulary) -> Iterator[_Aligned]:
    for grid in tables:
        text = grid.document.text[grid.table.start : grid.table.end].casefold()
        if not all(any(term[:STEM] in text for term in side) for side in (sides.one, sides.other)):
            continue
        at = [
            _best([_row_fit(row, sides, first=first, words=words) for row in grid.rows])
            for first in (True, False)
        ]
        if at[0] is None or at[1] is None or at[0] == at[1]:
            continue
        one, other = grid.rows[at[0]], grid.rows[at[1]]
        lines = tuple(
            _Line(
                grid.label(column) or f"column {column + 1}",
                *(cell_of(one, column), cell_of(other, column), (one, other)),
            )
            for column in range(grid.width)
            if (cell_of(one, column) or cell_of(other, column))
            and (cell_of(one, column), cell_of(other, column)) != (one.name, other.name)
        )
        yield _Aligned((grid, grid), lines, "two rows in {}")


def _row_fit(row: Row, sides: _Sides, *, first: bool, words: Vocabulary) -> float:
    """Weigh how well the name of a row fits a side: a first cell, up to "with" or "for"."""
    heads = (BEHIND_HEAD.split(cell)[0] for cell in row.cells[:NAMING] if not _is_list(cell))
    return max((sides.fit(words.terms(head), first=first) for head in heads if head), default=0.0)


def _is_list(cell: str) -> bool:
    """Whether a cell lists several things: "C16, E60, T12"."""
    parts = _LISTED.split(cell)
    return len(parts) > 1 and all(len(part.split()) <= LISTED_WORDS for part in parts)


def _codes(terms: Terms) -> Terms:
    return frozenset(term for term in terms if any(char.isdigit() for char in term))


def _documents(tables: Sequence[Grid], sides: _Sides, words: Vocabulary) -> Iterator[_Aligned]:
    """Tables of a document about the one thing, and of a document about the other.

    Those with the most rows that differ come first.
    """
    ones = [grid for grid in tables if _is_of(grid, sides, words, first=True)]
    others = [grid for grid in tables if _is_of(grid, sides, words, first=False)]
    aligned = list[_Aligned]()
    for one in ones:
        for other in others:
            lines = tuple(_common(one, other))
            if len(lines) >= ALIGNED and one.document.id != other.document.id:
                what = f"{len(lines)} rows of the same names in {{}}"
                aligned.append(_Aligned((one, other), lines, what))
    yield from sorted(
        aligned,
        key=lambda pair: (
            pair.grids[0].width > 2,
            -sum(line.differs for line in pair.lines),
        ),
    )


def _is_of(grid: Grid, sides: _Sides, words: Vocabulary, *, first: bool) -> bool:
    name = name_stem(grid.document.name)
    return sides.fit(label_terms(name.replace("-", " "), words), first=first) > 0


def _common(one: Grid, other: Grid) -> Iterator[_Line]:
    if one.label(0).split()[:1] != other.label(0).split()[:1]:
        return
    by_name = {row.name.casefold(): row for row in other.rows}
    for row in one.rows:
        counterpart = by_name.get(row.name.casefold())
        if counterpart is not None:
            yield _Line(row.name, _rest(row), _rest(counterpart), (row, counterpart))


def _rest(row: Row) -> str:
    return BETWEEN.join(filter(None, row.cells[1:]))


def _side_by_side(two: Pair, table: _Aligned, lines: Sequence[_Line]) -> Differences:
    shown = lines[:LINES]
    grids = table.grids
    sides = [[line.rows[side] for line in shown] for side in (0, 1)]
    shared = grids[0] is grids[1] and {row.start for row in sides[0]} == {
        row.start for row in sides[1]
    }
    numbers = (1, 1) if shared else (1, 2)
    citations = tuple(
        _citation(numbers[side], grids[side], sides[side]) for side in (0, 1)[: len(set(numbers))]
    )
    header = f"| | {_flat(two.one)} | {_flat(two.other)} |\n|---|---|---|"
    body = "\n".join(
        f"| {_flat(line.name)} | {_quoted(line.one, numbers[0])} | "
        f"{_quoted(line.other, numbers[1])} |"
        for line in shown
    )
    names = " and ".join(dict.fromkeys(grid.document.name for grid in grids))
    differing = sum(line.differs for line in table.lines)
    reason = (
        f"Compared {table.what.format(names)}: {differing} of {len(table.lines)} values differ"
        + (f", the first {len(shown)} are shown." if len(lines) > len(shown) else ".")
    )
    return Differences(f"{header}\n{body}", citations, reason, certain=True)


def _citation(n: int, grid: Grid, rows: Sequence[Row]) -> Citation:
    start, end = min(row.start for row in rows), max(row.end for row in rows)
    return Citation(n, hit_of(grid, rows), grid.document.text[start:end], checked=True)


def _quoted(cell: str, n: int) -> str:
    return f"“{_flat(cell)}” [{n}]" if cell else "—"


def _flat(text: str) -> str:
    return " ".join(text.translate(_BAR).split())


def _best(fits: Sequence[float]) -> int | None:
    """The place of the greatest fit; None where nothing fits."""
    best = max(fits, default=0.0)
    return fits.index(best) if best > 0 else None


def _joined(one: Differences, other: Differences) -> Differences:
    """Both, the citations of the other numbered on: a table changes, and so do sentences."""
    before = len(one.citations)
    moved = {citation.n: citation.n + before for citation in other.citations}
    text = _NUMBER.sub(lambda match: f"[{moved.get(int(match[1]), match[1])}]", other.text)
    citations = tuple(replace(citation, n=moved[citation.n]) for citation in other.citations)
    reason = f"{one.reason} {other.reason}"
    return Differences(f"{one.text}\n\n{text}", one.citations + citations, reason, one.certain)


def _statement_pairs(
    sides: _Sides,
    matter: Terms,
    hits: Sequence[Hit],
    reader: PassageReader,
    words: Vocabulary,
    *,
    rows: bool = True,
) -> Differences | None:
    """Pairs of statements of two editions on the same matter, with other figures.

    ``rows`` is whether rows of tables are statements, too.
    """
    statements = [
        [
            (hit, statement, words.terms(statement.text))
            for hit in hits[:PASSAGES]
            if sides.fit(label_terms(hit.document.replace("-", " "), words), first=first) > 0
            for statement in reader.statements(hit)
            if rows or statement.kind != "row"
        ]
        for first in (True, False)
    ]
    alike = [
        (len(one[2] & other[2]) / len(one[2] | other[2]), one, other)
        for one in statements[0]
        for other in statements[1]
        if are_editions(one[0].document, other[0].document)
        and (not matter or (one[2] | other[2]) & matter)
        and on_one_matter(one[2], other[2])
        and differ(one[1].text, other[1].text)
        and min(len(one[2]), len(other[2])) >= TELLING
    ]
    chosen, used = list[tuple[Hit, Statement]](), set[str]()
    for _, one, other in sorted(alike, key=lambda pair: -pair[0]):
        if not {one[1].quote, other[1].quote} & used and len(chosen) < 2 * PAIRS:
            used |= {one[1].quote, other[1].quote}
            chosen += [one[:2], other[:2]]
    if not chosen:
        return None
    names = " and ".join(dict.fromkeys(hit.document for hit, _ in chosen))
    reason = f"Compared statements on the same matter in {names}: these have other figures."
    return Differences(*_quotes(chosen, reader), reason, certain=True)


def _quotes(
    chosen: Sequence[tuple[Hit, Statement]], reader: PassageReader
) -> tuple[str, tuple[Citation, ...]]:
    text = "\n\n".join(
        f"{in_quotation_marks(statement.text)} [{n}]"
        for n, (_, statement) in enumerate(chosen, start=1)
    )
    citations = tuple(
        Citation(n, reader.holding(hit, statement), statement.quote, checked=True)
        for n, (hit, statement) in enumerate(chosen, start=1)
    )
    return text, citations


def _sentences(
    question: str,
    sides: _Sides,
    matter: Terms,
    hits: Sequence[Hit],
    embedder: Embedder,
    reader: PassageReader,
    words: Vocabulary,
) -> Differences | None:
    """The sentence about each side that comes nearest to the question."""
    terms = words.terms(question)
    query = embedder.embed([question], "query")[0]
    chosen = list[tuple[Hit, Statement]]()
    for first in (True, False):
        statements = [
            (hit, statement)
            for hit in hits[:PASSAGES]
            for statement in reader.statements(hit)
            if _is_about(hit, statement, sides, matter, reader, words, first=first)
        ]
        if not statements:
            return None
        statements.sort(key=lambda pair: -len(words.terms(pair[1].text) & terms))
        statements = statements[:CANDIDATES]
        vectors = embedder.embed([statement.text for _, statement in statements], "document")
        chosen.append(statements[int((vectors @ query).argmax())])
    reason = "The nearest sentence about each side."
    return Differences(*_quotes(chosen, reader), reason, certain=False)


def _is_about(
    hit: Hit,
    statement: Statement,
    sides: _Sides,
    matter: Terms,
    reader: PassageReader,
    words: Vocabulary,
    *,
    first: bool,
) -> bool:
    terms = words.terms(statement.text)
    if len(terms) < TELLING:
        return False
    if matter and not terms & matter:
        return False
    return sides.fit(terms, first=first) > 0 or (
        sides.fit(words.terms(reader.context(hit)), first=first) > 0
        and not terms & (sides.other if first else sides.one)
    )
