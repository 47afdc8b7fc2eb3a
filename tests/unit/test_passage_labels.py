"""A passage has one grade, whatever spans stand behind it, and is graded without knowing those."""

from pathlib import Path

import pytest

from rag import Chunk, KnowledgeBase
from tests.workspaces import QUICK, stocked

SET = "checks"
LEAVE = (
    "Unused leave may be carried over until the end of June. It lapses after that day.\n\n"
    "A certificate is needed from the fourth day of an illness, and it is sent by post.\n\n"
    "Whoever travels on a Sunday is given a day off in the week that follows the journey."
)
TEXT = "When does carried leave lapse?"
SMALL = QUICK.with_fields({"index.chunk_size": 20}).index


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    documents = {"leave.md": LEAVE, "other.md": "Nothing about it is here."}
    return stocked(home, documents, QUICK.with_fields({"index.chunk_size": 20}))[1]


@pytest.fixture
def chunks(base: KnowledgeBase) -> list[Chunk]:
    (leave,) = (each for each in base.documents.documents(SMALL) if each.name == "leave.md")
    found = base.documents.chunks(leave.id, SMALL)
    assert len(found) > 2
    return list(found)


def _grade(base: KnowledgeBase, chunk: Chunk, grade: int, text: str = TEXT) -> None:
    base.questions.grade(SET, text, chunk.document_id, chunk.start, chunk.end, grade)


def _grades(base: KnowledgeBase) -> dict[int, int]:
    return dict(base.questions.labels_of(SET, TEXT, SMALL).grades)


def test_a_set_tells_which_questions_are_in_it(base, chunks):
    assert not base.questions.contains(SET)(TEXT)
    _grade(base, chunks[0], 2)
    asked = base.questions.contains(SET)
    assert asked(TEXT.upper().replace(" ", "  "))
    assert not asked("Is that so?")


def test_exact_evidence_stays_exact(base, chunks):
    question = base.questions.collect(SET, TEXT)
    start = chunks[0].start + chunks[0].text.index("carried")
    base.questions.label(SET, question, chunks[0].document_id, start, start + 12, 1)
    _grade(base, chunks[0], 3)
    (label,) = base.questions.labels_of(SET, TEXT, SMALL).labels
    assert (label.quote, label.grade) == ("carried over", 3)
    assert _grades(base) == {chunks[0].key: 3}


def test_exact_words_take_the_place_of_the_whole_passage(base, chunks):
    first = chunks[0]
    start = first.start + first.text.index("carried")
    _grade(base, first, 1)
    base.questions.grade_words(SET, TEXT, first, start, start + 12, 2)
    found = base.questions.labels_of(SET, TEXT, SMALL)
    assert [(label.quote, label.grade) for label in found.labels] == [("carried over", 2)]
    assert found.grades == {first.key: 2}


def test_all_words_of_a_passage_are_the_passage(base, chunks):
    first = chunks[0]
    _grade(base, first, 1)
    end = first.start + len(first.text.rstrip())
    base.questions.grade_words(SET, TEXT, first, first.start, end, 3)
    (label,) = base.questions.labels_of(SET, TEXT, SMALL).labels
    assert (label.start, label.end, label.grade) == (first.start, end, 3)


def test_a_longer_label_is_left_alone(base, chunks):
    question = base.questions.collect(SET, TEXT)
    base.questions.label(SET, question, chunks[0].document_id, 0, chunks[1].end, 2)
    assert _grades(base) == {chunks[0].key: 2, chunks[1].key: 2}
    _grade(base, chunks[0], 1)
    assert _grades(base) == {chunks[0].key: 2, chunks[1].key: 2}
    _grade(base, chunks[0], 3)
    assert _grades(base) == {chunks[0].key: 3, chunks[1].key: 2}


def test_a_whole_document_grades_all_its_passages(base, chunks):
    question = base.questions.collect(SET, TEXT)
    base.questions.label(SET, question, chunks[0].document_id, 0, None, 2)
    assert _grades(base) == {chunk.key: 2 for chunk in chunks}


def test_removing_takes_what_is_inside(base, chunks):
    _grade(base, chunks[0], 2)
    _grade(base, chunks[1], 0)
    first = chunks[0]
    place = (first.document_id, first.start, first.end)
    assert base.questions.remove_grades(SET, TEXT, *place) == 1
    assert _grades(base) == {chunks[1].key: 0}
    assert base.questions.remove_grades(SET, TEXT, *place) == 0


def test_labels_of_a_deleted_document_count_for_nothing(base, chunks):
    _grade(base, chunks[0], 2)
    base.documents.delete_documents([chunks[0].document_id])
    found = base.questions.labels_of(SET, TEXT, SMALL)
    assert (found.relevant, found.grades) == (1, {})
