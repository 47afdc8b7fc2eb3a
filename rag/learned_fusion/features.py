"""Features of candidates on scales that no other candidate changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from rag.lexical import LexicalIndex, term_weights, word_shares
from rag.types import Chunk, Floats, Keys, Mask, Ranks, Scores

BM25_PIVOT = 8.0
"""The BM25 score that counts half."""
RANK_PIVOT = 10.0
"""The rank, from 0, that counts half."""
LENGTH_PIVOT = 1000.0
"""The length in characters that counts half."""
_WORD = re.compile(r"\w+")

FEATURES: Mapping[str, str] = {
    "cosine": "cosine of question and passage",
    "bm25": f"BM25 as bm25 / (bm25 + {BM25_PIVOT:g})",
    "bm25_share": "BM25 as a share of the greatest that the question allows",
    "dense_rank": f"rank by meaning as {RANK_PIVOT:g} / ({RANK_PIVOT:g} + rank), 0 if not found",
    "lexical_rank": f"rank by words as {RANK_PIVOT:g} / ({RANK_PIVOT:g} + rank), 0 if not found",
    "word_share": "share of the question's words in the passage, by idf",
    "title_share": "share of the question's words in the name of the document, by idf",
    "heading_share": "share of the question's words in the headings above the passage, by idf",
    "phrase_share": "share of the question's pairs of neighbouring words in the passage, by idf",
    "code": "1 if the passage has a rare code of the question",
    "length": f"length as n / (n + {LENGTH_PIVOT:g}) characters",
    "position": "1 / n for the n-th passage of its document",
    "question_words": "number of different index terms of the question, as n / (n + 5)",
}
"""Every feature, with its definition."""


class CandidateArrays(Protocol):
    """Candidates of one question, arrays of shape (n,); ranks count from 0, huge: not found."""

    @property
    def keys(self) -> Keys: ...
    @property
    def cosine(self) -> Scores: ...
    @property
    def bm25(self) -> Scores: ...
    @property
    def dense_rank(self) -> Ranks: ...
    @property
    def lexical_rank(self) -> Ranks: ...
    @property
    def exact(self) -> Mask | None: ...


@dataclass(frozen=True, slots=True)
class _QuestionTerms:
    """The index terms of a question with their idf, and the pairs of its neighbouring words."""

    idf: Mapping[str, float]
    pairs: Mapping[str, float]
    repeated: float

    @classmethod
    def of(cls, words: str, lexical: LexicalIndex) -> _QuestionTerms:
        idf = term_weights(words, lexical, len(lexical))
        repeated = sum(idf[term] * count for term, count in lexical.terms(words).items())
        return cls(idf, _pairs(words, idf, lexical), repeated)

    @property
    def mass(self) -> float:
        return sum(self.idf.values()) or 1.0

    def share(self, text: str, lexical: LexicalIndex) -> float:
        """The idf-weighted share of the terms that a short text has."""
        return sum(self.idf.get(term, 0.0) for term in lexical.terms(text)) / self.mass


def _pairs(words: str, idf: Mapping[str, float], lexical: LexicalIndex) -> dict[str, float]:
    """Neighbouring words of a question by the idf of both; pairs of stop words are left out."""
    cut = _WORD.findall(words.casefold())
    weights = {
        word: max((idf.get(term, 0.0) for term in lexical.terms(word)), default=0.0)
        for word in dict.fromkeys(cut)
    }
    pairs = {
        f"{first} {second}": weights[first] + weights[second] for first, second in pairwise(cut)
    }
    return {pair: weight for pair, weight in pairs.items() if weight > 0}


def feature_table(
    words: str,
    candidates: CandidateArrays,
    passages: Mapping[int, tuple[Chunk, str]],
    lexical: LexicalIndex,
) -> Floats:
    """The features of candidates, shape (n, features), in the order of ``FEATURES``.

    ``words`` is the question as BM25 reads it. ``passages`` has the passages by key, with the names
    of their documents; text features of a passage that is gone are 0.
    """
    question = _QuestionTerms.of(words, lexical)
    keys = candidates.keys.tolist()
    shares = word_shares(question.idf, candidates.keys, lexical)
    exact = np.zeros(len(keys)) if candidates.exact is None else candidates.exact
    count = len(question.idf)
    columns = {
        "cosine": candidates.cosine,
        "bm25": candidates.bm25 / (candidates.bm25 + BM25_PIVOT),
        "bm25_share": candidates.bm25 / (question.repeated or 1.0),
        "dense_rank": _rank_scale(candidates.dense_rank),
        "lexical_rank": _rank_scale(candidates.lexical_rank),
        "word_share": shares,
        "code": exact,
        "question_words": np.full(len(keys), count / (count + 5.0)),
        **_text_columns([passages.get(key) for key in keys], question, lexical),
    }
    return np.column_stack([np.asarray(columns[name], np.float64) for name in FEATURES])


def _rank_scale(ranks: Ranks) -> Scores:
    scale = RANK_PIVOT / (RANK_PIVOT + ranks.astype(np.float64))
    return np.where(ranks == np.iinfo(np.int32).max, 0.0, scale)


def _text_columns(
    passages: Sequence[tuple[Chunk, str] | None], question: _QuestionTerms, lexical: LexicalIndex
) -> dict[str, Floats]:
    names = ("title_share", "heading_share", "phrase_share", "length", "position")
    table = np.zeros((len(passages), len(names)))
    short: dict[str, float] = {"": 0.0}
    pair_mass = sum(question.pairs.values()) or 1.0

    def share(text: str) -> float:
        if text not in short:
            short[text] = question.share(text, lexical)
        return short[text]

    for row, passage in zip(table, passages, strict=True):
        if passage is None:
            continue
        chunk, name = passage
        text = f" {' '.join(_WORD.findall(chunk.text.casefold()))} "
        pairs = sum(weight for pair, weight in question.pairs.items() if f" {pair} " in text)
        length = len(chunk.text)
        row[:] = (
            share(name),
            share(chunk.heading),
            pairs / pair_mass,
            length / (length + LENGTH_PIVOT),
            1.0 / (1.0 + chunk.order),
        )
    return dict(zip(names, table.T, strict=True))
