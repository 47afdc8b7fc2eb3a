"""The candidates of one family of recipes, laid out for ranking them thousands of times.

Nothing is sorted. The rank of a relevant passage is how many passages come before it, and which of
those a threshold leaves is a prefix when columns descend by relevance: so one comparison per
ranking serves all thresholds, as bits that are masked and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rag.evaluation.sweeping.deep import Deep
from rag.evaluation.sweeping.layout import By, Layout
from rag.evaluation.sweeping.pruning import SMALLEST_WEIGHT, Leading
from rag.recipe import Refuse, SearchRecipe
from rag.recipe.parts import Fusion
from rag.retrieval.candidates import NOT_FOUND
from rag.retrieval.fusion import (
    LIST_SCALES,
    QDRANT_RRF,
    leaning,
    on_list_scale,
    reciprocal,
    saturated,
)
from rag.retrieval.languages import SHARE
from rag.types import Floats, Integers, Mask

Words = npt.NDArray[np.uint64]


class Cut(NamedTuple):
    """The cut of a ranked list: ``threshold`` is resolved, None for no limit."""

    threshold: float | None
    top_k: int
    refuse: Refuse = "off"

    @property
    def limit(self) -> Limit:
        """The settings that determine the number of available candidates."""
        return Limit(self.threshold, self.refuse)


class Limit(NamedTuple):
    """A threshold, and when a question is refused altogether."""

    threshold: float | None
    refuse: Refuse = "off"


class Family(NamedTuple):
    """The settings that define a pool: recipes of one family differ in the weight and in the cut.

    ``mixed`` means that both lists have weight. ``by`` is the value that the threshold is compared
    with. ``weight`` is that of a fusion whose scores are not linear in it.
    """

    kind: Literal["dense", "lexical"] | Fusion
    candidates: int
    rrf_k: int = 0
    bm25_pivot: float = 0.0
    mixed: bool = False
    by: By = By()
    weight: float = 0.0

    @classmethod
    def of(cls, search: SearchRecipe) -> Family:
        """The family of a recipe."""
        if search.mode != "hybrid":
            return cls(search.mode, search.candidates, by=By.of(search))
        mixed = SMALLEST_WEIGHT <= search.dense_weight <= 1 - SMALLEST_WEIGHT
        divides = search.fusion == QDRANT_RRF
        constant = search.rrf_k if search.fusion == "rrf" or divides else 0
        pivot = search.bm25_pivot if search.fusion == "saturation" else 0.0
        weight = search.dense_weight if divides else 0.0
        by = By.of(search)
        return cls(search.fusion, search.candidates, constant, pivot, mixed, by, weight)

    def kept(self, leading: Leading | None) -> Mask | None:
        """The candidates that matter; None where it may be all of them."""
        # The least score that an engine gives may be above that of a passage ranked before it.
        if leading is None or LIST_SCALES.get(self.kind):
            return None
        if self.mixed:
            return leading.mixed
        ties = self.kind in ("rrf", QDRANT_RRF) or self.kind in LIST_SCALES
        return None if ties else leading.single


def by_family(searches: Sequence[SearchRecipe]) -> dict[Family, dict[float, list[int]]]:
    """Numbers of recipes by family and weight: what does not differ is computed once."""
    groups: dict[Family, dict[float, list[int]]] = {}
    for number, search in enumerate(searches):
        weight = search.dense_weight if search.mode == "hybrid" else 1.0
        groups.setdefault(Family.of(search), {}).setdefault(weight, []).append(number)
    return groups


@dataclass(frozen=True, slots=True)
class Targets:
    """The relevant passages in a pool, by question, then unit.

    Shape (targets,): ``rows`` and ``columns`` are their places; ``precedes`` (targets, width) tells
    which columns have a smaller key. Shape (units,): ``starts`` is the first target of each unit,
    ``units`` its number in the ``Layout``. ``later`` and ``earlier`` are flat places in (targets,
    width): columns of one document, of which the earlier has the higher relevance.
    """

    rows: Integers
    columns: Integers
    precedes: Mask
    starts: Integers
    units: Integers
    later: Integers
    earlier: Integers


@dataclass(frozen=True, slots=True)
class Pool:
    """``keys``, ``first``, ``second``, ``relevance``: shape (questions, width).

    Columns descend by relevance as a threshold sees it.

    The score of a candidate is ``weight * first + (1 - weight) * second``, or ``first`` where there
    is no second. ``sizes`` (questions,) tells how many columns are candidates; the others never
    count. ``places`` (all candidates,) is where each is in ``Deep``, question by question.
    """

    layout: Layout
    places: Integers
    keys: Integers
    first: Floats
    second: Floats | None
    relevance: Floats
    sizes: Integers
    targets: Targets

    def scores(self, weight: float) -> Floats:
        """Scores of all candidates, shape (questions, width): those of the ordinary pipeline."""
        if self.second is None:
            return self.first
        return weight * self.first + (1.0 - weight) * self.second

    def above(self, limits: Sequence[Limit]) -> Integers:
        """Count the candidates above each limit, shape (limits, questions); 0 if refused."""
        counts = {
            limit: self.sizes
            if limit is None
            else np.count_nonzero(self.relevance >= limit, axis=1)
            for limit in dict.fromkeys(limit.threshold for limit in limits)
        }
        return np.stack(
            [
                np.where(self.layout.deep.refused(limit.refuse), 0, counts[limit.threshold])
                for limit in limits
            ]
        )


def pool(layout: Layout, family: Family, mask: Mask | None = None) -> Pool:
    """Lay out the first ``family.candidates`` of each retriever's list.

    ``mask`` (candidates,) restricts them to those that matter.
    """
    deep = layout.deep
    mode = family.kind if family.kind in ("dense", "lexical") else "hybrid"
    chosen = deep.within(mode, family.candidates)
    inside = chosen if mask is None else chosen & mask
    places = layout.order[inside[layout.order]]
    rows = deep.row[places]
    sizes = np.bincount(rows, minlength=deep.questions)
    columns = np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[rows]
    shape = (deep.questions, max(int(sizes.max(initial=0)), 1))

    def table(values: Floats, padding: float = 0.0) -> Floats:
        result = np.full(shape, padding)
        result[rows, columns] = values
        return result

    keys = np.full(shape, np.iinfo(np.int64).max)
    keys[rows, columns] = deep.keys[places]
    parts = [table(part) for part in _parts(deep, family, chosen, places)]
    return Pool(
        layout=layout,
        places=places,
        keys=keys,
        first=parts[0],
        second=parts[1] if len(parts) > 1 else None,
        relevance=table(layout.relevance[places], -np.inf),
        sizes=sizes,
        targets=_targets(layout, places, columns, keys),
    )


def _parts(deep: Deep, family: Family, chosen: Mask, places: Integers) -> list[Floats]:
    """Return the scores that the weight mixes, shape (places,), of one retriever or of both."""
    if family.kind == "dense":
        return [deep.cosine[places]]
    if family.kind == "lexical":
        return [deep.bm25[places]]
    if family.kind in ("rrf", QDRANT_RRF):
        ranks = (deep.dense_rank[places], deep.lexical_rank[places])
        near, worded = (np.where(part < family.candidates, part, NOT_FOUND) for part in ranks)
        if family.kind == QDRANT_RRF:
            weight = family.weight * _share(deep, family, places)
            return [
                reciprocal(near, family.rrf_k, weight)
                + reciprocal(worded, family.rrf_k, 1.0 - weight)
            ]
        dense, words = (reciprocal(part, family.rrf_k) for part in (near, worded))
    elif family.kind in LIST_SCALES:
        dense = _stretched_list(deep, family, 0, places)
        words = _stretched_list(deep, family, 1, places)
    elif family.kind == "saturation":
        dense, words = deep.cosine[places], saturated(deep.bm25[places], family.bm25_pivot)
    else:
        both = deep.cosine, deep.bm25
        dense, words = (_min_max(deep, scores, chosen, places) for scores in both)
    if family.by.by_words:
        dense = leaning(dense, words, _share(deep, family, places))
    return [dense, words]


def _share(deep: Deep, family: Family, places: Integers) -> Floats:
    """The share of the weight that the vectors keep, at some places."""
    if not family.by.by_words:
        return np.ones(len(places))
    return np.where(deep.unknown[places], SHARE, 1.0)


def _min_max(deep: Deep, scores: Floats, chosen: Mask, places: Integers) -> Floats:
    """``fusion.min_max`` over the ``chosen`` (candidates,) of each question, at some places."""
    low, high = _bounds(deep, scores, chosen)
    own = deep.row[places]
    result, spread = scores[places] - low[own], (high - low)[own]
    return np.divide(result, spread, out=np.zeros(len(places)), where=spread > 0)


def _stretched_list(deep: Deep, family: Family, part: int, places: Integers) -> Floats:
    """``fusion.stretched_list`` over the list of each question, at some places.

    ``part`` is 0 for the list by cosine, 1 for the one by BM25.
    """
    scores = (deep.cosine, deep.bm25)[part]
    listed = (deep.dense_rank, deep.lexical_rank)[part] < family.candidates
    low, high = (bound[deep.row[places]] for bound in _bounds(deep, scores, listed))
    return on_list_scale(scores[places], listed[places], low, high, LIST_SCALES[family.kind])


def _bounds(deep: Deep, scores: Floats, chosen: Mask) -> tuple[Floats, Floats]:
    """Least and greatest score of the ``chosen`` (candidates,) of each question; 0 without any."""
    low, high = np.zeros(deep.questions), np.zeros(deep.questions)
    rows = deep.row[chosen]
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    if len(starts):
        values = scores[chosen]
        low[rows[starts]] = np.minimum.reduceat(values, starts)
        high[rows[starts]] = np.maximum.reduceat(values, starts)
    return low, high


def _targets(layout: Layout, places: Integers, columns: Integers, keys: Integers) -> Targets:
    at = np.flatnonzero(layout.unit[places] >= 0)
    at = at[np.argsort(layout.unit[places[at]], kind="stable")]
    units = layout.unit[places[at]]
    starts = np.flatnonzero(np.diff(units, prepend=-1))
    rows = layout.deep.row[places[at]]
    column = np.full(len(layout.unit), -1)
    column[places] = columns
    later, earlier = _siblings(layout, column, rows, keys.shape[1])
    return Targets(
        rows=rows,
        columns=columns[at],
        precedes=keys[rows] < layout.deep.keys[places[at]][:, None],
        starts=starts,
        units=units[starts],
        later=later,
        earlier=earlier,
    )


def _siblings(
    layout: Layout, column: Integers, target_rows: Integers, width: int
) -> tuple[Integers, Integers]:
    """Pairs of columns of one unit, for every target: flat places in (targets, width).

    ``column`` (candidates,) is -1 for those that a pool leaves out.
    """
    earlier, later = column[layout.earlier], column[layout.later]
    both = (earlier >= 0) & (later >= 0)
    earlier, later, rows = earlier[both], later[both], layout.deep.row[layout.earlier[both]]
    begins, ends = (np.searchsorted(rows, target_rows, side) for side in ("left", "right"))
    sizes = ends - begins
    targets = np.repeat(np.arange(len(target_rows)), sizes)
    picked = np.arange(len(targets)) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
    return targets * width + later[picked], targets * width + earlier[picked]
