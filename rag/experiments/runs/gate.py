"""A gate for continuous integration: is a recipe good enough, and not worse than before?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from rag.errors import InvalidInput
from rag.evaluation.comparison import UNJUDGED, Comparison
from rag.evaluation.intervals import Interval
from rag.evaluation.metrics import ANSWER_TITLES, METRIC_TITLES, WITHOUT_DIRECTION, lower_is_better
from rag.evaluation.significance import LEVEL
from rag.experiments.runs.decisions import RunDecision, finished_decisions
from rag.experiments.runs.differences import RunDifferences
from rag.experiments.runs.evaluator import DEFAULT_CUTOFFS, Evaluation, Evaluator
from rag.experiments.runs.history import LEADING, QuestionDifference, RunHistory
from rag.experiments.runs.leaderboard import looked
from rag.experiments.runs.stored import StoredRuns
from rag.operation import operation
from rag.recipe import Recipe
from rag.services.services import Services
from rag.storage import Database
from rag.types import ProgressCallback
from rag.types.results import GATE, RANKABLE, Run, blind_metrics

_CUTOFF = re.compile(r"@([1-9][0-9]{0,3})$")
_ROUNDING = 1e-9
_UNRANKED = ("correct_refusal", "correct_doubt", "false_refusal", "false_doubt")
_RANKED = tuple(
    name for name in METRIC_TITLES if name not in {*_UNRANKED, *ANSWER_TITLES, *WITHOUT_DIRECTION}
)
"""Measures of the first k."""

Outcome = Literal["passed", "failed", "undecided", "unjudged", "incomparable"]
"""What a gate ends with. ``undecided``: so much may be lost as is not allowed, or may not be;
``unjudged``: judging hits that nobody judged could turn passed into failed, or failed into passed;
``incomparable``: what the baseline was measured on has changed."""

_ORDER: tuple[Outcome, ...] = ("failed", "incomparable", "unjudged", "undecided", "passed")


@dataclass(frozen=True, slots=True)
class Demand:
    """A metric and what was required of it; ``baseline`` tells what that was taken from."""

    metric: str
    value: float
    required: float
    baseline: bool = False

    @property
    def passed(self) -> bool:
        """Whether the mean reaches a minimum."""
        return self.value >= self.required - _ROUNDING


@dataclass(frozen=True, slots=True)
class PairedGate:
    """A metric against the baseline, on the questions of both.

    ``comparison`` has the paired test; ``tolerance`` is what may be lost.
    """

    comparison: Comparison
    tolerance: float

    @property
    def interval(self) -> Interval:
        """The interval that the outcome rests on: of 95% with a tolerance, else of the test."""
        return self.comparison.interval_95 if self.tolerance else self.comparison.interval

    @property
    def confidence(self) -> float:
        """The level of ``interval``."""
        return LEVEL if self.tolerance else self.comparison.confidence

    @property
    def outcome(self) -> Outcome:
        """Whether the metric is no worse, by more than is tolerated, than in the baseline.

        With a tolerance, the lower end of the 95% interval of the difference has to be within it.
        Without one, nothing but a better recipe could show that: a mean that is not lower passes.
        A recipe fails whose whole interval is below what is tolerated; without one, where
        the test calls it worse. Neither holds where judging open hits could turn it.
        """
        return "unjudged" if self._turned else self._by_labels

    @property
    def _turned(self) -> bool:
        """Whether the outcome could be another one if open hits were judged.

        Failed holds where it would fail then too, passed where it would not fail for certain.
        """
        hits, allowed = self.comparison.open_hits, -self.tolerance - _ROUNDING
        if hits is None:
            return False
        match self._by_labels:
            case "failed":
                return hits.interval.high >= allowed
            case "passed":
                return hits.interval.high < allowed
        return False

    @property
    def _by_labels(self) -> Outcome:
        """The outcome if what nobody judged is not relevant."""
        comparison, allowed = self.comparison, -self.tolerance - _ROUNDING
        if comparison.obstacle or not comparison.differences:
            return "incomparable"
        if comparison.all_tied:
            return "passed"
        worse = (
            comparison.interval_95.high < allowed
            if self.tolerance
            else comparison.verdict_by_labels == "worse"
        )
        if worse:
            return "failed"
        is_shown = (
            comparison.interval_95.low if self.tolerance else comparison.difference
        ) >= allowed
        return "passed" if is_shown else "undecided"

    @property
    def sentence(self) -> str:
        """The outcome with its figures, in plain English."""
        comparison, hits = self.comparison, self.comparison.open_hits
        if self.outcome == "unjudged" and hits and not comparison.doubt:
            return f"{UNJUDGED} {hits.sentence} By the labels so far: {comparison.evidence}"
        if self.outcome in ("unjudged", "incomparable") or comparison.all_tied:
            return comparison.sentence
        risk = f"up to {max(-comparison.interval_95.low, 0.0):.3f} may be lost"
        allowed = f"{self.tolerance:g} is allowed"
        verdicts = {
            "passed": f"No worse than allowed: {risk}, and {allowed}."
            if self.tolerance
            else "No lower than the baseline.",
            "failed": f"Worse than allowed: {allowed}."
            if self.tolerance
            else "Worse than the baseline.",
            "undecided": f"These questions are too few to tell: {risk}, and only {allowed}.",
        }
        evidence = comparison.evidence_at_95 if self.tolerance else comparison.evidence
        return f"{verdicts[self.outcome]} {evidence}"


@dataclass(frozen=True, slots=True)
class TrafficTrace:
    """A request of recorded traffic, by its first retrieval, with the number of retrievals."""

    trace: str
    question: str
    calls: int


@dataclass(frozen=True, slots=True)
class GateResult:
    """An evaluation with what it failed, and by metric the questions that got worse.

    ``minimums`` are all that were demanded, also those that it reached.
    ``paired`` has each metric against the baseline. ``differences`` tell what else than figures
    differs from it; None without one. ``decisions`` are finished ones against it by few labels;
    the outcome does not depend on them. ``blind`` are demanded metrics that no ranking of this run
    can lower: a gate does not pass by them unless that was allowed. ``too_many_calls`` are traces
    with more retrievals than were allowed.
    """

    evaluation: Evaluation
    failures: tuple[Demand, ...]
    regressions: Mapping[str, Sequence[QuestionDifference]]
    differences: RunDifferences | None = None
    paired: Mapping[str, PairedGate] = field(default_factory=dict)
    decisions: tuple[RunDecision, ...] = ()
    minimums: tuple[Demand, ...] = ()
    blind: tuple[str, ...] = ()
    too_many_calls: tuple[TrafficTrace, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst of what was found."""
        outcomes = {gate.outcome for gate in self.paired.values()}
        if self.failures or self.blind or self.too_many_calls:
            outcomes.add("failed")
        return next((outcome for outcome in _ORDER if outcome in outcomes), "passed")

    @property
    def passed(self) -> bool:
        """Whether nothing fell short; single questions may have."""
        return self.outcome == "passed"


