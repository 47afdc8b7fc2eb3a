"""Metrics by name: ``ndcg@10``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from rag.errors import InvalidInput

Qrels = Mapping[str, Mapping[str, int]]
"""Grades by question id and passage id; what is absent is not relevant."""
Run = Mapping[str, Mapping[str, float]]
"""Scores by question id and passage id."""

MEASURE_NAMES = ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg")


class Metric(NamedTuple):
    """``ndcg@10``: a measure of ``MEASURE_NAMES``, and how many of the first hits it looks at."""

    measure: str
    k: int


def parse_metric(name: str) -> Metric:
    """``"ndcg@10"`` as measure and k. Raises InvalidInput for anything else than NAME@K, K >= 1."""
    parts = re.fullmatch(r"([a-z0-9]+)@([1-9][0-9]{0,5})", name)
    if parts is None or parts[1] not in MEASURE_NAMES:
        raise InvalidInput(
            f"{name!r} is not a metric.",
            "Write one of "
            + ", ".join(f"{measure}@K" for measure in MEASURE_NAMES)
            + ", K from 1.",
        )
    return Metric(parts[1], int(parts[2]))
