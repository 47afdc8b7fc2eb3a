"""Text as a stream of atoms: the smallest parts that a chunker keeps whole, with their sizes.

A document may be larger than memory allows to tokenise at once, so text is read in blocks that end
where a word ends. Every block is tokenised once; sizes of passages are differences of sums. Lines
of headings are known, and so are headings that no text follows.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.chunking.characters import (
    BLANK,
    HEADING,
    Kinds,
    Positions,
    boundary_bits,
    grapheme_starts,
    kinds_of,
    word_starts,
)
from rag.protocols import Tokenizer
from rag.types import Heading, Table

_UNDERLINE = re.compile(r"\n[ \t]*(?:=+|-+)[ \t]*(?=\n|$)")


def heading_end(text: str, heading: Heading) -> int:
    """The end of a heading's last line, with the rule that underlines it in Markdown."""
    end = text.find("\n", heading.start + max(0, len(heading.title) - 1))
    if end < 0:
        return len(text)
    underline = _UNDERLINE.match(text, end)
    return underline.end() if underline else end


def closing_headings(text: str, headings: Sequence[Heading], start: int, end: int) -> int:
    """The start of the headings at the end of ``text[start:end]`` that no text follows.

    ``headings`` are sorted by start. Returns ``end`` if the stretch ends with text.
    """
    closing = end
    first = bisect.bisect_left(headings, start, key=_start)
    last = bisect.bisect_left(headings, end, key=_start)
    for heading in reversed(headings[first:last]):
        if _VISIBLE.search(text, heading_end(text, heading), closing):
            break
        closing = heading.start
    return closing


def _start(heading: Heading) -> int:
    return heading.start


Atoms = npt.NDArray[np.int64]
"""Shape (5, atoms). Rows: start and end offset in the document (trimmed of white space), size of
all text before the atom, size of all text up to its end, and the bits of the boundary before it.
The size of atoms i to j together is ``row 3 [j] - row 2 [i]``."""

BLOCK = 32_768
"""Characters read at once."""
CHARACTERS_PER_TOKEN = 32
"""A token weighs at least one per so many characters: tokenizers give up on long unbroken runs,
and call a megabyte of base64 one unknown token."""

