"""Comparison of two runs over the same questions: verdict, evidence and recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rag.evaluation.inference.clusters import CONSIDERABLE, Clusters
from rag.evaluation.intervals import Interval, as_percent, signed
from rag.evaluation.metrics import lower_is_better, metric_name
from rag.evaluation.significance import LEVEL, Paired, holm, holm_levels, paired_tests
from rag.types import Floats, percent

Verdict = Literal["better", "worse", "undecided", "incomparable"]
Figures = Mapping[str, float]
"""A metric by question id."""
Groups = Mapping[str, str]
"""The group of a question by its id; questions without one stand by themselves."""

CROWNING_P = 0.02
"""The p-value a winner needs. At the usual 0.05, five of a hundred equal runs would win or lose."""

UNJUDGED = "Not decided: judging the unjudged hits could change the result."
"""The headline where labels are too incomplete for a verdict."""

OWN_EMBEDDERS = "each run measured it with its own embedder"
"""The obstacle to a comparison by a metric whose scale is that of the embedder of a recipe."""

_TIE = 1e-12  # rounding of sums, not a difference


@dataclass(frozen=True, slots=True)
class OpenHits:
    """The unjudged hits of two runs, and how judging them could change the difference.

    ``shares`` are the unjudged shares of the first ``k`` hits of the run and of the baseline.
    ``difference`` is the difference of the metric, with its 95% ``interval``, if the surplus of
    unjudged hits of one run is as relevant as the other run's hits at the same ranks.
    """

    k: int
    shares: tuple[float, float]
    difference: float
    interval: Interval

    @property
    def sentence(self) -> str:
        """The unjudged hits and their possible effect, in plain English."""
        return (
            f"{self.shares_in_words} are not judged. If the surplus is as relevant as the other "
            f"run's hits, the difference is {signed(self.difference)} "
            f"{_interval(self.interval, LEVEL)}."
        )

    @property
    def shares_in_words(self) -> str:
        """The shares of both, for a sentence."""
        mine, theirs = map(percent, self.shares)
        return f"{mine} of the first {self.k} hits of this run and {theirs} of the baseline's"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against a baseline in one metric, over the questions that both measured.

    ``differences`` (run minus baseline, by question id) keep the run's order; the means are over
    the same questions. ``interval`` is that of the mean difference at the level of the test,
    ``confidence``: it leaves 0 out exactly where ``p`` is at most ``alpha``. ``p`` is adjusted
    after Holm for the ``compared`` comparisons of its table, ``raw_p`` is not. ``interval_95`` is
    for decisions on how much is lost at most. Questions of one group count as one observation:
    there are ``clusters`` of them, and the mean varies ``design_effect`` times as much as if all
    questions stood alone.
    ``left_out`` counts questions that only one run measured. ``kind`` goes before "questions" in
    the sentence: ``"held-out"``. ``obstacle`` says why the two do not compare, for
    other reasons than their recipes: nothing is decided then. One that was ``picked`` for its mean
    is corrected for all ``compared`` that it was picked from, by one test of all; ``others`` names
    them where they are no comparisons in sight. It is ``guarded`` if the signs of the differences
    decide, and one more question that is lost, or won, outright would not. ``open_hits``
    tell what judging them could make of it; None where nothing is open or nobody has looked.
    """

    metric: str
    differences: Figures
    mean: float
    baseline: float
    interval: Interval
    raw_p: float
    p: float
    interval_95: Interval
    confidence: float = 1.0 - CROWNING_P
    left_out: int = 0
    compared: int = 1
    alpha: float = CROWNING_P
    kind: str = ""
    obstacle: str = ""
    clusters: int = 0
    design_effect: float = 1.0
    picked: bool = False
    others: str = "comparisons"
    guarded: bool = False
    open_hits: OpenHits | None = None

    @property
    def difference(self) -> float:
        """The mean difference, run minus baseline."""
        return float(_array(self.differences).mean()) if self.differences else 0.0

    @property
    def gains(self) -> Figures:
        """The differences, above 0 where the run is ahead also if less is better."""
        if not lower_is_better(self.metric):
            return self.differences
        return {question: 0.0 - value for question, value in self.differences.items()}

    @property
    def won(self) -> int:
        """Questions on which the run is ahead."""
        return sum(value > 0 for value in self.gains.values())

    @property
    def lost(self) -> int:
        """Questions on which the baseline is ahead."""
        return sum(value < 0 for value in self.gains.values())

    @property
    def tied(self) -> int:
        """Questions on which both are equal."""
        return len(self.differences) - self.won - self.lost

    @property
    def all_tied(self) -> bool:
        """Whether both are equal on every question: no interval has anything to add to that."""
        return self.tied == len(self.differences) > 0

    @property
    def verdict(self) -> Verdict:
        """Decided only if p is small enough, the interval leaves 0 out, and no doubt is left."""
        return "undecided" if self.doubt else self.verdict_by_labels

    @property
    def verdict_by_labels(self) -> Verdict:
        """The verdict if what nobody judged is not relevant."""
        if self.obstacle:
            return "incomparable"
        if self.p > self.alpha or self.interval.low <= 0.0 <= self.interval.high:
            return "undecided"
        rises = self.difference > 0
        return "better" if rises != lower_is_better(self.metric) else "worse"

    @property
    def doubt(self) -> str:
        """The reason why judging open hits could change the verdict; "" if it could not."""
        if self.open_hits is None or self.verdict_by_labels not in ("better", "worse"):
            return ""
        low, high = self.open_hits.interval
        stays = low > 0.0 if self.difference > 0 else high < 0.0
        return "" if stays else self.open_hits.sentence

    @property
    def certainty(self) -> str:
        """The verdict's certainty, for a sentence: ``within noise``."""
        if self.verdict in ("better", "worse"):
            return "more than noise"
        return "open until unjudged hits are judged" if self.doubt else "within noise"

    @property
    def basis(self) -> str:
        """The questions of the difference, for a sentence: ``on the 6 held-out questions``."""
        count = len(self.differences)
        if self.kind:
            return f"on the {_questions(count, self.kind)}"
        every = "all " if count > 1 and not self.left_out else ""
        return f"on {every}{_questions(count)}{' by cross-validation' if self.picked else ''}"

    @property
    def level(self) -> str:
        """The level of ``interval`` with its reason: ``98%, because a verdict needs p ≤ 0.02``."""
        together = f" over {self.compared:,} {self.others} together" if self.compared > 1 else ""
        needed = f"a verdict needs p ≤ {self.alpha:.2g}{together}"
        return f"{as_percent(self.confidence)}, because {needed}"

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        count = len(self.differences)
        if not count:
            return "Nothing to compare: no question was measured in both runs."
        if self.obstacle:
            return f"Not comparable: {self.obstacle}."
        questions, metric = _questions(count, self.kind), metric_name(self.metric)
        if self.all_tied:
            return (
                f"No difference: {metric} is the same on {'all ' if count > 1 else ''}{questions}."
            )
        if self.doubt:
            return UNJUDGED
        if self.verdict == "undecided":
            return f"Not decided: {questions} {'is' if count == 1 else 'are'} too few to tell."
        where = self.basis if self.picked else f"on {questions}"
        return f"{self.verdict.capitalize()}: {signed(self.difference)} {metric} {where}."

    @property
    def evidence(self) -> str:
        """The statistics behind the verdict, in sentences."""
        return _evidence(self, f"{_interval(self.interval, self.confidence)}, {_p(self)}")

    @property
    def evidence_at_95(self) -> str:
        """The same with the 95% interval, for a decision by that."""
        return _evidence(self, _interval(self.interval_95, LEVEL))

    @property
    def recommendation(self) -> str:
        """The next step that the verdict suggests, as an imperative."""
        return self.recommend("the new recipe", "the baseline")

    def recommend(self, run: str, baseline: str, saved: str = "") -> str:
        """Return the recommendation with the names of both.

        ``saved`` is the one of them that is the saved recipe, "" if it is another one or unknown.
        Without a verdict, no other name is in the sentence: it would be read as a choice.
        """
        if self.differences and self.obstacle == OWN_EMBEDDERS:
            return "Choose another metric."
        if not self.differences or self.obstacle:
            return "Evaluate both on the same questions, labels and documents."
        if self.doubt:
            return "Judge the unjudged hits first."
        if self.verdict == "undecided":
            stay = f"Keep the saved recipe ({saved})" if saved else "Keep what you have"
            return f"{stay}{'' if self.all_tied else ' until more questions tell them apart'}."
        winner, loser = (run, baseline) if self.verdict == "better" else (baseline, run)
        if saved == winner:
            return f"Keep the saved recipe ({winner})."
        return f"Keep {winner}." if not saved and loser == run else f"Use {winner}."

    def within(self, highest: float) -> Comparison:
        """Return the same with intervals that means of 0 to ``highest`` can reach."""
        ends = [
            Interval(max(found.low, -highest), min(found.high, highest))
            for found in (self.interval, self.interval_95)
        ]
        return replace(self, interval=ends[0], interval_95=ends[1])

    @property
    def sentence(self) -> str:
        """The headline and the evidence, to be quoted together."""
        return f"{self.headline} {self.evidence}".strip()


