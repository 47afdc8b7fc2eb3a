"""Question sets of a knowledge base: read, imported and exported whole."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, get_args
from urllib.parse import unquote

from rag.errors import AlreadyExists, InvalidFile, InvalidInput
from rag.evaluation.formats.question_files import FileLabel, FileQuestion, folded
from rag.evaluation.splits import Split
from rag.input_rules import storable
from rag.library.questions.groups import groups_of, split_questions
from rag.library.questions.reanchoring import Anchors
from rag.library.questions.trial_log import TrialLog
from rag.operation import ALL, operation
from rag.storage import Connection, Database, labels
from rag.storage import questions as rows
from rag.storage.labels import Label
from rag.storage.questions import LabelledQuestion, QuestionSet, State, VersionData
from rag.storage.runs import Trial
from rag.types import Question


class StoredQuestions:
    """The stored question sets of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id


_LONGEST_NAME = 80

Existing = Literal["replace", "add", "refuse"]
"""How an import treats a set that has its name already."""


def checked_name(name: str) -> str:
    """A name for a question set, trimmed. Raises InvalidInput."""
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A question set needs a name of 1 to {_LONGEST_NAME} characters.")
    return name


def contradiction(question_id: str) -> InvalidInput:
    """The error for calling a question unanswerable while labels say where it is answered."""
    return InvalidInput(
        f"{question_id!r} has labels, so the documents answer it.",
        "Remove them, or leave it answerable.",
    )


@contextmanager
def counted_edit(
    database: Database, base_id: int, set_name: str
) -> Iterator[tuple[Connection, int]]:
    """A transaction on a set (its id) that counts a version if it changes something.

    Other edits of the set wait until it ends. Raises NotFound.
    """
    with database.write() as connection:
        set_id = rows.lock(connection, base_id, set_name)
        with _counting(connection, set_id):
            yield connection, set_id


@contextmanager
def edit_or_create(
    database: Database, base_id: int, set_name: str
) -> Iterator[tuple[Connection, int]]:
    """The same with a set that is made, as its first version, if there is none.

    Raises InvalidInput for a set without a name.
    """
    with database.write() as connection:
        set_id, created = rows.ensure(connection, base_id, checked_name(set_name))
        if created:
            yield connection, set_id
            return
        with _counting(connection, set_id):
            yield connection, set_id


@contextmanager
def _counting(connection: Connection, set_id: int) -> Iterator[None]:
    """Count a version of a set if what happens here changes what is measured with it."""
    before = rows.content(connection, set_id)
    yield
    if rows.content(connection, set_id) != before:
        rows.count_versions(connection, [set_id])


