"""Edits of question sets: each is one transaction, and a new version if it changes something.

Two people who edit one set at once therefore lose nothing: neither writes what the other touched,
and an edit of something that the other deleted says so.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rag.errors import InvalidInput
from rag.evaluation.formats.question_files import folded
from rag.input_rules import LONGEST_QUESTION, storable
from rag.library.questions.groups import split_questions
from rag.library.questions.sets import StoredQuestions, checked_name, contradiction, counted_edit
from rag.operation import ALL, operation
from rag.storage import Connection, labels, runs
from rag.storage import questions as rows
from rag.storage.questions import LabelledQuestion

_LONGEST_ANSWER = 8000
_LONGEST_ID = 100
_LONGEST_TAG = 40
_MOST_TAGS = 20
_EDITED = ("text", "answerable", "tags", "group", "answer")


class QuestionEdits(StoredQuestions):
    """An editor of the question sets of one knowledge base, except their labels."""

    @operation("labeller", audit="labels", audited_arguments=ALL)
    def create_set(self, set_name: str) -> None:
        """A new, empty set. Raises InvalidInput, AlreadyExists."""
        self._database.execute(rows.create, self._base_id, checked_name(set_name))

    @operation("labeller", audit="labels", audited_arguments=ALL)
    def rename_set(self, set_name: str, new_name: str) -> None:
        """Rename a set, also in its runs; no version is counted, as no figure depends on it.

        Raises InvalidInput, NotFound, AlreadyExists.
        """
        new_name = checked_name(new_name)
        with self._database.write() as connection:
            rows.rename(
                connection, rows.get_question_set(connection, self._base_id, set_name).id, new_name
            )
            runs.rename_set(connection, self._base_id, set_name, new_name)

    @operation("labeller", audit="labels", audited_arguments=ALL)
    def delete_set(self, set_name: str) -> None:
        """Delete a set with its labels; its runs stay. Raises NotFound."""
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            rows.remove(connection, set_id)

    @operation("labeller", audit="labels")
    def set_split(self, set_name: str, seed: int, tuning_share: float = 0.5) -> None:
        """Decide anew which questions are held out. Raises NotFound, InvalidInput."""
        with self._database.write() as connection:
            question_set = rows.get_question_set(connection, self._base_id, set_name)
            usable = rows.usable(connection, self._base_id, question_set.id)
            split_questions(usable, tuning_share, seed)
            rows.set_split(connection, question_set.id, seed, tuning_share)

    @operation("labeller", audit="labels")
    def add_question(
        self, set_name: str, text: str, *, answerable: bool = True, tags: Sequence[str] = ()
    ) -> str:
        """Add a question and return its id. Raises NotFound, InvalidInput."""
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            return _insert(connection, set_id, LabelledQuestion("", text, answerable, tuple(tags)))

    @operation("labeller", audit="labels")
    def collect(
        self, set_name: str, text: str, *, tags: Sequence[str] = (), origin: str = ""
    ) -> str:
        """Put a question that was asked into a set, which is made if there is none; its id.

        A question that the set has already is not added again, and keeps its ``origin``. Raises
        InvalidInput.
        """
        with self._database.write() as connection:
            set_id, created = rows.ensure(connection, self._base_id, checked_name(set_name))
            question_id, added = collect_question(connection, set_id, text, tags, origin)
            if added and not created:
                rows.count_versions(connection, [set_id])
            return question_id

    @operation("labeller", audit="labels")
    def edit_question(
        self,
        set_name: str,
        question_id: str,
        *,
        text: str | None = None,
        answerable: bool | None = None,
        tags: Sequence[str] | None = None,
        group: str | None = None,
        answer: str | None = None,
    ) -> None:
        """Change what is given and nothing else. Raises NotFound, InvalidInput.

        A question with relevant labels cannot become unanswerable: see ``LabelEdits``.
        """
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            given = zip(_EDITED, (text, answerable, tags, group, answer), strict=True)
            changes = {name: value for name, value in given if value is not None}
            self._change(connection, set_id, question_id, changes)

    @operation("labeller", audit="labels")
    def delete_questions(self, set_name: str, question_ids: Collection[str]) -> None:
        """Delete questions with their labels; those already gone are no error."""
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            rows.remove_questions(connection, set_id, question_ids)

    @operation("labeller", audit="labels")
    def save_table(
        self, set_name: str, before: Sequence[LabelledQuestion], after: Sequence[LabelledQuestion]
    ) -> None:
        """Store what changed between a table as it was loaded and as it was edited.

        Rows that are absent from ``after`` are deleted, rows without id are added; fields that
        nobody touched keep what someone else may have stored meanwhile. All of it is one version,
        or nothing is stored. Raises NotFound, InvalidInput, AlreadyExists.
        """
        old = {row.id: row for row in before}
        ids = [row.id for row in after if row.id]
        if len(set(ids)) < len(ids):
            raise InvalidInput("Two rows have the same id.", "Ids are unique within a set.")
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            rows.remove_questions(connection, set_id, old.keys() - set(ids))
            for row in after:
                if row.id not in old:
                    _insert(connection, set_id, row)
                    continue
                pairs = ((name, getattr(row, name), getattr(old[row.id], name)) for name in _EDITED)
                if changes := {name: new for name, new, loaded in pairs if new != loaded}:
                    self._change(connection, set_id, row.id, changes)

    def _change(
        self, connection: Connection, set_id: int, question_id: str, changes: Mapping[str, Any]
    ) -> None:
        checks: dict[str, Callable[[Any], object]] = {
            "text": _checked_text,
            "tags": lambda tags: list(_checked_tags(tags)),
            "group": _checked_group,
            "answer": checked_answer,
            "answerable": bool,
        }
        values = {name: checks[name](value) for name, value in changes.items()}
        if values.get("answerable") is False and labels.relevant(connection, set_id, question_id):
            raise contradiction(question_id)
        rows.change(connection, set_id, question_id, {"id": question_id, **values})


def collect_question(
    connection: Connection, set_id: int, text: str, tags: Sequence[str] = (), origin: str = ""
) -> tuple[str, bool]:
    """The id of the question with these words, and whether it was added to the set for that.

    Raises InvalidInput.
    """
    for item in rows.list_labelled_questions(connection, set_id):
        if folded(item.text) == folded(text):
            return item.id, False
    asked = LabelledQuestion("", text, tags=tuple(tags), origin=origin)
    return _insert(connection, set_id, asked), True


def _insert(connection: Connection, set_id: int, row: LabelledQuestion) -> str:
    question_id = row.id.strip() or uuid.uuid4().hex[:8]
    if len(question_id) > _LONGEST_ID:
        raise InvalidInput(f"An id has at most {_LONGEST_ID} characters.")
    new = LabelledQuestion(
        question_id,
        _checked_text(row.text),
        row.answerable,
        _checked_tags(row.tags),
        origin=row.origin,
        group=_checked_group(row.group),
        answer=checked_answer(row.answer),
    )
    rows.insert_all(connection, set_id, [new])
    return question_id


def _checked_text(text: str) -> str:
    text = text.strip()
    if not text or len(text) > LONGEST_QUESTION:
        raise InvalidInput(f"A question has 1 to {LONGEST_QUESTION:,} characters.")
    return text


def _checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    clean = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    if len(clean) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG or ";" in tag for tag in clean):
        raise InvalidInput(
            f"A question has at most {_MOST_TAGS} tags of at most {_LONGEST_TAG} characters, "
            "without semicolons."
        )
    return clean


def _checked_group(group: str) -> str:
    group = group.strip()
    if len(group) > _LONGEST_ID or not (group.isprintable() or not group):
        raise InvalidInput(f"A group has a name of at most {_LONGEST_ID} characters.")
    return group


def checked_answer(answer: str) -> str:
    """An expected answer as it is stored. Raises InvalidInput."""
    if len(answer) > _LONGEST_ANSWER:
        raise InvalidInput(f"An expected answer has at most {_LONGEST_ANSWER:,} characters.")
    return storable(answer.strip())
