"""An index of shingles, which finds the places of many texts that share letters with a text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

SHINGLE = 12
"""Letters in a shingle: about two words."""
MOST_FINGERPRINTS = 1 << 23
"""At eight bytes each, 64 MB."""
_SHORTEST_WINDOW = 8
_BASE = np.uint32(0x01000193)
_MIXER = np.uint32(0x9E3779B1)

Hashes = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]


def shingle_hashes(letters: str) -> Hashes:
    """The hashes of all shingles of a text's letters, in their order."""
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), np.uint32)
    number = len(codes) - SHINGLE + 1
    if number <= 0:
        return np.empty(0, np.uint32)
    hashes = np.zeros(number, np.uint32)
    for offset in range(SHINGLE):
        hashes = hashes * _BASE + codes[offset : offset + number]
    hashes ^= hashes >> np.uint32(15)
    hashes *= _MIXER
    return hashes ^ (hashes >> np.uint32(13))


class Fingerprints:
    """Places of shingles in a sequence of texts, chosen by winnowing.

    Of the shingles in each window the one with the least hash is stored, so that a text that
    shares ``guaranteed`` letters with one of these texts shares a fingerprint with it. Windows grow
    with the texts, which bounds memory to ``MOST_FINGERPRINTS``.

    Source: Schleimer, Wilkerson, Aiken. Winnowing: local algorithms for document fingerprinting.
    SIGMOD 2003.
    """

    def __init__(self, texts: Iterable[str], length: int, most: int = MOST_FINGERPRINTS) -> None:
        """Read ``texts``, which together have about this number of letters (``length``)."""
        window = max(_SHORTEST_WINDOW, 2 * length // most)
        self.guaranteed = window + SHINGLE - 1
        self._window = window
        hashes, places, ends, total = list[Hashes](), list[Places](), list[int](), 0
        for letters in texts:
            all_hashes = shingle_hashes(letters)
            chosen = _winnowed(all_hashes, window)
            hashes.append(all_hashes[chosen])
            places.append(chosen + total)
            total += len(letters)
            ends.append(total)
        flat = np.concatenate([*hashes, np.empty(0, np.uint32)])
        order = np.argsort(flat, kind="stable")
        self._hashes = flat[order]
        joined = np.concatenate([*places, np.empty(0, np.int64)])[order]
        self._places = joined.astype(np.uint32 if total < 1 << 32 else np.int64)
        self._ends = np.array(ends, np.int64)
        self._starts = np.concatenate([np.zeros(1, np.int64), self._ends])

    def shared(self, hashes: Hashes, most: int) -> tuple[Places, Places, Places]:
        """Look fingerprints of a text up: the numbers of texts, places there, and places here.

        One that occurs more than ``most`` times is left out, unless all do.
        """
        chosen = _winnowed(hashes, self._window)
        hashes = hashes[chosen]
        first = np.searchsorted(self._hashes, hashes, "left")
        counts = np.searchsorted(self._hashes, hashes, "right") - first
        rare = counts <= most
        counts = np.where(rare, counts, 0) if (counts[rare] > 0).any() else np.minimum(counts, most)
        mine = np.repeat(np.arange(len(hashes)), counts)
        ordinal = np.arange(len(mine)) - (np.cumsum(counts) - counts)[mine]
        places = self._places[first[mine] + ordinal].astype(np.int64)
        texts = np.searchsorted(self._ends, places, "right")
        return texts, places - self._starts[texts], chosen[mine]


def _winnowed(hashes: Hashes, window: int) -> Places:
    """The places of the least hash of each window; of a shorter text the least of all."""
    if len(hashes) <= window:
        return np.array([hashes.argmin()] if len(hashes) else [], np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(hashes, window)
    return np.unique(windows.argmin(axis=1) + np.arange(len(windows)))
