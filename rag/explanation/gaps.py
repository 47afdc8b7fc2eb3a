"""What a passage lacks against the last one that is shown."""

from __future__ import annotations

from dataclasses import dataclass

from rag.explanation.standing import Standing
from rag.types import Hit, Trace


@dataclass(frozen=True, slots=True)
class Gap:
    """The last result's figures less the passage's: above 0 is what it would have to gain.

    ``score`` is None for a passage that was never scored, as it was no candidate; ``bm25`` is None
    where the recipe does not use it.
    """

    last: Hit
    dense: float
    bm25: float | None
    score: float | None


def gap(trace: Trace, found: Standing) -> Gap | None:
    """None where nothing is shown, or the passage itself is."""
    shown = {hit.chunk.key for hit in trace.hits}
    if not trace.hits or found.chunk.key in shown:
        return None
    last = trace.hits[-1]
    bm25 = last.parts.get("bm25")
    return Gap(
        last,
        last.parts["dense"] - found.figures.dense,
        None if bm25 is None else bm25 - found.figures.bm25,
        last.score - found.hit.score if found.hit else None,
    )
