"""Where one passage stands in a retrieval: stage by stage, and what took it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rag.explanation.deep import FullRankings, place
from rag.recipe import SearchRecipe
from rag.types import Chunk, Hit, Keys, Stage, Trace

StepOutcome = Literal["found", "not found", "kept", "lost"]

RETRIEVERS = {"dense": "dense", "lexical": "BM25"}
CANDIDATES = "candidates"
"""Where a passage is lost that no retriever brought along."""

_ABOUT_THE_QUESTION = {"question", "spelling", "rewrite", "expansions", "hyde"}


@dataclass(frozen=True, slots=True)
class Passing:
    """What one stage did with the passage, in words."""

    stage: str
    outcome: StepOutcome
    words: str


@dataclass(frozen=True, slots=True)
class Figures:
    """What both retrievers know of a passage, over all that may be found.

    ``dense`` is the cosine. Ranks count from 1. ``bm25_rank`` is None, and ``bm25`` 0, for a
    passage without a word of the question; ``dense_rank`` is None for one that a filter excludes.
    ``lacking`` are the terms of the question that it lacks.
    """

    dense: float
    dense_rank: int | None
    bm25: float
    bm25_rank: int | None
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """The way of one passage through a retrieval.

    ``lost`` names the stage that took it out, "" where none did; ``reason`` says why.
    ``hit`` is None for a passage that never was a candidate.
    """

    chunk: Chunk
    document: str
    figures: Figures
    steps: tuple[Passing, ...]
    hit: Hit | None
    lost: str
    reason: str

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.lost:
            is_last = any(step.stage == "context" for step in self.steps)
            rank = f", rank {self.hit.rank}" if self.hit else ""
            return f"{'in the prompt' if is_last else 'among the results'}{rank}"
        return f"lost at {self.lost.replace('_', '-')}: {self.reason}"


def standing(
    trace: Trace,
    search: SearchRecipe,
    passage: tuple[Chunk, str],
    figures: Figures,
    allowed: Keys | None = None,
) -> Standing:
    """Looks up a passage (with the name of its document) in a retrieval."""
    chunk, document = passage
    hit = hit_of(trace, chunk.key)
    steps = tuple(_steps(trace, search, hit, chunk.key, figures, allowed))
    lost = next((step for step in steps if step.outcome == "lost"), None)
    return Standing(
        chunk,
        document,
        figures,
        steps,
        hit,
        lost.stage if lost else "",
        lost.words if lost else "",
    )


def hit_of(trace: Trace, key: int) -> Hit | None:
    """The passage as the trace has it, kept or dropped; None where it never was a candidate."""
    return next((hit for hit in _held(trace) if hit.chunk.key == key), None)


def figures(
    deep: FullRankings, key: int, bm25: float, dense: float, lacking: tuple[str, ...]
) -> Figures:
    """Figures of a passage with its true ranks."""
    near, words = place(deep.near, key), place(deep.words, key)
    return Figures(dense, near[0] if near else None, bm25, words[0] if words else None, lacking)


def _steps(
    trace: Trace,
    search: SearchRecipe,
    hit: Hit | None,
    key: int,
    known: Figures,
    allowed: Keys | None,
) -> Iterator[Passing]:
    """Up to the stage that took the passage out."""
    if allowed is not None and key not in allowed:
        yield Passing("filter", "lost", "the filters of the recipe exclude it")
        return
    again = trace.stage("feedback") is not None
    for stage in trace.stages:
        if stage.name in _ABOUT_THE_QUESTION:
            continue
        if stage.name in RETRIEVERS:
            yield _found(stage.name, search, hit, known, again)
        elif hit is None and stage.name == "fusion" and again:
            yield Passing("fusion", "not found", "not among the candidates in the end")
        elif hit is None and stage.name in ("fusion", "feedback"):
            yield Passing(CANDIDATES, "lost", missed(search, known, again))
            return
        elif stage.name == "feedback":
            yield Passing("feedback", "found", _again(hit))
        else:
            step = _passed(trace, stage, hit, key)
            yield step
            if step.outcome == "lost":
                return


def _again(hit: Hit | None) -> str:
    """How the second search found a passage."""
    ranks = {"dense": "dense_rank", "BM25": "bm25_rank"}
    found = [
        f"{name} rank {hit.parts[part]:.0f}"
        for name, part in ranks.items()
        if hit is not None and part in hit.parts
    ]
    return f"{', '.join(found)} in the second search"


def _found(
    name: str, search: SearchRecipe, hit: Hit | None, known: Figures, again: bool
) -> Passing:
    """The first search; where there is a second one, hits tell of that, and true ranks of this."""
    true = known.dense_rank if name == "dense" else known.bm25_rank
    part = hit.parts.get({"dense": "dense_rank", "lexical": "bm25_rank"}[name]) if hit else None
    rank = true if again else part
    if rank is not None and rank <= search.candidates:
        return Passing(name, "found", f"rank {rank:,.0f}, {_score(name, known)}")
    return Passing(name, "not found", f"{_missed_by(name, search, known)}, {_score(name, known)}")


def _score(name: str, known: Figures) -> str:
    return f"cosine {known.dense:.3f}" if name == "dense" else f"BM25 {known.bm25:.2f}"


def missed(search: SearchRecipe, known: Figures, again: bool) -> str:
    """Why no retriever brought a passage along; ``again`` where the second search decides."""
    asked = {"dense": ["dense"], "lexical": ["lexical"], "hybrid": ["dense", "lexical"]}
    if again:
        return "the second search does not find it"
    return "; ".join(_missed_by(name, search, known) for name in asked[search.mode])


def _missed_by(name: str, search: SearchRecipe, known: Figures) -> str:
    rank = known.dense_rank if name == "dense" else known.bm25_rank
    if rank is None:
        return "no word of the question in it" if name == "lexical" else "not among the vectors"
    if rank <= search.candidates:
        return f"{RETRIEVERS[name]} rank {rank:,}, missed by the approximate index"
    return f"{RETRIEVERS[name]} rank {rank:,}, cut by candidates={search.candidates}"


def _passed(trace: Trace, stage: Stage, hit: Hit | None, key: int) -> Passing:
    for drop in stage.dropped:
        if drop.hit.chunk.key == key:
            return Passing(stage.name, "lost", drop.reason)
    return Passing(stage.name, "kept", _place(trace, stage, hit))


def _place(trace: Trace, stage: Stage, hit: Hit | None) -> str:
    """What is known of the passage after a stage that it came through."""
    name = {"fusion": "fused"}.get(stage.name, stage.name)
    if hit is not None and name in hit.parts:
        mine = hit.parts[name]
        ahead = sum(each.parts.get(name, mine) > mine for each in _held(trace))
        return f"place {ahead + 1:,} of {stage.given:,}, {name} {mine:.3f}"
    if hit is not None and stage.name == "threshold" and trace.threshold is not None:
        return f"relevance {hit.relevance:.3f}, asked for is {trace.threshold:.3f}"
    return f"one of {stage.given:,}"


def _held(trace: Trace) -> list[Hit]:
    """Every candidate, once."""
    drops = (drop.hit for stage in trace.stages for drop in stage.dropped)
    return list({hit.chunk.key: hit for hit in (*drops, *trace.hits)}.values())
