"""Immutable pieces of an index whose rows are passages: found by key, marked removed, merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

import numpy as np

from rag.types import Integers, Keys, Mask

SMALLEST_SEGMENT = 4096
LARGEST_MERGED = 65_536
MOST_DEAD = 0.25


@dataclass(frozen=True, eq=False)
class PassageRows:
    """Passages as rows: ``keys`` and ``live`` (False: removed) have shape (rows,)."""

    keys: Keys
    live: Mask

    @cached_property
    def size(self) -> int:
        """Number of live passages."""
        return int(np.count_nonzero(self.live))

    @cached_property
    def is_complete(self) -> bool:
        """Whether nothing was removed."""
        return self.size == len(self.keys)

    @cached_property
    def _order(self) -> Integers:
        return np.argsort(self.keys, kind="stable")

    def find(self, keys: Keys) -> Integers:
        """Live rows of ``keys``, in their order; -1 where there is none."""
        if not len(self.keys):
            return np.full(len(keys), -1, dtype=np.int64)
        at = np.searchsorted(self.keys, keys, sorter=self._order)
        rows = self._order[np.minimum(at, len(self.keys) - 1)]
        rows[(self.keys[rows] != keys) | ~self.live[rows]] = -1
        return rows

    def usable(self, allowed: Keys | None) -> Mask:
        """Return a mask of the rows that a search may return, shape (rows,).

        These are the live rows. If ``allowed`` is given, they must also be among those keys.
        """
        if allowed is None:
            return self.live
        rows = self.find(np.asarray(allowed, dtype=np.int64))
        mask = np.zeros(len(self.keys), np.bool_)
        mask[rows[rows >= 0]] = True
        return mask

    def without(self, rows: Integers) -> Self:
        """A segment that shares everything but has ``rows`` marked as removed."""
        live = self.live.copy()
        live[rows] = False
        return replace(self, live=live)


Segment = TypeVar("Segment", bound=PassageRows)


def without(segments: Sequence[Segment], keys: Keys) -> list[Segment]:
    """The segments with ``keys`` marked as removed; what holds none of them is shared."""
    pairs = [(segment, segment.find(keys)) for segment in segments]
    return [
        segment.without(rows[rows >= 0]) if (rows >= 0).any() else segment
        for segment, rows in pairs
    ]


def tidy(
    segments: Sequence[Segment], merged: Callable[[Sequence[Segment]], Segment]
) -> tuple[Segment, ...]:
    """Drop what is dead and merge neighbours, so that sizes fall from first to last."""
    groups: list[list[Segment]] = []
    for segment in segments:
        if not segment.size:
            continue
        group = [segment]
        while groups and _belong_together(total(groups[-1]), total(group)):
            group = groups.pop() + group
        groups.append(group)
    return tuple(
        group[0] if len(group) == 1 and not _is_stale(group[0]) else merged(group)
        for group in groups
    )


def total(segments: Sequence[PassageRows]) -> int:
    """Number of live passages in all of them."""
    return sum(segment.size for segment in segments)


def _belong_together(before: int, new: int) -> bool:
    """Merging copies, so what is large stays as it is: that bounds the memory it takes."""
    return before <= max(new, SMALLEST_SEGMENT) and before + new <= LARGEST_MERGED


def _is_stale(segment: PassageRows) -> bool:
    return segment.size < (1 - MOST_DEAD) * len(segment.keys)
