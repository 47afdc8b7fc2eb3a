"""One question through all stages, with evidence of each: the retrieval that everything uses.

Complete rankings of a question have the ranks of passages that a search did not retrieve, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.lexical.references import reference_of
from rag.protocols import Embedder
from rag.recipe import Recipe, SearchRecipe
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
from rag.retrieval.fusion import describe_fusion
from rag.retrieval.hits import Hits, pass_cuts
from rag.retrieval.languages import note_language
from rag.retrieval.query_transforms import transform_query
from rag.retrieval.selection import Nearness, resolved_threshold, select
from rag.retrieval.stages import stage_rows
from rag.retrieval.timeline import Timeline
from rag.retrieval.topic import Topic, topic_evidence
from rag.types import Message, Trace, Vectors


def retrieve(
    question: str,
    recipe: Recipe,
    corpus: Corpus,
    threshold: float | None,
    history: Sequence[Message] = (),
) -> Trace:
    """Run one question. ``threshold`` is the resolved value of ``recipe.search.threshold``.

    ``history`` is the conversation before it, which a follow-up is made complete from. The trace
    is then that of the complete question.
    """
    timeline, search = Timeline(), recipe.search
    query, candidates = gather(question, search, corpus, timeline, history=history)
    limit = resolved_threshold(candidates, search, threshold)
    nearness = Nearness(candidates.keys, corpus.dense.vectors)
    selection = select(candidates, search, limit, corpus.calibration, nearness)
    hits = pass_cuts(
        candidates.keys,
        selection,
        Hits(candidates, selection, search, corpus.lookup).at,
        search,
        limit,
        timeline,
        candidates.topic,
        *(() if candidates.by_words is None else ("not all vectors are stored yet",)),
        waived=threshold if limit is None else None,
    )
    return Trace(
        question=query.question,
        recipe=recipe.hash,
        passages=corpus.passages,
        threshold=limit,
        stages=tuple(timeline.stages),
        hits=hits,
        seconds=timeline.seconds,
        relevance=search.relevance,
        words="" if query.words == query.question else query.words,
        typed="" if query.question == question else question,
        reading="" if query.reading == query.question else query.reading,
        corrections=query.corrections,
    )


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
    query = transform_query(question, recipe, corpus, timeline, vector, history)
    documents = corpus.languages, corpus.lexical
    lacking = note_language(query.question, recipe, *documents, timeline)
    reach = corpus.passages
    if corpus.allowed is not None:
        reach = len(corpus.allowed)
        timeline.passed("filter", corpus.passages, reach, describe_filters(recipe))

    # Both retrievers, each for all wordings.
    note = f", of {1 + len(query.variants)} wordings the best" if query.variants else ""
    if isinstance(corpus.dense, IncompleteVectors):
        late = len(corpus.dense.lacking)
        note += f"; only lexical search finds {late:,}, whose vectors are not stored yet"
    near = nearest(query, corpus.dense, recipe, corpus.allowed)
    if recipe.mode != "lexical":
        vectors = "vectors" if corpus.dense.exact else "vectors, approximately"
        timeline.passed(
            "dense", reach, len(near.keys), f"nearest {recipe.candidates} {vectors}{note}"
        )
    words = best_by_words(query, corpus.lexical, recipe, corpus.allowed)
    if recipe.mode != "dense":
        timeline.passed(
            "lexical", reach, len(words.keys), f"best {recipe.candidates} by BM25{note}"
        )

    rankings = near, words, corpus.dense, corpus.lexical, recipe
    candidates = join(query, *rankings, corpus.default_threshold)
    candidates = replace(candidates, lacking=lacking)
    taken = len(near.keys) + len(words.keys)
    timeline.passed("fusion", taken, len(candidates), describe_fusion(recipe, lacking))

    for row in stage_rows():
        if row.run is not None and row.is_on(recipe):
            query, candidates = row.run(query, candidates, recipe, corpus, timeline)
    return query, replace(candidates, topic=topic_of(query, corpus))


def topic_of(search_query: SearchQuery, corpus: Corpus) -> Topic | None:
    """Whether a question is on topic: by itself, whatever steps added to it.

    None where nobody is asked, and while vectors are not in yet: what is not seen is not refused.
    A question that only has the number of a part ("clause 4.2") says nothing of a topic.
    """
    text = search_query.question or search_query.words
    if corpus.topic is None or isinstance(corpus.dense, IncompleteVectors) or reference_of(text):
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
