"""How many tokens each recipe would put before a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag.evaluation.sweeping.layout import Layout
from rag.evaluation.sweeping.pool import Family, Floats, Pool, pool
from rag.evaluation.sweeping.pruning import Leading


class Cut(NamedTuple):
    """What is taken from a ranked list: ``threshold`` is resolved, None for no limit."""

    threshold: float | None
    top_k: int


class Context:
    """Tokens of the passages shown, before the budget of the answer cuts them."""

    def __init__(
        self, layout: Layout, tokens: npt.NDArray[np.int64], leading: Leading | None
    ) -> None:
        """``leading`` tells which candidates can be shown, None if all may."""
        self._layout = layout
        self._tokens = tokens
        self._leading = leading

    def of(self, family: Family, cuts: Sequence[Cut]) -> ShownTokens:
        """The passages that one family of recipes shows."""
        return ShownTokens(
            pool(self._layout, family, family.kept(self._leading)), self._tokens, cuts
        )


class ShownTokens:
    """Tokens of the passages that the recipes of a pool show; ``tokens`` has (candidates,)."""

    def __init__(self, pool: Pool, tokens: npt.NDArray[np.int64], cuts: Sequence[Cut]) -> None:
        self._pool = pool
        self._cuts = cuts
        self._above = pool.above([cut.threshold for cut in cuts])
        self._by_key = np.argsort(pool.keys, axis=1)
        self._tokens = np.zeros(pool.keys.shape, np.int64)
        inside = np.arange(pool.keys.shape[1]) < pool.sizes[:, None]
        self._tokens[inside] = tokens[pool.places]

    def means(self, weight: float) -> Floats:
        """Mean tokens per question under every cut, shape (cuts,)."""
        scores = np.take_along_axis(self._pool.scores(weight), self._by_key, axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")  # equal scores by key
        columns = np.take_along_axis(self._by_key, order, axis=1)
        tokens = np.take_along_axis(self._tokens, columns, axis=1)
        sums = np.empty(len(self._cuts))
        for number, (cut, above) in enumerate(zip(self._cuts, self._above, strict=True)):
            inside = columns < above[:, None]
            shown = inside & (np.cumsum(inside, axis=1) <= cut.top_k)
            sums[number] = tokens[shown].sum() / max(len(tokens), 1)
        return sums
