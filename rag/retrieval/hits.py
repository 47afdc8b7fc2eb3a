"""Positions of candidates as hits with every figure that they have, and the cuts in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import MATCHED_WORDS, NOT_FOUND, Candidates, counts_words
from rag.retrieval.corpus import Lookup
from rag.retrieval.fusion import BY_WORDS, ranking
from rag.retrieval.selection import Selection
from rag.retrieval.timeline import Timeline
from rag.retrieval.topic import Topic
from rag.types import Dropped, Hit, Keys, Order, page_name, percent, told_apart

MATCHED = "matched_words"
"""The part of a hit whose words count for more than its cosine."""

HitAt = Callable[[int], Hit | None]
"""The hit at a position among the candidates; None where its passage is gone."""


class Hits:
    """A conversion of positions of candidates into hits, reading their passages in one go."""

    def __init__(
        self, candidates: Candidates, selection: Selection, recipe: SearchRecipe, lookup: Lookup
    ) -> None:
        self._candidates = candidates
        self._selection = selection
        self._recipe = recipe
        self._passages = lookup([int(key) for key in candidates.keys])
        self._rank = {int(place): rank for rank, place in enumerate(selection.order, start=1)}

    def at(self, position: int) -> Hit | None:
        """One hit; None when it was deleted since the index was read: it must not answer."""
        passage = self._passages.get(int(self._candidates.keys[position]))
        if passage is None:
            return None
        chunk, document = passage
        return Hit(
            chunk=chunk,
            document=document,
            rank=self._rank[position],
            score=float(self._selection.scores[position]),
            relevance=float(self._selection.relevance[position]),
            parts=dict(self._parts(position)),
        )

    def _reaches_by_words(self, place: int) -> bool:
        """Whether the words of a passage count for more than its cosine."""
        by_words = self._candidates.word_relevance
        if by_words is None or not counts_words(self._recipe):
            return False
        return bool(by_words[place] > self._candidates.cosine[place])

    def _parts(self, place: int) -> Iterator[tuple[str, float]]:
        candidates, mode = self._candidates, self._recipe.mode
        yield "dense", float(candidates.cosine[place])
        if mode != "dense" or self._recipe.relevance == "probability":
            yield "bm25", float(candidates.bm25[place])
        enriched = "feedback" if self._recipe.feedback else "expanded"
        if candidates.near is not None:
            yield enriched, float(candidates.near[place])
        if candidates.words is not None:
            yield f"{enriched}_bm25", float(candidates.words[place])
        if mode == "hybrid" and self._selection.fused is not None:
            yield "fused", float(self._selection.fused[place])
        if candidates.rerank is not None and not np.isnan(candidates.rerank[place]):
            yield "rerank", float(candidates.rerank[place])
        if candidates.exact is not None and candidates.exact[place] and self._recipe.exact_codes:
            yield "exact", 1.0
        if self._reaches_by_words(place):
            yield MATCHED, 1.0
        if candidates.by_words is not None and candidates.by_words[place]:
            yield BY_WORDS, 1.0
        if place in self._selection.mmr:
            yield "mmr", self._selection.mmr[place]
        ranks = {"dense_rank": candidates.dense_rank, "bm25_rank": candidates.lexical_rank}
        for name, column in ranks.items():
            if column[place] != NOT_FOUND:
                yield name, float(column[place] + 1)


def hits_at(at: HitAt, positions: Order) -> tuple[Hit, ...]:
    """The hits at some positions, without passages that were deleted meanwhile."""
    hits = map(at, positions.tolist())
    return tuple(hit for hit in hits if hit is not None)


def pass_cuts(
    keys: Keys,
    selection: Selection,
    at: HitAt,
    recipe: SearchRecipe,
    threshold: float | None,
    timeline: Timeline,
    topic: Topic | None = None,
    undecided: str = "no limit was fitted for this embedder",
    *,
    waived: float | None = None,
) -> tuple[Hit, ...]:
    """Notes refusal, threshold, doubles, diversity and top-k; returns the hits that came through.

    ``keys`` are those of the candidates; ``undecided`` is why there is no ``topic``. ``waived`` is
    the threshold of the recipe where the words of the question decide, so that it does not apply.
    """
    remaining = len(selection.order)
    if recipe.refuse != "off":
        _note_refusal(selection, at, recipe, timeline, topic, undecided)
        remaining -= len(selection.refused)
    name = "relevance" if recipe.relevance == "cosine" else "probability"
    below = [
        Dropped(hit, "{} {} is below {}".format(name, *told_apart(hit.relevance, threshold or 0.0)))
        for hit in hits_at(at, selection.below)
    ]
    same = list(_doubles(selection, at))
    note = "no threshold" if threshold is None else f"{name} ≥ {threshold:.3g}"
    if waived is not None:
        note = f"{waived:.3g} does not apply: the embedder does not support this language"
    if threshold is not None:
        above = np.concatenate([selection.kept, selection.beyond])
        lifted = hits_at(at, above[selection.relevance[above] < threshold])
        late = sum(BY_WORDS in hit.parts for hit in lifted)
        coded = sum("exact" in hit.parts and BY_WORDS not in hit.parts for hit in lifted)
        matched = len(lifted) - late - coded
        note += f"; {coded} below it with a rare code of the question" * bool(coded)
        share = f"at least {percent(MATCHED_WORDS)} of the weight of the question's words"
        note += f"; {matched} below it with {share}" * bool(matched)
        note += f"; {late} whose vectors are not stored yet" * bool(late)
    figures = {} if waived is None else {"waived": waived}
    timeline.passed("threshold", remaining, remaining - len(below), note, below, figures=figures)
    remaining -= len(below)
    if recipe.duplicates is not None:
        note = f"cosine ≥ {recipe.duplicates:.3g} to a better one"
        timeline.passed("duplicates", remaining, remaining - len(same), note, same)
        remaining -= len(same)
    if recipe.mmr is not None:
        timeline.passed("mmr", remaining, remaining, _moved(keys, selection, recipe.mmr))
    those = "the candidates" if threshold is None else "those above the threshold"
    beyond = [
        Dropped(hit, f"place {rank} of {those}, top-k is {recipe.top_k}")
        for rank, hit in enumerate(hits_at(at, selection.beyond), start=recipe.top_k + 1)
    ]
    selected = len(selection.kept)
    timeline.passed("top_k", selected + len(beyond), selected, f"top-k {recipe.top_k}", beyond)
    return hits_at(at, selection.kept)


def _note_refusal(
    selection: Selection,
    at: HitAt,
    recipe: SearchRecipe,
    timeline: Timeline,
    topic: Topic | None,
    undecided: str,
) -> None:
    """Note whether the question is on topic, or why that is undecided."""
    remaining, limit = len(selection.order), topic and topic.limit(recipe.refuse)
    if topic is None or limit is None:
        note = "nothing to search" if not remaining else f"off: {undecided}"
        timeline.passed("refuse", remaining, remaining, note)
        return
    sign = "<" if topic.refused(recipe.refuse) else "≥"
    says = "off-topic" if topic.refused(recipe.refuse) else "on topic"
    note = f"the question is {says}: probability {topic.probability:.3f} {sign} {limit:.3g}"
    refused = [
        Dropped(hit, f"off-topic: {topic.probability:.3f} < {limit:.3g}")
        for hit in hits_at(at, selection.refused)
    ]
    figures = {"probability": topic.probability, "limit": limit, **asdict(topic.evidence)}
    timeline.passed(
        "refuse",
        remaining,
        remaining - len(refused),
        f"{note}; {topic.evidence.words}",
        refused,
        figures=figures,
    )


def _doubles(selection: Selection, at: HitAt) -> Iterator[Dropped]:
    for double in selection.doubles:
        hit, better = at(double.place), at(double.of)
        if hit is not None and better is not None:
            yield Dropped(hit, f"duplicate of {_name(better)} (cosine {double.cosine:.3f})")


def _name(hit: Hit) -> str:
    page = page_name(hit.document, hit.chunk.page, hit.chunk.heading, ", ")
    return f"#{hit.rank}, {hit.document}{page}, passage {hit.chunk.order + 1}"


def _moved(keys: Keys, selection: Selection, share: float) -> str:
    """Return a note with the number of results that would be missing by score alone."""
    chosen = selection.kept
    order = selection.order
    plain = order[ranking(keys[order], selection.scores[order])]
    out = {*selection.below.tolist(), *(double.place for double in selection.doubles)}
    first = [place for place in plain.tolist() if place not in out][: len(chosen)]
    new = len(set(chosen.tolist()).difference(first))
    return f"lambda {share:.2g}; {new} of {len(chosen)} came up from lower places"