class Gate(StoredRuns):
    """A gate that evaluates a recipe and compares it with what is demanded."""

    _services: Services

    @operation("editor", audit="evaluation")
    def gate(
        self,
        set_name: str,
        recipe: Recipe,
        least: Mapping[str, float],
        baseline_id: str | None = None,
        tolerance: float = 0.0,
        on_progress: ProgressCallback = lambda _done, _total: None,
        *,
        allow_trivial: bool = False,
    ) -> GateResult:
        """Evaluate (the run is kept) and say what falls short.

        A demand that no ranking of these documents can miss fails, unless ``allow_trivial``.

        ``least`` has the smallest mean allowed, by metric. With a baseline, those metrics (without
        any: nDCG@10) are compared question by question on what both measured: see
        ``PairedGate.outcome``. Labels or documents that changed leave nothing to compare;
        questions that only one has are left out and counted. Raises NotFound, InvalidInput for
        demands that cannot be checked.
        """
        evaluator = Evaluator(self._services, self._base_id)

        def measure(cutoffs: Sequence[int]) -> Evaluation:
            return evaluator.evaluate(set_name, recipe, cutoffs, on_progress, about={GATE: "gate"})

        demands = set_name, least, baseline_id, tolerance
        return checked(
            self._database, self._base_id, *demands, measure, allow_trivial=allow_trivial
        )


