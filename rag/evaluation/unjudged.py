"""The judged passages of one chunking; all other passages are unjudged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag.evaluation.relevance import Passage, relevant_chunks
from rag.types import Question


def judged_passages(
    question: Question, passages: Sequence[Passage], *, all_passages: bool = True
) -> set[int]:
    """Keys of the passages that a label covers, whatever its grade; the rest is unjudged.

    A label reaches passages by the rule that makes them relevant, and one of a whole document
    reaches all of that document. Nothing is unjudged for a question known to be unanswerable.
    ``all_passages`` is as in ``relevant_chunks``.
    """
    if not question.answerable:
        return {key for key, *_ in passages}
    labels = [replace(item, grade=1) for item in question.evidence]
    whole = {item.document_id for item in labels if item.end is None}
    reached = {key for key, document_id, *_ in passages if document_id in whole}
    return reached | relevant_chunks(labels, passages, all_passages=all_passages).keys()
