"""Retrievals of a file find their questions."""

from rag import Question
from rag.systems.measuring import match_questions
from rag.systems.returned import Returned

QUESTIONS = [
    Question(id="q1", text="Why does the pump stop?", evidence=()),
    Question(id="q2", text="Who is Ann?", evidence=()),
    Question(id="q3", text="who is ANN", evidence=()),
    Question(id="q4", text="???", evidence=()),
]


def matched(*retrievals: Returned) -> dict[str, list[int]]:
    found = match_questions(retrievals, QUESTIONS)
    places = {id(item): place for place, item in enumerate(retrievals)}
    rows = {name: [places[id(item)] for item in items] for name, items in found.by_question.items()}
    return rows | {"none": [places[id(item)] for item in found.unmatched]}


def test_a_question_is_matched_by_its_text_however_it_is_written():
    other = Returned("Why did it stop?", ())
    assert matched(Returned(" why does\nthe pump stop", ()), other) == {"q1": [0], "none": [1]}
    assert matched(Returned("???", ())) == {"q4": [0], "none": []}


def test_an_id_decides_between_questions_with_one_text():
    asked = Returned("Who is Ann?", (), question_id="q3")
    assert matched(asked, Returned("Who is Ann?", ())) == {"q3": [0], "none": [1]}


def test_a_run_without_texts_is_matched_by_id_and_another_text_outweighs_an_id():
    run = Returned("", (), question_id="q2")
    other = Returned("Who is Ann?", (), question_id="q1")
    assert matched(run, other) == {"q2": [0], "none": [1]}


def test_hops_are_in_their_order():
    text = "Why does the pump stop?"
    assert matched(Returned(text, (), hop=1), Returned(text, (), hop=0))["q1"] == [1, 0]
