"""The runs of a question set, ranked among those that compare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.evaluation.comparison import Groups, clusters_of
from rag.evaluation.intervals import Interval, mean_intervals
from rag.evaluation.metrics import WITHOUT_DIRECTION, lower_is_better
from rag.experiments.runs.differences import (
    QuestionTexts,
    differences,
    metric_obstacle,
    source_chips,
)
from rag.experiments.runs.recipe_names import run_name
from rag.results import Run

Figures = Mapping[str, Mapping[str, float]]
"""Metrics by question id."""


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """A run in one metric, with what people call it.

    ``chips`` say how its recipe differs from the baseline's, or, without a baseline, from that of
    the first run, or that another system was measured. ``value`` is the mean over questions and
    ``interval`` its 95% interval; both None where the run did not measure the metric.

    ``differs`` names what was measured on and is not that of the reference: the baseline, or,
    without one, the newest run, of a recipe if there is one. ``place`` counts from 1 among the runs
    that are comparable with it; None for others, and where there is no value.
    """

    run: Run
    name: str
    value: float | None
    interval: Interval | None
    chips: tuple[str, ...]
    is_baseline: bool
    differs: tuple[str, ...]
    place: int | None

    @property
    def comparable(self) -> bool:
        """Whether questions, labels and documents, and the scale of the metric, are the same."""
        return not self.differs


def leaderboard(
    listed: Sequence[Run],
    baseline: Run | None,
    metric: str,
    figures: Mapping[str, Figures],
    questions: Mapping[str, QuestionTexts],
    names: Mapping[str, str],
    groups: Groups,
) -> list[LeaderboardRow]:
    """Runs (newest first) as rows: those that compare with the reference first, then the best.

    ``figures`` and ``questions`` are those of each run by its id, ``names`` those of recipes,
    ``groups`` those of the questions.
    """
    # A system may have failed on some questions, which leaves it with others than the set has.
    newest = next((run for run in listed if run.recipe), listed[0])
    reference, first = baseline or newest, baseline or listed[-1]
    rows = [
        LeaderboardRow(
            run=run,
            name=run_name(run, names),
            value=run.metrics.get(metric),
            interval=_interval(run, metric, figures[run.id], groups),
            chips=source_chips(first, run),
            is_baseline=baseline is not None and run.id == baseline.id,
            differs=(
                *differences(run, reference, questions[run.id], questions[reference.id]).data,
                *(["embedders"] if metric_obstacle(metric, run, reference) else []),
            ),
            place=None,
        )
        for run in listed
    ]
    falls = lower_is_better(metric)
    heights = {row.run.id: _height(row, falls) for row in rows}
    rows.sort(key=lambda row: (row.comparable, heights[row.run.id]), reverse=True)
    values = [heights[row.run.id] for row in rows if row.comparable]
    return [
        replace(row, place=1 + sum(value > heights[row.run.id] for value in values))
        if row.comparable and row.value is not None and metric not in WITHOUT_DIRECTION
        else row
        for row in rows
    ]


def _height(row: LeaderboardRow, falls: bool) -> float:
    """The value to rank a row by, higher for better ones; ``falls`` where less is better."""
    if row.value is None:
        return -math.inf
    return -row.value if falls else row.value


def _interval(run: Run, metric: str, figures: Figures, groups: Groups) -> Interval | None:
    if metric not in run.metrics:
        return None
    having = {name: values[metric] for name, values in figures.items() if metric in values}
    values = np.fromiter(having.values(), np.float64, len(having))
    return Interval(*mean_intervals(values, clusters_of(list(having), groups)).tolist())
