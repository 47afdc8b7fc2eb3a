"""The section on the causes of failed questions, and on fixes."""

from __future__ import annotations

from rag.evaluation.report.content import RunReport
from rag.evaluation.report.markup import Markup, element, heading, join, section, table


def causes(report: RunReport) -> Markup | None:
    """The section; None for a run without a diagnosis of its recipe, questions and documents."""
    note = report.failures
    if note is None:
        return None
    head = [
        element("th", "Cause"),
        element("th", "Questions", class_="number"),
        element("th", "What helps"),
    ]
    rows = [
        element(
            "tr",
            element("td", title),
            element("td", f"{count:,}", class_="number"),
            element("td", advice),
        )
        for title, count, advice in note.causes
    ]
    return section(
        "Why questions failed",
        element("p", f"{note.headline} Each counts under its first cause.", class_="lead"),
        table(head, rows) if rows else None,
        _fixes(note.fixes),
    )


def _fixes(fixes: tuple[tuple[str, str], ...]) -> Markup | None:
    if not fixes:
        return None
    return join(
        heading("Changes of the recipe"),
        element(
            "p",
            "Each was chosen on the tuning questions. Its gain is that of all held-out questions.",
            class_="note",
        ),
        *(element("p", element("strong", changes), f": {sentence}") for changes, sentence in fixes),
    )
