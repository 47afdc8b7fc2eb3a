"""Question sets and their questions. Labels are read and written by ``rag.storage.labels``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import TypeAdapter
from sqlalchemy import Connection, bindparam, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from rag.errors import AlreadyExists, NotFound
from rag.storage import labels
from rag.storage.labels import FROM_USERS, Label
from rag.storage.rows import insert_missing, read, values
from rag.storage.tables import (
    document,
    evidence,
    question,
    question_set,
    question_set_version,
    run,
)
from rag.types import LOST, Evidence, Question
from rag.types.schema import Schema, Timestamp

State = Literal["accepted", "proposed", "rejected"]
"""Generated questions are proposed until someone decides; only accepted ones count."""
_COUNTING: tuple[State, ...] = ("accepted",)
MOST_KEPT = 20
"""Replaced versions of a set that are kept, the newest ones."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A set as a row: its accepted questions, those that documents answer, and proposals.

    ``from_users`` were made of what somebody asked in a chat: they are no random sample.

    ``split_seed`` and ``split_share`` (of questions for tuning) decide what is held out.
    """

    id: int
    name: str
    version: int
    questions: int
    answerable: int
    proposed: int
    split_seed: int
    split_share: float
    changed: datetime
    from_users: int = 0
    licence: str = ""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with its labels as stored.

    ``origin`` names the generator ("" where a person wrote it, ``FROM_USERS`` where somebody asked
    it in a chat), ``leak`` is its share of rare
    words that stand in the passage it was made from. ``group`` is what somebody said it belongs
    to, "-" for none; "" where nobody did (see ``rag.library.questions.groups``). ``answer`` is what
    a right answer says, "" where nobody wrote it down.
    """

    id: str
    text: str
    answerable: bool = True
    tags: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    state: State = "accepted"
    origin: str = ""
    leak: float | None = None
    group: str = ""
    answer: str = ""


class VersionData(Schema):
    """A version of a question set that another one replaced."""

    version: int
    questions: int
    labels: int
    replaced: Timestamp
    superseded_by: int


_CONTENT = TypeAdapter(tuple[LabelledQuestion, ...])


def _count(condition: Any) -> Any:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


_accepted = question.c.state == "accepted"
# Every page that is drawn reads it: putting it together costs more than its answer.
_SETS = (
    select(
        question_set.c.id,
        question_set.c.name,
        question_set.c.version,
        _count(_accepted).label("questions"),
        _count(_accepted & question.c.answerable).label("answerable"),
        _count(question.c.state == "proposed").label("proposed"),
        question_set.c.split_seed,
        question_set.c.split_share,
        question_set.c.changed,
        _count(_accepted & (question.c.origin == FROM_USERS)).label("from_users"),
        question_set.c.licence,
    )
    .outerjoin(question, question.c.set_id == question_set.c.id)
    .where(question_set.c.base_id == bindparam("base_id"))
    .group_by(question_set.c.id)
    .order_by(question_set.c.name)
)


def list_question_sets(connection: Connection, base_id: int) -> list[QuestionSet]:
    """All question sets of a base, by name."""
    return [read(QuestionSet, row) for row in connection.execute(_SETS, {"base_id": base_id})]


def sets_that_ask(connection: Connection, base_id: int, text: str) -> list[QuestionSet]:
    """Question sets of a base that have a question of exactly this text, by name."""
    mine = select(question.c.set_id).where(question.c.text == text)
    set_ids = set(connection.execute(mine).scalars())
    return [item for item in list_question_sets(connection, base_id) if item.id in set_ids]


def get_question_set(connection: Connection, base_id: int, name: str) -> QuestionSet:
    """One question set. Raises NotFound, naming those that exist."""
    sets = list_question_sets(connection, base_id)
    for candidate in sets:
        if candidate.name == name:
            return candidate
    names = ", ".join(item.name for item in sets) or "none yet"
    raise NotFound(f"There is no question set named {name!r}.", f"There are: {names}.")


def unanswerable(connection: Connection, base_id: int) -> list[str]:
    """The questions of all sets of a base that no document answers."""
    statement = select(question.c.text).join(question_set, question.c.set_id == question_set.c.id)
    recorded = question_set.c.base_id == base_id, _accepted, ~question.c.answerable
    return list(connection.execute(statement.where(*recorded)).scalars())


def create(connection: Connection, base_id: int, name: str) -> int:
    """A new, empty set; returns its id. Raises AlreadyExists."""
    set_id, created = ensure(connection, base_id, name)
    if not created:
        raise _name_taken(name)
    return set_id


