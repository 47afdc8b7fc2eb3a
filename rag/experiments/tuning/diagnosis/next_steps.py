"""The answer to "What should I do next?": one list, the largest group of failures first.

Changes against it lead, as the metric of ranking tells little about answers that lack a source or
are doubted. The others follow by expected gain per minute of work.

A fix is expected to gain what it gained on the held-out questions, net. More labels gain by what
they decide: the expected value of a sample, the mean of what the better of two choices gains once
the sample is known, less what the better one gains now (Raiffa and Schlaifer, Applied Statistical
Decision Theory, 1961). The audit log says how long a person takes for a label.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from rag.evaluation.comparison import Comparison
from rag.evaluation.intervals import signed
from rag.evaluation.metrics import metric_name
from rag.evaluation.report.words import counted
from rag.experiments.tuning.diagnosis.causes import CAUSES, Cause, FailedQuestion, untried_advice
from rag.experiments.tuning.diagnosis.fixes import Changes, Fix, Trials, described_changes
from rag.experiments.tuning.diagnosis.trial_builds import Rebuild
from rag.recipe import Recipe
from rag.storage import Connection
from rag.storage.access import audit
from rag.types import money

_LEAST_CEILING = 20
_TIMES = 4
"""Beyond so many times the present top-k, a better ranking helps more than more passages."""
_MOST = 1000  # that a recipe can have


@dataclass(frozen=True, slots=True)
class LargerTopK:
    """A ``top_k`` that returns the passages of ``returned`` of ``questions`` below the present one.

    No questions choose or test it: more results lose none of the others. They make a prompt
    longer.
    """

    top_k: int
    returned: int
    questions: int

    @property
    def sentence(self) -> str:
        """The passages that it returns."""
        if self.questions == 1:
            return f"Top-k {self.top_k} returns the one whose first cause is top-k."
        which = f"{self.returned:,} of {self.questions:,}"
        if self.returned == self.questions:
            which = "both" if self.questions == 2 else f"all {self.questions:,}"
        return f"Top-k {self.top_k} returns {which} whose first cause is top-k."


def larger_top_k(recipe: Recipe, failed: Sequence[FailedQuestion]) -> LargerTopK | None:
    """The smallest doubling of top-k that returns at least half of the passages below it.

    It is at most 20, or four times the present one. Passages that are no candidate don't count, as
    they are not below top-k. None without such a passage, or if no top-k returns so many.
    """
    below = [one.finding.figures.get("rank") for one in failed if one.cause == "top_k"]
    ranks = [rank for rank in below if rank is not None]
    top_k = recipe.search.top_k
    ceiling = min(max(_LEAST_CEILING, _TIMES * top_k), _MOST)
    while ranks and top_k < ceiling:
        top_k = min(2 * top_k, ceiling)
        returned = sum(rank <= top_k for rank in ranks)
        if 2 * returned >= len(ranks):
            return LargerTopK(top_k, returned, len(ranks))
    return None


TYPICAL_SECONDS = 45.0
"""Seconds for a label where none were measured."""
_ACTIONS = ("questions.label", "labels.label")  # the latter is in older logs
_PAUSE = 300.0  # seconds: whoever waits longer did something else meanwhile
_FEWEST = 10
_READ = 2000


@dataclass(frozen=True, slots=True)
class LabellingPace:
    """The seconds for a label, the median of ``measured`` ones; 0 measured: a typical value."""

    seconds: float = TYPICAL_SECONDS
    measured: int = 0


TYPICAL = LabellingPace()


def labelling_pace(connection: Connection, base_id: int) -> LabellingPace:
    """The pace of the people who label in a knowledge base; the typical one without accounts."""
    conditions = [audit.of_bases([base_id]), audit.of_kind("labels")]
    lines = audit.list_entries(connection, conditions, _READ)
    return pace_of(
        (line.entry.person_id, line.entry.at)
        for line in lines
        if line.entry.action in _ACTIONS and line.entry.via == "page"  # programs are quicker
    )


def pace_of(labels: Iterable[tuple[str, datetime]]) -> LabellingPace:
    """The pace from the people and moments of labels; that of one person's in a row counts."""
    moments = defaultdict[str, list[datetime]](list)
    for person, at in labels:
        moments[person].append(at)
    gaps = [
        seconds
        for times in moments.values()
        for first, second in zip(sorted(times), sorted(times)[1:], strict=False)
        if 0 < (seconds := (second - first).total_seconds()) <= _PAUSE
    ]
    if len(gaps) < _FEWEST:
        return TYPICAL
    return LabellingPace(statistics.median(gaps), len(gaps))


