"""Plain text, code, Markdown, and CSV and TSV, whose whole file is a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from rag.readers.characters import (
    SAMPLE,
    decode,
    evident_encoding,
    is_binary,
    lines_of,
    normalise,
    normalised_parts,
)
from rag.readers.content import Composer, Content, Source
from rag.readers.markdown import (
    code_fence,
    headings,
    looks_like_markdown,
    markdown_content,
    split_front_matter,
    with_addresses,
    with_flat_containers,
    with_html_lists,
    with_pipe_tables,
    without_comments,
    without_struck,
)
from rag.readers.tables import grid
from rag.types import Omission


def read_plain(source: Source) -> Content:
    """The text as it is. Peak memory is about twice the decoded text."""
    text, metadata = load(source)
    return Content(text, metadata=metadata)


def read_code(source: Source) -> Content:
    """The text as one block of code of Markdown, whose lines are no headings and no prose."""
    text, metadata = load(source)
    fence, code = code_fence(text), text.strip("\n")
    if not code.strip():
        return Content("")
    lines = {"code_lines": code.count("\n") + 1}
    return Content(f"{fence}\n{code}\n{fence}", metadata=metadata, read=lines)


def read_markdown(source: Source) -> Content:
    """The Markdown source, with the places of its headings; tables are rows of cells."""
    text, metadata = load(source)
    return markdown(text, metadata)


def read_pasted(source: Source) -> Content:
    """Text that came without a file, and as ``media_type`` in the metadata what it looks like."""
    text = normalise(str(source.about["text"]))
    if looks_like_markdown(text):
        return markdown(text, {"media_type": "text/markdown"})
    return Content(text, metadata={"media_type": "text/plain"})


def markdown(text: str, metadata: dict[str, str]) -> Content:
    """Markdown as a document, without front matter, but for its title, and what no reader sees."""
    title, text = split_front_matter(text)
    left_out = list[Omission]()
    text = with_flat_containers(text)
    for kind, leave_out in (("comment", without_comments), ("struck_passage", without_struck)):
        before, (text, places) = text, leave_out(text)
        if places:
            above = [one.title for one in headings(before) if one.start <= places[0]]
            left_out.append(Omission(kind, len(places), "".join(above[-1:])))
    shown = with_pipe_tables(with_html_lists(with_addresses(text)))
    content = markdown_content(shown, {"title": title} | metadata)
    return replace(content, left_out=tuple(left_out)) if left_out else content


def load(source: Source) -> tuple[str, dict[str, str]]:
    """Normalised text of a file, and its encoding as metadata, with a note if it is guessed.

    The encoding that ``source.about`` has is taken as it is.
    """
    source.tick(0, 1)
    chosen = source.about.get("encoding")
    with source.path.open("rb") as file:
        sample = file.read(SAMPLE)
    text = ""
    if not (chosen or evident_encoding(sample) or is_binary(sample)):
        # Nearly every file is UTF-8; neither its bytes nor its text are held twice.
        with (
            suppress(UnicodeDecodeError),
            source.path.open("r", encoding="utf-8", newline="") as lines,
        ):
            text = "".join(normalised_parts(iter(lambda: lines.read(_PIECE), "")))
    metadata = {"encoding": "utf-8"}
    if not text:
        text, metadata = decode(source.path.read_bytes(), chosen=chosen)
        text = normalise(text)
    source.tick(1, 1)
    return text, metadata


_PIECE = 1 << 20  # characters
_STATED = re.compile(r"[\"']?sep=(.)[\"']?[ \t]*(?:\n|\Z)")
_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_LONGEST_CELL = (1 << 31) - 1  # the most that fits everywhere
_TICK_EVERY = 5000


def read_csv(source: Source) -> Content:
    """Separated as a first line ``sep=;`` says, or by what cuts the rows most evenly."""
    text, metadata = load(source)
    stated = _STATED.match(text)
    delimiter = stated[1] if stated else sniff_delimiter(text)
    text = text[stated.end() :] if stated else text  # a line for Excel is no row
    return _read(text, delimiter, metadata, source)


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
