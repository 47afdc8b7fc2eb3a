"""Several retrievals for one request: what each of them added."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class HopFigures:
    """Figures of the retrievals of one trace, in the order in which they began.

    ``evidence`` is the share of the relevant items that have come back after each hop.
    ``first_useful`` is the number, from 1, of the first hop with a relevant item; None without one.
    ``redundant`` counts the hops after the first that returned nothing new.
    """

    evidence: tuple[float, ...]
    first_useful: int | None
    redundant: int


@dataclass(frozen=True, slots=True)
class HopSummary:
    """Means over the questions with several hops; ``redundant`` is the number of all such hops.

    ``first_evidence`` is the share of the relevant items after the first hop and
    ``last_evidence`` that after the last. ``first_useful`` is over questions with a useful hop,
    None without any.
    """

    questions: int
    hops: float
    first_evidence: float
    last_evidence: float
    first_useful: float | None
    redundant: int

    @classmethod
    def of(cls, figures: Sequence[HopFigures]) -> HopSummary | None:
        """Summarise the figures of some questions; None without any."""
        if not figures:
            return None
        useful = [item.first_useful for item in figures if item.first_useful is not None]
        return cls(
            len(figures),
            fmean(len(item.evidence) for item in figures),
            fmean(item.evidence[0] for item in figures),
            fmean(item.evidence[-1] for item in figures),
            fmean(useful) if useful else None,
            sum(item.redundant for item in figures),
        )


def hop_recall(hops: Sequence[Sequence[Hashable]], relevant: Collection[Hashable], k: int) -> float:
    """Return the share of the relevant items that any hop has among its first k."""
    seen = {item for hop in hops for item in hop[:k]}
    return len(seen & set(relevant)) / len(relevant)


def hop_figures(hops: Sequence[Sequence[Hashable]], relevant: Collection[Hashable]) -> HopFigures:
    """Measure the hops of a trace, each the items that it returned.

    Raises ValueError if nothing is relevant.
    """
    if not relevant:
        raise ValueError("nothing is relevant")
    wanted = set(relevant)
    evidence, seen = list[float](), set[Hashable]()
    first_useful: int | None = None
    redundant = 0
    for number, items in enumerate(hops, start=1):
        redundant += number > 1 and seen.issuperset(items)
        seen.update(items)
        if first_useful is None and not wanted.isdisjoint(items):
            first_useful = number
        evidence.append(len(wanted & seen) / len(wanted))
    return HopFigures(tuple(evidence), first_useful, redundant)
