"""Edits of labels: judging spans of documents, by hand, from wherever a passage is seen."""

from __future__ import annotations

from dataclasses import replace

from rag.errors import InvalidInput
from rag.input_rules import find_fault
from rag.library.questions.sets import StoredQuestions, counted_edit
from rag.operation import operation
from rag.storage import Connection, documents, labels
from rag.storage import questions as rows
from rag.storage.labels import BY_HAND, Label
from rag.types import MISLEADING

HIGHEST_GRADE = 3
LOWEST_GRADE = MISLEADING
LONGEST_NUGGET = 200
"""Characters of the name of a part of an answer."""


class LabelEdits(StoredQuestions):
    """An editor of the labels of one knowledge base; each change creates a version of the set."""

    @operation("labeller", audit="labels")
    def label(
        self,
        set_name: str,
        question_id: str,
        document_id: str,
        start: int,
        end: int | None,
        grade: int,
        origin: str = BY_HAND,
    ) -> int:
        """Judge a span of a document for a question, and return the id of the label.

        ``start`` and ``end`` are offsets in the document's text, so that no index matters; ``end``
        None judges the whole document. The same span again changes its grade. Grade 0 stores
        "judged, not relevant", grade -1 "misleads", also for labels within the span; a higher grade
        makes the question answerable. A new label keeps its ``origin``. Raises NotFound,
        InvalidInput.
        """
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            span = label_span(connection, self._base_id, document_id, start, end, grade)
            return store_label(connection, set_id, question_id, replace(span, origin=origin))

    @operation("labeller", audit="labels")
    def set_grade(self, set_name: str, label_id: int, grade: int) -> None:
        """Change the grade of a label. Raises NotFound, InvalidInput."""
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            change_grade(connection, set_id, label_id, grade)

    @operation("labeller", audit="labels")
    def set_nugget(self, set_name: str, label_id: int, nugget: str) -> None:
        """Name the part of the expected answer that a label has; "" for none.

        Labels with the same name have the same part. Raises NotFound, InvalidInput.
        """
        nugget = checked_nugget(nugget)
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            labels.set_nugget(connection, set_id, label_id, nugget)

    @operation("labeller", audit="labels")
    def move_label(
        self, set_name: str, label_id: int, document_id: str, start: int, end: int
    ) -> None:
        """Move a label to other words, by offsets in a document; it keeps its grade.

        Another label of the question that is there already takes the higher grade, and this one
        goes. Raises NotFound, InvalidInput.
        """
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            grade = labels.grade(connection, set_id, label_id)
            span = label_span(connection, self._base_id, document_id, start, end, grade)
            same_question = next(
                present
                for present in labels.of_set(connection, set_id).values()
                if any(label.id == label_id for label in present)
            )
            (label,) = (label for label in same_question if label.id == label_id)
            there = next(
                (
                    other
                    for other in same_question
                    if other.id != label_id and _place(other) == _place(span)
                ),
                None,
            )
            if there is not None:
                labels.remove(connection, set_id, label_id)
                change_grade(connection, set_id, there.id, max(grade, there.grade))
                if label.nugget and not there.nugget:
                    labels.set_nugget(connection, set_id, there.id, label.nugget)
                return
            kept = replace(span, id=label.id, origin=label.origin, nugget=label.nugget)
            labels.move(connection, kept)

    @operation("labeller", audit="labels")
    def remove_label(self, set_name: str, label_id: int, grade: int | None = None) -> None:
        """Delete a label; with ``grade``, only while it has that grade.

        Raises NotFound, and InvalidInput for a label whose grade somebody changed.
        """
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            if grade is not None and labels.grade(connection, set_id, label_id) != grade:
                raise InvalidInput(
                    "Somebody changed this grade meanwhile, so it stays.",
                    "Change it where the question is edited.",
                )
            labels.remove(connection, set_id, label_id)


def label_span(
    connection: Connection,
    base_id: int,
    document_id: str,
    start: int,
    end: int | None,
    grade: int,
) -> Label:
    """A label of a span, before it is stored. Raises NotFound, InvalidInput."""
    _check_grade(grade)
    document = documents.get(connection, base_id, document_id)
    if end is None:
        return Label(document.name, document_id, 0, None, grade, "")
    quote = document.text[start:end] if 0 <= start < end <= len(document.text) else ""
    if not quote.strip():
        raise InvalidInput(
            f"There is no text from {start} to {end} in {document.name}.",
            "Select some words of the passage.",
        )
    start += len(quote) - len(quote.lstrip())
    quote = quote.strip()
    return Label(document.name, document_id, start, start + len(quote), grade, quote)


def store_label(connection: Connection, set_id: int, question_id: str, new: Label) -> int:
    """Store a label, or its grade where the span has one; its id.

    Raises NotFound, and InvalidInput for a span that has another part of the answer.
    """
    about = {"answerable": True} if new.grade > 0 else {"id": question_id}
    rows.change(connection, set_id, question_id, about)  # fails for one that is gone
    present = labels.of_question(connection, set_id, question_id)
    same = [label.id for label in present if _place(label) == _place(new)]
    within = [label.id for label in present if _within(label, new)] if new.grade <= 0 else []
    for label_id in {*same, *within}:
        labels.set_grade(connection, set_id, label_id, new.grade)
    named = next((one.nugget for one in present if same and one.id == same[0]), "")
    if new.nugget and named not in ("", new.nugget):
        raise InvalidInput(
            f"These words have the part “{named}” already; a label has one part.",
            "Select other words for the second part, or delete the label first.",
        )
    if same and new.nugget:
        labels.set_nugget(connection, set_id, same[0], new.nugget)
    return same[0] if same else labels.insert_all(connection, set_id, [(question_id, new)])[0]


def checked_nugget(nugget: str) -> str:
    """The name of a part of an answer as it is stored. Raises InvalidInput."""
    nugget = " ".join(nugget.split())
    if find_fault(nugget) or len(nugget) > LONGEST_NUGGET:
        raise InvalidInput(
            f"The name of a part has at most {LONGEST_NUGGET} characters, all of them text.",
            "Shorten it.",
        )
    return nugget


def change_grade(connection: Connection, set_id: int, label_id: int, grade: int) -> None:
    """Change the grade of a label. Raises NotFound, InvalidInput."""
    _check_grade(grade)
    question_id = labels.set_grade(connection, set_id, label_id, grade)
    if grade > 0:
        rows.change(connection, set_id, question_id, {"answerable": True})


def _place(label: Label) -> tuple[str | None, int, int | None]:
    return label.document_id, label.start, label.end


def _within(label: Label, outer: Label) -> bool:
    if label.document_id != outer.document_id:
        return False
    return outer.end is None or (
        label.end is not None and outer.start <= label.start and label.end <= outer.end
    )


def _check_grade(grade: int) -> None:
    if not LOWEST_GRADE <= grade <= HIGHEST_GRADE:
        raise InvalidInput(
            f"There is no grade {grade}.",
            f"{LOWEST_GRADE} misleads, 0 is not relevant, {HIGHEST_GRADE} is the best.",
        )
