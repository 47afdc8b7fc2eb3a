"""Atoms into passages: as many as fit, cut at the best boundary within reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rag.chunking.atoms import Atoms
from rag.chunking.characters import HEADING
from rag.types import Integers

_AFTER_HEADING = -1


@dataclass(frozen=True, slots=True)
class Policy:
    """A preference order of boundaries.

    ``ranks`` maps boundary bits (0 to 7) to a rank. A boundary that would separate a heading from
    its text has the lowest rank.

    An overlap begins at a boundary of at least rank ``overlap_from``. If there is none, it begins
    at any boundary, or there is no overlap if ``overlap_strict`` is set.
    """

    ranks: tuple[int, int, int, int, int, int, int, int]
    overlap_from: int = 0
    overlap_strict: bool = False


def cut(
    blocks: Iterator[Atoms], size: int, overlap: int, policy: Policy
) -> Iterator[tuple[int, int]]:
    """Spans of at most ``size`` that share at most ``overlap`` with their neighbours.

    Each span ends at the best-ranked boundary within reach of its start, the last one of that rank.
    Starts and ends strictly increase. Only an atom that alone exceeds ``size`` makes a larger span.
    """
    ranks = np.array([*policy.ranks, *[_AFTER_HEADING] * HEADING])
    atoms, more = np.empty((5, 0), np.int64), True
    first = fresh = 0  # where the span starts; the first atom that no span holds yet
    while True:
        while more and (first >= atoms.shape[1] or atoms[3, -1] - atoms[2, first] <= size):
            block = next(blocks, None)
            more = block is not None
            if block is not None:
                atoms = np.concatenate([atoms[:, first:], block], axis=1)
                first, fresh = 0, fresh - first
        if fresh >= atoms.shape[1]:
            return
        starts, ends, opens, closes, bits = atoms
        after = int(np.searchsorted(closes, opens[first] + size, side="right"))
        if after <= fresh and first < fresh:  # the overlap leaves no room for anything new
            first = fresh
            continue
        after = max(after, fresh + 1)
        if after < atoms.shape[1]:
            reach = ranks[bits[fresh + 1 : after + 1]]
            after -= int(reach[::-1].argmax())
        yield int(starts[first]), int(ends[after - 1])
        first, fresh = _next_start(atoms, first, after, overlap, ranks, policy), after


def _next_start(
    atoms: Atoms, first: int, after: int, overlap: int, ranks: Integers, policy: Policy
) -> int:
    """The first atom of the next span: ``after``, or earlier by at most ``overlap``."""
    low = int(np.searchsorted(atoms[2], atoms[3, after - 1] - overlap))
    low = max(low, first + 1)
    good = np.flatnonzero(ranks[atoms[4, low:after]] >= policy.overlap_from)
    if len(good):
        return low + int(good[0])
    return after if policy.overlap_strict else min(low, after)
