"""What one click says of passages is one version of the set, or nothing at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rag import FROM_USERS, Chunk, InvalidInput, KnowledgeBase, NotFound, PassageGrade
from rag.storage import labels
from tests.workspaces import QUICK, stocked

pytestmark = pytest.mark.usefixtures("database")

SET, TEXT = "checks", "When does carried leave lapse?"
LEAVE = "Unused leave may be carried over. It lapses after that day. Illness stops it."
RECIPE = QUICK.with_fields({"index.chunk_size": 200})


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    return stocked(home, {"leave.md": LEAVE}, RECIPE)[1]


@pytest.fixture
def passage(base: KnowledgeBase) -> Chunk:
    (leave,) = base.documents.documents(RECIPE.index)
    (passage,) = base.documents.chunks(leave.id, RECIPE.index)
    return passage


def state(base: KnowledgeBase) -> object:
    """The version of the set with its questions and labels; None where there is no set."""
    if SET not in {item.name for item in base.questions.list_all()}:
        return None
    held = [
        (item.text, item.answerable, [(label.quote, label.grade) for label in item.labels])
        for item in base.questions.labelled(SET)
    ]
    return base.questions.named(SET).version, held


def whole(passage: Chunk) -> tuple[str, int, int]:
    return passage.document_id, passage.start, passage.end


def words(passage: Chunk, quote: str) -> tuple[str, int, int]:
    start = passage.start + passage.text.index(quote)
    return passage.document_id, start, start + len(quote)


@pytest.fixture
def two_labels(base: KnowledgeBase, passage: Chunk) -> object:
    """Two labels on words of the passage, made by two clicks."""
    question = base.questions.collect(SET, TEXT)
    base.questions.label(SET, question, *words(passage, "carried over"), 1)
    base.questions.label(SET, question, *words(passage, "Illness stops it"), 2)
    return state(base)


def fail_at(monkeypatch: pytest.MonkeyPatch, name: str, call: int) -> None:
    """Lets a call of a function of labels end as if the process were killed."""
    real: Callable[..., object] = getattr(labels, name)
    calls = 0

    def failing(*given: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(labels, name, failing)


@pytest.mark.parametrize("grade", [-2, 4])
def test_a_grade_that_is_none_leaves_no_question_behind(base, passage, grade):
    with pytest.raises(InvalidInput, match="no grade"):
        base.questions.grade(SET, TEXT, *whole(passage), grade)
    with pytest.raises(InvalidInput, match="no grade"):
        base.questions.grade_words(SET, TEXT, passage, *words(passage, "lapses")[1:], grade)
    assert state(base) is None
    with pytest.raises(NotFound):
        base.questions.grade(SET, TEXT, "no document", 0, 5, 1)
    assert state(base) is None


def test_one_click_is_one_version(base, passage, two_labels):
    version = two_labels[0]
    base.questions.grade(SET, TEXT, *whole(passage), 3)
    held = [(TEXT, True, [("carried over", 3), ("Illness stops it", 3)])]
    assert state(base) == (version + 1, held)
    base.questions.grade(SET, "And who may?", *whole(passage), 1)
    assert state(base) == (version + 2, [*held, ("And who may?", True, [(LEAVE, 1)])])
    base.questions.grade_words(SET, "And who may?", passage, *words(passage, "lapses")[1:], 2)
    held = [*held, ("And who may?", True, [("lapses", 2)])]
    assert state(base) == (version + 3, held)
    assert base.questions.remove_grades(SET, TEXT, *whole(passage)) == 2
    assert state(base) == (version + 4, [(TEXT, True, []), held[1]])
    assert base.questions.remove_grades(SET, TEXT, *whole(passage)) == 0
    assert base.questions.remove_grades("no set", TEXT, *whole(passage)) == 0
    assert base.questions.named(SET).version == version + 4


def test_a_click_on_a_set_that_is_not_there_makes_its_first_version(base, passage):
    base.questions.grade(SET, TEXT, *whole(passage), 3)
    assert state(base) == (1, [(TEXT, True, [(LEAVE, 3)])])


def test_grading_that_ends_in_the_middle_leaves_nothing(base, passage, two_labels, monkeypatch):
    fail_at(monkeypatch, "set_grade", 2)
    with pytest.raises(KeyboardInterrupt):
        base.questions.grade(SET, TEXT, *whole(passage), 3)
    assert state(base) == two_labels
    fail_at(monkeypatch, "insert_all", 2)  # the first one is that of a question without labels
    with pytest.raises(KeyboardInterrupt):
        base.questions.grade(SET, "And who may?", *whole(passage), 3)
    assert state(base) == two_labels


def test_grading_words_that_ends_in_the_middle_leaves_nothing(base, passage, monkeypatch):
    base.questions.grade(SET, TEXT, *whole(passage), 2)
    before = state(base)
    fail_at(monkeypatch, "remove", 1)
    with pytest.raises(KeyboardInterrupt):
        base.questions.grade_words(SET, TEXT, passage, *words(passage, "lapses")[1:], 3)
    assert state(base) == before


def test_removing_that_ends_in_the_middle_leaves_all(base, passage, two_labels, monkeypatch):
    fail_at(monkeypatch, "remove", 2)
    with pytest.raises(KeyboardInterrupt):
        base.questions.remove_grades(SET, TEXT, *whole(passage))
    assert state(base) == two_labels


def test_a_question_is_collected_with_all_that_was_said_of_it(base, passage, monkeypatch):
    given = [
        PassageGrade(*words(passage, "It lapses"), 3),
        PassageGrade(*words(passage, "Illness"), 0),
    ]
    fail_at(monkeypatch, "insert_all", 3)
    collect = base.questions.collect_with_grades
    with pytest.raises(KeyboardInterrupt):
        collect(SET, TEXT, given, answer="After that day.", origin=FROM_USERS)
    assert state(base) is None
    monkeypatch.undo()
    collect(SET, TEXT, given, answer=" After that day. ", origin=FROM_USERS)
    assert state(base) == (1, [(TEXT, True, [("It lapses", 3), ("Illness", 0)])])
    (question,) = base.questions.labelled(SET)
    assert (question.answer, question.origin) == ("After that day.", FROM_USERS)
    assert {label.origin for label in question.labels} == {FROM_USERS}
    with pytest.raises(InvalidInput, match="has labels, so the documents answer it"):
        collect(SET, TEXT, answerable=False)
    assert base.questions.named(SET).version == 1
    collect(SET, TEXT, answerable=False, discard_labels=True)
    assert state(base) == (2, [(TEXT, False, [("Illness", 0)])])
