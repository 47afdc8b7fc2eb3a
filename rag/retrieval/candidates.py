"""Everything a question can find, fetched once and deep. All later steps are array arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rag.lexical import Bm25Options, LexicalIndex, Query, term_weights, word_shares
from rag.protocols import VectorView
from rag.recipe import SearchRecipe
from rag.retrieval.topic import Topic
from rag.types import Keys, Mask, Ranks, Scores, Vectors, WordCorrection

NOT_FOUND = np.iinfo(np.int32).max
"""The rank of a candidate in the list of a retriever that did not find it."""

MOST_HOLDERS = 0.01
"""The share of the passages that may have a rare code."""

MATCHED_WORDS = 0.3
"""The share of the weight of a question's words from which on a passage matches it by words."""

BLOCK = 4096
"""Vectors that are fetched at once."""


@dataclass(frozen=True, slots=True)
class IncompleteVectors:
    """``dense`` without the vectors of ``lacking``, keys in order: only lexical search finds these.

    No search by meaning finds them, and zeros stand for their vectors: whatever goes by nearness
    leaves them as they are.
    """

    dense: VectorView
    lacking: Keys

    def __len__(self) -> int:
        """Number of passages, with those that lack a vector."""
        return len(self.dense) + len(self.lacking)

    @property
    def exact(self) -> bool:
        """Whether searches find the very nearest."""
        return self.dense.exact

    def search(self, query: Vectors, k: int, allowed: Keys | None = None) -> tuple[Keys, Scores]:
        """The k nearest of those whose vectors are in."""
        return self.dense.search(query, k, allowed)

    def vectors(self, keys: Keys) -> Vectors:
        """Stored vectors of ``keys``, in their order, zeros where one is not in yet."""
        names = np.asarray(keys, dtype=np.int64)
        there = ~np.isin(names, self.lacking)
        stored = self.dense.vectors(names[there])
        rows = np.zeros((len(names), stored.shape[1]), np.float32)
        rows[there] = stored
        return rows


