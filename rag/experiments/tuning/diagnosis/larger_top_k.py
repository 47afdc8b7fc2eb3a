"""A larger top-k, and the passages below the present one that it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.experiments.tuning.diagnosis.finding import FailedQuestion
from rag.recipe import Recipe

_LEAST_CEILING = 20
_TIMES = 4
"""Beyond so many times the present top-k, a better ranking helps more than more passages."""
_MOST = 1000  # that a recipe can have


@dataclass(frozen=True, slots=True)
class LargerTopK:
    """A ``top_k`` that returns the passages of ``returned`` of ``questions`` below the present one.

    No questions choose or test it: more results lose none of the others. They make a prompt
    longer.
    """

    top_k: int
    returned: int
    questions: int

    @property
    def sentence(self) -> str:
        """The passages that it returns."""
        if self.questions == 1:
            return f"Top-k {self.top_k} returns the one that is below top-k."
        which = f"{self.returned:,} of {self.questions:,}"
        if self.returned == self.questions:
            which = "both" if self.questions == 2 else f"all {self.questions:,}"
        return f"Top-k {self.top_k} returns {which} that are below top-k."


def larger_top_k(recipe: Recipe, failed: Sequence[FailedQuestion]) -> LargerTopK | None:
    """The smallest doubling of top-k that returns at least half of the passages below it.

    It is at most 20, or four times the present one. Passages that are no candidate don't count, as
    they are not below top-k. None without such a passage, or if no top-k returns so many.
    """
    below = [one.finding.figures.get("rank") for one in failed if one.cause == "top_k"]
    ranks = [rank for rank in below if rank is not None]
    top_k = recipe.search.top_k
    ceiling = min(max(_LEAST_CEILING, _TIMES * top_k), _MOST)
    while ranks and top_k < ceiling:
        top_k = min(2 * top_k, ceiling)
        returned = sum(rank <= top_k for rank in ranks)
        if 2 * returned >= len(ranks):
            return LargerTopK(top_k, returned, len(ranks))
    return None
