"""Relevant passages under one chunking: labels are spans of documents, never passages.

A passage is relevant to a span if they share at least half of the shorter of the two. Therefore
every passage in the middle of a long span counts, and a passage that merely touches the span does
not. A span that no passage satisfies is assigned to the passage that shares most with it, so that
chunking never loses a label.

Passages that no label covers are unjudged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rag.types import MISLEADING, Evidence, Question


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


Passage = tuple[int, str, int, int]
"""Key, document id, start, end."""
_Offsets = npt.NDArray[np.int64]


def judged_by_document(question: Question) -> bool:
    """Whether a label names a whole document, so that documents are ranked, not passages.

    Labels that say "not relevant" decide only where there are no others.
    """
    relevant = [item for item in question.evidence if item.grade > 0]
    return any(item.end is None for item in relevant or question.evidence)


def is_measurable(question: Question) -> bool:
    """Whether figures can be had: something is relevant, or it is known that nothing answers."""
    return not question.answerable or any(item.grade > 0 for item in question.evidence)


def best_grades(question: Question) -> dict[str, int]:
    """The highest grade of every judged document by id; 0 for "judged, not relevant"."""
    grades: dict[str, int] = {}
    for item in question.evidence:
        grades[item.document_id] = max(item.grade, grades.get(item.document_id, 0))
    return grades


def relevant_chunks(
    evidence: Sequence[Evidence], chunks: Sequence[Passage], *, all_passages: bool = True
) -> dict[int, int]:
    """Grades of the relevant passages by key: the highest grade of the spans they answer.

    ``all_passages`` says that ``chunks`` has all passages of their documents. Otherwise a passage
    that shares too little with a span is not relevant, because others may share more with it.

    Lengths are in characters. Labels of whole documents and grades of 0 or less make nothing
    relevant. Of passages that share equally much with a span that none satisfies, the one that
    starts first is taken, then the lowest key.
    """
    grades: dict[int, int] = {}
    by_document = _by_document(evidence, chunks)
    for item in evidence:
        if item.end is None or item.grade <= 0 or item.document_id not in by_document:
            continue
        rows = by_document[item.document_id]
        # Keys of the passages that answer the span ``[start, end)`` of one document.
        touching = rows[(rows[:, 0] < item.end) & (rows[:, 1] > item.start)]
        lows, highs = np.maximum(touching[:, 0], item.start), np.minimum(touching[:, 1], item.end)
        shared = highs - lows
        shorter = np.minimum(touching[:, 1] - touching[:, 0], item.end - item.start)
        enough = (2 * shared >= shorter) & (shared > 0)
        if all_passages and not enough.any() and shared.any():
            enough[shared.argmax()] = True
        keys: list[int] = touching[enough, 2].tolist()
        for key in keys:
            grades[key] = max(item.grade, grades.get(key, 0))
    return grades


def misleading_chunks(
    evidence: Sequence[Evidence], chunks: Sequence[Passage], *, all_passages: bool = True
) -> set[int]:
    """Keys of the passages that mislead, by the rule that makes passages relevant.

    A passage that is relevant too does not mislead. ``all_passages`` is that of
    ``relevant_chunks``.
    """
    misleading = [replace(item, grade=1) for item in evidence if item.grade == MISLEADING]
    if not misleading:
        return set()
    relevant = relevant_chunks(evidence, chunks, all_passages=all_passages)
    return relevant_chunks(misleading, chunks, all_passages=all_passages).keys() - relevant.keys()


def nuggets_of(evidence: Sequence[Evidence]) -> frozenset[str]:
    """The names of the parts that relevant labels say an answer consists of."""
    return frozenset(item.nugget for item in evidence if item.nugget and item.grade > 0)


def uncovered_labels(evidence: Sequence[Evidence], chunks: Sequence[Passage]) -> list[int]:
    """Grades of the relevant labels that none of some passages covers."""
    return [
        item.grade
        for item in evidence
        if item.grade > 0 and not relevant_chunks([item], chunks, all_passages=False)
    ]


def _by_document(evidence: Sequence[Evidence], chunks: Sequence[Passage]) -> dict[str, _Offsets]:
    """Rows (start, end, key) by document, sorted."""
    rows: dict[str, list[tuple[int, int, int]]] = {item.document_id: [] for item in evidence}
    for key, document_id, start, end in chunks:
        if document_id in rows:
            rows[document_id].append((start, end, key))
    return {name: np.array(sorted(spans), np.int64).reshape(-1, 3) for name, spans in rows.items()}
