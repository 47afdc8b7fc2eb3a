"""The section on the reliability of a report: unjudged hits, and the calibration."""

from __future__ import annotations

from rag.evaluation.intervals import Interval
from rag.evaluation.reliability import ReliabilityBin
from rag.evaluation.report import charts
from rag.evaluation.report.content import CalibrationNote, RunReport
from rag.evaluation.report.markup import Markup, element, heading, join, section, table
from rag.evaluation.report.words import counted
from rag.types import percent


def trust(report: RunReport) -> Markup | None:
    """The section; None where there is nothing to tell."""
    parts = [part for part in (_unjudged(report), _calibration(report)) if part is not None]
    if not parts:
        return None
    return section("How far to trust the figures", *parts)


def _unjudged(report: RunReport) -> Markup | None:
    share = report.unjudged
    if share is None:
        return None
    units = f"{report.unit}s"
    if not share.unjudged:
        sentence = f"All {units} among the first {share.k} are judged."
        return element("p", sentence)
    sentence = (
        f"Of {share.hits:,} {units} among the first {share.k}, {share.unjudged:,} "
        f"({percent(share.share)}) are not judged and count as not relevant. Their grades (up "
        f"to {share.highest}) and relevant {units} that were not retrieved can move "
        f"nDCG@{share.k} to any value between {_range(share.ndcg)}, and "
        f"precision@{share.k} between {_range(share.precision)}, on these questions."
    )
    later = None if share.current else "This uses the current labels, not those of the run."
    return join(element("p", sentence), element("p", later, class_="note") if later else None)


def _range(interval: Interval) -> str:
    return f"{interval.low:.3f} and {interval.high:.3f}"


def _calibration(report: RunReport) -> Markup | None:
    calibration = report.calibrated
    if calibration is None:
        return None
    head = [
        element("th", "Predicted"),
        element("th", "Observed", class_="number"),
        element("th", "95% interval"),
        element("th", ""),
        element("th", "Passages", class_="number"),
    ]
    return join(
        heading("Are the probabilities right?"),
        element("p", _in_words(calibration), class_="user"),
        table(head, map(_row, calibration.bins)),
        element("p", "The mark is the predicted share, the dot the observed one.", class_="note"),
    )


def _row(reliability: ReliabilityBin) -> Markup:
    observed, interval = reliability.observed, reliability.interval
    strip = charts.interval_strip(observed, interval, reliability.predicted)
    return element(
        "tr",
        element("td", percent(reliability.predicted)),
        element("td", percent(reliability.observed), class_="number"),
        element("td", f"{percent(reliability.interval.low)}–{percent(reliability.interval.high)}"),
        element("td", strip),
        element("td", f"{reliability.count:,}", class_="number"),
    )


def _in_words(calibration: CalibrationNote) -> str:
    scores = calibration.quality
    inside = sum(
        reliability.interval.low <= reliability.predicted <= reliability.interval.high
        for reliability in calibration.bins
    )
    better = 1 - scores.brier / scores.base_brier if scores.base_brier else 0.0
    use = (
        f"Its errors (Brier score) are {percent(better)} smaller than those of always "
        f"predicting the base rate of {percent(scores.base_rate)}."
        if scores.useful
        else "It is no better than always predicting the base rate, so do not rely on it."
    )
    return (
        "The probability of relevance was learned from the labels of "
        f"{counted(calibration.questions, 'question')} of “{calibration.question_set}”. "
        f"In cross-validation, {inside:,} of {counted(len(calibration.bins), 'group')} "
        f"agree within their interval. {use} "
        + (
            "The threshold of this run is compared with it."
            if calibration.used
            else "This run compares its threshold with the cosine instead."
        )
    )
