"""One question through all stages, with evidence of each: the retrieval that everything uses."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag.lexical import LexicalIndex
from rag.protocols import ChatModel, Embedder, Reranker, VectorStore
from rag.recipe import Recipe
from rag.retrieval.candidates import (
    NOT_FOUND,
    Calibrated,
    Candidates,
    Found,
    best_by_words,
    join,
    nearest,
)
from rag.retrieval.fusion import Order
from rag.retrieval.selection import Selection, select
from rag.retrieval.unbuilt import refuse_unbuilt
from rag.types import Chunk, Dropped, Hit, Keys, Stage, Trace, Vectors

Lookup = Callable[[Sequence[int]], Mapping[int, tuple[Chunk, str]]]
"""Passages with the names of their documents, by key; keys that are gone are absent."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is searched: one build of a knowledge base at one moment.

    ``calibration`` is there where the recipe's threshold is a probability, ``chat`` and
    ``reranker`` where the recipe has steps that need them. ``allowed`` restricts every search to
    these passages.
    """

    embedder: Embedder
    dense: VectorStore
    lexical: LexicalIndex
    lookup: Lookup
    calibration: Calibrated | None = None
    chat: ChatModel | None = None
    reranker: Reranker | None = None
    allowed: Keys | None = None

    @property
    def passages(self) -> int:
        """Number of passages that can be found."""
        return len(self.lexical)


def embed_question(question: str, embedder: Embedder) -> Vectors:
    """The unit vector of a question, shape (dimension,)."""
    vector: Vectors = embedder.embed([question], "query")[0]
    return vector


def retrieve(question: str, recipe: Recipe, corpus: Corpus, threshold: float | None) -> Trace:
    """Runs one question. ``threshold`` is the resolved value of ``recipe.search.threshold``.

    Raises InvalidRecipe for a step that this version does not have.
    """
    clock, search = _Clock(), recipe.search
    refuse_unbuilt(search)
    query = embed_question(question, corpus.embedder)
    embedded = clock.lap()
    near = nearest(query, corpus.dense, search, corpus.allowed)
    near_seconds = clock.lap()
    words = best_by_words(question, corpus.lexical, search, corpus.allowed)
    words_seconds = clock.lap()
    candidates = join(question, query, near, words, corpus.dense, corpus.lexical, search)
    selection = select(candidates, search, threshold, corpus.calibration)
    fused = clock.lap()
    hits = _Hits(candidates, selection, recipe, corpus.lookup)
    stages = (
        Stage("question", 1, 1, seconds=embedded, note="embedding of the question"),
        *_retriever_stages(corpus.passages, recipe, (near, near_seconds), (words, words_seconds)),
        Stage(
            "fusion",
            len(near.keys) + len(words.keys),
            len(candidates),
            seconds=fused,
            note=_how(recipe),
        ),
        hits.threshold_stage(threshold),
        hits.top_k_stage(),
    )
    return Trace(
        question=question,
        recipe=recipe.hash,
        passages=corpus.passages,
        threshold=threshold,
        stages=stages,
        hits=hits.of(selection.kept),
        seconds=clock.total(),
        relevance=search.relevance,
    )


class _Clock:
    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()

    def lap(self) -> float:
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        return seconds

    def total(self) -> float:
        return time.perf_counter() - self._start


class _Hits:
    """Turns positions of candidates into hits, reading their passages in one go."""

    def __init__(
        self, candidates: Candidates, selection: Selection, recipe: Recipe, lookup: Lookup
    ) -> None:
        self._candidates = candidates
        self._selection = selection
        self._recipe = recipe
        self._passages = lookup([int(key) for key in candidates.keys])
        self._rank = {int(place): rank for rank, place in enumerate(selection.order, start=1)}

    def of(self, places: Order) -> tuple[Hit, ...]:
        hits = (self._hit(int(place)) for place in places)
        return tuple(hit for hit in hits if hit is not None)

    def _hit(self, place: int) -> Hit | None:
        found = self._passages.get(int(self._candidates.keys[place]))
        if found is None:  # deleted since the index was read: it must not answer
            return None
        chunk, document = found
        return Hit(
            chunk=chunk,
            document=document,
            rank=self._rank[place],
            score=float(self._selection.scores[place]),
            relevance=float(self._selection.relevance[place]),
            parts=self._parts(place),
        )

    def _parts(self, place: int) -> dict[str, float]:
        candidates, mode = self._candidates, self._recipe.search.mode
        parts = {"dense": float(candidates.cosine[place])}
        if mode != "dense" or self._recipe.search.relevance == "probability":
            parts["bm25"] = float(candidates.bm25[place])
        if mode == "hybrid":
            parts["fused"] = float(self._selection.scores[place])
        for name, ranks in (
            ("dense_rank", candidates.dense_rank),
            ("bm25_rank", candidates.lexical_rank),
        ):
            if ranks[place] != NOT_FOUND:
                parts[name] = float(ranks[place] + 1)
        return parts

    def threshold_stage(self, threshold: float | None) -> Stage:
        taken, below = len(self._candidates), self.of(self._selection.below)
        if threshold is None:
            return Stage("threshold", taken, taken, note="no threshold")
        name = "relevance" if self._recipe.search.relevance == "cosine" else "probability"
        dropped = tuple(
            Dropped(hit, f"{name} {hit.relevance:.3f} is below {threshold:.3f}") for hit in below
        )
        return Stage(
            "threshold", taken, taken - len(dropped), dropped, note=f"{name} ≥ {threshold:.3g}"
        )

    def top_k_stage(self) -> Stage:
        top_k, beyond = self._recipe.search.top_k, self.of(self._selection.beyond)
        kept = len(self._selection.kept)
        dropped = tuple(
            Dropped(hit, f"place {place} of those above the threshold, top-k is {top_k}")
            for place, hit in enumerate(beyond, start=top_k + 1)
        )
        return Stage("top_k", kept + len(dropped), kept, dropped, note=f"top-k {top_k}")


def _retriever_stages(
    passages: int, recipe: Recipe, near: tuple[Found, float], words: tuple[Found, float]
) -> list[Stage]:
    depth = recipe.search.candidates
    dense = Stage(
        "dense", passages, len(near[0].keys), seconds=near[1], note=f"nearest {depth} vectors"
    )
    lexical = Stage(
        "lexical", passages, len(words[0].keys), seconds=words[1], note=f"best {depth} by BM25"
    )
    chosen = {"dense": [dense], "lexical": [lexical], "hybrid": [dense, lexical]}
    return chosen[recipe.search.mode]


def _how(recipe: Recipe) -> str:
    search = recipe.search
    if search.mode != "hybrid":
        return "one retriever, nothing to fuse"
    if search.fusion == "rrf":
        return f"reciprocal ranks, constant {search.rrf_k}, {search.dense_weight:.2f} on dense"
    return f"weighted, {search.dense_weight:.2f} on dense"
