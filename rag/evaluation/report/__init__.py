"""A run as one HTML file that opens anywhere, offline: no script, nothing loaded."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from rag.evaluation import metrics
from rag.evaluation.report import results, words
from rag.evaluation.report.results import as_shown, on_cards, unanswered
from rag.evaluation.report.words import (
    Baseline,
    CalibrationNote,
    Expected,
    FailureNote,
    Markup,
    Miss,
    Retrieved,
    RunReport,
)

if TYPE_CHECKING:
    import jinja2

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
    "on_cards",
    "render",
    "unanswered",
]


@cache
def _template() -> jinja2.Template:
    from jinja2 import Environment, StrictUndefined  # only who writes a report waits for it

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.globals |= vars(words) | vars(metrics) | vars(results)
    return environment.from_string((resources.files(__name__) / "report.html").read_text("utf-8"))


def render(report: RunReport) -> str:
    """The report as an HTML page. All text of questions and documents is escaped."""
    title = f"{report.base}: {report.run.question_set}"
    body = Markup(_template().render(report=report))
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
