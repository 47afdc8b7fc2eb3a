"""A question set at one moment, which everything that is measured on it rests on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.errors import InvalidInput
from rag.evaluation.splits import Split
from rag.library.questions.groups import groups_of, split_questions, strata_of
from rag.storage import Connection
from rag.storage import questions as question_rows
from rag.storage.questions import QuestionSet
from rag.types import Question


@dataclass(frozen=True)
class QuestionSnapshot:
    """A question set with its usable questions, read in one transaction.

    A label that somebody adds meanwhile changes nothing of what rests on a snapshot.
    """

    base_id: int
    question_set: QuestionSet
    questions: Sequence[Question]

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.question_set.name

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """The group of every question that shares one, by its id."""
        return groups_of(self.questions)

    @cached_property
    def strata(self) -> Mapping[str, Hashable]:
        """The stratum of every question by its id."""
        return strata_of(self.questions)

    @cached_property
    def parts(self) -> Split | None:
        """The split of the set; None for one that is too small to be split."""
        share, seed = self.question_set.split_share, self.question_set.split_seed
        try:
            return split_questions(self.questions, share, seed)
        except InvalidInput:
            return None


def read_questions(connection: Connection, base_id: int, set_name: str) -> QuestionSnapshot:
    """Read a question set with its usable questions. Raises NotFound."""
    question_set = question_rows.get_question_set(connection, base_id, set_name)
    questions = question_rows.usable(connection, base_id, question_set.id)
    return QuestionSnapshot(base_id, question_set, questions)
