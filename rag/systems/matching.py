"""Retrievals of a file, assigned to the questions of a set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.lexical.letters import letters_of
from rag.systems.returned import Returned
from rag.types import Question


@dataclass(frozen=True, slots=True)
class MatchedRetrievals:
    """Retrievals by question id, hops in their order, and those of no question of the set."""

    by_question: dict[str, tuple[Returned, ...]]
    unmatched: tuple[Returned, ...]


def match_questions(
    retrievals: Iterable[Returned], questions: Sequence[Question]
) -> MatchedRetrievals:
    """Match by the text of a question, else by its id.

    White space, case and punctuation of a text make no difference. A text that several questions
    have is matched by its id alone.
    """
    ids = {item.id for item in questions}
    by_text: dict[str, set[str]] = {}
    for item in questions:
        by_text.setdefault(letters_of(item.text).text or item.text, set()).add(item.id)
    matched: dict[str, list[Returned]] = {}
    unmatched = list[Returned]()
    for retrieval in retrievals:
        same = by_text.get(letters_of(retrieval.question).text or retrieval.question, set())
        if retrieval.question_id in ids and (not same or retrieval.question_id in same):
            matched.setdefault(retrieval.question_id, []).append(retrieval)
        elif len(same) == 1:
            matched.setdefault(next(iter(same)), []).append(retrieval)
        else:
            unmatched.append(retrieval)
    ordered = {
        question: tuple(sorted(items, key=lambda item: item.hop))
        for question, items in matched.items()
    }
    return MatchedRetrievals(ordered, tuple(unmatched))