class QuestionSets(StoredQuestions):
    """The question sets of one knowledge base."""

    @operation("guest")
    def list_all(self) -> list[QuestionSet]:
        """All sets, by name."""
        return self._database.fetch(rows.list_question_sets, self._base_id)

    @operation("guest")
    def named(self, name: str) -> QuestionSet:
        """One set. Raises NotFound."""
        return self._database.fetch(rows.get_question_set, self._base_id, name)

    @operation("guest")
    def usable(self, name: str) -> list[Question]:
        """Questions with the labels whose documents are present. Raises NotFound."""
        with self._database.read() as connection:
            return rows.usable(
                connection, self._base_id, rows.get_question_set(connection, self._base_id, name).id
            )

    @operation("guest")
    def labelled(self, name: str) -> list[LabelledQuestion]:
        """Questions with every label as stored, lost ones too. Raises NotFound."""
        with self._database.read() as connection:
            return rows.list_labelled_questions(
                connection, rows.get_question_set(connection, self._base_id, name).id
            )

    @operation("guest")
    def lost_labels(self, name: str) -> list[tuple[str, Label]]:
        """(question id, label) of those labels that no present document holds."""
        with self._database.read() as connection:
            question_set = rows.get_question_set(connection, self._base_id, name)
            return labels.lost(connection, self._base_id, question_set.id)

    @operation("guest")
    def split(self, name: str) -> Split:
        """Question ids for tuning and held out, by the split of the set.

        Raises NotFound, or InvalidInput for too few questions.
        """
        with self._database.read() as connection:
            question_set = rows.get_question_set(connection, self._base_id, name)
            usable = rows.usable(connection, self._base_id, question_set.id)
        return split_questions(usable, question_set.split_share, question_set.split_seed)

    @operation("guest")
    def groups(self, name: str) -> dict[str, str]:
        """The group of every question that shares one, by its id. Raises NotFound."""
        return groups_of(self.usable(name))

    @operation("guest")
    def tried(self, name: str) -> list[Trial]:
        """Return the trials on a set, oldest first."""
        return TrialLog(self._database, self._base_id).list_all(name)

    @operation("viewer")
    def kept_versions(self, name: str) -> list[VersionData]:
        """The versions of a set that an import took the place of, newest first. Raises NotFound."""
        with self._database.read() as connection:
            question_set = rows.get_question_set(connection, self._base_id, name)
            return rows.kept_versions(connection, question_set.id)

    @operation("labeller", audit="labels")
    def save(
        self, name: str, questions: Sequence[FileQuestion], existing: Existing = "replace"
    ) -> int | None:
        """Create a set, or do with one of that name what ``existing`` says.

        "replace" keeps what was there as a version, whose number is returned (None where nothing
        was lost). "add" leaves what is there as it is: a question of the same text gets the labels
        that it lacks, all others are new. "refuse" raises AlreadyExists. Labels are anchored in the
        documents that are present. Raises InvalidInput for a set without a name or for another
        ``existing``.
        """
        name = checked_name(name)
        if existing not in get_args(Existing):
            raise InvalidInput(
                f"{existing!r} is not an option for an existing set.",
                f"There are: {', '.join(get_args(Existing))}.",
            )
        with self._database.write() as connection:
            labelled = _anchored(Anchors(connection, self._base_id), questions)
            if existing == "replace":
                return rows.save(connection, self._base_id, name, labelled)
            set_id, created = rows.ensure(connection, self._base_id, name)
            if not created and existing == "refuse":
                raise AlreadyExists(
                    f"A question set named {name!r} exists already.",
                    'Choose "add" or "replace", or another name.',
                )
            if created:
                _add_all(connection, set_id, labelled)
            else:
                with _counting(connection, set_id):
                    _add_all(connection, set_id, labelled)
        return None

    @operation("labeller", audit="labels", audited_arguments=ALL)
    def restore_version(self, name: str, version: int) -> int | None:
        """Bring a kept version of a set back; the questions in its place are kept in turn.

        Returns the number of the version that they are kept as. Labels are anchored in the
        documents that are present now. Raises NotFound.
        """
        with self._database.write() as connection:
            set_id = rows.get_question_set(connection, self._base_id, name).id
            anchors = Anchors(connection, self._base_id)
            stored = rows.kept_questions(connection, set_id, version)
            placed = [
                replace(item, labels=tuple(map(anchors.place, item.labels))) for item in stored
            ]
            return rows.save(connection, self._base_id, name, placed)

    @operation("labeller", audit="labels")
    def add_judgements(self, name: str, judgements: Mapping[str, tuple[FileLabel, ...]]) -> int:
        """Add labels of whole documents to questions of a set by id; return how many.

        Documents that a question has labels in keep them, as spans say more; only the grade of an
        earlier label of the whole document is replaced. Raises NotFound, and InvalidFile for an
        unknown question.
        """
        with counted_edit(self._database, self._base_id, name) as (connection, set_id):
            anchors = Anchors(connection, self._base_id)
            labels_by_id = {
                item.id: item.labels for item in rows.list_labelled_questions(connection, set_id)
            }
            for key, judged in judgements.items():
                question_id = key if key in labels_by_id else unquote(key)
                if question_id not in labels_by_id:
                    raise InvalidFile(
                        f"{name!r} has no question {key!r}.",
                        "Judgements name questions by id only: import the questions first.",
                    )
                by_document = {label.document_name: label for label in labels_by_id[question_id]}
                for label in anchors.of(judged):
                    same = by_document.get(label.document_name)
                    if same is None:
                        labels.insert_all(connection, set_id, [(question_id, label)])
                    elif same.end is None:
                        labels.set_grade(connection, set_id, same.id, label.grade)
        return sum(map(len, judgements.values()))

    @operation("viewer", audit="export", audited_arguments=ALL)
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


def _anchored(anchors: Anchors, questions: Sequence[FileQuestion]) -> list[LabelledQuestion]:
    """The questions of a file, with labels where their words are."""
    return [
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


def _add_all(connection: Connection, set_id: int, questions: Sequence[LabelledQuestion]) -> None:
    """Add questions to a set: those that it has by their text get the labels that they lack."""
    all_questions = rows.list_labelled_questions(connection, set_id, get_args(State))
    taken_ids = {item.id for item in all_questions}
    present = {folded(item.text): item for item in all_questions if item.state == "accepted"}
    new: list[LabelledQuestion] = []
    for item in questions:
        same = present.get(folded(item.text))
        if same is not None:
            _add_labels(connection, set_id, same, item.labels)
            continue
        new.append(replace(item, id=uuid.uuid4().hex[:8]) if item.id in taken_ids else item)
    rows.insert_all(connection, set_id, new)


def _add_labels(
    connection: Connection, set_id: int, question: LabelledQuestion, added: Sequence[Label]
) -> None:
    there = {(label.document_name, label.start, label.end) for label in question.labels}
    new = [label for label in added if (label.document_name, label.start, label.end) not in there]
    labels.insert_all(connection, set_id, ((question.id, label) for label in new))
    if not question.answerable and any(label.grade > 0 for label in new):
        rows.change(connection, set_id, question.id, {"answerable": True})


def _file_label(label: Label) -> FileLabel:
    start = None if label.end is None else label.start
    return FileLabel(
        *(label.document_name, label.quote, start, label.end, label.grade, label.page),
        nugget=label.nugget,
    )