StepKind = Literal["fix", "top_k", "rebuild", "advice", "label", "nothing"]

APPLY_SECONDS = 15.0
"""Seconds to read about a change of the recipe and to click."""
MORE = 20
"""Questions that a step suggests to label."""
LEAST_VALUE = 0.0005
"""The expected gain below which labels decide nothing: the metric is shown to three places."""


TELLS_NOTHING = 0.5
"""Half the width of an interval of a difference that says as good as nothing."""
LEAST_HIDDEN = 0.02
"""Half the width from which the interval of a difference may hide a gain worth knowing."""
_LABEL = f"Label {MORE} more questions to decide on a change"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A step with its reason.

    ``gain`` is what it is expected to gain over all questions, in the metric of its fix or else of
    the diagnosis, and ``seconds`` the work; None where nothing is known about it. ``changes`` are
    those of a fix, of a larger top-k, or those that a rebuild tries. ``fix`` was tried, also by a
    step that says to do nothing. ``causes`` are those that it acts against.
    """

    kind: StepKind
    title: str
    reason: str
    gain: float | None
    seconds: float | None
    changes: tuple[Changes, ...] = ()
    fix: Fix | None = None
    causes: tuple[Cause, ...] = ()

    @property
    def metric(self) -> str:
        """The metric of a fix; "" for a step without one."""
        return self.fix.comparison.metric if self.fix else ""

    @property
    def minutes(self) -> float | None:
        """The work in minutes."""
        return None if self.seconds is None else self.seconds / 60

    @property
    def gain_per_minute(self) -> float | None:
        """The expected gain for a minute of work."""
        return None if self.gain is None or not self.seconds else 60 * self.gain / self.seconds


@dataclass(frozen=True, slots=True)
class Basis:
    """The input of the steps. ``asked`` counts questions, ``labels`` those of all questions.

    ``larger`` is a top-k that returns more of the passages that failed questions lack. ``note``
    says why changes were not proposed. ``causes`` counts the failed questions of each. A reranker
    is advised if the application ``can_rerank``, and a limit of off-topic questions if labels
    ``can_limit`` it.
    """

    recipe: Recipe
    asked: int
    labels: int
    trials: Trials
    rebuild: Rebuild | None
    pace: LabellingPace
    note: str = ""
    causes: Mapping[Cause, int] = field(default_factory=dict)
    can_rerank: bool = True
    larger: LargerTopK | None = None
    can_limit: bool = True

    @property
    def largest(self) -> frozenset[Cause]:
        """The causes of most failed questions: several if they have as many."""
        most = max(self.causes.values(), default=0)
        return frozenset(cause for cause, count in self.causes.items() if count == most)


def next_steps(basis: Basis) -> list[NextStep]:
    """Return the steps: those against the largest group, then by expected gain per minute.

    Of those, a larger top-k comes first: it returns the passages that the questions lack.

    Where no step acts against that group, advice does. Those of an unknown gain stand after those
    that gain anything to speak of. A change that lost where it was measured is neither offered nor
    a reason to label.
    """
    trials = basis.trials
    steps = [_fix(basis, fix) for fix in trials.fixes if fix.gains]
    if basis.larger is not None:
        steps.append(_larger(basis.recipe, basis.larger))
    if basis.rebuild is not None and (basis.rebuild.gain is None or basis.rebuild.gain > 0):
        steps.append(_rebuild(basis, basis.rebuild))
    values = [
        (value_of_labels(fix.comparison, _held_out(basis, fix.comparison)), fix)
        for fix in trials.fixes
        if fix.comparison.verdict == "undecided"
    ]
    open_values = [
        (value, fix)
        for value, fix in values
        if value >= LEAST_VALUE and fix.comparison.difference >= 0
    ]
    if open_values:
        value, fix = max(open_values, key=lambda pair: pair[0])
        steps.append(_label(basis, fix, value))
    elif trials.note:
        steps.append(NextStep("label", _LABEL, basis.trials.note, None, _labelling(basis)))
    steps.sort(key=lambda step: _place(basis, step))
    advice = [] if any(_leads(basis, step) for step in steps) else _advice(basis)
    equal = [_nothing(basis, fix) for value, fix in values if value < LEAST_VALUE and not fix.gains]
    return [*advice, *([*steps, *equal] or [_nothing_helps(basis)])]


def _place(basis: Basis, step: NextStep) -> tuple[bool, bool, int, float]:
    leads = _leads(basis, step)
    return not leads, leads and step.kind != "top_k", *_order(step)


def _leads(basis: Basis, step: NextStep) -> bool:
    """Whether a step acts against the largest group of failures, by as much as can be shown."""
    small = step.gain is not None and step.gain < LEAST_VALUE
    return not small and not basis.largest.isdisjoint(step.causes)


def _advice(basis: Basis) -> list[NextStep]:
    """Advice against the largest group of failures; empty where nothing is left to do."""
    for cause in sorted(basis.largest, key=list(CAUSES).index):
        without_gain = basis.trials.gain_nothing(cause)
        reason = untried_advice(
            cause,
            basis.recipe,
            without_gain=without_gain,
            can_rerank=basis.can_rerank,
            can_limit=basis.can_limit,
        )
        if reason:
            failed = sum(basis.causes.values())
            title = (
                f"{basis.causes[cause]:,} of {counted(failed, 'failed question')}: "
                f"{CAUSES[cause].title.lower()}"
            )
            return [NextStep("advice", title, reason, None, None, causes=(cause,))]
    return []


def _order(step: NextStep) -> tuple[int, float]:
    """Gains by their rate, then unknown ones, then those too small to show."""
    rate = step.gain_per_minute
    if rate is None:
        return 1, 0.0
    return (0 if (step.gain or 0.0) >= LEAST_VALUE else 2), -rate


def _fix(basis: Basis, fix: Fix) -> NextStep:
    comparison = fix.comparison
    title = described_changes(basis.recipe, fix.changes)
    return NextStep(
        "fix",
        title,
        _moved(fix),
        comparison.difference,
        APPLY_SECONDS,
        (fix.changes,),
        fix,
        fix.causes,
    )


def _larger(recipe: Recipe, larger: LargerTopK) -> NextStep:
    changes: Changes = {"search.top_k": larger.top_k}
    return NextStep(
        "top_k",
        f"Return more passages: {described_changes(recipe, changes)}",
        f"{larger.sentence} An answer then reads up to {larger.top_k} passages instead of "
        f"{recipe.search.top_k}, as far as {recipe.answer.context_tokens:,} tokens hold them.",
        None,
        APPLY_SECONDS,
        (changes,),
        causes=("top_k",),
    )


def _moved(fix: Fix) -> str:
    comparison = fix.comparison
    return (
        f"{counted(comparison.won, 'held-out question')} better, {comparison.lost:,} worse, "
        f"{comparison.tied:,} the same.{fix.parts_of_score}"
    )


def _rebuild(basis: Basis, rebuild: Rebuild) -> NextStep:
    variants = "; ".join(described_changes(basis.recipe, change) for change in rebuild.changes)
    reason = f"{variants[0].upper()}{variants[1:]}."
    if rebuild.gain is not None:
        reason += (
            f" Of {counted(rebuild.questions, 'failed question')}, {rebuild.reached:,} would have "
            "the passage in the top-k if it alone were indexed so."
        )
    if rebuild.tokens:
        reason += f" It embeds about {rebuild.tokens:,} tokens"
        price = rebuild.price
        reason += f", for about {money(price.amount, price.currency)}." if price else "."
    title = f"Build and try {counted(len(rebuild.changes), 'variant')} of the index"
    return NextStep(
        "rebuild",
        title,
        reason,
        rebuild.gain,
        rebuild.seconds,
        rebuild.changes,
        causes=rebuild.causes,
    )


def _label(basis: Basis, fix: Fix, value: float) -> NextStep:
    now, held_out = _half_width(fix.comparison), len(fix.comparison.differences)
    then = now * math.sqrt(held_out / (held_out + _held_out(basis, fix.comparison)))
    reason = f"They may decide whether {described_changes(basis.recipe, fix.changes)} helps."
    difference, metric = signed(fix.comparison.difference), metric_name(fix.comparison.metric)
    if now >= TELLS_NOTHING:
        reason += f" So far: {difference} {metric} {fix.basis}, too few to tell."
    else:
        reason += (
            f" So far: {difference} ± {now:.3f} {metric} {fix.basis}, "
            f"{fix.comparison.certainty}. With them: about ± {then:.3f}."
        )
    seconds = _labelling(basis)
    return NextStep("label", _LABEL, reason, value, seconds)


def _nothing(basis: Basis, fix: Fix) -> NextStep:
    comparison = fix.comparison
    title = f"No gain seen: {described_changes(basis.recipe, fix.changes)}"
    metric = metric_name(comparison.metric)
    seen = (
        f"It gained {signed(fix.tuning_gain)} {metric} on the "
        f"{counted(fix.tuning, 'question')} that chose it, and "
    )
    if comparison.won or comparison.lost:
        seen += f"{signed(comparison.difference)} {fix.basis}: {_moved(fix)}"
    else:
        seen += f"nothing {fix.basis}."
    if (hidden := _half_width(comparison)) >= TELLS_NOTHING:
        seen += " So few questions cannot tell more."
    elif hidden >= LEAST_HIDDEN:
        seen += f" A difference below {hidden:.3f} does not show on so few."
    reason = f"{seen} It looks like chance: keep what you have. Curves on Tuning count both."
    return NextStep("nothing", title, reason, 0.0, 0.0, (fix.changes,), fix)


def _nothing_helps(basis: Basis) -> NextStep:
    trials = basis.trials
    if not trials.fixes and not trials.tried:
        reason = basis.note or "No change of the recipe acts against these causes."
        return NextStep("nothing", "Nothing to try", reason, 0.0, 0.0)
    reason = " ".join(_unconfirmed(basis.recipe, fix) for fix in trials.fixes)
    reason = reason or "No change of the recipe gains on the tuning questions."
    return NextStep("nothing", "Nothing that was tried helps", reason, 0.0, 0.0)


def _unconfirmed(recipe: Recipe, fix: Fix) -> str:
    """A sentence on a fix that gains only where it was chosen."""
    difference, metric = fix.comparison.difference, metric_name(fix.comparison.metric)
    loss = f"loses {-difference:.3f}" if difference < 0 else "gains nothing"
    return (
        f"{described_changes(recipe, fix.changes)} gained {signed(fix.tuning_gain)} {metric} on "
        f"the tuning questions, {loss} on the held-out ones."
    )


def _labelling(basis: Basis) -> float:
    """Seconds to label the questions, with as many labels as the others have."""
    return MORE * max(1.0, basis.labels / max(basis.asked, 1)) * basis.pace.seconds


def _held_out(basis: Basis, comparison: Comparison) -> float:
    """The part of the questions to label that will be held out."""
    return MORE * len(comparison.differences) / max(basis.asked, 1)


def _half_width(comparison: Comparison) -> float:
    return (comparison.interval.high - comparison.interval.low) / 2


def value_of_labels(comparison: Comparison, more: float) -> float:
    """The expected gain from ``more`` held-out questions, for the choice whether to use a change.

    The mean difference is taken as normal, with the standard error of the questions so far.
    """
    count = len(comparison.differences)
    if count < 2:
        return 0.0
    variance = statistics.variance(comparison.differences.values()) * comparison.design_effect
    spread = math.sqrt(variance * more / (count * (count + more)))
    if not spread:
        return 0.0
    gain, normal = comparison.difference, statistics.NormalDist()
    place = gain / spread
    return spread * normal.pdf(place) + gain * normal.cdf(place) - max(gain, 0.0)
