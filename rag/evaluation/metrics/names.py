"""Metrics by name: ``ndcg@10``.

Nothing is imported here that takes longer than scoring a run does.
"""

from __future__ import annotations

from rag.errors import InvalidInput

TYPE_CHECKING = False  # the name is enough for type checkers
if TYPE_CHECKING:
    from collections.abc import Mapping

    Qrels = Mapping[str, Mapping[str, int]]
    """Grades by question id and passage id; what is absent is not relevant."""
    Run = Mapping[str, Mapping[str, float]]
    """Scores by question id and passage id."""

MEASURE_NAMES = ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg")
_MOST_DIGITS = 6


class Metric:
    """``ndcg@10``: a measure of ``MEASURE_NAMES``, and how many of the first hits it looks at."""

    __slots__ = ("k", "measure")

    def __init__(self, measure: str, k: int) -> None:
        self.measure = measure
        self.k = k


def parse_metric(name: str) -> Metric:
    """``"ndcg@10"`` as measure and k. Raises InvalidInput for anything else than NAME@K, K >= 1."""
    measure, _, digits = name.partition("@")
    is_number = digits.isascii() and digits.isdigit() and not digits.startswith("0")
    if measure not in MEASURE_NAMES or not is_number or len(digits) > _MOST_DIGITS:
        raise InvalidInput(
            f"{name!r} is not a metric.",
            "Write one of " + ", ".join(f"{each}@K" for each in MEASURE_NAMES) + ", K from 1.",
        )
    return Metric(measure, int(digits))
