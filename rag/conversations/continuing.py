"""The text of an interrupted answer, in the form that a model needs to continue it."""

from __future__ import annotations

from rag.answering import renumbered
from rag.storage.conversations import Turn
from rag.types import Trace


def begun(turn: Turn, trace: Trace) -> str:
    """The text of a turn, with the numbers that its passages have in the prompt of ``trace``.

    As stored they count citations in the order in which the text cites them.
    """
    numbers = {hit.chunk.id: number for number, hit in enumerate(trace.context, start=1)}
    cited = {
        citation.n: numbers[citation.chunk_id]
        for citation in turn.citations
        if citation.chunk_id in numbers
    }
    return renumbered(turn.answer, cited)