def lacking_vectors(dense: VectorView, keys: Keys) -> Mask | None:
    """Return a mask of the ``keys`` without a vector, shape (n,); None if all vectors are in."""
    return np.isin(keys, dense.lacking) if isinstance(dense, IncompleteVectors) else None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The union of the retrievers' lists, sorted by key; all arrays have shape (n,).

    ``cosine`` and ``bm25`` are the true figures of every candidate, whichever retriever found it.
    Ranks count from 0. ``k1``, ``b``, ``fuzzy`` and ``prefix`` decide ``bm25``, so candidates
    serve every recipe that agrees in these four.

    ``near`` and ``words`` are what the retrievers ranked by where they were asked for something
    else than the question alone: an enriched one, or several wordings. None where that is
    ``cosine``, or ``bm25``. ``rerank`` has the scores of a reranker, NaN for what it has not read.
    ``exact`` says which hold a rare code of the question, None where it has none.
    ``word_relevance`` is the relevance that a passage has by its words alone, see
    ``relevance_of_words``; None where no passage has one. ``topic`` says
    whether the question is on topic, None if that was not decided. ``lacking`` is the
    language of the question (ISO 639-1) where the embedder does not know it, else "". ``by_words``
    says which only lexical search finds, as their vectors are not stored yet: their cosine is 0 and
    says nothing. None where all vectors are in.
    """

    keys: Keys
    cosine: Scores
    bm25: Scores
    dense_rank: Ranks
    lexical_rank: Ranks
    near: Scores | None = None
    words: Scores | None = None
    rerank: Scores | None = None
    exact: Mask | None = None
    word_relevance: Scores | None = None
    topic: Topic | None = None
    lacking: str = ""
    by_words: Mask | None = None

    @property
    def dense_scores(self) -> Scores:
        """The scores by which the dense list is ordered, shape (n,)."""
        return self.cosine if self.near is None else self.near

    @property
    def lexical_scores(self) -> Scores:
        """The scores by which the lexical list is ordered, shape (n,)."""
        return self.bm25 if self.words is None else self.words

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class QueryVariant:
    """Another wording of a question, with its unit vector, shape (dimension,)."""

    text: str
    vector: Vectors


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question as the retrievers are asked it.

    ``vector`` (dimension,) is that of the question itself, which relevance is measured with, and
    ``words`` are its words. ``near`` and ``terms`` stand in for them in the search where a step
    enriched them, None where none did. ``variants`` are searched besides. ``question`` is the
    text, which differs from what was typed where a follow-up was made complete. ``corrections`` are
    words of it that were mistyped: ``vector`` and ``words`` are those of the corrected text.
    """

    vector: Vectors
    words: str
    near: Vectors | None = None
    terms: Query | None = None
    question: str = ""
    variants: tuple[QueryVariant, ...] = ()
    corrections: tuple[WordCorrection, ...] = ()

    @property
    def reading(self) -> str:
        """The text whose meaning is searched."""
        return self.words if self.corrections else self.question

    @property
    def vectors(self) -> list[Vectors]:
        """The query vectors of the dense retriever."""
        first = self.vector if self.near is None else self.near
        return [first, *(variant.vector for variant in self.variants)]

    @property
    def queries(self) -> list[Query]:
        """The queries of the lexical retriever."""
        first: Query = self.words if self.terms is None else self.terms
        return [first, *(variant.text for variant in self.variants)]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The results of one retriever, best first: keys and scores, shape (n,)."""

    keys: Keys
    scores: Scores

    @classmethod
    def nothing(cls) -> Ranking:
        """The result of a retriever that the recipe's mode leaves out."""
        return cls(np.empty(0, np.int64), np.empty(0))

    @classmethod
    def best(cls, keys: Keys, scores: Scores, count: int | None = None) -> Ranking:
        """The first ``count`` by score, or all; ties by key."""
        order = np.lexsort((keys, -scores))[:count]
        return cls(keys[order], scores[order])


def nearest(
    search_query: SearchQuery, dense: VectorView, recipe: SearchRecipe, allowed: Keys | None = None
) -> Ranking:
    """The first ``recipe.candidates`` by cosine; of several wordings, by the nearest of them."""
    if recipe.mode == "lexical":
        return Ranking.nothing()
    depth = recipe.candidates
    lists = [Ranking(*dense.search(query, depth, allowed)) for query in search_query.vectors]
    if len(lists) == 1:
        return lists[0]
    keys = _union(lists)
    return Ranking.best(keys, _nearest_cosines(search_query.vectors, dense.vectors(keys)), depth)


def best_by_words(
    search_query: SearchQuery,
    lexical: LexicalIndex,
    recipe: SearchRecipe,
    allowed: Keys | None = None,
) -> Ranking:
    """The first ``recipe.candidates`` by BM25; of several wordings, by ``best_shares``."""
    if recipe.mode == "dense":
        return Ranking.nothing()
    depth, options = recipe.candidates, bm25_options(recipe)
    lists = [
        Ranking(*lexical.search(query, depth, allowed=allowed, **options))
        for query in search_query.queries
    ]
    if len(lists) == 1:
        return lists[0]
    keys = _union(lists)
    return Ranking.best(keys, best_shares(search_query.queries, keys, lexical, options), depth)


def best_shares(
    queries: Sequence[Query], keys: Keys, lexical: LexicalIndex, options: Bm25Options
) -> Scores:
    """The greatest share of a query's best BM25 score that each passage has, in [0, 1].

    BM25 scores of two wordings do not compare: the longer one adds up more words. Their shares of
    the best of their list do, and a passage counts by the wording that it fits best.
    """
    best = np.zeros(len(keys))
    for query in queries:
        scores = lexical.scores(query, keys, **options)
        if len(scores) and scores.max() > 0:
            best = np.maximum(best, scores / scores.max())
    return best