def compare(
    metric: str,
    run: Figures,
    baseline: Figures,
    *,
    alpha: float = CROWNING_P,
    kind: str = "",
    groups: Groups | None = None,
    picked_from: int = 1,
) -> Comparison:
    """Compare one metric of two runs; only questions that both have count.

    A run that was picked for its mean from ``picked_from`` of them is corrected for all, after
    Bonferroni: the others need no test.
    """
    pairs = [(metric, run, baseline)]
    (comparison,) = compare_pairs(pairs, kind=kind, groups=groups, alpha=alpha, among=picked_from)
    return comparison


def compare_pairs(
    pairs: Sequence[tuple[str, Figures, Figures]],
    *,
    kind: str = "",
    groups: Groups | None = None,
    alpha: float = CROWNING_P,
    among: int = 1,
) -> list[Comparison]:
    """(Metric, run, baseline) of what is shown together, p-values adjusted after Holm for all.

    Each stands for ``among`` as many that it was picked from.
    """
    compared = len(pairs) * among
    apart = [_Pair.of(*pair, groups or {}) for pair in pairs]
    tests, raw = list[tuple[list[int], Paired]](), np.ones(len(pairs))
    by_signs = raw.copy()
    # Pairs of the same questions share their sign patterns.
    together: dict[tuple[str, ...], list[int]] = {}
    for number, pair in enumerate(apart):
        together.setdefault(tuple(pair.differences), []).append(number)
    for numbers in together.values():
        rows = np.stack([_array(apart[number].differences) for number in numbers])
        results = paired_tests(rows, apart[numbers[0]].clusters, compared)
        tests.append((numbers, results))
        raw[numbers], by_signs[numbers] = results.p, results.by_signs
    adjusted = np.minimum(holm(raw) * among, 1.0)
    alphas = holm_levels(raw, alpha / among)
    intervals = np.zeros((2, len(pairs), 2))
    for numbers, results in tests:
        rejected = adjusted[numbers] <= alpha
        intervals[0, numbers] = results.intervals_at(alphas[numbers], rejected)
        intervals[1, numbers] = results.intervals
    return [
        Comparison(
            metric=pair.metric,
            differences=pair.differences,
            mean=pair.mean,
            baseline=pair.baseline,
            interval=Interval(*intervals[0, at].tolist()),
            raw_p=float(raw[at]),
            p=float(adjusted[at]),
            interval_95=Interval(*intervals[1, at].tolist()),
            confidence=1.0 - float(alphas[at]),
            left_out=pair.left_out,
            compared=compared,
            alpha=alpha,
            guarded=bool(by_signs[at] <= alphas[at] < raw[at]),
            kind=kind,
            clusters=len(pair.clusters),
            design_effect=pair.clusters.design_effect(_array(pair.differences)),
        )
        for at, pair in enumerate(apart)
    ]


