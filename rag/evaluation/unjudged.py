"""Hits that nobody has judged: how many there are, and how far they could move the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rag.evaluation.metrics import Ranked
from rag.evaluation.relevance import Passage, relevant_chunks
from rag.types import Floats, Mask, Question


def judged_passages(question: Question, passages: Sequence[Passage]) -> set[int]:
    """Keys of the passages that a label speaks of, whatever its grade; the rest is unjudged.

    A label reaches passages by the rule that makes them relevant, and one of a whole document
    reaches all of that document. Nothing is unjudged for a question known to be unanswerable.
    """
    if not question.answerable:
        return {key for key, *_ in passages}
    labels = [replace(item, grade=1) for item in question.evidence]
    whole = {item.document_id for item in labels if item.end is None}
    reached = {key for key, document_id, *_ in passages if document_id in whole}
    return reached | relevant_chunks(labels, passages).keys()


@dataclass(frozen=True, slots=True)
class UnjudgedBounds:
    """``count``, shape (..., questions): unjudged hits among the first k.

    ``precision`` and ``ndcg``, shape (..., questions, 2): the lowest and highest value, whichever
    of these hits turn out to be relevant. Means over questions bound the mean.
    """

    count: npt.NDArray[np.int64]
    precision: Floats
    ndcg: Floats


def unjudged_bounds(ranked: Ranked, unjudged: Mask, k: int) -> UnjudgedBounds:
    """What precision@k and nDCG@k could be if the unjudged hits were judged.

    ``unjudged`` is aligned with ``ranked.gains`` and False where nothing came back. A hit that
    turns out relevant has grade 1. For precision the ends are "none is relevant" and "all are"; for
    nDCG they may lie between, because what is relevant also enters the ideal ranking. Relevant
    passages that were not among the first k stay unknown.
    """
    gains, open_ = ranked.gains[..., :k], unjudged[..., :k]
    count = open_.sum(axis=-1)
    found = (np.where(open_, 0.0, gains) > 0).sum(axis=-1)
    return UnjudgedBounds(
        count=count,
        precision=np.stack([found / k, (found + count) / k], axis=-1),
        ndcg=_ndcg_bounds(np.where(open_, 0.0, gains), open_, ranked, k),
    )


def _ndcg_bounds(gains: Floats, open_: Mask, ranked: Ranked, k: int) -> Floats:
    """The extremes over how many unjudged hits are relevant, and for each number over which.

    For a given number the ideal is the same, so the extremes take the first or the last of them.
    """
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    depth = gains.shape[-1]
    known = (np.maximum(gains, 0.0) * discount[:depth]).sum(axis=-1)[..., None]
    first = _sums(-np.sort(-(open_ * discount[:depth]), axis=-1))
    numbers = np.arange(depth + 1)
    count = open_.sum(axis=-1)[..., None]
    last = first[..., -1:] - np.take_along_axis(first, np.maximum(count - numbers, 0), axis=-1)
    ideal = _ideal(ranked, discount, k, numbers)
    ratios = [
        np.divide(known + added, ideal, out=np.zeros(first.shape), where=ideal > 0)
        for added in (last, first)
    ]
    possible = numbers <= count
    low = np.where(possible, ratios[0], np.inf).min(axis=-1)
    high = np.where(possible, ratios[1], -np.inf).max(axis=-1)
    return np.stack([low, high], axis=-1)


def _ideal(ranked: Ranked, discount: Floats, k: int, more: npt.NDArray[np.intp]) -> Floats:
    """Ideal DCG@k with so many more passages of grade 1, shape (questions, len(more))."""
    grades = np.maximum(ranked.ideal[:, :k], 0.0)
    now: Floats = (grades * discount[: grades.shape[1]]).sum(axis=1)[:, None]
    # Grade 1 is the lowest, so they come after all that is known to be relevant.
    sums = _sums(discount)
    behind = ranked.relevant.astype(np.int64)[:, None]
    added: Floats = sums[np.minimum(behind + more, k)] - sums[np.minimum(behind, k)]
    return now + added


def _sums(values: Floats) -> Floats:
    """Sums of the first 0, 1, ... values of the last axis."""
    return np.cumsum(np.pad(values, [(0, 0)] * (values.ndim - 1) + [(1, 0)]), axis=-1)
