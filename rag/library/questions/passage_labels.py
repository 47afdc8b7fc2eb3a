"""Labels as a reader of passages meets them: one grade for each, whatever spans stand behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.errors import NotFound
from rag.evaluation.formats.question_files import folded
from rag.evaluation.relevance import (
    Passage,
    best_grades,
    judged_passages,
    misleading_chunks,
    relevant_chunks,
)
from rag.library.questions.edits import checked_answer, collect_question
from rag.library.questions.label_edits import (
    change_grade,
    checked_nugget,
    label_span,
    store_label,
)
from rag.library.questions.sets import StoredQuestions, contradiction, edit_or_create
from rag.operation import operation
from rag.recipe import IndexRecipe
from rag.storage import Connection, builds, documents, labels, passages
from rag.storage import questions as rows
from rag.storage.labels import BY_HAND, Label
from rag.storage.questions import LabelledQuestion
from rag.types import MISLEADING, Chunk, Evidence, Question


@dataclass(frozen=True, slots=True)
class QuestionLabels:
    """A question in a set; ``question_id`` is None where the set does not have it.

    ``grades`` are those of passages by key: the highest of the labels that the passage answers, 0
    for "judged, not relevant", -1 for one that misleads. Passages that no label covers are absent.
    """

    question_id: str | None = None
    answerable: bool = True
    labels: tuple[Label, ...] = ()
    grades: Mapping[int, int] = field(default_factory=dict)

    @property
    def relevant(self) -> int:
        """Number of labels with a grade above 0."""
        return sum(label.grade > 0 for label in self.labels)

    def missed(self, keys: Collection[int]) -> int | None:
        """Return the key of the most relevant passage outside ``keys``; None if there is none."""
        grades = self.grades.items()
        unseen = [(-grade, key) for key, grade in grades if grade > 0 and key not in keys]
        return min(unseen)[1] if unseen else None


@dataclass(frozen=True, slots=True)
class PassageGrade:
    """A grade of a passage, by its span in the text of a document."""

    document_id: str
    start: int
    end: int
    grade: int


class PassageLabels(StoredQuestions):
    """Grades of passages of one knowledge base for questions that are known by their text."""

    @operation("guest")
    def labels_of(self, set_name: str, text: str, recipe: IndexRecipe) -> QuestionLabels:
        """The labels of a question, and what they make of the passages of a build."""
        with self._database.read() as connection:
            question = self._asked(connection, set_name, text)
            if question is None:
                return QuestionLabels()
            grades = self._grades(connection, question, recipe)
        return QuestionLabels(question.id, question.answerable, question.labels, grades)

    @operation("guest")
    def contains(self, set_name: str) -> Callable[[str], bool]:
        """Whether a question is in a set, as the set is now: ``labels_of`` says more about it."""
        try:
            with self._database.read() as connection:
                questions = rows.list_labelled_questions(
                    connection, rows.get_question_set(connection, self._base_id, set_name).id
                )
        except NotFound:
            questions = []
        texts = frozenset(folded(item.text) for item in questions)
        return lambda text: folded(text) in texts

    @operation("labeller", audit="labels")
    def grade(
        self,
        set_name: str,
        text: str,
        document_id: str,
        start: int,
        end: int,
        grade: int,
        origin: str = BY_HAND,
    ) -> None:
        """Grade a passage for a question, which is added to the set (made if there is none).

        Labels inside the passage take the grade, so that exact evidence stays exact; without any,
        the passage's span becomes the label. A longer label that reaches into the passage stays as
        it is. A new label keeps its ``origin``. Raises NotFound, InvalidInput.
        """
        with edit_or_create(self._database, self._base_id, set_name) as (connection, set_id):
            question_id, _ = collect_question(connection, set_id, text)
            passage_grade = PassageGrade(document_id, start, end, grade)
            self._grade(connection, set_id, question_id, passage_grade, origin)

    @operation("labeller", audit="labels")
    def collect_with_grades(
        self,
        set_name: str,
        text: str,
        grades: Sequence[PassageGrade] = (),
        *,
        answerable: bool = True,
        discard_labels: bool = False,
        answer: str = "",
        origin: str = BY_HAND,
    ) -> str:
        """Put a question into a set with all that was said of it; return its id.

        All of it is one version of the set (made if there is none), or nothing is stored. The
        ``grades`` are stored as ``grade`` does. Not ``answerable``, it must have no relevant
        labels, unless these are to be discarded. ``answer`` is what a right answer says, "" leaves
        what is there. A question that is new keeps the ``origin``, unless it was made by hand.
        Raises NotFound, InvalidInput.
        """
        with edit_or_create(self._database, self._base_id, set_name) as (connection, set_id):
            asked_by = "" if origin == BY_HAND else origin
            question_id, _ = collect_question(connection, set_id, text, origin=asked_by)
            for passage_grade in grades:
                self._grade(connection, set_id, question_id, passage_grade, origin)
            if not answerable:
                relevant = labels.relevant(connection, set_id, question_id)
                if relevant and not discard_labels:
                    raise contradiction(question_id)
                for label_id in relevant:
                    labels.remove(connection, set_id, label_id)
                rows.change(connection, set_id, question_id, {"answerable": False})
            if answer.strip():
                changed = {"answer": checked_answer(answer)}
                rows.change(connection, set_id, question_id, changed)
            return question_id

    def _grade(
        self,
        connection: Connection,
        set_id: int,
        question_id: str,
        passage_grade: PassageGrade,
        origin: str,
    ) -> None:
        span = passage_grade.document_id, passage_grade.start, passage_grade.end
        inner = _inside(labels.of_question(connection, set_id, question_id), *span)
        for label in inner:
            change_grade(connection, set_id, label.id, passage_grade.grade)
        if not inner:
            new = label_span(connection, self._base_id, *span, passage_grade.grade)
            store_label(connection, set_id, question_id, replace(new, origin=origin))

    @operation("labeller", audit="labels")
    def grade_words(
        self,
        set_name: str,
        text: str,
        passage: Chunk,
        start: int,
        end: int,
        grade: int,
        nugget: str = "",
    ) -> None:
        """Labels words of a passage, by offsets in its document, for a question (see ``grade``).

        ``nugget`` names the part of the answer that the words have, "" for none. A label on just
        the whole passage says less, and gives way. Raises NotFound, InvalidInput.
        """
        with edit_or_create(self._database, self._base_id, set_name) as (connection, set_id):
            question_id, _ = collect_question(connection, set_id, text)
            question_labels = labels.of_question(connection, set_id, question_id)
            inner = _inside(question_labels, passage.document_id, passage.start, passage.end)
            words = label_span(connection, self._base_id, passage.document_id, start, end, grade)
            new = replace(words, origin=BY_HAND, nugget=checked_nugget(nugget))
            store_label(connection, set_id, question_id, new)
            for label in inner:
                vague = label.quote == passage.text.strip()
                if vague and (start, end) != (label.start, label.end):
                    labels.remove(connection, set_id, label.id)

    @operation("labeller", audit="labels")
    def remove_grades(
        self, set_name: str, text: str, document_id: str, start: int, end: int
    ) -> int:
        """Delete the labels inside a passage; return how many there were."""
        with self._database.write() as connection:
            question = self._asked(connection, set_name, text)
            inner = _inside(question.labels if question else (), document_id, start, end)
            if inner:
                set_id = rows.lock(connection, self._base_id, set_name)
                for label in inner:
                    labels.remove(connection, set_id, label.id)
                rows.count_versions(connection, [set_id])
        return len(inner)

    def _asked(self, connection: Connection, set_name: str, text: str) -> LabelledQuestion | None:
        try:
            set_id = rows.get_question_set(connection, self._base_id, set_name).id
        except NotFound:
            return None
        same = (
            item
            for item in rows.list_labelled_questions(connection, set_id)
            if folded(item.text) == folded(text)
        )
        return next(same, None)

    def _grades(
        self, connection: Connection, question: LabelledQuestion, recipe: IndexRecipe
    ) -> dict[int, int]:
        present = set(documents.ids_by_name(connection, self._base_id).values())
        evidence = [
            Evidence(label.document_id, label.start, label.end, label.grade, label.quote)
            for label in question.labels
            if label.document_id is not None and label.document_id in present
        ]
        cut_id = builds.cut_id(connection, self._base_id, recipe.cut)
        if cut_id is None or not evidence:
            return {}
        ids = sorted({item.document_id for item in evidence})
        spans = passages.spans(connection, self._base_id, cut_id, ids)
        passage_spans = [
            (key, name, start, end) for name in spans for key, start, end in spans[name]
        ]
        return _grades(evidence, passage_spans)


def _inside(
    question_labels: Iterable[Label], document_id: str, start: int, end: int
) -> list[Label]:
    """The labels that are on words of a passage."""
    return [
        label
        for label in question_labels
        if label.document_id == document_id
        and label.end is not None
        and start <= label.start
        and label.end <= end
    ]


def _grades(evidence: Sequence[Evidence], passages: Sequence[Passage]) -> dict[int, int]:
    question = Question("", "", tuple(evidence))
    whole = Question("", "", tuple(item for item in evidence if item.end is None))
    by_document = best_grades(whole)
    grades = dict.fromkeys(judged_passages(question, passages), 0)
    grades |= {key: by_document[name] for key, name, *_ in passages if name in by_document}
    grades |= dict.fromkeys(misleading_chunks(evidence, passages), MISLEADING)
    for key, grade in relevant_chunks(evidence, passages).items():
        grades[key] = max(grade, grades.get(key, 0))
    return grades
