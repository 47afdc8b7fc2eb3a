"""A run as one HTML file that opens anywhere, offline: no script, nothing loaded."""

from __future__ import annotations

import html
from importlib import resources
from string import Template

from rag.evaluation.report import against, evidence, failures, results, trust
from rag.evaluation.report.content import (
    Baseline,
    CalibrationNote,
    Expected,
    FailureNote,
    Miss,
    Retrieved,
    RunReport,
)
from rag.evaluation.report.markup import Markup, join
from rag.evaluation.report.results import as_shown, meaning, on_cards, unanswered

__all__ = [
    "Baseline",
    "CalibrationNote",
    "Expected",
    "FailureNote",
    "Miss",
    "Retrieved",
    "RunReport",
    "as_shown",
    "html_page",
    "meaning",
    "on_cards",
    "render",
    "unanswered",
]


def render(report: RunReport) -> str:
    """The report as an HTML page. All text of questions and documents is escaped."""
    body = join(
        results.opening(report),
        results.cards(report),
        results.setting(report),
        results.pictures(report),
        against.against_baseline(report),
        evidence.misses(report),
        failures.causes(report),
        trust.trust(report),
        results.figures(report),
        evidence.method(report),
        evidence.reproducing(report),
        evidence.closing(report),
    )
    title = f"{report.base}: {report.run.question_set}"
    return html_page(title, report.run.code_version, body)


def html_page(title: str, version: str, body: Markup) -> str:
    """Return a page with the style of reports; ``version`` is that of the code that made it."""
    folder = resources.files(__name__)
    return Template((folder / "page.html").read_text("utf-8")).substitute(
        title=html.escape(title),
        version=html.escape(version),
        style=(folder / "page.css").read_text("utf-8"),
        body=body,
    )
