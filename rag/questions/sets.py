"""Question sets of a knowledge base: read, imported and exported whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import unquote

from rag.errors import InvalidFile, InvalidInput
from rag.evaluation.formats.question_files import FileLabel, FileQuestion
from rag.evaluation.splits import Split
from rag.questions.groups import groups_of, split_questions
from rag.questions.reanchoring import Anchors
from rag.storage import Connection, Database, documents, labels, runs, storable
from rag.storage import questions as rows
from rag.storage.labels import Label
from rag.storage.questions import LabelledQuestion, QuestionSet
from rag.storage.runs import Look
from rag.types import Question

_LONGEST_NAME = 80


def checked_name(name: str) -> str:
    """A name for a question set, trimmed. Raises InvalidInput."""
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A question set needs a name of 1 to {_LONGEST_NAME} characters.")
    return name


def contradiction(question_id: str) -> InvalidInput:
    """The error for calling a question unanswerable while labels say where it is answered."""
    return InvalidInput(
        f"{question_id!r} has labels that say where it is answered.",
        "Remove them, or leave it answerable.",
    )


@contextmanager
def counted_edit(
    database: Database, base_id: int, set_name: str
) -> Iterator[tuple[Connection, int]]:
    """A transaction on a set (its id) that counts a version. Raises NotFound.

    Other edits of the set wait until it ends.
    """
    with database.write() as connection:
        yield connection, rows.count_version(connection, base_id, set_name)


class QuestionSets:
    """Reads, stores and writes the question sets of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id

    def every(self) -> list[QuestionSet]:
        """All sets, by name."""
        with self._database.read() as connection:
            return rows.every(connection, self._base_id)

    def named(self, name: str) -> QuestionSet:
        """One set. Raises NotFound."""
        with self._database.read() as connection:
            return rows.named(connection, self._base_id, name)

    def usable(self, name: str) -> list[Question]:
        """Questions with the labels whose documents are present. Raises NotFound."""
        with self._database.read() as connection:
            return rows.usable(
                connection, self._base_id, rows.named(connection, self._base_id, name).id
            )

    def labelled(self, name: str) -> list[LabelledQuestion]:
        """Questions with every label as stored, lost ones too. Raises NotFound."""
        with self._database.read() as connection:
            return rows.labelled(connection, rows.named(connection, self._base_id, name).id)

    def lost_labels(self, name: str) -> list[tuple[str, Label]]:
        """(question id, label) of those labels that no present document holds."""
        with self._database.read() as connection:
            found = rows.named(connection, self._base_id, name)
            present = set(documents.ids_by_name(connection, self._base_id).values())
            labelled = rows.labelled(connection, found.id)
        return [
            (item.id, label)
            for item in labelled
            for label in item.labels
            if label.document_id not in present
        ]

    def split(self, name: str) -> Split:
        """Question ids for tuning and held out, by the split of the set.

        Raises NotFound, or InvalidInput for too few questions.
        """
        with self._database.read() as connection:
            found = rows.named(connection, self._base_id, name)
            usable = rows.usable(connection, self._base_id, found.id)
        return split_questions(usable, found.split_share, found.split_seed)

    def groups(self, name: str) -> dict[str, str]:
        """The group of every question that shares one, by its id. Raises NotFound."""
        return groups_of(self.usable(name))

    def tried(self, name: str) -> list[Look]:
        """What was tried on a set, the first first."""
        with self._database.read() as connection:
            return runs.looks(connection, self._base_id, name)

    def save(self, name: str, questions: Sequence[FileQuestion]) -> None:
        """Creates or replaces a set. Labels are anchored in the documents that are present.

        Raises InvalidInput for a set without a name.
        """
        name = checked_name(name)
        with self._database.write() as connection:
            anchors = Anchors(connection, self._base_id)
            labelled = [
                LabelledQuestion(
                    item.id,
                    item.text,
                    item.answerable,
                    item.tags,
                    tuple(anchors.of(item.labels)),
                    group=item.group,
                    answer=storable(item.answer),
                )
                for item in questions
            ]
            rows.save(connection, self._base_id, name, labelled)

    def add_judgements(self, name: str, given: Mapping[str, tuple[FileLabel, ...]]) -> int:
        """Adds labels of whole documents to questions of a set by id; returns how many.

        Documents that a question has labels in keep them, as spans say more; only the grade of an
        earlier label of the whole document is replaced. Raises NotFound, and InvalidFile for an
        unknown question.
        """
        with counted_edit(self._database, self._base_id, name) as (connection, set_id):
            anchors = Anchors(connection, self._base_id)
            held = {item.id: item.labels for item in rows.labelled(connection, set_id)}
            for key, judged in given.items():
                question_id = key if key in held else unquote(key)
                if question_id not in held:
                    raise InvalidFile(
                        f"{name!r} has no question {key!r}.",
                        "Judgements name questions by id only: import the questions first.",
                    )
                known = {label.document_name: label for label in held[question_id]}
                for label in anchors.of(judged):
                    same = known.get(label.document_name)
                    if same is None:
                        labels.insert_all(connection, set_id, [(question_id, label)])
                    elif same.end is None:
                        labels.set_grade(connection, set_id, same.id, label.grade)
        return sum(map(len, given.values()))

    def export(self, name: str) -> list[FileQuestion]:
        """A set as a file holds it, with every label. Raises NotFound."""
        return [
            FileQuestion(
                item.id,
                item.text,
                item.answerable,
                item.tags,
                tuple(map(_file_label, item.labels)),
                item.group,
                item.answer,
            )
            for item in self.labelled(name)
        ]


def _file_label(label: Label) -> FileLabel:
    start = None if label.end is None else label.start
    return FileLabel(label.document_name, label.quote, start, label.end, label.grade, label.page)
