"""Groups and splits of the questions of a run, by the current version of its set.

Questions of one group rise and fall together; a split holds questions out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from rag.errors import NotFound
from rag.library.questions.groups import groups_of
from rag.services.caches import SizedCache
from rag.storage import Connection, bases, questions
from rag.storage.questions import QuestionSet
from rag.types import Question

_questions = SizedCache[Sequence[Question]](20_000)  # of some 2 kB
_groups = SizedCache[Mapping[str, str]](100_000)


def questions_of_set(
    connection: Connection, base_id: int, set_name: str
) -> tuple[QuestionSet, Sequence[Question]]:
    """A set and its questions, which are kept for each state of both and the documents.

    Raises NotFound.
    """
    question_set = questions.get_question_set(connection, base_id, set_name)
    state = _state(connection, base_id, question_set)
    return question_set, _questions.get(
        state, lambda: questions.usable(connection, base_id, question_set.id)
    )


def groups_of_set(connection: Connection, base_id: int, set_name: str) -> dict[str, str]:
    """Groups by question id; none where the set is gone, as nothing tells them then."""
    try:
        question_set, questions = questions_of_set(connection, base_id, set_name)
    except NotFound:
        return {}
    return dict(
        _groups.get(_state(connection, base_id, question_set), lambda: groups_of(questions))
    )


def _state(connection: Connection, base_id: int, question_set: QuestionSet) -> Hashable:
    return str(connection.engine.url), base_id, bases.version(connection, base_id), question_set


def split_of_set(connection: Connection, base_id: int, set_name: str) -> tuple[int, float] | None:
    """Seed and share of the split of a set; None where the set is gone."""
    try:
        question_set = questions.get_question_set(connection, base_id, set_name)
    except NotFound:
        return None
    return question_set.split_seed, question_set.split_share