@dataclass(frozen=True, slots=True)
class _Pair:
    metric: str
    differences: Figures
    mean: float
    baseline: float
    left_out: int
    clusters: Clusters

    @classmethod
    def of(cls, metric: str, run: Figures, baseline: Figures, groups: Groups) -> _Pair:
        shared = [question for question in run if question in baseline]
        first = np.array([run[question] for question in shared], np.float64)
        second = np.array([baseline[question] for question in shared], np.float64)
        differences = first - second
        differences[np.abs(differences) <= _TIE] = 0.0
        return cls(
            metric=metric,
            differences=dict(zip(shared, differences.tolist(), strict=True)),
            mean=float(first.mean()) if shared else 0.0,
            baseline=float(second.mean()) if shared else 0.0,
            left_out=len(run.keys() ^ baseline.keys()),
            clusters=clusters_of(shared, groups),
        )


def clusters_of(questions: Sequence[str], groups: Groups) -> Clusters:
    """The clusters of some questions; those without a group are one each."""
    return Clusters.of(
        [("group", groups[question]) if question in groups else question for question in questions]
    )


def _array(figures: Figures) -> Floats:
    return np.fromiter(figures.values(), np.float64, len(figures))


def _interval(interval: Interval, level: float) -> str:
    return f"({as_percent(level)} interval {signed(interval.low)} to {signed(interval.high)})"


