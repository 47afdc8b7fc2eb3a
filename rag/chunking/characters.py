"""Properties of characters that matter for cutting text.

These are blanks, line breaks, ends of sentences and parts of graphemes. All functions work on one
block of text at a time, as arrays; positions are relative to the block.
"""

from __future__ import annotations

import functools
import re
import unicodedata

import numpy as np
import numpy.typing as npt

from rag.types import Mask

Kinds = npt.NDArray[np.uint16]
"""Bits of every character of a block, shape (characters,)."""
Positions = npt.NDArray[np.int64]
"""Offsets into a block, increasing."""

BLANK = 1 << 0
"""White space in the sense of ``str.isspace``; passages are trimmed of it."""
_SPACE = 1 << 1
_LINE = 1 << 2
_STOP = 1 << 3
_CLOSER = 1 << 4
_WIDE_STOP = 1 << 5
_WIDE_COMMA = 1 << 6
_LOWER = 1 << 7
_EXTENDS = 1 << 8
_JOINER = 1 << 9
_HIGH = 1 << 10
_LOW = 1 << 11
_REGIONAL = 1 << 12

SENTENCE, LINE, PARAGRAPH, HEADING = 1, 2, 4, 8
"""Bits of a boundary between two words; none of them set means a mere space. HEADING is set after
a heading, and after a short line that announces a paragraph."""

_LONGEST_HEADING = 80
"""Most characters of a line that announces the paragraph after it, and fewer than that one has."""
_TABLE_SIZE = 0x20000
_TAGS = 0x1FFFE
_SETS = (
    # Form feed and the other control characters are left out of the breaking spaces: WordPiece
    # normalisers delete them, so token counts do not add up across them.
    (
        _SPACE,
        " \t\n\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000"
        + "".join(map(chr, range(0x2000, 0x200B))),
    ),
    (_LINE, "\n\u2028\u2029"),
    (_STOP, ".?!…؟۔।॥。！？｡"),
    (_CLOSER, "\"')]}*_”’»›」』）】"),
    (_WIDE_STOP, "。！？｡"),
    (_WIDE_COMMA, "，、；：」』）】"),
    (_JOINER, "\u200d"),
)
_ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|al|cf|Fig|Eq|No|Nr|Vol|pp?|e\.g|i\.e|z\.B|d\.h|bzw|ca)"
    r"|\n[ \t]*(?:\d{1,3}|#))\.$"
)
_LOOK_BACK = 20


@functools.cache
def _table() -> Kinds:
    table = np.zeros(_TABLE_SIZE, np.uint16)
    for code in range(_TAGS):
        char = chr(code)
        extends = unicodedata.category(char)[0] == "M"
        table[code] = BLANK * char.isspace() | _LOWER * char.islower() | _EXTENDS * extends
    for bit, chars in _SETS:
        table[[ord(char) for char in chars]] |= bit
    table[0xD800:0xDC00] |= _HIGH
    table[0xDC00:0xE000] |= _LOW
    table[0x1F1E6:0x1F200] |= _REGIONAL
    for first, last in ((0x1160, 0x11FF), (0x200C, 0x200D), (0x1F3FB, 0x1F3FF), (_TAGS, _TAGS)):
        table[first : last + 1] |= _EXTENDS
    return table


def kinds_of(text: str) -> Kinds:
    """The bits of every character of ``text``, shape (len(text),)."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    indexes = np.minimum(codes, _TABLE_SIZE - 1)
    return _table()[np.where(codes >> 12 == 0xE0, _TAGS, indexes)]


def grapheme_starts(kinds: Kinds) -> Positions:
    """Return the positions at which a cut does not split a grapheme.

    The function keeps together combining marks, emoji joined or coloured, flags, Hangul jamo and
    surrogate pairs: the common part of Unicode's annex 29, not all of it.
    """
    inside = kinds & _EXTENDS != 0
    inside[1:] |= kinds[:-1] & _JOINER != 0
    inside[1:] |= (kinds[:-1] & _HIGH != 0) & (kinds[1:] & _LOW != 0)
    regional = kinds & _REGIONAL != 0
    if regional.any():
        index = np.arange(len(kinds))
        run = index - np.maximum.accumulate(np.where(regional, -1, index))
        inside |= regional & (run % 2 == 0)
    inside[:1] = False
    return np.flatnonzero(~inside)


def word_starts(kinds: Kinds) -> Positions:
    """0, and every place where a word begins after a space or after a wide punctuation mark."""
    visible = np.flatnonzero(kinds & BLANK == 0)
    before, at = visible[:-1], visible[1:]
    spaces = np.cumsum(kinds & _SPACE != 0)
    apart = spaces[at] > spaces[before]
    wide = kinds[before] & (_WIDE_STOP | _WIDE_COMMA) != 0
    ends = kinds[at] & (_STOP | _CLOSER | _WIDE_COMMA) != 0
    starts = at[(apart | (wide & ~ends)) & (kinds[at] & _EXTENDS == 0)]
    return np.concatenate([np.zeros(1, np.int64), starts])


def boundary_bits(text: str, kinds: Kinds, starts: Positions) -> Positions:
    """SENTENCE, LINE and PARAGRAPH bits of the boundary before every word of ``starts``.

    The first word has none: what precedes it is not in the block.
    """
    bits = np.zeros(len(starts), np.int64)
    visible = np.flatnonzero(kinds & BLANK == 0)
    ends = visible[np.searchsorted(visible, starts[1:]) - 1] + 1
    lines = np.cumsum(kinds & _LINE != 0)
    breaks = lines[starts[1:]] - lines[ends - 1]
    bits[1:] = np.select([breaks > 1, breaks == 1], [PARAGRAPH, LINE])
    bits[1:] |= SENTENCE * _ends_sentence(text, kinds, starts[1:], ends)
    return bits | HEADING * _after_short_line(bits, starts, ends)


def _after_short_line(bits: Positions, starts: Positions, ends: Positions) -> Mask:
    """Boundaries between a paragraph of one short line, which is no sentence, and a longer one.

    ``ends`` are those of the words before the boundaries, the first one left out.
    """
    after = np.zeros(len(starts), np.bool_)
    first = np.append(np.flatnonzero(bits & PARAGRAPH), len(starts))  # word of each paragraph
    here, following = first[:-1], first[1:]
    if len(here) < 2:
        return after
    closes = np.append(ends, ends[-1:])[following - 1]
    lengths = closes - starts[here]
    lines = np.append(0, np.cumsum(bits & LINE != 0))
    one_line = lines[following] - lines[here] == lines[here + 1] - lines[here]
    short = one_line & (lengths <= _LONGEST_HEADING)
    announced = here[1:][short[:-1] & (lengths[1:] > _LONGEST_HEADING)]
    after[announced[bits[announced] & SENTENCE == 0]] = True
    return after


def _ends_sentence(text: str, kinds: Kinds, starts: Positions, ends: Positions) -> Mask:
    last = ends - 1
    for _ in range(2):
        last = np.where(kinds[last] & _CLOSER != 0, np.maximum(last - 1, 0), last)
    stops: Mask = (kinds[last] & _STOP != 0) & (kinds[starts] & _LOWER == 0)
    for index in np.flatnonzero(stops):
        end = int(ends[index])
        stops[index] = not _ABBREVIATION.search(text, max(0, end - _LOOK_BACK), end)
    return stops
