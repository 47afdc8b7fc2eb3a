"""Superlatives over tables: the rows with the greatest or least value of a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.comparing.grids import BEHIND_HEAD, Grid, cell_of, label_terms
from rag.answering.comparing.quantities import Quantity, column_quantities
from rag.answering.comparing.wordings import Superlative
from rag.answering.statements.rows import Row
from rag.answering.vocabulary import Terms, Vocabulary

SAMPLE = 8
"""Cells that tell whether a column may have quantities."""
READABLE = 0.6
"""The least share of the filled cells of a column that are quantities."""
LABEL_WEIGHT, MEASURE_WEIGHT, DIMENSION_WEIGHT = 2.0, 1.0, 0.5
NAME_COLUMN = 0.1
"""Subtracted for the first column, which names the rows: "which absence has the highest rate"."""
_GENERIC = """
    which what who where item product article thing entry row one kind type model device name list
    table document price part number code have has cost take need offer sell last require come get
    be there all any our we you company longest value total figure
"""


@dataclass(frozen=True, slots=True)
class _Sought:
    """A superlative with the terms of its question: ``wanted`` without those of the superlative,
    ``meant`` are those of labels that it may be about, ``generic`` need not stand anywhere."""

    superlative: Superlative
    wanted: Terms
    meant: Terms
    generic: Terms
    words: Vocabulary

    @classmethod
    def of(cls, question: str, superlative: Superlative, words: Vocabulary) -> _Sought:
        """Read a question."""
        own = words.terms(" ".join(superlative.words))
        meant = (
            words.terms(" ".join(sorted(superlative.measure.words)))
            if superlative.measure.words
            else own
        )
        return cls(
            superlative, words.terms(question) - own, meant - own, words.terms(_GENERIC), words
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A row with the quantity that is compared, and the ``cell`` that it was read from."""

    grid: Grid
    row: Row
    quantity: Quantity
    cell: str
    owner: str = ""
    """The column that has the value, where a row has those of several things."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The entries of one column, or of one row across several things.

    ``unread`` counts the filled cells that are no quantity.
    """

    label: str
    entries: tuple[Entry, ...]
    unread: int
    score: float
    across: bool = False

    @property
    def documents(self) -> list[str]:
        """The names of the documents, each once."""
        return list(dict.fromkeys(entry.grid.document.name for entry in self.entries))

    def best(self, superlative: Superlative) -> list[Entry]:
        """The entries of the wanted places, with all that are equal to the last of them."""

        def value(entry: Entry) -> float:
            quantity = entry.quantity
            return -(quantity.high if superlative.sign > 0 else -quantity.low)

        ordered = sorted(self.entries, key=value)
        values = [value(entry) for entry in ordered]
        distinct = sorted(set(values))
        if superlative.place > 1:
            wanted = distinct[superlative.place - 1 : superlative.place]
            return [entry for entry, rank in zip(ordered, values, strict=True) if rank in wanted]
        last = values[min(superlative.count, len(values)) - 1]
        return [entry for entry, rank in zip(ordered, values, strict=True) if rank <= last]


def comparisons(
    question: str, superlative: Superlative, tables: Sequence[Grid], words: Vocabulary
) -> list[Comparison]:
    """The columns that a superlative may be about, the likeliest first.

    A column fits by its label, the unit of its values, and because all other words of the question
    stand in the rows or over the table: a question with a word that is nowhere there is not
    answered by it. Tables of several documents with the same column are compared together.
    """
    sought = _Sought.of(question, superlative, words)
    fitting = list[Comparison]()
    for grid in tables:
        fitting += _columns(grid, sought)
        fitting += _rows(grid, sought)
    best = max((comparison.score for comparison in fitting), default=0.0)
    return _together([comparison for comparison in fitting if comparison.score == best])


def _columns(grid: Grid, sought: _Sought) -> Iterator[Comparison]:
    labels = [label_terms(grid.label(column), sought.words) for column in range(grid.width)]
    for column in range(grid.width):
        sample = [cell_of(row, column) for row in grid.rows[:SAMPLE]]
        if not _may_fit(labels[column], sample, sought):
            continue
        cells = [cell_of(row, column) for row in grid.rows]
        quantities = column_quantities(cells, grid.label(column))
        score = _score(labels[column], quantities, sought)
        if score <= 0:
            continue
        score -= NAME_COLUMN if column == 0 else 0.0
        resolved = labels[column] | frozenset[str]().union(*labels)
        needed = _open(sought, grid, resolved)
        about = {row.start for row in _rows_about(grid, needed, sought.words)}
        pairs = [
            (row, quantity, cell)
            for row, quantity, cell in zip(grid.rows, quantities, cells, strict=True)
            if row.start in about
        ]
        filled = [cell for _, _, cell in pairs if any(char.isalnum() for char in cell)]
        entries = tuple(
            Entry(grid, row, quantity, cell) for row, quantity, cell in pairs if quantity
        )
        if len(entries) > 1 and len(entries) >= READABLE * len(filled):
            name = grid.label(column) or f"column {column + 1}"
            yield Comparison(name, entries, len(filled) - len(entries), score)


