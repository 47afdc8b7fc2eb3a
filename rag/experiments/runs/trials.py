"""Correction of a comparison for all other runs measured on the same question set.

The best of twenty equally good runs is ahead of the baseline by luck, and selecting the best of
many runs is a look at all of them. A comparison is therefore corrected for every run of the set
that is comparable with the baseline, whichever runs are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rag.experiments.runs.differences import QuestionTexts, differences
from rag.experiments.runs.groups import split_of_set
from rag.library.questions.trial_log import Attempt, TrialLog, name_of
from rag.results import Run
from rag.storage import Connection, Database, runs
from rag.storage.runs import Trial


def other_runs(
    connection: Connection,
    baseline: Run,
    questions: QuestionTexts,
    displayed: Collection[str],
    metric: str,
    held_out: Collection[str] | None,
) -> dict[str, Mapping[str, float]]:
    """Figures by question of the runs besides ``displayed`` that compare with the baseline.

    Runs of the same figures are one look, and those of the baseline's none.
    """
    all_runs = runs.list_runs(connection, baseline.base_id)
    candidates = [
        run
        for run in all_runs
        if run.question_set == baseline.question_set and metric in run.metrics
    ]
    ids = [run.id for run in candidates]
    texts, figures = runs.question_texts(connection, ids), runs.figures(connection, ids)
    seen, values_by_run = set(), dict[str, Mapping[str, float]]()
    for run in sorted(
        candidates, key=lambda run: run.id != baseline.id and run.id not in displayed
    ):
        values = {
            name: by_metric[metric]
            for name, by_metric in figures[run.id].items()
            if metric in by_metric and (held_out is None or name in held_out)
        }
        look = tuple(sorted(values.items()))
        if look in seen or not differences(run, baseline, texts[run.id], questions).comparable:
            continue
        seen.add(look)
        if run.id != baseline.id and run.id not in displayed:
            values_by_run[run.id] = values
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
    with database.read() as connection:
        divided = split_of_set(connection, baseline.base_id, baseline.question_set)
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
