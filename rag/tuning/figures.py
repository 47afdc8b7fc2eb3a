"""Recipes whose figures are arithmetic, and what that took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.evaluation.sweeping import Arithmetic, By, Field, Pair, Prepared
from rag.evaluation.sweeping.arithmetic import Cuts
from rag.recipe import SearchRecipe
from rag.tuning.candidates import CandidateSource
from rag.tuning.weighted_progress import PER_RECIPE, WeightedProgress
from rag.types import Floats, Keys, ProgressCallback

_AT_ONCE = 1024  # rankings measured between two looks at whether to stop
_BLOCK = 24  # pairs of k1 and b whose candidates stand in one table


@dataclass
class Seconds:
    fetching: float = 0.0
    arithmetic: float = 0.0
    processor: float = 0.0

    @contextmanager
    def fetch(self) -> Iterator[None]:
        """Adds what passes inside to ``fetching``."""
        started = time.perf_counter()
        yield
        self.fetching += time.perf_counter() - started

    @contextmanager
    def work(self) -> Iterator[None]:
        """Adds what passes inside to ``arithmetic`` and ``processor``."""
        started, worked = time.perf_counter(), time.process_time()
        yield
        self.arithmetic += time.perf_counter() - started
        self.processor += time.process_time() - worked


@dataclass(frozen=True)
class Swept:
    """Recipes of a build whose figures are arithmetic; ``seconds`` notes what it took.

    ``plain`` are the ``searches``, no deeper than they are where something is shown.
    """

    source: CandidateSource
    searches: Sequence[SearchRecipe]
    plain: Sequence[SearchRecipe]
    arithmetic: Arithmetic
    cuts: Cuts
    with_context: bool
    seconds: Seconds
    effort: WeightedProgress

    def figures(self, pairs: Mapping[Pair, Sequence[int]]) -> dict[int, Floats]:
        """Figures by number. Postings are fetched; what k1 and b make of them is arithmetic."""
        rows = dict[int, Floats]()
        for block in _blocks(list(pairs)):
            weight = len(self.arithmetic.questions) * len(block) / len(pairs)
            rows |= self._block({pair: pairs[pair] for pair in block}, weight)
        return rows

    def _block(self, pairs: Mapping[Pair, Sequence[int]], weight: float) -> dict[int, Floats]:
        """``weight`` is that of fetching: together for several pairs, by itself for one."""
        rows = dict[int, Floats]()
        together, alone = (0.0, weight) if len(pairs) == 1 else (weight, 0.0)
        with self.seconds.fetch(), self.effort.part(together) as on_progress:
            field = self._field(pairs, on_progress)
        for pair, numbers in pairs.items():
            with self.seconds.fetch(), self.effort.part(alone) as on_progress:
                if field is None:
                    prepared = self._prepared(
                        [self.searches[number] for number in numbers], on_progress
                    )
            with self.seconds.work():
                if field is not None:
                    prepared = field.prepared(pair)
                for start in range(0, len(numbers), _AT_ONCE):
                    some = numbers[start : start + _AT_ONCE]
                    rows.update(zip(some, self._arithmetic(prepared, some), strict=True))
        return rows

    def _arithmetic(self, prepared: Prepared, numbers: Sequence[int]) -> Floats:
        chosen = [self.searches[number] for number in numbers]
        displayed = [self.plain[number] for number in numbers]
        tokens = self._tokens(prepared.deep.keys)
        recipes = len(numbers) * len(self.cuts(chosen[0]))
        with self.effort.part(len(self.arithmetic.questions) * recipes * PER_RECIPE):
            return self.arithmetic.figures(prepared, chosen, self.cuts, tokens, displayed)

    def _field(
        self, pairs: Mapping[Pair, Sequence[int]], on_progress: ProgressCallback
    ) -> Field | None:
        """The candidates of all pairs in one table; None for one pair, or where it is too large."""
        if len(pairs) == 1:
            return None
        searches = [self.searches[number] for numbers in pairs.values() for number in numbers]
        field = self.source.field(max(searches, key=_depth), pairs, on_progress)
        if field is not None:
            self._tokens(field.every.keys)
            for by in {By.of(search) for search in searches}:
                if by.relevance == "cosine":
                    field.layout(by)
        return field

    def _prepared(
        self, searches: Sequence[SearchRecipe], on_progress: ProgressCallback
    ) -> Prepared:
        prepared = self.source.prepared(max(searches, key=_depth), on_progress)
        for by in {By.of(search) for search in searches}:
            prepared.layout(by)
        self._tokens(prepared.deep.keys)
        return prepared

    def _tokens(self, keys: Keys) -> npt.NDArray[np.int64] | None:
        return self.source.tokens(keys) if self.with_context else None


def _depth(search: SearchRecipe) -> int:
    return search.candidates


def _blocks(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs that lie near each other: the nearer they are, the less can be among the first."""
    ordered = sorted(pairs)
    return [ordered[start : start + _BLOCK] for start in range(0, len(ordered), _BLOCK)]
