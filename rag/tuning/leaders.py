"""The best recipes of a sweep, told by the fields that make a difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.recipe import SearchRecipe
from rag.tuning.sweeper import Sweep

LEADERS = 10
_LOOKED_AT = 400  # alike ones included


@dataclass(frozen=True, slots=True)
class Leader:
    """A recipe by its figure and its fields of the grid; None for those that change nothing."""

    figure: float
    fields: Mapping[str, Any]


def leaders(sweep: Sweep, metric: str) -> tuple[Leader, ...]:
    """The first ten that differ in more than fields without effect, best first."""
    by_figures: dict[str, Leader] = {}
    for number in sweep.best(metric, _LOOKED_AT):
        leader = Leader(sweep.metrics(number)[metric], _effective(sweep, number))
        by_figures.setdefault(repr(leader), leader)
        if len(by_figures) == LEADERS:
            break
    return tuple(by_figures.values())


def _effective(sweep: Sweep, number: int) -> dict[str, Any]:
    idle = idle_fields(sweep.grid.recipe(number).search)
    fields = {name.partition(".")[2]: v for name, v in sweep.grid.changes(number).items()}
    return {name: None if name in idle else value for name, value in fields.items()}


def idle_fields(search: SearchRecipe) -> set[str]:
    """Fields that a search does not look at: another value of theirs finds the same."""
    idle = {"rrf_k"} if search.fusion == "weighted" else set()
    if search.mode != "hybrid":
        idle |= {"dense_weight", "fusion", "rrf_k"}
    return idle | ({"k1", "b"} if search.mode == "dense" else set())