def ensure(connection: Connection, base_id: int, name: str) -> tuple[int, bool]:
    """The id of a set, and whether it was made here because there was none.

    The row stays locked until the transaction ends, so that edits of a set queue up. Versions go on
    after those that runs of an earlier set of this name have seen.
    """
    mine = (run.c.base_id == base_id) & (run.c.question_set == name)
    seen = connection.execute(select(func.max(run.c.set_version)).where(mine)).scalar() or 0
    new = {"base_id": base_id, "name": name, "version": seen + 1, "changed": datetime.now(UTC)}
    created = insert_missing(connection, question_set, new)
    statement = select(question_set.c.id).where(
        question_set.c.base_id == base_id, question_set.c.name == name
    )
    return int(connection.execute(statement.with_for_update()).scalar_one()), created


def rename(connection: Connection, set_id: int, name: str) -> None:
    """Give a set another name. Raises AlreadyExists."""
    try:
        connection.execute(
            update(question_set).where(question_set.c.id == set_id).values(name=name)
        )
    except IntegrityError as error:
        raise _name_taken(name) from error


def _name_taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"A question set named {name!r} exists already.", "Choose another name.")


def lock(connection: Connection, base_id: int, name: str) -> int:
    """Return the id of a set. Raises NotFound.

    The row stays locked until the transaction ends, so that edits of a set queue up.
    """
    statement = select(question_set.c.id).where(
        question_set.c.base_id == base_id, question_set.c.name == name
    )
    set_id = connection.execute(statement.with_for_update()).scalar()
    return get_question_set(connection, base_id, name).id if set_id is None else int(set_id)


def content(connection: Connection, set_id: int) -> tuple[list[Any], list[Any]]:
    """The rows of a set's accepted questions and of their labels: what its versions differ by."""
    accepted = (question.c.set_id == set_id) & (question.c.state == "accepted")
    questions = select(question).where(accepted).order_by(question.c.id)
    of_question = (question.c.set_id == evidence.c.set_id) & (
        question.c.id == evidence.c.question_id
    )
    evidence_rows = select(evidence).join(question, of_question).where(accepted)
    return (
        list(connection.execute(questions)),
        list(connection.execute(evidence_rows.order_by(evidence.c.id))),
    )


def count_versions(connection: Connection, set_ids: Collection[int]) -> None:
    """Count a version of each of some sets."""
    connection.execute(
        update(question_set)
        .where(question_set.c.id.in_(set_ids))
        .values(version=question_set.c.version + 1, changed=datetime.now(UTC))
    )


def set_licence(connection: Connection, set_id: int, licence: str) -> None:
    """State the licence of a set."""
    connection.execute(
        update(question_set).where(question_set.c.id == set_id).values(licence=licence)
    )


def set_split(connection: Connection, set_id: int, seed: int, share: float) -> None:
    """Store how questions are split; no version is counted, as no figure depends on it."""
    connection.execute(
        update(question_set)
        .where(question_set.c.id == set_id)
        .values(split_seed=seed, split_share=share)
    )


def save(
    connection: Connection, base_id: int, name: str, questions: Sequence[LabelledQuestion]
) -> int | None:
    """Create a set, or replace its accepted questions and count a version.

    Returns the number of the version that was replaced, which is kept; None where nothing was lost.
    Proposals stay, unless a new question has the id of one. The same questions again change
    nothing.
    """
    set_id, created = ensure(connection, base_id, name)
    version = None
    if not created:
        present = list_labelled_questions(connection, set_id)
        if present and _bare(present) == _bare(questions):
            return None
        version = _keep(connection, set_id, present)
        count_versions(connection, [set_id])
        mine = question.c.set_id == set_id
        connection.execute(delete(question).where(mine, question.c.state == "accepted"))
        others = connection.execute(select(question.c.id).where(mine)).scalars()
        remove_questions(connection, set_id, {item.id for item in questions}.intersection(others))
    insert_all(connection, set_id, questions)
    return version


def _keep(connection: Connection, set_id: int, questions: Sequence[LabelledQuestion]) -> int | None:
    """Keep what a set holds, unless that is nothing; the version."""
    if not questions:
        return None
    present: list[dict[str, Any]] = _CONTENT.dump_python(_bare(questions), mode="json")
    this_set = question_set.c.id == set_id
    version = int(connection.execute(select(question_set.c.version).where(this_set)).scalar_one())
    connection.execute(
        insert(question_set_version).values(
            set_id=set_id,
            version=version,
            questions=len(present),
            labels=sum(len(item["labels"]) for item in present),
            content=list(present),
            replaced=datetime.now(UTC),
        )
    )
    old = [item.version for item in kept_versions(connection, set_id)[MOST_KEPT:]]
    mine = question_set_version.c.set_id == set_id
    connection.execute(
        delete(question_set_version).where(mine, question_set_version.c.version.in_(old))
    )
    return version


def _bare(questions: Sequence[LabelledQuestion]) -> tuple[LabelledQuestion, ...]:
    """Questions as they are kept: their labels without the ids of rows."""
    return tuple(
        replace(item, labels=tuple(replace(label, id=0) for label in item.labels))
        for item in questions
    )


