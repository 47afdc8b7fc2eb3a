"""A run as one HTML file that opens anywhere, offline: no script, nothing loaded."""

from __future__ import annotations

import html
from importlib import resources
from string import Template

from rag.evaluation.report import against, evidence, results, trust
from rag.evaluation.report.content import (
    Baseline,
    CalibrationNote,
    Expected,
    Miss,
    Retrieved,
    RunReport,
)
from rag.evaluation.report.markup import join
from rag.evaluation.report.results import on_cards

__all__ = [
    "Baseline",
    "CalibrationNote",
    "Expected",
    "Miss",
    "Retrieved",
    "RunReport",
    "on_cards",
    "render",
]


def render(report: RunReport) -> str:
    """The report as an HTML page. All text of questions and documents is escaped."""
    folder = resources.files(__name__)
    body = join(
        results.opening(report),
        results.cards(report),
        results.setting(report),
        results.pictures(report),
        against.against_baseline(report),
        evidence.misses(report),
        trust.trust(report),
        results.figures(report),
        evidence.method(report),
        evidence.reproducing(report),
        evidence.closing(report),
    )
    return Template((folder / "page.html").read_text("utf-8")).substitute(
        title=html.escape(f"{report.base}: {report.run.question_set}"),
        version=html.escape(report.run.code_version),
        style=(folder / "page.css").read_text("utf-8"),
        body=body,
    )
