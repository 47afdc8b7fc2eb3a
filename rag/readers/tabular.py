"""CSV and TSV: the whole file is a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from rag.readers.characters import lines_of
from rag.readers.content import Composer, Content, Source
from rag.readers.tables import grid
from rag.readers.text import load

_STATED = re.compile(r"[\"']?sep=(.)[\"']?[ \t]*(?:\n|\Z)")
_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_LONGEST_CELL = (1 << 31) - 1  # the most that fits everywhere
_TICK_EVERY = 5000


def read_csv(source: Source) -> Content:
    """Separated as a first line ``sep=;`` says, or by what cuts the rows most evenly."""
    text, metadata = load(source)
    stated = _STATED.match(text)
    if stated:  # a line for Excel, and no row
        return _read(text[stated.end() :], stated.group(1), metadata, source)
    return _read(text, sniff_delimiter(text), metadata, source)


def read_tsv(source: Source) -> Content:
    """Tab separated."""
    text, metadata = load(source)
    return _read(text, "\t", metadata, source)


def sniff_delimiter(text: str) -> str:
    """The delimiter that gives most rows of the sample the same width above 1; else a comma."""

    def agreement(delimiter: str) -> tuple[int, int]:
        rows = (row for row in _parse(text[:100_000], delimiter) if row)
        widths = [len(row) for _, row in zip(range(_SAMPLE_ROWS), rows, strict=False)]
        common = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
        return (widths.count(common), common) if common > 1 else (0, 0)

    return max(_DELIMITERS, key=agreement)


def _parse(text: str, delimiter: str) -> Iterator[list[str]]:
    # A stray quote may swallow the rest of the file into one cell: no limit on its size.
    csv.field_size_limit(_LONGEST_CELL)
    return csv.reader(lines_of(text), delimiter=delimiter, skipinitialspace=True)


def _read(text: str, delimiter: str, metadata: dict[str, str], source: Source) -> Content:
    composer = Composer()
    composer.table(grid(_watched(_parse(text, delimiter), source)))
    return composer.content(**metadata)


def _watched(rows: Iterator[list[str]], source: Source) -> Iterator[list[str]]:
    for index, row in enumerate(rows):
        if index % _TICK_EVERY == 0:
            source.tick(0, 1)
        yield row
    source.tick(1, 1)
