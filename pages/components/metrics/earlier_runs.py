"""The earlier runs that the cards of a run compare with."""

from __future__ import annotations

from collections.abc import Sequence

from pages.components.metrics.answers import ANSWER_METRICS
from rag import Recipe, Run


def same_search(one: Recipe | None, other: Recipe | None) -> bool:
    """Whether two recipes retrieve alike; how they answer makes no difference here."""
    if one is None or other is None:
        return False
    return (one.index, one.search) == (other.index, other.search)


def earlier_run(run: Run, older: Sequence[Run], baseline: Run | None) -> Run | None:
    """Return the run that the figures of a run compare with; ``older`` has the newest one first.

    That is the baseline, else the newest older run. If the documents changed since that one, it is
    the newest older run with the same recipe: a change of both says nothing about either.
    """
    if baseline is not None and baseline.id != run.id:
        return baseline
    newest = next(iter(older), None)
    if newest is None or newest.documents_hash == run.documents_hash:
        return newest
    return next((one for one in older if same_search(one.recipe, run.recipe)), newest)


def earlier_answers(run: Run, older: Sequence[Run], before: Run | None) -> Run | None:
    """Return the run that the answer metrics of a run compare with.

    That is ``before`` if its answers were scored, else the ``earlier_run`` among those with scored
    answers. None if the answers of ``run`` were not scored.
    """
    if not _scored(run):
        return None
    if before is not None and _scored(before):
        return before
    return earlier_run(run, [one for one in older if _scored(one)], None)


def _scored(run: Run) -> bool:
    return any(metric in run.metrics for metric in ANSWER_METRICS)
