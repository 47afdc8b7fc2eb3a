"""The section on the reliability of a report: unjudged hits, and the calibration."""

from __future__ import annotations

from rag.evaluation.intervals import Interval
from rag.evaluation.reliability import ReliabilityBin
from rag.evaluation.report import charts
from rag.evaluation.report.content import CalibrationNote, RunReport
from rag.evaluation.report.markup import Markup, element, heading, join, section, table
from rag.evaluation.report.words import counted


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
        sentence = f"Somebody has judged all {units} among the first {share.k}: nothing is open."
        return element("p", sentence)
    sentence = (
        f"Of {share.hits:,} {units} among the first {share.k}, {share.unjudged:,} "
        f"({share.share:.0%}) are judged by nobody and count as not relevant. Whatever they turn "
        f"out to be (grades up to {share.highest}), and however many relevant {units} were not "
        f"retrieved, nDCG@{share.k} lies between {_range(share.ndcg)} and precision@{share.k} "
        f"between {_range(share.precision)} on these questions."
    )
    later = None if share.current else "By the labels of today, not those of the run."
    return join(element("p", sentence), element("p", later, class_="note") if later else None)


def _range(interval: Interval) -> str:
    return f"{interval.low:.3f} and {interval.high:.3f}"


def _calibration(report: RunReport) -> Markup | None:
    calibration = report.calibrated
    if calibration is None:
        return None
    head = [
        element("th", "Said"),
        element("th", "Relevant in fact", class_="number"),
        element("th", "95% interval"),
        element("th", ""),
        element("th", "Passages", class_="number"),
    ]
    return join(
        heading("Do probabilities come true?"),
        element("p", _in_words(calibration), class_="user"),
        table(head, map(_row, calibration.bins)),
        element("p", "The mark is what was said, the dot what came true.", class_="note"),
    )


def _row(reliability: ReliabilityBin) -> Markup:
    observed, interval = reliability.observed, reliability.interval
    strip = charts.interval_strip(observed, interval, reliability.predicted)
    return element(
        "tr",
        element("td", f"{reliability.predicted:.0%}"),
        element("td", f"{reliability.observed:.0%}", class_="number"),
        element("td", f"{reliability.interval.low:.0%}–{reliability.interval.high:.0%}"),
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
        f"Its errors (Brier score) are {better:.0%} smaller than those of always saying the base "
        f"rate of {scores.base_rate:.0%}."
        if scores.useful
        else "It is no better than always saying the base rate: do not rely on it."
    )
    return (
        f"The probability of being relevant was learned from the labels of "
        f"{counted(calibration.questions, 'question')} of “{calibration.question_set}”. "
        f"In cross-validation {inside:,} of {counted(len(calibration.bins), 'group')} came true "
        f"within their interval. {use} "
        + (
            "The threshold of this run is compared with it."
            if calibration.used
            else "This run compares its threshold with the cosine instead."
        )
    )
