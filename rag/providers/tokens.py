"""Tokenizers: the WordPiece of BERT models, the files of the `tokenizers` library, plain words."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rag.errors import MissingDependency
from rag.languages import UNSPACED

if TYPE_CHECKING:
    import tokenizers

VOCABULARY = (
    Path(__file__).resolve().parents[2] / "data" / "models" / "all-MiniLM-L6-v2" / "vocab.txt"
)
_WORD = re.compile(r"\w+|[^\w\s]")
_LEAST = re.compile(rf"[{UNSPACED}]{{1,3}}|[^\W{UNSPACED}]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """``text`` with lone surrogates, which no encoding has, as question marks; same length."""
    return text if text.isascii() else _SURROGATE.sub("?", text)


def least_tokens(text: str) -> int:
    """Count the tokens that a text has in any language model: one for each word.

    One for three characters where a script has no spaces.
    """
    return len(_LEAST.findall(text))


class SubwordTokens:
    """A tokenizer of the `tokenizers` library as a ``rag.protocols.Tokenizer``."""

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self._backend = backend

    def count(self, text: str) -> int:
        """Number of tokens, without special ones."""
        return len(self._backend.encode(encodable(text), add_special_tokens=False).ids)

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        """Spans of the tokens, shape (tokens, 2), in order and without overlaps.

        Where several tokens share one character (the letters of a Korean syllable), the first
        has it and the others are empty spans behind it.
        """
        encoding = self._backend.encode(encodable(text), add_special_tokens=False)
        spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        spans[:, 1] = np.maximum.accumulate(spans[:, 1])
        spans[1:, 0] = np.maximum(spans[1:, 0], spans[:-1, 1])
        return spans


class WordTokens:
    """Words and punctuation marks, one token each."""

    def count(self, text: str) -> int:
        """Number of words and punctuation marks."""
        return len(_WORD.findall(text))

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        """Spans of words and punctuation marks, shape (tokens, 2)."""
        spans = [match.span() for match in _WORD.finditer(text)]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)


def wordpiece_backend() -> tokenizers.Tokenizer:
    """A new uncased BERT tokenizer, which its owner may configure.

    Raises MissingDependency when the vocabulary is not there.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    if not VOCABULARY.is_file():
        raise MissingDependency(
            f"The vocabulary of the embedding model is missing: {VOCABULARY}.",
            "Restore the folder data/models of the project.",
        )
    model = models.WordPiece.from_file(str(VOCABULARY), unk_token="[UNK]")
    backend = Tokenizer(model)
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $0 [SEP]",
        special_tokens=[(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return backend


_DROPPED = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = "[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"


def unigram_backend(vocabulary: list[tuple[str, float]], unknown: int) -> tokenizers.Tokenizer:
    """A new SentencePiece tokenizer of pieces with their scores, as XLM-RoBERTa normalises text.

    It adds no special tokens.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    backend = Tokenizer(models.Unigram(vocabulary, unknown, False))
    backend.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_DROPPED), ""),
            normalizers.Replace(Regex(_SPACES), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return backend


@cache
def wordpiece_tokens() -> SubwordTokens:
    """Counts tokens of uncased BERT models, and stands in for remote models.

    The tokenizers of hosted models would have to be downloaded; for English their counts are
    within a few per cent to a fifth of WordPiece's, which is enough for chunk sizes.
    """
    return SubwordTokens(wordpiece_backend())
