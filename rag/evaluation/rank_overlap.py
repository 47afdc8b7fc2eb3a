"""Rank-biased overlap: a similarity of two rankings in which the first ranks count most."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

PERSISTENCE = 0.9
"""The first ten places then have 86 % of the weight."""


def rank_biased_overlap(
    one: Sequence[Hashable], other: Sequence[Hashable], persistence: float = PERSISTENCE
) -> float:
    """Extrapolated rank-biased overlap: 1 for equal rankings, 0 for disjoint ones.

    Webber, Moffat, Zobel: A Similarity Measure for Indefinite Rankings, TOIS 2010, equation 32,
    which also tells rankings of different lengths. Items of a ranking are distinct. Two empty
    rankings agree; an empty one shares nothing with another. Raises ValueError for a
    ``persistence`` outside of (0, 1).
    """
    if not 0 < persistence < 1:
        raise ValueError(f"persistence {persistence} is not between 0 and 1")
    short, long = sorted((list(one), list(other)), key=len)
    if not short:
        return float(not long)
    # The number of common items among the first d of both lists, for d = 1 .. len(long).
    seen_short, seen_long, counts, shared = set[Hashable](), set[Hashable](), [], 0
    for depth, item in enumerate(long):
        seen_long.add(item)
        shared += item in seen_short
        if depth < len(short):
            seen_short.add(short[depth])
            shared += short[depth] in seen_long
        counts.append(shared)
    # The letters of the paper: s is the length of the shorter ranking, p the persistence.
    s, p, length = len(short), persistence, len(counts)
    at_short, at_long = counts[s - 1], counts[-1]
    agreements = sum(counts[d - 1] / d * p**d for d in range(1, length + 1))
    beyond = sum(at_short * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    tail = ((at_long - at_short) / length + at_short / s) * p**length
    return (1 - p) / p * (agreements + beyond) + tail