def _rows(grid: Grid, sought: _Sought) -> Iterator[Comparison]:
    """A row whose columns are the things that are compared: "Weight" of three models."""
    labels = [label_terms(grid.label(column), sought.words) for column in range(grid.width)]
    if grid.width < 2 or not grid.label(1):
        return
    for row in grid.rows:
        cells = [cell_of(row, column) for column in range(1, grid.width)]
        name = label_terms(cell_of(row, 0), sought.words)
        if not _may_fit(name, cells, sought):
            continue
        quantities = column_quantities(cells, cell_of(row, 0))
        score = _score(name, quantities, sought)
        if score <= 0 or _open(sought, grid, name.union(*labels)):
            continue
        entries = tuple(
            Entry(grid, row, quantity, cell, grid.label(column))
            for column, (quantity, cell) in enumerate(zip(quantities, cells, strict=True), start=1)
            if quantity
        )
        filled = sum(any(char.isalnum() for char in cell) for cell in cells)
        if entries and len(entries) >= READABLE * filled:
            yield Comparison(row.name, entries, filled - len(entries), score, across=True)


def _may_fit(label: Terms, cells: Sequence[str], sought: _Sought) -> bool:
    """Whether it is worth reading all cells: the label or the first cells may fit."""
    figures = sum(any(char.isdigit() for char in cell) for cell in cells)
    filled = sum(any(char.isalnum() for char in cell) for cell in cells)
    if figures < READABLE * filled:
        return False
    return bool(label & (sought.wanted | sought.meant) or sought.superlative.measure.dimensions)


def _score(label: Terms, quantities: Sequence[Quantity | None], sought: _Sought) -> float:
    """Weigh how well a column fits: words of the question, the measure, units."""
    dimension = next((quantity.dimension for quantity in quantities if quantity is not None), None)
    if dimension is None:
        return 0.0
    named = label & sought.wanted
    measure = sought.superlative.measure
    if measure.named:
        return LABEL_WEIGHT * len(named) * len(named) / len(label) if named else 0.0
    meant = sought.meant & label
    if measure.free and label and label <= sought.wanted:
        return LABEL_WEIGHT * len(named)
    fits = dimension in measure.dimensions
    if measure.dimensions and dimension and not fits and not meant:
        return 0.0
    if not (meant or fits):
        return 0.0
    return (
        LABEL_WEIGHT * len(named)
        + (MEASURE_WEIGHT if meant else 0.0)
        + (DIMENSION_WEIGHT if fits else 0.0)
    )


def _open(sought: _Sought, grid: Grid, resolved: Terms) -> Terms:
    """The words of a question that a row has to have: those that stand nowhere else."""
    return sought.wanted - resolved - grid.about - sought.generic - sought.meant


def _rows_about(grid: Grid, needed: Terms, words: Vocabulary) -> list[Row]:
    """The rows that are about some words: named by them, or else those that have them at all."""
    if not needed:
        return list(grid.rows)
    rows = [row for row in grid.rows if needed <= words.terms(" ".join(row.cells))]
    exact = [row for row in rows if any(_is_named(cell, needed, words) for cell in row.cells)]
    return exact or [row for row in rows if _heads(row, needed, words)] or rows


def _is_named(cell: str, needed: Terms, words: Vocabulary) -> bool:
    return bool(cell) and words.terms(cell) == needed


def _heads(row: Row, needed: Terms, words: Vocabulary) -> bool:
    """Whether a cell of a row is about the very thing: "C16 centrifuge with rotor", no rotor."""
    for cell in row.cells:
        words_of_head = BEHIND_HEAD.split(cell)[0].split()
        head = [word for word in words_of_head if not any(char.isdigit() for char in word)]
        if head and words.terms(head[-1]) & needed and needed <= words.terms(" ".join(head)):
            return True
    return False


def _together(fitting: Sequence[Comparison]) -> list[Comparison]:
    """The same column of several documents as one; rows that are there twice count once."""
    groups: dict[tuple[str, str, bool], list[Comparison]] = {}
    for comparison in fitting:
        dimension = comparison.entries[0].quantity.dimension
        key = comparison.label.casefold(), dimension, comparison.across
        groups.setdefault(key, []).append(comparison)
    joined = list[Comparison]()
    for group in groups.values():
        distinct = {
            (entry.row.cells, entry.owner): entry
            for comparison in group[::-1]
            for entry in comparison.entries
        }
        entries = tuple(reversed(distinct.values()))
        first = group[0]
        unread = sum(comparison.unread for comparison in group)
        joined.append(Comparison(first.label, entries, unread, first.score, first.across))
    return [comparison for comparison in joined if len(comparison.entries) > 1]
