"""Tokenizers for tests: one that can be counted by eye, and the real one of MiniLM."""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import BertWordPieceTokenizer, Encoding

VOCABULARY = Path(__file__).parents[1] / "data/models/all-MiniLM-L6-v2/vocab.txt"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Words:
    """Words and punctuation marks."""

    _token = re.compile(r"\w+|[^\w\s]")

    def count(self, text: str) -> int:
        return len(self.offsets(text))

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        spans = [found.span() for found in self._token.finditer(text)]
        return np.array(spans, np.int64).reshape(-1, 2)


class WordPiece:
    """The tokenizer of all-MiniLM-L6-v2."""

    def __init__(self) -> None:
        self._tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)

    def _encode(self, text: str) -> Encoding:
        readable = _SURROGATE.sub("\ufffd", text)  # the library takes valid Unicode only
        return self._tokenizer.encode(readable, add_special_tokens=False)

    def count(self, text: str) -> int:
        return len(self._encode(text).ids)

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        return np.array(self._encode(text).offsets, np.int64).reshape(-1, 2)