def join(
    search_query: SearchQuery,
    near: Ranking,
    words: Ranking,
    dense: VectorView,
    lexical: LexicalIndex,
    recipe: SearchRecipe,
    default_threshold: float | None = None,
) -> Candidates:
    """The union of both lists, with both true figures of every candidate.

    ``default_threshold`` is that of the embedder, None where nothing reaches it by words.

    The cosine is computed in lexical mode too: it is what a threshold is compared with. So is
    BM25 in dense mode, where the threshold is a probability that rests on both.
    """
    keys = np.union1d(near.keys, words.keys)
    options, rows = bm25_options(recipe), dense.vectors(keys)
    is_plain = search_query.near is None and not search_query.variants
    needs_words = recipe.mode != "dense" or recipe.relevance == "probability"
    return Candidates(
        keys=keys,
        cosine=cosines(search_query.vector, rows),
        bm25=lexical.scores(search_query.words, keys, **options)
        if needs_words
        else np.zeros(len(keys)),
        dense_rank=ranks_among(keys, near.keys),
        lexical_rank=ranks_among(keys, words.keys),
        near=None if is_plain else _nearest_cosines(search_query.vectors, rows),
        words=_words(search_query, keys, lexical, recipe),
        exact=holds_code(rare_codes(search_query.words, lexical, len(dense)), keys, lexical),
        word_relevance=relevance_of_words(
            search_query.words, keys, lexical, len(dense), default_threshold
        ),
        by_words=lacking_vectors(dense, keys),
    )


def rare_codes(question: str, lexical: LexicalIndex, passages: int) -> list[str]:
    """The index terms of words with digits (part numbers, names of standards, amounts) that at
    most 1 % of the ``passages`` have, and at least one.

    An embedding model cuts such a word into pieces that mean nothing, so a cosine knows nothing of
    it; its presence is evidence by itself. Of ``IS-214`` the whole counts, not the ``214``.
    """
    cut = map(lexical.analyzer.word_tokens, lexical.analyzer.words(question))
    wholes = dict.fromkeys(tokens[-1][0] for tokens in cut if tokens)
    codes = [term for term in wholes if any(map(str.isdigit, term))]
    if not codes:
        return []
    frequencies = lexical.frequencies(dict.fromkeys(codes, 1.0), fuzzy=False, prefix=False)
    most = max(passages * MOST_HOLDERS, 1)
    return [term for term in codes if 0 < frequencies.get(term, 0) <= most]


def holds_code(codes: Sequence[str], keys: Keys, lexical: LexicalIndex) -> Mask | None:
    """Return a mask of the passages that contain one of ``codes``, shape (n,); None for no codes.

    The codes are index terms.
    """
    if not codes:
        return None
    terms = dict.fromkeys(codes, 1.0)
    return np.asarray(lexical.scores(terms, keys, k1=1.2, b=0.75, fuzzy=False, prefix=False) > 0)


def relevance_of_words(
    question: str,
    keys: Keys,
    lexical: LexicalIndex,
    passages: int,
    default_threshold: float | None,
) -> Scores | None:
    """Return the relevance that passages have by their words alone, shape (n,).

    A passage with at least ``MATCHED_WORDS`` of the weight of the question's words reaches the
    default threshold of the embedder, -1 stands for all others. None where no passage does: a
    cosine knows little of short questions, of names and of rare words.
    """
    if default_threshold is None or not len(keys):
        return None
    shares = word_shares(term_weights(question, lexical, passages), keys, lexical)
    matches = shares >= MATCHED_WORDS
    return np.where(matches, default_threshold, -1.0) if matches.any() else None


def counts_words(recipe: SearchRecipe) -> bool:
    """Whether words that match count for a threshold: a probability knows of words by itself."""
    return recipe.matched_words and recipe.relevance == "cosine"


