"""Everything a question can find: the steps from its words to one set of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.protocols import Embedder
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import (
    Candidates,
    IncompleteVectors,
    Ranking,
    SearchQuery,
    best_by_words,
    bm25_options,
    fetched_cosines,
    join,
    nearest,
)
from rag.retrieval.corpus import Corpus
from rag.retrieval.filters import describe_filters
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF
from rag.retrieval.languages import (
    dense_weight,
    foreign_note,
    language_hint,
    language_note,
    leans_on_words,
    may_lean,
)
from rag.retrieval.query_transforms import transform_query
from rag.retrieval.stages import stage_rows
from rag.retrieval.timeline import Timeline
from rag.topic import Topic, topic_evidence
from rag.types import Message, Vectors


def gather(
    question: str,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
    vector: Vectors | None = None,
    history: Sequence[Message] = (),
) -> tuple[SearchQuery, Candidates]:
    """The question as it was asked in the end, and all candidates.

    ``vector`` (dimension,) is that of the question where it is known already; ``history`` is the
    conversation before it.
    """
    search_query = transform_query(question, recipe, corpus, timeline, vector, history)
    lacking = corpus.languages.lacks(search_query.question, corpus.lexical)
    if leans_on_words(lacking, recipe):
        weight = dense_weight(lacking, recipe)
        note, hint = language_note(lacking, corpus.languages), language_hint(corpus.languages)
        timeline.passed("language", 1, 1, note, figures={"dense_weight": weight}, hint=hint)
    elif may_lean(recipe) and (
        foreign := corpus.languages.lacks_with_documents(search_query.question)
    ):
        note, hint = foreign_note(foreign), language_hint(corpus.languages)
        figures = {"dense_weight": recipe.dense_weight}
        timeline.passed("language", 1, 1, note, figures=figures, hint=hint)
    if corpus.allowed is not None:
        timeline.passed("filter", corpus.passages, len(corpus.allowed), describe_filters(recipe))
    candidates = replace(_search(search_query, recipe, corpus, timeline, lacking), lacking=lacking)
    for row in stage_rows():
        if row.run is not None and row.is_on(recipe):
            search_query, candidates = row.run(search_query, candidates, recipe, corpus, timeline)
    return search_query, replace(candidates, topic=topic_of(search_query, corpus))


def topic_of(search_query: SearchQuery, corpus: Corpus) -> Topic | None:
    """Whether a question is on topic: by itself, whatever steps added to it.

    None where nobody is asked, and while vectors are not in yet: what is not seen is not refused.
    """
    if corpus.topic is None or isinstance(corpus.dense, IncompleteVectors):
        return None
    evidence = topic_evidence(
        search_query.words,
        search_query.vector,
        corpus.dense,
        corpus.lexical,
        corpus.passages,
        corpus.allowed,
    )
    return None if evidence is None else corpus.topic.judged(evidence)


def embed_question(question: str, embedder: Embedder) -> Vectors:
    """The unit vector of a question, shape (dimension,)."""
    vector: Vectors = embedder.embed([question], "query")[0]
    return vector


def _search(
    search_query: SearchQuery,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
    lacking: str,
) -> Candidates:
    depth, of = recipe.candidates, _variants(search_query)
    reach = corpus.passages if corpus.allowed is None else len(corpus.allowed)
    near = nearest(search_query, corpus.dense, recipe, corpus.allowed)
    if recipe.mode != "lexical":
        near_enough = "" if corpus.dense.exact else ", approximately"
        note = f"nearest {depth} vectors{near_enough}{of}{_late(corpus)}"
        timeline.passed("dense", reach, len(near.keys), note)
    words = best_by_words(search_query, corpus.lexical, recipe, corpus.allowed)
    if recipe.mode != "dense":
        note = f"best {depth} by BM25{of}{_late(corpus)}"
        timeline.passed("lexical", reach, len(words.keys), note)
    rankings = search_query, near, words, corpus.dense, corpus.lexical, recipe
    union = join(*rankings, corpus.default_threshold)
    timeline.passed("fusion", len(near.keys) + len(words.keys), len(union), _how(recipe, lacking))
    return union


def _late(corpus: Corpus) -> str:
    """Return a note on the passages without vectors so far; "" if all vectors are in."""
    if not isinstance(corpus.dense, IncompleteVectors):
        return ""
    return (
        f"; only lexical search finds {len(corpus.dense.lacking):,}, whose vectors are not "
        "stored yet"
    )


def _variants(search_query: SearchQuery) -> str:
    return (
        f", of {1 + len(search_query.variants)} wordings the best" if search_query.variants else ""
    )


def _how(recipe: SearchRecipe, lacking: str) -> str:
    if recipe.mode != "hybrid":
        return "one retriever, nothing to fuse"
    weight = dense_weight(lacking, recipe)
    if recipe.fusion == "rrf":
        return f"reciprocal ranks, constant {recipe.rrf_k}, {weight:.2f} on dense"
    if recipe.fusion == "saturation":
        return f"cosine and saturated BM25, pivot {recipe.bm25_pivot:g}, {weight:.2f} on dense"
    if recipe.fusion == QDRANT_RRF:
        return f"ranks divided by weight, constant {recipe.rrf_k}, {weight:.2f} on dense"
    if recipe.fusion in LIST_SCALES:
        return f"each list stretched alone ({recipe.fusion}), {weight:.2f} on dense"
    return f"weighted, {weight:.2f} on dense"


@dataclass(frozen=True, slots=True)
class FullRankings:
    """Both complete rankings, best first, ties by key; ``words`` has those with a BM25 above 0.

    Exact also where the vector index is approximate.
    """

    near: Ranking
    words: Ranking

    @classmethod
    def of(cls, search_query: SearchQuery, corpus: Corpus, search: SearchRecipe) -> FullRankings:
        """Rank every passage that the corpus allows."""
        keys = corpus.keys
        if corpus.allowed is not None:
            keys = np.intersect1d(keys, corpus.allowed)
        words = corpus.lexical.scores(search_query.words, keys, **bm25_options(search))
        near = fetched_cosines(search_query.vector, keys, corpus.dense)
        return cls(Ranking.best(keys, near), Ranking.best(keys[words > 0], words[words > 0]))


def true_rank(ranked: Ranking, key: int) -> int | None:
    """The rank of a passage, from 1; None where the ranking lacks the passage."""
    at = np.flatnonzero(ranked.keys == key)
    return int(at[0]) + 1 if len(at) else None
