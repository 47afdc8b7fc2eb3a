"""Candidates of a retrieval and their outcomes, in the order in which the cards show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rag import Hit, StageName, Trace, stage_rows

FoundBy = Literal["dense", "lexical", "both", "tool"]
Group = StageName | Literal["prompt"]
FOUND_BY: dict[FoundBy, str] = {
    "dense": "dense only",
    "lexical": "lexical only",
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
        """The retriever that found the passage."""
        if self.hit.from_tool:
            return "tool"
        parts = self.hit.parts
        if "dense_rank" in parts and "bm25_rank" in parts:
            return "both"
        return "dense" if "dense_rank" in parts else "lexical"


def candidates(trace: Trace) -> list[Candidate]:
    """All candidates: first what is in the prompt, then what each later cut dropped."""
    in_prompt = [Candidate(hit, "prompt") for hit in trace.in_prompt]
    dropped = [
        Candidate(drop.hit, stage.name, drop.reason)
        for name in cuts()
        if (stage := trace.stage(name))
        for drop in stage.dropped
    ]
    return in_prompt + dropped


def cuts() -> list[StageName]:
    """The stages that drop passages, the last one first."""
    return [row.name for row in reversed(stage_rows()) if row.dropped]


def at_step(listed: Sequence[Candidate], step: str) -> list[Candidate]:
    """The candidates that a step of the funnel points at; all of them for no step."""
    if step == "tool":
        return [candidate for candidate in listed if candidate.origin == step]
    if step in ("dense", "lexical"):
        return [candidate for candidate in listed if candidate.origin in (step, "both")]
    if step in cuts():
        return [candidate for candidate in listed if candidate.group == step]
    return list(listed)
