"""Labels without a text: their output for scripts and people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten

from rag import Label, VerbData, counted

Lost = Sequence[tuple[str, Label]]
"""(question id, label) of labels that no present document holds."""


class LostLabelData(VerbData):
    """A label of a question whose text is in no document."""

    question: str
    document: str
    page: int | None
    quote: str


def lost_data(lost: Lost) -> list[LostLabelData]:
    return [
        LostLabelData(
            question=question, document=label.document_name, page=label.page, quote=label.quote
        )
        for question, label in lost
    ]


def lost_lines(lost: Lost) -> Iterator[str]:
    """Names labels that no document here has the text of."""
    if lost:
        yield f"{counted(len(lost), 'label')} whose text is in no document:"
    for question, label in lost:
        where = label.document_name + (f", page {label.page}" if label.page else "")
        quote = f" “{shorten(label.quote, 80, placeholder='…')}”" if label.quote else ""
        yield f"  {question}: {where}{quote}"
