"""What is remembered of turns, which of it helps, and what is not used any more."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag import Answer, KnowledgeBase, NotFound, Recipe, Workspace
from rag.conversations.memory import distinct, least_similarity, ranked
from rag.storage.conversations.interactions import Vectored
from tests.workspaces import QUICK, add, stocked

LEAVE = "Unused leave may be carried over until 30 June."
PUMP = "The pump makes a grinding noise when its bearing is dry."
ASK_LEAVE = "How long may unused leave be carried over?"
ALIKE = "Until when may unused leave be carried over?"
ASKING = QUICK.with_fields({"answer.provider": "openai", "answer.memory": 3})


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    made, _ = stocked(home, {"leave.txt": LEAVE, "pump.txt": PUMP})
    yield made
    made.close()


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("handbook")


def told(
    base: KnowledgeBase, question: str, recipe: Recipe = QUICK, talk: int | None = None
) -> int:
    """Asks and answers with quotes; returns the turn."""
    turn = base.conversations.ask(base.conversations.open(talk), question, recipe)
    trace = base.search(question, QUICK.with_fields({"search.top_k": 1}))
    base.conversations.conclude(turn, base.answer(trace, QUICK).answer)
    return turn


def shown(base: KnowledgeBase, question: str = ALIKE, **more: object) -> list[int]:
    recipe = ASKING.with_fields({"answer.memory": more.pop("memory", 3)})
    return [each.turn for each in base.conversations.memory.examples(question, recipe, **more)]  # type: ignore[arg-type]


def test_a_turn_is_remembered_with_outcome_sources_and_vector(base):
    turn = told(base, ASK_LEAVE)
    [held] = base.conversations.memory.list_all()
    kept = held.interaction
    assert (kept.turn, kept.question, kept.outcome) == (turn, ASK_LEAVE, "answered")
    assert (kept.follow_up, kept.thumb, kept.corrected) == (False, 0, False)
    [source] = kept.sources
    assert (source.document, source.start, source.end) == ("leave.txt", 0, len(LEAVE))
    assert (held.standing, held.gone) == ("usable", ())
    with base._database.read() as connection:
        stored = connection.exec_driver_sql("SELECT embedder, data FROM interaction_vector").all()
    embedder = base._services.models.embedder("fake")
    assert stored == [(embedder.id, embedder.embed([ASK_LEAVE], "query")[0].tobytes())]


def test_the_second_question_of_a_conversation_is_a_follow_up(base):
    talk = base.conversations.open(None)
    told(base, ASK_LEAVE, talk=talk)
    told(base, "Why does the pump make a grinding noise?", talk=talk)
    assert [held.interaction.follow_up for held in base.conversations.memory.list_all()] == [
        True,
        False,
    ]


def test_another_version_of_the_first_question_is_none(base):
    talk = base.conversations.open(None)
    first = told(base, ASK_LEAVE, talk=talk)
    again = base.conversations.ask(talk, ASK_LEAVE, ASKING, instead_of=first)
    base.conversations.conclude(again, base.ask(ASK_LEAVE, QUICK).answer)
    assert [held.interaction.follow_up for held in base.conversations.memory.list_all()] == [
        False,
        False,
    ]


def test_what_is_alike_and_was_answered_is_an_example(base):
    leave = told(base, ASK_LEAVE)
    told(base, "Why does the pump make a grinding noise?")
    [example] = base.conversations.memory.examples(ALIKE, ASKING)
    assert (example.turn, example.question) == (leave, ASK_LEAVE)
    assert LEAVE.rstrip(".") in example.answer
    vectors = base._services.models.embedder("fake").embed([ASK_LEAVE, ALIKE], "query")
    assert example.similarity == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)
    assert example.score == example.similarity


def test_nothing_is_shown_unless_a_recipe_asks_for_it_and_a_model_answers(base):
    told(base, ASK_LEAVE)
    assert base.conversations.memory.examples(ALIKE, ASKING.with_fields({"answer.memory": 0})) == ()
    assert base.conversations.memory.examples(ALIKE, QUICK.with_fields({"answer.memory": 3})) == ()


def test_a_thumb_up_raises_and_a_thumb_down_excludes(base):
    first = told(base, ASK_LEAVE)
    second = told(base, ALIKE)
    assert shown(base) == [second, first]
    base.conversations.rate(first, 1)
    up = base.conversations.memory.examples(ALIKE, ASKING)
    assert [each.score - each.similarity for each in up if each.turn == first] == [
        pytest.approx(0.05)
    ]
    base.conversations.rate(second, -1)
    assert shown(base) == [first]
    assert [each.standing for each in base.conversations.memory.list_all()] == [
        "thumb down",
        "usable",
    ]


def test_a_deleted_source_makes_what_rests_on_it_unused_at_the_next_question(base):
    turn = told(base, ASK_LEAVE)
    assert shown(base) == [turn]
    base.documents.delete_documents([document_id(base, "leave.txt")])
    assert shown(base) == []
    [held] = base.conversations.memory.list_all()
    assert (held.standing, held.gone) == ("stale", ("leave.txt",))


def test_a_new_version_of_a_source_and_an_exclusion_count_as_a_change(workspace, base):
    turn = told(base, ASK_LEAVE)
    pump = told(base, "Why does the pump make a grinding noise?")
    noise = "When does the pump make a grinding noise?"
    assert shown(base, noise) == [pump]
    assert add(workspace, base, {"leave.txt": LEAVE.replace("30 June", "31 May")}) == ["replaced"]
    assert shown(base) == []
    document = document_id(base, "pump.txt")
    base.documents.edit_passages(document, "exclude", (4, 8))
    assert shown(base, noise) == []
    assert {
        held.interaction.turn for held in base.conversations.memory.list_all() if held.gone
    } == {turn, pump}


def test_a_source_whose_text_is_read_otherwise_is_stale(base):
    told(base, ASK_LEAVE)
    with base._database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE document_part SET text = replace(text, '30 June', '31 May!')"
        )
    assert [held.standing for held in base.conversations.memory.list_all()] == ["stale"]


def test_what_was_refused_or_failed_is_held_and_never_shown(base):
    trace = base.search(ALIKE, QUICK)
    for status in ("refused", "interrupted", "failed"):
        turn = base.conversations.ask(base.conversations.open(None), ALIKE, QUICK)
        base.conversations.conclude(turn, Answer("No.", (), trace, "grounded", status))
    assert shown(base) == []
    outcomes = [held.interaction.outcome for held in base.conversations.memory.list_all()]
    assert outcomes == ["failed", "interrupted", "refused"]
    assert {held.standing for held in base.conversations.memory.list_all()} == {"not answered"}


def test_an_answer_that_cites_nothing_is_never_shown(base):
    trace = base.search(ALIKE, QUICK)
    turn = base.conversations.ask(base.conversations.open(None), ALIKE, QUICK)
    base.conversations.conclude(turn, Answer("June.", (), trace, "general", "complete"))
    assert shown(base) == []
    assert [held.standing for held in base.conversations.memory.list_all()] == ["no source"]


def test_the_same_conversation_and_questions_to_leave_out_give_no_example(base):
    talk = base.conversations.open(None)
    told(base, ASK_LEAVE, talk=talk)
    now = base.conversations.ask(talk, ALIKE, ASKING)
    assert shown(base, turn=now) == []
    assert shown(base, without=[ASK_LEAVE.upper()]) == []
    other = told(base, ASK_LEAVE)
    assert shown(base, turn=now) == [other]


def test_a_question_that_was_asked_often_is_one_example(base):
    told(base, ASK_LEAVE)
    newest = told(base, ASK_LEAVE.lower())
    assert shown(base) == [newest]


def test_no_more_than_asked_for(base):
    turns = [told(base, f"{ASK_LEAVE} {word}") for word in ("please", "thanks", "now")]
    assert len(shown(base, memory=2)) == 2
    assert set(shown(base, memory=3)) == set(turns)


def test_vectors_of_another_embedder_are_made_when_they_are_needed(base):
    told(base, ASK_LEAVE)
    other = ASKING.with_fields({"index.embedder": "wordllama"})
    assert [each.question for each in base.conversations.memory.examples(ALIKE, other)] == [
        ASK_LEAVE
    ]
    with base._database.read() as connection:
        count = "SELECT embedder, count(*) FROM interaction_vector GROUP BY embedder"
        assert len(connection.exec_driver_sql(count).all()) == 2


def test_another_knowledge_base_has_another_memory(workspace, base):
    turn = told(base, ASK_LEAVE)
    other = workspace.create("other", QUICK)
    assert (other.conversations.memory.list_all(), shown(other)) == ([], [])
    with pytest.raises(NotFound):
        other.conversations.memory.correct(turn, answer="x")


def test_the_score_is_the_cosine_and_a_twentieth_for_a_thumb_up():
    held = [Vectored(n, f"q{n}", thumb, b"") for n, thumb in ((1, 0), (2, 1), (3, 0), (4, -1))]
    vectors = np.array([[0.8, 0.6], [0.6, 0.8], [1, 0], [0.8, 0.6]], np.float32)
    found = ranked(np.array([1, 0], np.float32), vectors, held, least=0.6)
    assert [(each.turn, round(each.score, 6)) for each in found] == [
        (3, 1.0),
        (4, 0.8),
        (1, 0.8),
        (2, 0.65),
    ]
    assert [each.turn for each in distinct(found, ["Q4"])] == [3, 1, 2]
    assert (least_similarity(0.2), least_similarity(0.75)) == (0.6, 0.875)


def document_id(base: KnowledgeBase, name: str) -> str:
    return next(row.id for row in base.documents.documents(QUICK.index) if row.name == name)