_VISIBLE = re.compile(r"\S")
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit of sizes: tokens of ``tokenizer``, or characters if it is None."""

    size: int
    tokenizer: Tokenizer | None
    fine: bool
    """Atoms are tokens (or characters) instead of words."""

    def tokens(self, text: str) -> Positions:
        """Character spans of the tokens, shape (tokens, 2); none when counting characters."""
        if self.tokenizer is None:
            return np.empty((0, 2), np.int64)
        return self.tokenizer.offsets(text)

    def weights(self, starts: Positions, ends: Positions, tokens: Positions) -> Positions:
        """Size of every atom of a block, from the tokens of the block."""
        lengths: Positions = ends - starts
        if self.tokenizer is None:
            return lengths
        # By its last character: many tokenizers count the space before a word as part of it.
        token_ends = np.maximum.accumulate(tokens[:, 1])
        before = np.searchsorted(token_ends, starts, side="right")
        counts = np.diff(before, append=len(tokens))
        return np.maximum(counts, -(-lengths // CHARACTERS_PER_TOKEN)).astype(np.int64)

    def weight(self, text: str) -> int:
        """Size of one stretch of text, measured on its own."""
        if self.tokenizer is None:
            return len(text)
        return max(self.tokenizer.count(text), -(-len(text) // CHARACTERS_PER_TOKEN))


@dataclass(frozen=True, slots=True)
class _Block:
    """A stretch of text that ends where a word ends (``whole``), or inside an endless word.

    ``rows`` are start and end of each row of a table in it.
    """

    text: str
    kinds: Kinds
    words: Positions
    bits: Positions
    rows: Positions
    whole: bool
    next_bits: int


def read_atoms(
    text: str,
    start: int,
    end: int,
    scale: Scale,
    tables: Sequence[Table] = (),
    headings: Sequence[Heading] = (),
) -> Iterator[Atoms]:
    """The atoms of ``text[start:end]`` in order, block by block; every block has at least one.

    A row of a table is an atom where it is within the limit.
    """
    last_end, measured, bits = start, 0, 0
    closing = closing_headings(text, headings, start, end)
    while match := _VISIBLE.search(text, start, end):
        start = match.start()
        block = _read_block(text, start, end, bits, tables, headings, closing)
        rows = _measure(block, scale)
        rows[:2] += start
        atoms = _summed(rows, last_end, measured, scale)
        yield atoms
        last_end, measured = int(atoms[1, -1]), int(atoms[3, -1])
        start, bits = start + len(block.text), block.next_bits


def _read_block(
    text: str,
    start: int,
    end: int,
    first_bits: int,
    tables: Sequence[Table],
    headings: Sequence[Heading],
    closing: int,
) -> _Block:
    piece = text[start : min(start + BLOCK, end)]
    kinds = kinds_of(piece)
    words = word_starts(kinds)
    bits = boundary_bits(piece, kinds, words)
    bits[0] = first_bits
    bits[_bound_to_headings(text, piece, start, words, headings)] |= HEADING
    if closing > start:  # headings that no text follows go with what precedes them
        first = np.searchsorted(words, closing - start)
        bits[first : first + 1] |= HEADING
    rows = _table_rows(piece, start, tables)
    if start + len(piece) == end:
        return _Block(piece, kinds, words, bits, rows, True, 0)
    if len(words) > 1:  # the last word may go on behind the block: it is read again
        last = len(words) - 1
        if len(rows) and rows[-1, 0] <= words[last] < rows[-1, 1]:  # nor may its row be cut
            last = int(np.searchsorted(words, rows[-1, 0])) or last
        stop, after = int(words[last]), int(bits[last])
        return _Block(piece[:stop], kinds[:stop], words[:last], bits[:last], rows, True, after)
    stop = int(grapheme_starts(kinds)[-1])
    stop = stop if stop > len(piece) // 2 else len(piece)
    return _Block(piece[:stop], kinds[:stop], words, bits, rows, False, 0)


def _bound_to_headings(
    text: str, piece: str, start: int, words: Positions, headings: Sequence[Heading]
) -> Positions:
    """Return the indexes of the words of headings but their first, and of the first ones after."""
    first = bisect.bisect_left(headings, start, key=lambda heading: heading.start)
    bound = list[Positions]()
    for heading in headings[first:]:
        if heading.start - start >= len(piece):
            break
        edges = heading.start - start + 1, heading_end(text, heading) - start
        low, after = np.searchsorted(words, edges)
        bound.append(np.arange(low, min(after + 1, len(words))))
    return np.concatenate(bound) if bound else np.empty(0, np.int64)


def _table_rows(piece: str, start: int, tables: Sequence[Table]) -> Positions:
    """Start and end of each row of a table within a piece of the text, shape (rows, 2)."""
    spans = list[tuple[int, int]]()
    first = bisect.bisect_right(tables, start, key=lambda table: table.end)
    for table in tables[first:]:
        if table.start >= start + len(piece):
            break
        low, high = max(table.start - start, 0), min(table.end - start, len(piece))
        for row in _LINE.finditer(piece, low, high):
            spans.append(row.span())
    return np.array(spans, np.int64).reshape(-1, 2)


def _measure(block: _Block, scale: Scale) -> Atoms:
    """Rows start, end (within the block), weight and boundary bits of the block's atoms."""
    graphemes = grapheme_starts(block.kinds)
    tokens = scale.tokens(block.text)
    bounds, bits = block.words, block.bits
    if scale.fine:
        bounds = graphemes if scale.tokenizer is None else _token_starts(tokens, graphemes)
        bits = np.zeros(len(bounds), np.int64)
    visible = np.flatnonzero(block.kinds & BLANK == 0)
    first = np.searchsorted(visible, bounds)
    after = np.append(first[1:], len(visible))
    nonempty = after > first
    starts, ends = visible[first[nonempty]], visible[after[nonempty] - 1] + 1
    rows = np.stack([starts, ends, scale.weights(starts, ends, tokens), bits[nonempty]])
    rows = _rows_whole(rows, block, tokens, scale)
    parts, done = [], 0
    for index in np.flatnonzero(rows[2] > scale.size).tolist():
        parts += [
            rows[:, done:index],
            _pieces(block.text, rows[:, index].tolist(), graphemes, scale),
        ]
        done = index + 1
    rows = np.concatenate([*parts, rows[:, done:]], axis=1)
    if not block.whole and scale.tokenizer:
        rows[2, -1] = max(rows[2, -1], scale.size)
    return rows


