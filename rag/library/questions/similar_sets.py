"""Sets that a chain of similar sets joins, without comparing every pair of them.

Two sets of ``a`` and ``b`` members that share ``o`` or more have one in common among the
``a - o + 1`` rarest members of the one and the ``b - o + 1`` rarest of the other: the filter of
Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in data cleaning" (ICDE
2006). Only such pairs are compared, a block at a time, and none that a chain joins already. A word
of 64 bits for each set rules most of them out: no more of its bits differ than members do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rag.types import Integers

_BLOCK = 200_000  # pairs that are compared at once: some 20 MB


def similar_sets(sets: Sequence[frozenset[Hashable]], least: float) -> Integers:
    """The number of its chain for each set: neighbours have a Jaccard similarity of ``least``.

    Equal sets are of one chain; empty sets are alone.
    """
    distinct = list(dict.fromkeys(filter(None, sets)))
    place = {members: row for row, members in enumerate(distinct)}
    chains = _Chains(distinct, least).numbers()
    alone = iter(range(len(distinct), len(distinct) + len(sets)))
    return np.array(
        [chains[place[members]] if members else next(alone) for members in sets], np.int64
    )


def components(pairs: Iterable[tuple[int, int]], count: int) -> Integers:
    """The number of its connected component for each of ``count`` things."""
    ends = np.array(list(pairs), np.int64).reshape(-1, 2)
    return _components(ends[:, 0], ends[:, 1], count)


def _components(one: Integers, other: Integers, count: int) -> Integers:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    links = csr_matrix((np.ones(len(one), np.bool_), (one, other)), shape=(count, count))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


class _Chains:
    """Different sets, none of them empty: a row each, its members from the rarest on."""

    def __init__(self, distinct: Sequence[frozenset[Hashable]], least: float) -> None:
        from scipy.sparse import csr_matrix

        counts = Counter(member for members in distinct for member in members)
        rank = {member: at for at, (member, _) in enumerate(reversed(counts.most_common()))}
        members = [rank[member] for row in distinct for member in row]
        ends = np.cumsum([0, *map(len, distinct)])
        shape = len(distinct), max(len(rank), 1)
        self._table = csr_matrix((np.ones(len(members), np.int32), members, ends), shape=shape)
        self._table.sort_indices()
        self._sizes = np.diff(ends)
        bits = np.uint64(1) << (self._table.indices % 64).astype(np.uint64)
        self._bits = np.bitwise_xor.reduceat(bits, ends[:-1]) if distinct else bits
        self._least = least
        self._numbers = np.arange(len(distinct))

    def numbers(self) -> Integers:
        """The number of its chain for each row."""
        sizes = np.unique(self._sizes).tolist()
        for size in sizes:
            for larger in sizes:
                if self._least * larger - 1e-9 <= size <= larger:
                    self._join(size, larger)
        return self._numbers

    def _join(self, size: int, larger: int) -> None:
        """Join rows of ``size`` members with similar ones of ``larger``."""
        shared = math.ceil((self._least * (size + larger) - 1e-9) / (1 + self._least))
        ones, others = (np.flatnonzero(self._sizes == number) for number in (size, larger))
        table = self._rarest(ones, size - shared + 1)
        turned = self._rarest(others, larger - shared + 1).T.tocsr()
        for begin, end in _blocks(table @ np.diff(turned.indptr)):
            if len(set(self._numbers[np.append(ones[begin:end], others)].tolist())) > 1:
                pairs = (table[begin:end] @ turned).tocoo()
                self._compare(ones[begin:end][pairs.row], others[pairs.col], shared)

    def _compare(self, one: Integers, other: Integers, shared: int) -> None:
        """Join each row of ``one`` with that of ``other`` where they have enough in common."""
        apart = self._numbers[one] != self._numbers[other]
        one, other = one[apart], other[apart]
        different = self._sizes[one] + self._sizes[other] - 2 * shared
        near = np.bitwise_count(self._bits[one] ^ self._bits[other]) <= different
        one, other = one[near], other[near]
        common = self._table[one].multiply(self._table[other]).sum(axis=1)
        close = np.asarray(common).ravel() >= shared
        if close.any():
            links = self._numbers[one[close]], self._numbers[other[close]]
            self._numbers = _components(*links, len(self._numbers))[self._numbers]

    def _rarest(self, rows: Integers, count: int) -> Any:
        """The ``count`` rarest members of rows of one size."""
        from scipy.sparse import csr_matrix

        size = int(self._sizes[rows[0]])
        members = self._table[rows].indices.reshape(-1, size)[:, :count].ravel()
        ends = np.arange(len(rows) + 1) * count
        shape = len(rows), self._table.shape[1]
        return csr_matrix((np.ones(len(members), np.int32), members, ends), shape=shape)


def _blocks(pairs: Integers) -> Iterator[tuple[int, int]]:
    """Begin and end of blocks of rows that are in so many pairs each."""
    most, begin = np.cumsum(pairs), 0
    while begin < len(pairs):
        done = most[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(most, done + _BLOCK, "right")))
        yield begin, end
        begin = end
