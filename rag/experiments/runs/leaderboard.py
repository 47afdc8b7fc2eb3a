"""The runs of a question set together: ranked, and counted in the test of each comparison.

The best of twenty equally good runs is ahead of the baseline by luck, and selecting the best of
many runs is a look at all of them. A comparison is therefore corrected for every run of the set
that is comparable with the baseline, whichever runs are shown.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
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
from rag.experiments.runs.stored import Loaded, by_labels_of_today, split_of_set
from rag.library.questions.trial_log import Attempt, TrialLog, name_of
from rag.storage import Connection, Database, runs
from rag.storage.runs import Trial
from rag.types.results import Run

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


def other_runs(
    connection: Connection,
    baseline: Loaded,
    displayed: Collection[str],
    metric: str,
    held_out: Collection[str] | None,
) -> dict[str, Mapping[str, float]]:
    """Figures by question of the runs besides ``displayed`` that compare with the baseline.

    Runs of the same figures are one look, and those of the baseline's none.
    """
    base_id, own = baseline.run.base_id, baseline.run.id
    set_runs = runs.list_runs(connection, base_id, baseline.run.question_set)
    candidates = {run.id: run for run in set_runs if metric in run.metrics}
    ids = list(candidates)
    texts, figures = runs.question_texts(connection, ids), runs.figures(connection, ids)
    between = {
        name: differences(run, baseline.run, texts[name], baseline.texts)
        for name, run in candidates.items()
    }
    if baseline.version is not None:
        for name in ids:
            read = [baseline, Loaded.read(connection, base_id, name)]
            graded, side = by_labels_of_today(connection, read, metric)
            between[name] = side.differences(graded)
            figures[name] = {key: item.metrics for key, item in side.results.items()}
    seen, values_by_run = set(), dict[str, Mapping[str, float]]()
    shown = {own, *displayed}
    for run_id in sorted(ids, key=lambda name: name not in shown):
        if not between[run_id].comparable:
            continue
        values = {
            name: by_metric[metric]
            for name, by_metric in figures[run_id].items()
            if metric in by_metric and (held_out is None or name in held_out)
        }
        look = tuple(sorted(values.items()))
        if look not in seen and run_id not in shown:
            values_by_run[run_id] = values
        seen.add(look)
    return values_by_run


def compared(
    database: Database,
    baseline: Run,
    metric: str,
    held_out: Collection[str] | None,
    alternatives: int,
) -> Attempt:
    """Note a comparison with a baseline in the ledger of their set, and say which one it is.

    Each metric counts once, and each split of the questions where only those ``held_out`` count.
    """
    divided = database.fetch(split_of_set, baseline.base_id, baseline.question_set)
    if divided is None:  # the set is gone, and with it what was tried on it
        return Attempt()
    seed, share = (None, None) if held_out is None else divided
    look = Trial(
        family=f"comparison with {baseline.id}",
        look=name_of(metric, seed, share),
        kind="comparison",
        metric=metric,
        alternatives=alternatives,
        recipes=(baseline.source_hash,),
        split_seed=seed,
        split_share=share,
    )
    return TrialLog(database, baseline.base_id).note(baseline.question_set, look)


def looked(database: Database, kind: str, run: Run, baseline: Run, metric: str) -> None:
    """Note that a run was compared with a baseline by a gate or in a report."""
    look = Trial(
        family=kind,
        look=name_of(run.id, baseline.id, metric),
        kind=kind,
        metric=metric,
        alternatives=1,
        recipes=(run.source_hash, baseline.source_hash),
    )
    TrialLog(database, baseline.base_id).note(run.question_set, look)