def _rows_whole(atoms: Atoms, block: _Block, tokens: Positions, scale: Scale) -> Atoms:
    """The atoms with those of a table's row joined to one, where the row is within the limit."""
    if not len(block.rows):
        return atoms
    row = np.searchsorted(block.rows[:, 0], atoms[0], side="right") - 1
    inside = (row >= 0) & (atoms[0] < block.rows[row, 1])
    joined = np.concatenate([[False], inside[1:] & inside[:-1] & (row[1:] == row[:-1])])
    firsts = np.flatnonzero(~joined)
    lasts = np.append(firsts[1:], len(joined)) - 1
    weights = scale.weights(atoms[0, firsts], atoms[1, lasts], tokens)
    small = weights <= scale.size
    merged = atoms.copy()
    merged[1, firsts[small]], merged[2, firsts[small]] = atoms[1, lasts[small]], weights[small]
    whole: Atoms = merged[:, ~joined | np.repeat(~small, lasts - firsts + 1)]
    return whole


def _token_starts(tokens: Positions, graphemes: Positions) -> Positions:
    starts = np.intersect1d(tokens[:, 0], graphemes)
    return np.union1d(starts, np.zeros(1, np.int64))


def _pieces(text: str, row: list[int], graphemes: Positions, scale: Scale) -> Atoms:
    """An atom larger than the limit, as pieces within it.

    Token counts do not add up inside a word. Every piece is therefore measured on its own, and
    all but the last weigh as much as a full passage, so that nothing is ever joined to them.
    """
    start, end, weight, bits = row
    step = max(1, scale.size * (end - start) // weight)
    columns = []
    while start < end:
        stop = _fitting(text, start, min(start + step, end), graphemes, scale)
        piece = text[start:stop].strip()  # an unbroken run may hold form feeds and the like
        begin = text.index(piece, start)
        full = scale.tokenizer is not None and stop < end
        weight = scale.size if full else scale.weight(piece)
        if piece:
            columns.append((begin, begin + len(piece), weight, bits))
        start, bits = stop, 0
    return np.array(columns, np.int64).T


def _fitting(text: str, start: int, stop: int, graphemes: Positions, scale: Scale) -> int:
    """The end of a piece that begins at ``start``, ends by ``stop`` and is within the limit.

    Only a single character that alone weighs more than the limit exceeds it.
    """
    length = stop - start
    while True:
        stop = start + length
        if stop < len(text):
            safe = int(graphemes[np.searchsorted(graphemes, stop, side="right") - 1])
            stop = safe if safe > start else stop
        if stop == start + 1 or scale.weight(text[start:stop]) <= scale.size:
            return stop
        length = max(1, (stop - start) * 3 // 4)


def _summed(rows: Atoms, last_end: int, measured: int, scale: Scale) -> Atoms:
    """Rows start, end, weight, bits as atoms: sizes summed on from ``measured``."""
    starts, ends, weights, bits = rows
    if scale.tokenizer is None:
        return np.stack([starts, ends, starts, ends, bits])
    gaps = (starts - np.concatenate([[last_end], ends[:-1]])) // CHARACTERS_PER_TOKEN
    closes = measured + np.cumsum(weights + gaps)
    return np.stack([starts, ends, closes - weights, closes, bits])
