"""Evidence that the documents cover a question, from the vector and the lexical index."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rag.lexical import (
    IDF_MASS,
    LexicalIndex,
    inverse_document_frequency,
    term_weights,
    word_shares,
)
from rag.protocols import VectorView
from rag.types import Keys, Vectors, percent

PROBED = 10
"""Passages that are looked at: the nearest, and those that hold most of the question's words."""
DENSE_SHARE = 0.6
"""Of the figure that makes a passage the best in both; the rest is the share of the words."""
CHANCE = 0.075
"""What the nearest passage gains by chance: so much for each sqrt(2 ln n) of n passages, as the
greatest of n normal deviates does. It is about the spread of the cosines of a question."""


@dataclass(frozen=True, slots=True)
class TopicEvidence:
    """The evidence that the documents cover a question.

    ``cosine`` is the cosine of the nearest passage, ``lead`` its lead over the tenth. Shares are
    idf-weighted shares of the question's words, in [0, 1]: ``share`` is the greatest share in one
    passage, ``unknown`` the share in no passage. ``joint_cosine`` and ``joint_share`` are values of
    the passage that is best in both together. ``passages`` is the number of passages.
    """

    cosine: float
    lead: float
    share: float
    unknown: float
    joint_cosine: float
    joint_share: float
    passages: int = 1

    @property
    def beyond_chance(self) -> float:
        """The cosine less what the nearest of so many passages has by chance."""
        return self.cosine - self._by_chance

    @property
    def joint_beyond_chance(self) -> float:
        """The same of ``joint_cosine``."""
        return self.joint_cosine - self._by_chance

    @property
    def _by_chance(self) -> float:
        return CHANCE * math.sqrt(2 * math.log(max(self.passages, 1)))

    @property
    def words(self) -> str:
        """The evidence in one clause."""
        return (
            f"nearest cosine {self.cosine:.2f}, {self.lead:.2f} ahead of the tenth; the passage "
            f"that fits best has cosine {self.joint_cosine:.2f} and {percent(self.joint_share)} "
            "of the weight of the question's words"
        )


def topic_evidence(
    words: str,
    vector: Vectors,
    dense: VectorView,
    lexical: LexicalIndex,
    passages: int,
    allowed: Keys | None = None,
) -> TopicEvidence | None:
    """Look a question up in both indexes; None where there is nothing to be found.

    ``words`` is its text as BM25 reads it, ``vector`` (dimension,) its unit vector; ``passages``
    is the number of those that words are counted in, ``allowed`` restricts what is looked at.
    """
    near, _ = dense.search(vector, PROBED, allowed)
    if not len(near):
        return None
    idf = term_weights(words, lexical, passages)
    holders, _ = lexical.search(dict.fromkeys(idf, 1.0), PROBED, allowed=allowed, **IDF_MASS)
    keys = np.union1d(near, holders)
    shares = word_shares(idf, keys, lexical)
    # Row by row in double precision: the same passage has the same figure in every company.
    close = (dense.vectors(keys).astype(np.float64) * vector.astype(np.float64)).sum(axis=1)
    best = int(np.argmax(DENSE_SHARE * close + (1 - DENSE_SHARE) * shares))
    nearest = np.sort(close)[::-1][: len(near)]
    of_none, mass = inverse_document_frequency(0, passages), sum(idf.values()) or 1.0
    return TopicEvidence(
        cosine=float(nearest[0]),
        lead=float(nearest[0] - nearest[-1]),
        share=float(shares.max()),
        unknown=sum(weight for weight in idf.values() if weight == of_none) / mass,
        joint_cosine=float(close[best]),
        joint_share=float(shares[best]),
        passages=passages if allowed is None else len(allowed),
    )