class Evidence(Protocol):
    """Evidence besides the cosine that lets a passage pass a threshold, see ``Candidates``."""

    @property
    def exact(self) -> Mask | None: ...
    @property
    def word_relevance(self) -> Scores | None: ...


def threshold_scores(
    relevance: Scores,
    evidence: Evidence | None,
    recipe: SearchRecipe,
    by_words: Mask | None = None,
) -> Scores:
    """Relevance as a threshold sees it: a rare code lifts it to 1, which passes every one.

    So does a vector that is not in yet: nothing is known that could be compared. Words that match
    lift a cosine to the default threshold.
    """
    if evidence is not None:
        if counts_words(recipe):
            relevance = lift_to_words(relevance, evidence.word_relevance)
        if recipe.exact_codes:
            relevance = lift_to_certain(relevance, evidence.exact)
    return lift_to_certain(relevance, by_words)


def lift_to_words(relevance: Scores, by_words: Scores | None) -> Scores:
    """Relevance, at least what passages have by their words."""
    return relevance if by_words is None else np.maximum(relevance, by_words)


def lift_to_certain(relevance: Scores, some: Mask | None) -> Scores:
    """Relevance, at least 1 for some passages."""
    return relevance if some is None else np.where(some, np.maximum(relevance, 1.0), relevance)


def _words(
    search_query: SearchQuery, keys: Keys, lexical: LexicalIndex, recipe: SearchRecipe
) -> Scores | None:
    options = bm25_options(recipe)
    if search_query.variants and recipe.fusion == "saturation":
        # A share of the best in the list would change with the list.
        scores = [lexical.scores(query, keys, **options) for query in search_query.queries]
        return np.asarray(np.max(scores, axis=0))
    if search_query.variants:
        return best_shares(search_query.queries, keys, lexical, options)
    return (
        None if search_query.terms is None else lexical.scores(search_query.terms, keys, **options)
    )


class Calibrated(Protocol):
    """A calibration: candidates to probabilities of being relevant, shape (n,), in [0, 1]."""

    def probabilities(self, candidates: Candidates, /) -> Scores: ...


def bm25_options(recipe: SearchRecipe) -> Bm25Options:
    """The part of a search recipe that BM25 reads."""
    return {"k1": recipe.k1, "b": recipe.b, "fuzzy": recipe.fuzzy, "prefix": recipe.prefix}


def cosines(query: Vectors, rows: Vectors) -> Scores:
    """Of unit vectors, shape (n, dimension), with one query or with one query each: (n,)."""
    # Row-wise in double precision: the same passage has the same figure in every index.
    products = rows.astype(np.float64) * query.astype(np.float64)
    return np.asarray(products.sum(axis=1))


def fetched_cosines(query: Vectors, keys: Keys, dense: VectorView) -> Scores:
    """Of one query with passages by key, shape (n,): their vectors are fetched in blocks."""
    cosine_blocks = (cosines(query, dense.vectors(keys[block])) for block in blocks(len(keys)))
    return np.concatenate([np.empty(0), *cosine_blocks])


def blocks(count: int) -> Iterator[slice]:
    """Slices of so many things, which bound the memory that their vectors take."""
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))


def _nearest_cosines(queries: Sequence[Vectors], rows: Vectors) -> Scores:
    return np.asarray(np.max([cosines(query, rows) for query in queries], axis=0))


def _union(lists: Sequence[Ranking]) -> Keys:
    return np.unique(np.concatenate([ranking.keys for ranking in lists]))


def ranks_among(keys: Keys, ranked: Keys) -> Ranks:
    """The places of ``keys`` in a ranking, from 0, shape (n,); both are of one question."""
    ranks = np.full(len(keys), NOT_FOUND, dtype=np.int32)
    ranks[np.searchsorted(keys, ranked)] = np.arange(len(ranked), dtype=np.int32)
    return ranks
