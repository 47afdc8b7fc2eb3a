"""An estimate of the tokens of a text that is the same for every embedder and language."""

from __future__ import annotations

import itertools
import re

import numpy as np

from rag.types import Integers

_PIECE = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_BYTES_PER_TOKEN = 6


def tokens(text: str) -> int:
    """About how many tokens a text is: embedders differ, and a cut is shared by several."""
    return sum(weight(piece.group()) for piece in _PIECE.finditer(text))


def weight(piece: str) -> int:
    """The same of a word, a number or a sign."""
    return 1 + (len(piece.encode("utf-8", "surrogatepass")) - 1) // _BYTES_PER_TOKEN


class EstimatedTokens:
    """A tokenizer for texts in a language that an embedder does not know.

    Its own tokenizer cuts their words into crumbs: 200 tokens of an English WordPiece are 150
    English words, 80 German ones, and 40 Russian ones.
    """

    def count(self, text: str) -> int:
        """Number of tokens."""
        return tokens(text)

    def offsets(self, text: str) -> Integers:
        """Character spans of the tokens, shape (tokens, 2), increasing and within ``text``."""
        spans = list[tuple[int, int]]()
        for piece in _PIECE.finditer(text):
            start, end = piece.span()
            parts = min(weight(piece.group()), end - start)
            ends = [start + (end - start) * part // parts for part in range(parts + 1)]
            spans += itertools.pairwise(ends)
        return np.array(spans, np.int64).reshape(-1, 2)