def _evidence(result: Comparison, test: str) -> str:
    count, metric = len(result.differences), metric_name(result.metric)
    only_one = f"Left out: {_questions(result.left_out)} that only one run measured."
    left_out = only_one if result.left_out else ""
    if not count:
        return left_out
    if result.picked:  # the mean of the questions that did the picking is another one
        metric = f"the cross-validated {metric}"
    figures = f"{metric} is {result.mean:.3f} instead of {result.baseline:.3f}"
    if result.obstacle:
        shared = f"On the {_questions(count, result.kind)} of both runs, {figures}."
        return f"{shared} {left_out}".strip()
    if result.all_tied:
        return f"Both have {metric} {result.mean:.3f}. {left_out}".strip()
    figures += f", {signed(result.difference)} {test}, on {_questions(count, result.kind)}."
    figures = figures if figures.startswith("nDCG") else figures[:1].upper() + figures[1:]
    if result.doubt:
        figures = f"{result.doubt} By the labels so far: {figures}"
    notes = _guarded(result), _assumption(result), _grouped(result), left_out
    return " ".join(filter(None, [figures, *notes]))


def _guarded(result: Comparison) -> str:
    """The condition that leaves a comparison undecided although nearly all questions agree."""
    if not result.guarded:
        return ""
    fate = "won" if (result.difference > 0) == lower_is_better(result.metric) else "lost"
    return f"A verdict must also hold with one more question that is {fate} outright: it does not."


def _assumption(result: Comparison) -> str:
    """The assumption on unjudged hits that a verdict rests on; "" without one."""
    hits = result.open_hits
    if hits is None or result.verdict not in ("better", "worse"):
        return ""
    assumes = "The verdict assumes that they favour neither run."
    return f"Not judged: {hits.shares_in_words}. {assumes}"


def _grouped(result: Comparison) -> str:
    if result.design_effect <= CONSIDERABLE:
        return ""
    alone = max(1, round(len(result.differences) / result.design_effect))
    return (
        f"The {_questions(len(result.differences))} form {result.clusters:,} groups that vary "
        f"together, so they count as {alone:,}."
    )


def _p(result: Comparison) -> str:
    p = "p < 0.001" if result.p < 0.001 else f"p = {result.p:.2g}"
    if result.picked:
        p += f" corrected for all {result.compared:,} recipes"
    elif result.compared > 1:
        p += f" corrected for {result.compared} {result.others}"
    close = result.verdict_by_labels == "undecided" and result.p <= 0.05
    return f"{p} (a winner needs p ≤ {result.alpha:.2g})" if close else p


def _questions(count: int, kind: str = "") -> str:
    words = f"{count:,} {kind} " if kind else f"{count:,} "
    return words + ("question" if count == 1 else "questions")
