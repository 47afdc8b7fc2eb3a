"""Text cut where its topic changes: between neighbouring sentences that are little alike.

After Kamradt, "5 Levels of Text Splitting" (2023): the cosine distances of neighbours are compared
with a percentile of all those of the document, so that how often it is cut does not depend on the
embedding model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from rag.chunking.atoms import BLOCK, Scale, read_atoms
from rag.chunking.characters import HEADING, PARAGRAPH, SENTENCE
from rag.types import Document, Floats, Integers, Span, Vectors

Embed = Callable[[Sequence[str]], Vectors]
"""Unit vectors of texts, shape (texts, dimension)."""

AT_ONCE = 256  # sentences
_LONGEST = 2000  # characters of a sentence that are looked at; a table is one of them
_CHARACTERS = Scale(BLOCK, None, fine=False)


def topics(document: Document, embed: Embed, percentile: float) -> Iterator[Span]:
    """Stretches of the text about one thing each, in order; they hold every character.

    A stretch ends where the distance of two neighbouring sentences is above the percentile, but not
    between a heading and its text. Tables are never cut. Every sentence is embedded once; what is
    kept of it is one number.
    """
    starts, announced = np.array([*_sentences(document)], np.int64).reshape(-1, 2).T
    bounds = [0, len(document.text)]
    if len(starts) > 1:
        distances = _distances(document.text, starts, embed)
        breaks = distances > np.percentile(distances, percentile)
        breaks[announced[1:] == 1] = False
        bounds[1:1] = starts[1:][breaks].tolist()
    yield from pairwise(bounds)


def _sentences(document: Document) -> Iterator[tuple[int, bool]]:
    """Yield the starts of sentences, and whether a heading precedes each; a table is a sentence."""
    first, text = True, document.text
    for starts, _, _, _, bits in read_atoms(
        text, 0, len(text), _CHARACTERS, headings=document.headings
    ):
        begins = bits & (SENTENCE | PARAGRAPH) != 0
        begins[0] |= first
        first = False
        after_heading = bits[begins] & HEADING != 0
        for start, after in zip(starts[begins].tolist(), after_heading.tolist(), strict=True):
            table = document.table_at(start)
            if table is None or start <= table.start:
                yield start, after


def _distances(text: str, starts: Integers, embed: Embed) -> Floats:
    """1 less the cosine of every sentence and the next, shape (sentences - 1,)."""
    places = list(pairwise([*starts.tolist(), len(text)]))
    distances, last = list[Floats](), None
    for first in range(0, len(places), AT_ONCE):
        part = places[first : first + AT_ONCE]
        sentences = [text[start : min(end, start + _LONGEST)].strip() for start, end in part]
        rows = embed(sentences).astype(np.float64)
        joined = rows if last is None else np.concatenate([last, rows])
        distances.append(1 - (joined[:-1] * joined[1:]).sum(axis=1))
        last = rows[-1:]
    return np.concatenate(distances)
