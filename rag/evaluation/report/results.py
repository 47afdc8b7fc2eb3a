"""The figures and sentences that the template of a report, ``report.html``, puts in place."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from rag.evaluation.answers import lacks_expected
from rag.evaluation.comparison import Comparison
from rag.evaluation.intervals import Interval, signed, signed_points
from rag.evaluation.measuring import highest_mean
from rag.evaluation.metrics import METRIC_DEFINITIONS, METRIC_TITLES, metric_title
from rag.evaluation.report import charts
from rag.evaluation.report.words import (
    Baseline,
    CalibrationNote,
    Markup,
    RunReport,
    counted,
    recipe_sentences,
)
from rag.recipe import Recipe
from rag.types import percent
from rag.types.results import (
    CONTEXT,
    EDITED,
    EDITS,
    PROMPTS,
    RANKABLE,
    QuestionResult,
    Run,
)

_CARDS = ("ndcg@10", "mrr@10", "recall@10", "precision@5", "correct_refusal")
_OF_ANSWERS = ("answer_containment", "correct_decision")
_SHARES = (*_OF_ANSWERS, "judged_correctness", "refusal_correctness")
_REFUSALS = ("correct_refusal", "correct_doubt", "false_refusal", "false_doubt")
_LINES = ("ndcg", "recall", "mrr", "precision")
_BANDS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 1000))
UNCHANGED = 0.0005
"""The change of a mean below which three places show none."""


def on_cards(run: Run) -> list[str]:
    """The metrics of a run that have a card."""
    state = "correct_doubt" in run.metrics  # as *Not answered* on Metrics
    cards = [*_CARDS[:-1], "correct_doubt" if state else _CARDS[-1]]
    names = [name for name in cards if name in run.metrics]
    if len(names) < 3:
        depths = [int(name.partition("@")[2]) for name in run.metrics if name.startswith("ndcg@")]
        names = [f"{name}@{max(depths, default=1)}" for name in _LINES]
    return [*names, *(name for name in _OF_ANSWERS if name in run.metrics)]


def is_share(metric: str) -> bool:
    """Whether a metric is a share of questions."""
    return metric in _SHARES or metric.startswith("correct_")


def as_shown(metric: str, value: float) -> str:
    """A value of a card: shares of questions in percent, others with three places."""
    return percent(value) if is_share(metric) else f"{value:.3f}"


def change_in_words(metric: str, change: float) -> str:
    """A change of a card: points of shares, three places of others, ``no change``."""
    if abs(change) < UNCHANGED:
        return "no change"
    return f"{signed_points(change)} points" if is_share(metric) else signed(change)


def range_of(interval: Interval, in_percent: bool) -> str:
    """The ends of an interval."""
    low, high = interval
    return f"{percent(low)}–{percent(high)}" if in_percent else f"{low:.3f}–{high:.3f}"


def unanswered(results: Sequence[QuestionResult]) -> str:
    """Count the answerable questions without an answer; "" if no answers were measured."""
    doubts = [row.metrics["false_doubt"] for row in results if "false_doubt" in row.metrics]
    if not doubts:
        return ""
    return (
        f"{sum(map(bool, doubts)):,} of {counted(len(doubts), 'answerable question')} got a "
        "refusal or a doubtful answer."
    )


def card_interval(report: RunReport, metric: str) -> Interval:
    """The interval of a card, within what the metric can reach."""
    low, high = report.interval(metric)
    return Interval(low, min(high, highest_mean(metric, report.results)))


def unjudged_range(report: RunReport, metric: str) -> str:
    """The range of nDCG that unjudged hits allow; "" for other metrics."""
    share = report.unjudged
    if share is None or not share.unjudged or metric != f"ndcg@{share.k}":
        return ""
    return range_of(share.ndcg, False)


def change_of(report: RunReport, metric: str) -> tuple[str, str] | None:
    """The class and the words of the change against the baseline, None where nothing compares."""
    compared = _compared(report, metric)
    if compared is None:
        return None
    change = compared.difference
    colours = {} if abs(change) < UNCHANGED else {"better": "small up", "worse": "small down"}
    return colours.get(compared.verdict, "small"), f"{change_in_words(metric, change)} vs. baseline"


def value_before(report: RunReport, metric: str) -> float | None:
    """The value of a run without its change against the baseline; None where nothing compares.

    The stored figure of the baseline may be of other labels, which are no change of the run.
    """
    compared = _compared(report, metric)
    return None if compared is None else report.run.metrics[metric] - compared.difference


def _compared(report: RunReport, metric: str) -> Comparison | None:
    compared = report.baseline.changes.get(metric) if report.baseline else None
    return None if compared is None or compared.obstacle else compared


def steps(report: RunReport) -> list[str]:
    """Return the steps of the recipe, or how the texts of a system were placed."""
    run = report.run
    if run.recipe:
        return recipe_sentences(run.recipe, report.threshold)
    if run.system is None:
        return []
    failed = f"{counted(len(run.system.errors), 'question')} failed and are left out."
    return [
        f"“{run.system.label}” returned the texts.",
        "They were located in the documents by their words. A text that is in no document keeps "
        "its rank and is not relevant.",
        "The other passages of the system are unknown, so each label that no returned text covers "
        "counts as one more relevant passage.",
        *([failed] if run.system.errors else []),
    ]


def question_note(report: RunReport) -> str:
    """The questions of a run, in words."""
    run = report.run
    unanswerable = sum(not item.answerable for item in report.results)
    return (
        f"{counted(run.questions, 'question')} of the set “{run.question_set}”, version "
        f"{run.set_version}. For {len(report.judged):,} of them the relevant {report.unit}s are "
        "known" + (f"; {unanswerable:,} have no answer in the documents." if unanswerable else ".")
    )


def data_note(report: RunReport) -> str:
    """The documents of a run, in words."""
    run = report.run
    texts = "passage" if run.recipe else "returned text"
    return (
        f"{counted(run.documents, 'document')} of the knowledge base “{report.base}”, "
        f"{'split into' if run.recipe else 'with'} {counted(report.passages, texts)}."
    )


def recalls(report: RunReport) -> str:
    """The recall at two cutoffs, in words."""
    metrics = report.run.metrics
    cutoffs = [k for k in (5, 10, *report.cutoffs) if f"recall@{k}" in metrics][:2]
    shares = " and ".join(f"{percent(metrics[f'recall@{k}'])} in the first {k}" for k in cutoffs)
    return f"Recall: {shares}."


def missed(report: RunReport) -> str:
    """The number of questions for which nothing relevant was found, in words."""
    count = sum(item.first_relevant is None for item in report.judged)
    if not count:
        return "Something relevant was found for every question."
    return f"Nothing relevant was found for {counted(count, 'question')}."


def against_k(report: RunReport) -> Markup:
    """The chart of metrics against k."""
    ks, metrics = report.cutoffs, report.run.metrics
    lines = {
        name: (METRIC_TITLES[name], [metrics[f"{name}@{k}"] for k in ks])
        for name in _LINES
        if all(f"{name}@{k}" in metrics for k in ks)
    }
    old = [value_before(report, f"ndcg@{k}") for k in ks]
    values = [value for value in old if value is not None]
    before = ("baseline", values) if len(values) == len(ks) else None
    return charts.against_k(ks, lines, [report.interval(f"ndcg@{k}") for k in ks], before)


def rank_bars(report: RunReport) -> list[tuple[str, int, str]]:
    """Questions by the rank of their first relevant hit: label, count, class."""
    ranks = [item.first_relevant for item in report.judged]
    depth = report.cutoffs[-1] if report.cutoffs else 1
    bars = [
        (
            str(low) if low == high else f"{low}–{min(high, depth)}",
            sum(rank is not None and low <= rank <= high for rank in ranks),
            "found",
        )
        for low, high in _BANDS
        if low <= depth
    ]
    return [*bars, ("none", ranks.count(None), "missing")]


def what_changes(run: Run, baseline: Baseline) -> str:
    """Introduce the changes of a recipe against its baseline."""
    of_recipes = run.recipe and baseline.run.recipe
    if baseline.chips:
        return "What the recipe changes:" if of_recipes else "What was measured:"
    return f"Both runs retrieve with the same {'recipe' if of_recipes else 'system'}."


def moved(baseline: Baseline, sign: int) -> list[tuple[str, float]]:
    """The texts and differences of the questions that moved in one direction, largest first."""
    differences = baseline.figures.differences
    rows = [(baseline.texts.get(key, key), by) for key, by in differences.items() if by * sign > 0]
    return sorted(rows, key=lambda row: -abs(row[1]))


def first_relevant_rank(result: QuestionResult, top_k: int | None) -> str:
    """The rank of the first relevant hit, in words; ``top_k`` is None for a system."""
    rank = result.first_relevant
    if rank is None:
        cut = result.cut_rank
        return "not found" if cut is None else f"rank {cut:,}, cut by the threshold"
    return f"rank {rank:,}{', beyond top-k' if top_k is not None and rank > top_k else ''}"


def wrong_answer(result: QuestionResult) -> str:
    """Say in words how an answer is wrong; "" for one that is not, or was not measured."""
    if result.answerable:
        return "answered, not as expected" if lacks_expected(result.metrics) else ""
    is_answered = result.ranking and result.metrics.get("correct_doubt") == 0
    return "answered, though no document has the answer" if is_answered else ""


def outcome(result: QuestionResult, recipe: Recipe | None) -> str:
    """The ranks of a missed question, in words."""
    top_k = recipe.search.top_k if recipe else None
    if top_k is None:
        relevant = result.found
        where = f"in the first {max(int(one.partition('@')[2] or 0) for one in result.metrics):,}"
    else:
        relevant, where = result.relevant_among(top_k), "returned"
    rank = first_relevant_rank(result, top_k)
    words = "nothing relevant was returned" if rank == "not found" else f"first relevant at {rank}"
    doubt = " · doubtful" if result.metrics.get("false_doubt") else ""
    return f"{words}{doubt} · {relevant:,} of {result.relevant:,} relevant {where}"


def calibration_in_words(calibration: CalibrationNote) -> str:
    """The labels that a calibration was learned from, and its quality."""
    inside = sum(group.agrees for group in calibration.bins)
    return (
        "The probability of relevance was learned from the labels of "
        f"{counted(calibration.questions, 'question')} of “{calibration.question_set}”. "
        f"In cross-validation, {inside:,} of {counted(len(calibration.bins), 'group')} "
        f"agree within their interval. {calibration.quality.sentence} "
        + (
            "The threshold of this run is compared with it."
            if calibration.used
            else "This run compares its threshold with the cosine instead."
        )
    )


def measures(report: RunReport) -> list[tuple[str, list[float | None]]]:
    """The titles of all measures, with their values by k."""
    ks, metrics = report.cutoffs, report.run.metrics
    rows = {
        title: [metrics.get(f"{name}@{k}") for k in ks] for name, title in METRIC_TITLES.items()
    }
    return [(title, values) for title, values in rows.items() if set(values) - {None}]


def refusals(report: RunReport) -> str:
    """The rates of refusals with their intervals, "" for none."""
    metrics = report.run.metrics
    return "; ".join(
        f"{metric_title(name)} {percent(metrics[name])} "
        f"(95% interval {range_of(report.interval(name), True)})"
        for name in _REFUSALS
        if name in metrics
    )


def refusals_beside(run: Run, baseline: Run) -> str:
    """The rates of refusals and doubts that differ between two runs; "" for none."""
    both = [name for name in _REFUSALS if name in run.metrics and name in baseline.metrics]
    changes = {name: run.metrics[name] - baseline.metrics[name] for name in both}
    return " ".join(
        f"{metric_title(name)}: {percent(run.metrics[name])}, the other run "
        f"{percent(baseline.metrics[name])} ({signed_points(change)} points)."
        for name, change in changes.items()
        if abs(change) >= UNCHANGED
    )


def definitions(report: RunReport) -> list[tuple[str, str]]:
    """The titles and definitions of the metrics that were measured."""
    measured = {name.partition("@")[0] for name in report.run.metrics}
    return [
        (title, METRIC_DEFINITIONS[name].format(unit=report.unit))
        for name, title in METRIC_TITLES.items()
        if name in measured
    ]


_NO_PACKAGES = (
    *("touchstone", "machine", "answers"),
    *(CONTEXT, EDITED, EDITS, PROMPTS, RANKABLE),
)


def facts(run: Run) -> Mapping[str, str]:
    """Hashes, versions and the machine of a run."""
    return {
        "Run": f"{run.id}, {run.created:%Y-%m-%d %H:%M} UTC, {run.seconds:.1f} s",
        "Recipe": run.recipe_hash or "",
        "System": f"{run.system.label}, SHA-256 {run.system.hash}" if run.system else "",
        "Index build": run.build_hash,
        "Questions": f"{run.question_set}, version {run.set_version}",
        "Documents": f"{run.documents:,}, SHA-256 of their ids {run.documents_hash}",
        "Edits of passages": run.environment.get(EDITS, ""),
        "Tags": ", ".join(run.tags),
        "Code": run.code_version,
        "Prompts": run.prompts,
        "Answers": run.environment.get("answers", ""),
        "Tokens handed to a model": f"about {float(run.context_tokens):,.0f} for a question"
        if run.context_tokens is not None
        else "",
        "Machine": run.environment.get("machine", ""),
        "Packages": ", ".join(
            f"{name} {version}"
            for name, version in run.environment.items()
            if name not in _NO_PACKAGES
        ),
    }


def command(report: RunReport) -> str:
    """Return the command line that repeats the measurement."""
    cutoffs = ",".join(str(k) for k in report.cutoffs)
    parts = ["python", "-m", "rag", "evaluate", report.base, report.run.question_set]
    return shlex.join([*parts, "--recipe", "recipe.json", "--k", cutoffs])
