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
    found = report.unjudged
    if found is None:
        return None
    units = f"{report.unit}s"
    if not found.unjudged:
        said = f"Somebody has judged all {units} among the first {found.k}: nothing is open."
        return element("p", said)
    said = (
        f"Of {found.hits:,} {units} among the first {found.k}, {found.unjudged:,} "
        f"({found.share:.0%}) are judged by nobody and count as not relevant. Whatever they turn "
        f"out to be (grades up to {found.highest}), and however many relevant {units} were not "
        f"retrieved, nDCG@{found.k} lies between {_range(found.ndcg)} and precision@{found.k} "
        f"between {_range(found.precision)} on these questions."
    )
    later = None if found.current else "By the labels of today, not those of the run."
    return join(element("p", said), element("p", later, class_="note") if later else None)


def _range(interval: Interval) -> str:
    return f"{interval.low:.3f} and {interval.high:.3f}"


def _calibration(report: RunReport) -> Markup | None:
    found = report.calibrated
    if found is None:
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
        element("p", _in_words(found), class_="user"),
        table(head, map(_row, found.bins)),
        element("p", "The mark is what was said, the dot what came true.", class_="note"),
    )


def _row(each: ReliabilityBin) -> Markup:
    return element(
        "tr",
        element("td", f"{each.predicted:.0%}"),
        element("td", f"{each.observed:.0%}", class_="number"),
        element("td", f"{each.interval.low:.0%}–{each.interval.high:.0%}"),
        element("td", charts.interval_strip(each.observed, each.interval, each.predicted)),
        element("td", f"{each.count:,}", class_="number"),
    )


def _in_words(found: CalibrationNote) -> str:
    scores = found.quality
    inside = sum(each.interval.low <= each.predicted <= each.interval.high for each in found.bins)
    better = 1 - scores.brier / scores.base_brier if scores.base_brier else 0.0
    use = (
        f"Its errors (Brier score) are {better:.0%} smaller than those of always saying the base "
        f"rate of {scores.base_rate:.0%}."
        if scores.useful
        else "It is no better than always saying the base rate: do not rely on it."
    )
    return (
        f"The probability of being relevant was learned from the labels of "
        f"{counted(found.questions, 'question')} of “{found.question_set}”. In cross-validation "
        f"{inside:,} of {counted(len(found.bins), 'group')} came true within their interval. {use} "
        + (
            "The threshold of this run is compared with it."
            if found.used
            else "This run compares its threshold with the cosine instead."
        )
    )