def checked(
    database: Database,
    base_id: int,
    set_name: str,
    least: Mapping[str, float],
    baseline_id: str | None,
    tolerance: float,
    measure: Callable[[Sequence[int]], Evaluation],
    *,
    allow_trivial: bool = False,
    has_other_demands: bool = False,
) -> GateResult:
    """Compare what ``measure`` measures at the needed cutoffs with demands, as ``Gate.gate``."""
    history = RunHistory(database, base_id)
    baseline = None if baseline_id is None else history.get(baseline_id)
    _check(set_name, least, baseline, tolerance, has_other_demands=has_other_demands)
    metrics = tuple(least) or (() if has_other_demands and baseline is None else (LEADING,))
    named = [*metrics, *(baseline.metrics if baseline else ())]
    # Those of the baseline too, so that both runs measure the same
    cutoffs = {int(match[1]) for name in named if (match := _CUTOFF.search(name))}
    evaluation = measure(sorted(cutoffs or DEFAULT_CUTOFFS))
    measured = evaluation.run.metrics
    if lacking := next((name for name in least if name not in measured), None):
        raise InvalidInput(f"{lacking!r} was not measured.", "There are: " + ", ".join(measured))
    minimums = tuple(Demand(name, measured[name], value) for name, value in least.items())
    failures = [one for one in minimums if not one.passed]
    run = evaluation.run
    rankable = run.environment.get(RANKABLE)
    blind = blind_metrics(metrics, None if rankable is None or allow_trivial else int(rankable))
    if baseline is None:
        return GateResult(evaluation, tuple(failures), {}, minimums=minimums, blind=blind)
    for name in metrics:
        looked(database, "gate", run, baseline, name)
    compared = {name: history.paired(run.id, baseline.id, name) for name in metrics}
    paired = {
        name: PairedGate(compared_run.figures, tolerance) for name, compared_run in compared.items()
    }
    failures += [
        Demand(name, gate.comparison.mean, gate.comparison.baseline, baseline=True)
        for name, gate in paired.items()
        if gate.outcome == "failed"
    ]
    return GateResult(
        evaluation,
        tuple(failures),
        {name: compared_run.regressions for name, compared_run in compared.items()},
        history.differences(run.id, baseline.id),
        paired,
        finished_decisions(database, base_id, run.id, baseline.id),
        minimums,
        blind,
    )


def _check(
    set_name: str,
    least: Mapping[str, float],
    baseline: Run | None,
    tolerance: float,
    *,
    has_other_demands: bool,
) -> None:
    if not (least or baseline or has_other_demands):
        raise InvalidInput(
            "The gate has nothing to check.", "Give --min ndcg@10=0.7, or --baseline RUN, or both."
        )
    if baseline and baseline.question_set != set_name:
        raise InvalidInput(
            f"The baseline {baseline.id} measured {baseline.question_set!r}, not {set_name!r}.",
            "Name a run of the same question set.",
        )
    for name in least:
        _check_metric(name)
    wrong = [value for value in (*least.values(), tolerance) if not 0 <= value <= 1]
    if wrong:
        raise InvalidInput(f"{wrong[0]} is not between 0 and 1, as metrics are.")


def _check_metric(name: str) -> None:
    """Raise InvalidInput for a metric that there is not, or that can have no minimum."""
    measure, at, k = name.partition("@")
    if measure in _UNRANKED or measure in _RANKED:
        if lower_is_better(name):
            raise InvalidInput(
                f"{name!r} cannot have a minimum: lower is better.",
                "Use a metric for which higher is better, such as ndcg@10.",
            )
        if measure in _UNRANKED and not at:
            return
        if measure in _RANKED and _CUTOFF.search(name):
            return
        example = measure if measure in _UNRANKED else f"{measure}@10"
        raise InvalidInput(f"There is no metric {name!r}.", f"Did you mean {example}?")
    close = get_close_matches(measure.lower(), (*_RANKED, *_UNRANKED), 3, 0.5)
    nearest = [one if one in _UNRANKED else f"{one}@{k or 10}" for one in close]
    raise InvalidInput(
        f"There is no metric {name!r}.",
        f"Did you mean {' or '.join(nearest)}?"
        if nearest
        else f"There are: {', '.join((*(f'{one}@k' for one in _RANKED), *_UNRANKED))}.",
    )
