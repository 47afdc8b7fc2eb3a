"""What became of every candidate of a retrieval, in the order in which the cards show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rag import Hit, Trace

FoundBy = Literal["dense", "lexical", "both", "tool"]
Group = Literal["prompt", "context", "merge", "top_k", "duplicates", "threshold"]
CUTS: tuple[Group, ...] = ("context", "merge", "top_k", "duplicates", "threshold")
FOUND_BY: dict[FoundBy, str] = {
    "dense": "dense only",
    "lexical": "words only",
    "both": "both",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage with its fate: ``prompt`` came through, else the stage that dropped it."""

    hit: Hit
    group: Group
    reason: str = ""

    @property
    def origin(self) -> FoundBy:
        """Which retriever found it."""
        if self.hit.from_tool:
            return "tool"
        parts = self.hit.parts
        if "dense_rank" in parts and "bm25_rank" in parts:
            return "both"
        return "dense" if "dense_rank" in parts else "lexical"


def candidates(trace: Trace) -> list[Candidate]:
    """All candidates: first what is in the prompt, then what each later cut dropped."""
    found = [Candidate(hit, "prompt") for hit in trace.in_prompt]
    return found + [each for stage in CUTS for each in _dropped(trace, stage)]


def _dropped(trace: Trace, stage: Group) -> list[Candidate]:
    found = trace.stage(stage)
    drops = found.dropped if found else ()
    return [Candidate(drop.hit, stage, drop.reason) for drop in drops]


def at_step(shown: Sequence[Candidate], step: str) -> list[Candidate]:
    """The candidates that a step of the funnel points at; all of them for no step."""
    if step == "tool":
        return [each for each in shown if each.origin == step]
    if step in ("dense", "lexical"):
        return [each for each in shown if each.origin in (step, "both")]
    if step in CUTS:
        return [each for each in shown if each.group == step]
    return list(shown)
