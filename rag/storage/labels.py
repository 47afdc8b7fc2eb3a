"""Labels: spans of documents that answer a question, or were judged not to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from rag.errors import NotFound
from rag.storage.rows import read, values
from rag.storage.tables import document, evidence, question, question_set

BY_HAND = "hand"
FROM_FILE = "file"
PROPOSED = "proposed"
FROM_USERS = "users"
"""The origin of labels, and of questions, that were made of what somebody asked in a chat."""
SAMPLED = "sample of "
"""What the origin of a label begins with that judges a hit drawn at random from those of runs."""


BY_MODEL = "model ("
"""What the origin of a question or label begins with that a model wrote over MCP."""


def of_model(origin: str) -> bool:
    """Whether a model wrote the question or label of this origin."""
    return origin.startswith(BY_MODEL)


@dataclass(frozen=True, slots=True)
class Label:
    """Evidence as stored. ``end`` None without a quote stands for the whole document.

    A label is lost while no present document has ``document_id``, or it is None; its quote is
    then looked for in every new document of that name. One that was given by its ``page`` keeps
    the number until that page is there. Grade 0 says "judged, not relevant", less than that
    "misleads". ``nugget`` names the part of the answer that it has. ``id`` is 0 before the label is
    stored.

    ``origin`` says where it came from: ``BY_HAND``, ``FROM_FILE``, ``PROPOSED`` with its question,
    ``FROM_USERS``, the runs whose hit it judges, or a random sample of their hits (``SAMPLED``
    before the runs); "" for labels from before origins were kept. ``created`` is None for those
    from before dates were kept.
    """

    document_name: str
    document_id: str | None
    start: int
    end: int | None
    grade: int
    quote: str
    id: int = 0
    page: int | None = None
    origin: str = field(default="", compare=False)
    created: datetime | None = field(default=None, compare=False)
    nugget: str = ""


def insert_all(
    connection: Connection, set_id: int, labels: Iterable[tuple[str, Label]]
) -> list[int]:
    """Store labels by question id; return their ids."""
    rows = [
        {"set_id": set_id, "question_id": question_id, **_values(label)}
        for question_id, label in labels
    ]
    if not rows:
        return []
    statement = insert(evidence).returning(evidence.c.id, sort_by_parameter_order=True)
    return list(connection.execute(statement, rows).scalars())


def _values(label: Label) -> dict[str, Any]:
    created = label.created or datetime.now(UTC)
    stored = values(evidence, label, created=created)
    return {name: value for name, value in stored.items() if name != "id"}


def of_set(connection: Connection, set_id: int) -> dict[str, list[Label]]:
    """All labels of a set by question id, in the order they were made."""
    by_question: dict[str, list[Label]] = {}
    rows = connection.execute(
        select(evidence).where(evidence.c.set_id == set_id).order_by(evidence.c.id)
    )
    for row in rows:
        by_question.setdefault(row.question_id, []).append(read(Label, row))
    return by_question


def labelled_documents(connection: Connection, base_id: int) -> set[str]:
    """Return the ids of the documents in which a question of any set has a relevant label."""
    statement = (
        select(evidence.c.document_id)
        .join(question_set, question_set.c.id == evidence.c.set_id)
        .where(question_set.c.base_id == base_id, evidence.c.grade > 0)
        .where(evidence.c.document_id.is_not(None))
        .distinct()
    )
    return set(connection.execute(statement).scalars())


def lost(connection: Connection, base_id: int, set_id: int) -> list[tuple[str, Label]]:
    """(question id, label) of accepted questions where no present document holds the label."""
    of_question = (question.c.set_id == evidence.c.set_id) & (
        question.c.id == evidence.c.question_id
    )
    present = (document.c.id == evidence.c.document_id) & (document.c.base_id == base_id)
    rows = connection.execute(
        select(evidence)
        .join(question, of_question)
        .outerjoin(document, present)
        .where(evidence.c.set_id == set_id, question.c.state == "accepted")
        .where(document.c.id.is_(None))
        .order_by(question.c.position, evidence.c.id)
    )
    return [(row.question_id, read(Label, row)) for row in rows]


def of_question(connection: Connection, set_id: int, question_id: str) -> list[Label]:
    """The labels of one question, in the order they were made."""
    rows = connection.execute(
        select(evidence)
        .where(evidence.c.set_id == set_id, evidence.c.question_id == question_id)
        .order_by(evidence.c.id)
    )
    return [read(Label, row) for row in rows]


def relevant(connection: Connection, set_id: int, question_id: str) -> list[int]:
    """Ids of the labels that say where a question is answered."""
    mine = (evidence.c.set_id == set_id) & (evidence.c.question_id == question_id)
    statement = select(evidence.c.id).where(mine, evidence.c.grade > 0)
    return list(connection.execute(statement).scalars())


def set_grade(connection: Connection, set_id: int, label_id: int, grade: int) -> str:
    """Change a grade and return the question's id. Raises NotFound."""
    mine = (evidence.c.set_id == set_id) & (evidence.c.id == label_id)
    statement = update(evidence).where(mine).values(grade=grade).returning(evidence.c.question_id)
    question_id = connection.execute(statement).scalar()
    if question_id is None:
        raise _gone()
    return str(question_id)


