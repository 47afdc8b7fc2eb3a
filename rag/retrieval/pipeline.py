"""One question through all stages, with evidence of each: the retrieval that everything uses."""

from __future__ import annotations

from collections.abc import Sequence

from rag.recipe import Recipe
from rag.retrieval.candidate_generation import gather
from rag.retrieval.corpus import Corpus
from rag.retrieval.diversity import Nearness
from rag.retrieval.hits import Hits, pass_cuts
from rag.retrieval.selection import resolved_threshold, select
from rag.retrieval.timeline import Timeline
from rag.types import Message, Trace


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
    search_query, candidates = gather(question, search, corpus, timeline, history=history)
    limit = resolved_threshold(candidates, search, threshold)
    nearness = Nearness(candidates.keys, corpus.dense.vectors)
    selection = select(candidates, search, limit, corpus.calibration, nearness)
    at = Hits(candidates, selection, search, corpus.lookup).at
    rest = () if candidates.by_words is None else ("not all vectors are stored yet",)
    cuts = candidates.keys, selection, at, search, limit, timeline, candidates.topic
    waived = threshold if limit is None else None
    hits = pass_cuts(*cuts, *rest, waived=waived)
    return Trace(
        question=search_query.question,
        recipe=recipe.hash,
        passages=corpus.passages,
        threshold=limit,
        stages=tuple(timeline.stages),
        hits=hits,
        seconds=timeline.seconds,
        relevance=search.relevance,
        words="" if search_query.words == search_query.question else search_query.words,
        typed="" if search_query.question == question else question,
        reading="" if search_query.reading == search_query.question else search_query.reading,
        corrections=search_query.corrections,
    )