def kept_versions(connection: Connection, set_id: int) -> list[VersionData]:
    """The versions of a set that others took the place of, the newest first."""
    version = question_set_version.c.version
    rows = connection.execute(
        select(
            *(version, question_set_version.c.questions, question_set_version.c.labels),
            *(question_set_version.c.replaced, (version + 1).label("superseded_by")),
        )
        .where(question_set_version.c.set_id == set_id)
        .order_by(version.desc())
    )
    return list(map(VersionData.of, rows))


def kept_questions(
    connection: Connection, set_id: int, version: int
) -> tuple[LabelledQuestion, ...]:
    """Return the questions of a set in a stored version. Raises NotFound."""
    mine = question_set_version.c.set_id == set_id
    statement = select(question_set_version.c.content).where(
        mine, question_set_version.c.version == version
    )
    content = connection.execute(statement).scalar()
    if content is None:
        versions = ", ".join(str(item.version) for item in kept_versions(connection, set_id))
        raise NotFound(
            f"Version {version} of this set is not kept.", f"There are: {versions or 'none'}."
        )
    return _CONTENT.validate_python(content)


def insert_all(connection: Connection, set_id: int, questions: Sequence[LabelledQuestion]) -> None:
    """Append questions to a set, with their labels. Raises AlreadyExists for an id in use."""
    last = connection.execute(
        select(func.max(question.c.position)).where(question.c.set_id == set_id)
    ).scalar()
    rows = [
        values(question, item, set_id=set_id, position=position)
        for position, item in enumerate(questions, start=0 if last is None else last + 1)
    ]
    if not rows:
        return
    try:
        connection.execute(insert(question), rows)
    except IntegrityError as error:
        raise AlreadyExists(
            "A question with that id exists already in this set.", "Choose another id."
        ) from error
    labels.insert_all(
        connection, set_id, ((item.id, label) for item in questions for label in item.labels)
    )


def change(
    connection: Connection, set_id: int, question_id: str, changed: Mapping[str, object]
) -> None:
    """Changes columns of one question. Raises NotFound."""
    mine = (question.c.set_id == set_id) & (question.c.id == question_id)
    if not connection.execute(update(question).where(mine).values(**changed)).rowcount:
        raise NotFound(
            f"The question {question_id!r} is no longer in this set.",
            "Someone deleted it in the meantime.",
        )


def remove_questions(connection: Connection, set_id: int, ids: Collection[str]) -> None:
    """Delete questions with their labels; unknown ids are ignored."""
    connection.execute(delete(question).where(question.c.set_id == set_id, question.c.id.in_(ids)))


def remove(connection: Connection, set_id: int) -> None:
    """Delete a set with its labels."""
    connection.execute(delete(question_set).where(question_set.c.id == set_id))


def list_labelled_questions(
    connection: Connection, set_id: int, states: Collection[State] = _COUNTING
) -> list[LabelledQuestion]:
    """Questions of a set in their order, with all labels, also those without a document."""
    labels_by_question = labels.of_set(connection, set_id)
    rows = connection.execute(
        select(question)
        .where(question.c.set_id == set_id, question.c.state.in_(states))
        .order_by(question.c.position)
    )
    return [
        read(
            LabelledQuestion,
            row,
            tags=tuple(row.tags),
            labels=tuple(labels_by_question.get(row.id, ())),
        )
        for row in rows
    ]


def count_named_like_documents(connection: Connection, base_id: int, set_id: int) -> int:
    """Count the questions of a set with an id that is the name of a document."""
    names = select(document.c.name).where(document.c.base_id == base_id)
    mine = (question.c.set_id == set_id) & question.c.id.in_(names)
    return connection.execute(select(func.count()).where(mine)).scalar_one()


def usable(
    connection: Connection, base_id: int, set_id: int, *, without_users: bool = False
) -> list[Question]:
    """Accepted questions of a set in order; labels that no present document has are lost.

    ``without_users`` leaves out those that somebody asked in a chat.
    """
    present = set(
        connection.execute(select(document.c.id).where(document.c.base_id == base_id)).scalars()
    )
    left_out = FROM_USERS if without_users else None
    rows = list_labelled_questions(connection, set_id)
    return [_question(item, present) for item in rows if item.origin != left_out]


def _question(item: LabelledQuestion, present: set[str]) -> Question:
    spans = tuple(_evidence(label, present) for label in item.labels)
    return Question(item.id, item.text, spans, item.answerable, item.tags, item.group, item.answer)


def _evidence(label: Label, present: set[str]) -> Evidence:
    if label.document_id is not None and label.document_id in present:
        return Evidence(
            *(label.document_id, label.start, label.end, label.grade, label.quote),
            nugget=label.nugget,
        )
    # A quote that was never found has no end yet; it is a span all the same, not all of a document.
    end = label.start + len(label.quote) if label.end is None and label.quote else label.end
    name = f"{LOST}{label.document_name}"
    return Evidence(name, label.start, end, label.grade, label.quote, label.nugget)
