"""Editing question sets: every edit is a version, and two who edit at once lose nothing."""

import threading
from pathlib import Path

import pytest

from rag import AlreadyExists, InvalidInput, KnowledgeBase, LabelledQuestion, NotFound
from tests.workspaces import QUICK, stocked, workspace_at

pytestmark = pytest.mark.usefixtures("database")

SET = "checks"


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    leave = "Unused leave may be carried over for three months."
    _, made = stocked(home, {"leave.md": leave})
    made.questions.create_set(SET)
    return made


def _texts(base: KnowledgeBase) -> list[str]:
    return [item.text for item in base.questions.usable(SET)]


def _version(base: KnowledgeBase) -> int:
    return base.questions.named(SET).version


def _rows(base: KnowledgeBase) -> list[LabelledQuestion]:
    return base.questions.labelled(SET)


def test_what_cannot_be_says_why_and_counts_no_version(base):
    edits = base.questions
    for act in (
        lambda: edits.add_question(SET, "   "),
        lambda: edits.add_question(SET, "x" * 8001),
        lambda: edits.add_question(SET, "Why?", tags=["a;b"]),
        lambda: edits.add_question(SET, "Why?", tags=["x" * 41]),
    ):
        with pytest.raises(InvalidInput):
            act()
    with pytest.raises(NotFound, match="no longer in this set"):
        edits.edit_question(SET, "gone", text="Why?")
    with pytest.raises(NotFound, match="no question set named 'nothing'"):
        edits.add_question("nothing", "Why?")
    assert _version(base) == 1


def test_a_question_of_the_chat_is_collected_once(base):
    first = base.questions.collect("from chat", "How long may leave be kept?", tags=["chat"])
    again = base.questions.collect("from chat", "how long  may leave be kept?")
    other = base.questions.collect("from chat", "Who approves it?")
    assert again == first
    assert [item.id for item in base.questions.usable("from chat")] == [first, other]
    assert base.questions.usable("from chat")[0].tags == ("chat",)


def test_a_table_stores_only_what_changed_in_it(base):
    for text in ("one?", "two?", "three?"):
        base.questions.add_question(SET, text)
    loaded = _rows(base)
    # Meanwhile someone else tags a question, and adds and deletes others.
    base.questions.edit_question(SET, loaded[0].id, tags=["theirs"])
    base.questions.add_question(SET, "theirs?")
    base.questions.delete_questions(SET, [loaded[2].id])
    version = _version(base)
    edited = [
        LabelledQuestion(loaded[0].id, "one, indeed?"),
        loaded[2],
        LabelledQuestion("", "mine?"),
    ]
    base.questions.save_table(SET, loaded, edited)
    assert _texts(base) == ["one, indeed?", "theirs?", "mine?"]
    assert base.questions.usable(SET)[0].tags == ("theirs",)
    assert _version(base) == version + 1
    base.questions.save_table(SET, edited, edited)
    assert _version(base) == version + 1


def test_a_table_is_stored_whole_or_not_at_all(base):
    base.questions.add_question(SET, "one?")
    loaded = _rows(base)
    with pytest.raises(InvalidInput, match="1 to"):
        base.questions.save_table(
            SET, loaded, [LabelledQuestion("", "new?"), LabelledQuestion("", " ")]
        )
    assert _texts(base) == ["one?"]
    with pytest.raises(InvalidInput, match="same id"):
        base.questions.save_table(SET, loaded, [loaded[0], loaded[0]])
    with pytest.raises(AlreadyExists, match="id"):
        base.questions.save_table(SET, [], loaded)
    base.questions.delete_questions(SET, [loaded[0].id])
    with pytest.raises(NotFound, match="no longer in this set"):
        base.questions.save_table(SET, loaded, [LabelledQuestion(loaded[0].id, "one more?")])


def test_users_who_edit_at_once_lose_nothing(base, home):
    shared = base.questions.add_question(SET, "shared?")
    others = [workspace_at(home).base("handbook") for _ in range(3)]

    def work(number: int, mine: KnowledgeBase) -> None:
        for turn in range(6):
            mine.questions.add_question(SET, f"{number}.{turn}?")
        if number == 0:
            mine.questions.edit_question(SET, shared, text="shared, reworded?")
        if number == 1:
            mine.questions.edit_question(SET, shared, tags=["seen"])

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(_texts(base)[1:]) == [f"{n}.{turn}?" for n in range(3) for turn in range(6)]
    found = base.questions.usable(SET)[0]
    assert (found.text, found.tags) == ("shared, reworded?", ("seen",))
    assert _version(base) == 1 + 1 + 18 + 2


def test_a_renamed_set_keeps_its_runs_and_baseline(base):
    question = base.questions.add_question(SET, "How long may leave be carried over?")
    document = base.documents.documents(QUICK.index)[0].id
    base.questions.label(SET, question, document, 0, 11, 2)
    run = base.runs.evaluate(SET, QUICK, (1, 3)).run.id
    base.runs.pin(run)
    base.questions.rename_set(SET, "renamed")
    assert [each.id for each in base.runs.list_all("renamed")] == [run]
    assert base.questions.named("renamed").version == base.runs.get(run).set_version
    pinned = base.runs.baseline("renamed")
    assert pinned.id == run
    # A new set of the old name must not look like what an old run has seen.
    base.questions.rename_set("renamed", SET)
    seen = base.runs.get(run).set_version
    base.questions.delete_set(SET)
    base.questions.create_set(SET)
    assert _version(base) == seen + 1


def test_the_split_is_stored_with_the_set(base):
    ids = [base.questions.add_question(SET, f"{number}?") for number in range(40)]
    first = base.questions.split(SET)
    assert sorted([*first.tuning, *first.held_out]) == sorted(ids)
    version = _version(base)
    base.questions.set_split(SET, seed=7, tuning_share=0.25)
    second = base.questions.split(SET)
    assert second != first
    assert len(second.tuning) < len(second.held_out)
    found = base.questions.named(SET)
    assert (found.split_seed, found.split_share, found.version) == (7, 0.25, version)
    base.questions.add_question(SET, "one more?")
    # Another question moves one at most: the share is kept.
    assert len(set(second.tuning) - set(base.questions.split(SET).tuning)) <= 1
    with pytest.raises(InvalidInput, match="share"):
        base.questions.set_split(SET, seed=7, tuning_share=1.0)
