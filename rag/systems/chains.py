"""Runs of shingles that two texts have in common, and the chain of them that is one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.systems.fingerprints import Hashes

_SHORTEST = 8  # shingles in succession: less is a phrase that anybody writes
_MOST_OCCURRENCES = 4  # of a shingle within the text
_MOST_RUNS = 200


@dataclass(frozen=True, slots=True)
class Run:
    """``length`` shingles in succession, from ``start`` in one text and ``place`` in the other."""

    start: int
    place: int
    length: int

    @property
    def shift(self) -> int:
        """The letters by which the second text is ahead."""
        return self.place - self.start


def common_runs(hashes: Hashes, there: Hashes) -> list[Run]:
    """The longest runs of shingles that ``there`` has in common with ``hashes``, longest first."""
    order = np.argsort(hashes, kind="stable")
    first = np.searchsorted(hashes[order], there, "left")
    counts = np.searchsorted(hashes[order], there, "right") - first
    counts[counts > _MOST_OCCURRENCES] = 0
    places = np.repeat(np.arange(len(there)), counts)
    ordinal = np.arange(len(places)) - (np.cumsum(counts) - counts)[places]
    starts = order[first[places] + ordinal]
    sorting = np.lexsort((starts, places - starts))
    starts, places = starts[sorting], places[sorting]
    shifts = places - starts
    breaks = np.flatnonzero((np.diff(starts) != 1) | (np.diff(shifts) != 0)) + 1
    begins = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([begins, [len(starts)]]))
    longest = np.argsort(-lengths, kind="stable")[:_MOST_RUNS]
    return [
        Run(int(starts[begins[run]]), int(places[begins[run]]), int(lengths[run]))
        for run in longest
        if lengths[run] >= _SHORTEST
    ]


def chained(runs: Sequence[Run]) -> list[Run]:
    """The longest run and those before and after it in both texts, next to each other, in order."""
    if not runs:
        return []
    longest = max(runs, key=lambda run: run.length)
    return [*reversed(_following(longest, runs, -1)), longest, *_following(longest, runs, 1)]


def _following(run: Run, runs: Sequence[Run], direction: int) -> list[Run]:
    """Return the nearest runs one after another; a backward ``direction`` is -1."""
    chain = list[Run]()
    while True:
        beyond = [(_gap(run, other, direction), other) for other in runs]
        near = [(gap, other.start, other) for gap, other in beyond if gap is not None]
        if not near:
            return chain
        run = min(near, key=lambda item: item[:2])[2]
        chain.append(run)


def _gap(run: Run, other: Run, direction: int) -> int | None:
    """Return how far ``other`` is beyond a run in both texts; None where it isn't."""
    before, after = (run, other) if direction > 0 else (other, run)
    start, place = after.start - before.start, after.place - before.place
    if min(start, place) < before.length:
        return None
    return start - before.length + abs(start - place)