def set_nugget(connection: Connection, set_id: int, label_id: int, nugget: str) -> None:
    """Name the part of the answer that a label has, "" for none. Raises NotFound."""
    mine = (evidence.c.set_id == set_id) & (evidence.c.id == label_id)
    if not connection.execute(update(evidence).where(mine).values(nugget=nugget)).rowcount:
        raise _gone()


def grade(connection: Connection, set_id: int, label_id: int) -> int:
    """The grade of a label. Raises NotFound."""
    mine = (evidence.c.set_id == set_id) & (evidence.c.id == label_id)
    stored = connection.execute(select(evidence.c.grade).where(mine)).scalar()
    if stored is None:
        raise _gone()
    return int(stored)


def remove(connection: Connection, set_id: int, label_id: int) -> None:
    """Delete a label. Raises NotFound."""
    mine = (evidence.c.set_id == set_id) & (evidence.c.id == label_id)
    if not connection.execute(delete(evidence).where(mine)).rowcount:
        raise _gone()


def _gone() -> NotFound:
    return NotFound("This label no longer exists.", "Someone removed it in the meantime.")


def adrift(
    connection: Connection, base_id: int, names: Collection[str], replaced: str | None
) -> list[tuple[int, Label]]:
    """(set id, label) of lost labels on a document of these names, or on the one ``replaced``."""
    present = select(document.c.id).where(document.c.base_id == base_id)
    mine = evidence.c.document_name.in_(names)
    rows = connection.execute(
        select(evidence)
        .join(question_set, question_set.c.id == evidence.c.set_id)
        .where(question_set.c.base_id == base_id)
        .where(or_(mine, evidence.c.document_id == replaced) if replaced else mine)
        .where(or_(evidence.c.document_id.is_(None), evidence.c.document_id.not_in(present)))
    )
    return [(row.set_id, read(Label, row)) for row in rows]


def move(connection: Connection, label: Label) -> None:
    """Store where a label, named by its id, is now."""
    connection.execute(update(evidence).where(evidence.c.id == label.id).values(**_values(label)))


def on_documents(
    connection: Connection, base_id: int, document_ids: Sequence[str]
) -> Mapping[str, int]:
    """Count the labels that point into the given documents, by document id."""
    rows = connection.execute(
        select(evidence.c.document_id, func.count())
        .join(question_set, question_set.c.id == evidence.c.set_id)
        .where(question_set.c.base_id == base_id, evidence.c.document_id.in_(document_ids))
        .group_by(evidence.c.document_id)
    )
    return {row[0]: row[1] for row in rows}
