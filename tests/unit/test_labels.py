"""Labels are judgements of spans: any passage, any index, relevant or not."""

from pathlib import Path

import pytest

from rag import InvalidInput, KnowledgeBase, Label, NotFound
from tests.workspaces import QUICK, stocked

pytestmark = pytest.mark.usefixtures("database")

SET = "checks"
ASKED = "When does carried leave lapse?"
LEAVE = "Unused leave may be carried over.\n\nIt lapses after three months.\n\nIllness stops that."
WORDS = QUICK.with_fields({"search.mode": "lexical"})


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    travel = "Trains are booked in second class.\n\nNobody carries leave on a train."
    _, made = stocked(home, {"leave.md": LEAVE, "travel.md": travel})
    made.questions.create_set(SET)
    return made


@pytest.fixture
def question(base: KnowledgeBase) -> str:
    return base.questions.add_question(SET, ASKED)


@pytest.fixture
def leave(base: KnowledgeBase) -> str:
    return next(
        each.id for each in base.documents.documents(QUICK.index) if each.name == "leave.md"
    )


def _labels(base: KnowledgeBase) -> list[Label]:
    return list(base.questions.labelled(SET)[0].labels)


def test_grading_a_span_stores_its_words(base, question, leave):
    start = LEAVE.index("It lapses")
    made = base.questions.label(SET, question, leave, start - 2, start + 31, 2)
    (label,) = _labels(base)
    assert label == Label(
        "leave.md", leave, start, start + 29, 2, "It lapses after three months.", made
    )
    assert base.questions.label(SET, question, leave, start, start + 29, 3) == made
    assert [each.grade for each in _labels(base)] == [3]
    base.questions.set_grade(SET, made, 1)
    assert [each.grade for each in _labels(base)] == [1]
    base.questions.remove_label(SET, made)
    assert _labels(base) == []
    assert base.questions.named(SET).version == 6


def test_a_label_moves_to_other_words(base, question, leave):
    start = LEAVE.index("It lapses")
    made = base.questions.label(SET, question, leave, 0, 12, 3)
    base.questions.move_label(SET, made, leave, start, start + 29)
    expected = Label("leave.md", leave, start, start + 29, 3, "It lapses after three months.", made)
    assert _labels(base) == [expected]
    base.questions.move_label(SET, made, leave, start, start + 29)  # clicked twice
    assert _labels(base) == [expected]


def test_a_label_that_moves_onto_another_leaves_the_higher_grade(base, question, leave):
    start = LEAVE.index("It lapses")
    there = base.questions.label(SET, question, leave, start, start + 29, 0)
    made = base.questions.label(SET, question, leave, 0, 12, 3)
    base.questions.set_nugget(SET, made, "when it lapses")
    base.questions.move_label(SET, made, leave, start, start + 29)
    assert [(label.id, label.grade, label.nugget) for label in _labels(base)] == [
        (there, 3, "when it lapses")
    ]


def test_a_whole_document_can_be_judged(base, question, leave):
    base.questions.label(SET, question, leave, 0, None, 1)
    (label,) = _labels(base)
    assert (label.start, label.end, label.quote) == (0, None, "")


def test_not_relevant_is_said_and_outdoes_what_lies_inside(base, question, leave):
    base.questions.label(SET, question, leave, 0, 6, 3)
    base.questions.label(SET, question, leave, 20, 60, 2)
    base.questions.label(SET, question, leave, 0, 33, 0)
    spans = [(each.start, each.end, each.grade) for each in _labels(base)]
    assert spans == [(0, 6, 0), (20, 60, 2), (0, 33, 0)]


def test_no_answer_and_relevant_labels_exclude_each_other(base, question, leave):
    base.questions.label(SET, question, leave, 0, 6, 0)
    base.questions.edit_question(SET, question, answerable=False)
    assert not base.questions.usable(SET)[0].answerable
    base.questions.label(SET, question, leave, 20, 60, 2)
    assert base.questions.usable(SET)[0].answerable
    with pytest.raises(InvalidInput, match="has labels, so the documents answer it"):
        base.questions.collect_with_grades(SET, ASKED, answerable=False)
    with pytest.raises(InvalidInput, match="has labels, so the documents answer it"):
        base.questions.edit_question(SET, question, answerable=False)
    base.questions.collect_with_grades(SET, ASKED, answerable=False, discard_labels=True)
    assert not base.questions.usable(SET)[0].answerable
    assert [each.grade for each in _labels(base)] == [0]
    base.questions.set_grade(SET, _labels(base)[0].id, 1)
    assert base.questions.usable(SET)[0].answerable


def test_what_cannot_be_labelled_says_why(base, question, leave):
    labels = base.questions
    for start, end in ((5, 5), (9, 2), (-3, 4), (0, 10_000), (33, 35)):
        with pytest.raises(InvalidInput, match=r"leave\.md"):
            labels.label(SET, question, leave, start, end, 1)
    for grade in (-2, 4):
        with pytest.raises(InvalidInput, match="grade"):
            labels.label(SET, question, leave, 0, 6, grade)
    with pytest.raises(NotFound, match="This document no longer exists"):
        labels.label(SET, question, "0" * 64, 0, 6, 1)
    for act in (lambda: labels.set_grade(SET, 99, 1), lambda: labels.remove_label(SET, 99)):
        with pytest.raises(NotFound, match="This label no longer exists"):
            act()
    with pytest.raises(NotFound, match="no longer in this set"):
        labels.label(SET, "gone", leave, 0, 6, 0)
    with pytest.raises(NotFound, match="no longer in this set"):
        labels.edit_question(SET, "gone", answerable=False)
    assert base.questions.named(SET).version == 2


def test_explicit_zeros_change_no_figure(base, question, leave):
    start = LEAVE.index("It lapses")
    base.questions.label(SET, question, leave, start, start + 29, 2)
    before = base.runs.evaluate(SET, WORDS, (1, 3))
    for hit in base.search("carried leave", WORDS).hits:
        if "lapses" not in hit.chunk.text:
            chunk = hit.chunk
            base.questions.label(SET, question, chunk.document_id, chunk.start, chunk.end, 0)
    assert {each.grade for each in _labels(base)} == {0, 2}
    after = base.runs.evaluate(SET, WORDS, (1, 3))
    assert after.run.metrics == before.run.metrics
    assert after.results[0].relevant == before.results[0].relevant == 1


def test_zeros_of_documents_change_no_figure(base, question, leave):
    travel = next(
        each.id for each in base.documents.documents(QUICK.index) if each.name == "travel.md"
    )
    base.questions.label(SET, question, leave, 0, None, 2)
    before = base.runs.evaluate(SET, WORDS, (1, 3))
    base.questions.label(SET, question, travel, 0, None, 0)
    after = base.runs.evaluate(SET, WORDS, (1, 3))
    assert after.run.metrics == before.run.metrics
    assert after.results[0].relevant == 1
    assert after.results[0].ranking[0][0] == leave


def test_a_question_with_nothing_but_zeros_is_not_measured(base, question, leave):
    base.questions.label(SET, question, leave, 0, 6, 0)
    with pytest.raises(InvalidInput, match="has a label"):
        base.runs.evaluate(SET, WORDS, (1,))
    other = base.questions.add_question(SET, "What may be carried over?")
    base.questions.label(SET, other, leave, 0, 33, 1)
    run = base.runs.evaluate(SET, WORDS, (1,))
    assert [each.question_id for each in run.results] == [other]
