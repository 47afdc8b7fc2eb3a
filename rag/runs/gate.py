"""A gate for continuous integration: is a recipe good enough, and not worse than before?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.errors import InvalidInput
from rag.recipe import Recipe
from rag.results import Run
from rag.runs.differences import RunDifferences
from rag.runs.evaluator import DEFAULT_CUTOFFS, Evaluation, Evaluator
from rag.runs.history import LEADING, QuestionDifference, RunHistory
from rag.services import Services
from rag.types import Tell

_CUTOFF = re.compile(r"@([1-9][0-9]{0,3})$")


@dataclass(frozen=True, slots=True)
class Failure:
    """A metric that fell short. ``baseline`` tells what ``required`` was taken from."""

    metric: str
    value: float
    required: float
    baseline: bool


@dataclass(frozen=True, slots=True)
class GateResult:
    """An evaluation with what it failed, and by metric the questions that got worse.

    ``differences`` tell what else than figures differs from the baseline; None without one.
    """

    evaluation: Evaluation
    failures: tuple[Failure, ...]
    regressions: Mapping[str, Sequence[QuestionDifference]]
    differences: RunDifferences | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing fell short; single questions may have."""
        return not self.failures


class Gate:
    """Evaluates a recipe and holds it against what is demanded."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id
        self._history = RunHistory(services.database, base_id)

    def check(
        self,
        set_name: str,
        recipe: Recipe,
        least: Mapping[str, float],
        baseline_id: str | None = None,
        tolerance: float = 0.0,
        tell: Tell = lambda _done, _total: None,
    ) -> GateResult:
        """Evaluates (the run is kept) and says what falls short.

        ``least`` has the smallest mean allowed, by metric. With a baseline, the means of those
        metrics (without any: nDCG@10) may not lie below its own by more than ``tolerance``.
        Raises NotFound, InvalidInput for demands that cannot be checked.
        """
        baseline = None if baseline_id is None else self._history.get(baseline_id)
        _check(set_name, least, baseline, tolerance)
        metrics = tuple(least) or (LEADING,)
        named = [*metrics, *(baseline.metrics if baseline else ())]
        evaluator = Evaluator(self._services, self._base_id)
        evaluation = evaluator.evaluate(set_name, recipe, _cutoffs(named), tell)
        found = evaluation.run.metrics
        failures = [
            Failure(name, found[name], value, baseline=False)
            for name, value in least.items()
            if not _measured(name, found) >= value
        ]
        if baseline:
            failures += [
                Failure(name, found[name], baseline.metrics[name], baseline=True)
                for name in metrics
                if found[name] < _measured(name, baseline.metrics) - tolerance
            ]
        run = evaluation.run
        return GateResult(
            evaluation,
            tuple(failures),
            self._regressions(run, baseline, metrics),
            self._history.differences(run.id, baseline.id) if baseline else None,
        )

    def _regressions(
        self, run: Run, baseline: Run | None, metrics: Sequence[str]
    ) -> dict[str, Sequence[QuestionDifference]]:
        if baseline is None:
            return {}
        return {
            name: self._history.compare([run.id], baseline.id, name)[0].regressions
            for name in metrics
            if _CUTOFF.search(name)
        }


def _check(
    set_name: str, least: Mapping[str, float], baseline: Run | None, tolerance: float
) -> None:
    if not least and baseline is None:
        raise InvalidInput(
            "The gate has nothing to check.", "Give --min ndcg@10=0.7, or --baseline RUN, or both."
        )
    if baseline and baseline.question_set != set_name:
        raise InvalidInput(
            f"The baseline {baseline.id} measured {baseline.question_set!r}, not {set_name!r}.",
            "Name a run of the same question set.",
        )
    for name in least:
        if not (_CUTOFF.search(name) or name == "correct_refusal"):
            raise InvalidInput(
                f"{name!r} cannot be demanded.", "Name a metric of which more is better: ndcg@10."
            )
    wrong = [value for value in (*least.values(), tolerance) if not 0 <= value <= 1]
    if wrong:
        raise InvalidInput(f"{wrong[0]} is not between 0 and 1, as metrics are.")


def _cutoffs(named: Sequence[str]) -> list[int]:
    """As deep as the baseline looked, so that both measure the same."""
    cutoffs = {int(found[1]) for name in named if (found := _CUTOFF.search(name))}
    return sorted(cutoffs or DEFAULT_CUTOFFS)


def _measured(name: str, metrics: Mapping[str, float]) -> float:
    if name not in metrics:
        raise InvalidInput(f"{name!r} was not measured.", "There are: " + ", ".join(metrics))
    return metrics[name]
