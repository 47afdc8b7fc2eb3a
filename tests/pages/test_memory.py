"""The memory page: what was asked is found, corrected and forgotten."""

from dataclasses import replace

from rag.types import Example
from tests.answers import asked
from tests.handbook import LEAVE, texts, visit

HOTEL = "What may a hotel cost?"


def test_an_empty_memory_says_what_to_do(base):
    app = visit("usage.py", usage="Memory", provider="ollama")
    assert "about" not in [each.key for each in app.text_input]


def test_the_tab_is_there_with_a_language_model_only(base):
    def labels(**address: str) -> list[str]:
        return [tab.label for tab in visit("usage.py", **address).tabs]

    assert labels(usage="Memory") == ["Review", "Operations"]
    assert labels(provider="ollama") == ["Review", "Operations", "Memory"]


def test_what_was_asked_is_listed_with_its_standing(base):
    asked(base, LEAVE)
    base.conversations.rate(asked(base, HOTEL).id, -1)
    said = texts(visit("usage.py", usage="Memory", provider="ollama"))
    assert said.index(HOTEL.rstrip("?")) < said.index(LEAVE.rstrip("?"))
    assert "thumb down" in said
    assert "usable" in said


def test_it_is_searched_by_meaning(base):
    asked(base, LEAVE)
    asked(base, HOTEL)
    said = texts(visit("usage.py", usage="Memory", provider="ollama", about="cost of a hotel"))
    assert said.index(HOTEL.rstrip("?")) < said.index(LEAVE.rstrip("?"))
    assert "cosine 0." in said


def test_a_stale_one_says_what_changed(base):
    asked(base, LEAVE)
    [row] = [each for each in base.documents.documents(base.recipe().index) if "leave" in each.name]
    base.documents.delete_documents([row.id])
    said = texts(visit("usage.py", usage="Memory", provider="ollama"))
    assert r"Changed or deleted since: leave\.md. It is not used." in said


def test_one_is_corrected_in_a_dialog(base):
    turn = asked(base, LEAVE).id
    app = visit("usage.py", usage="Memory", provider="ollama")
    app.button(key=f"memory_correct_{turn}").click().run()
    app.text_area(key=f"memory_words_{turn}").set_value("Until the end of June [1].")
    app.button(key=f"memory_keep_{turn}").click().run()
    assert not app.exception
    held = base.conversations.memory.get(turn).interaction
    assert (held.answer, held.corrected) == ("Until the end of June [1].", True)
    assert "corrected" in texts(visit("usage.py", usage="Memory", provider="ollama"))


def test_a_correction_outlasts_the_end_of_its_dialog(base):
    turn = asked(base, LEAVE).id
    app = visit("usage.py", usage="Memory", provider="ollama")
    app.button(key=f"memory_correct_{turn}").click().run()
    app.text_area(key=f"memory_words_{turn}").set_value("Until the end of June [1].")
    app.button(key=f"memory_correct_{turn}").click().run()
    app.run()
    app.button(key=f"memory_correct_{turn}").click().run()
    assert app.text_area(key=f"memory_words_{turn}").value == "Until the end of June [1]."


def test_one_is_forgotten_after_a_question(base):
    turn = asked(base, LEAVE).id
    app = visit("usage.py", usage="Memory", provider="ollama")
    app.button(key=f"memory_forget_{turn}").click().run()
    assert base.conversations.memory.count() == 1
    app.button(key=f"memory_forgotten_{turn}").click().run()
    assert base.conversations.memory.count() == 0


def test_it_opens_in_the_inspector(base):
    turn = asked(base, LEAVE).id
    app = visit("usage.py", usage="Memory", provider="ollama")
    app.button(key=f"memory_inspect_{turn}").click().run()
    assert not app.exception
    assert app.query_params["q"] == LEAVE


def test_the_chat_shows_which_ones_stood_in_a_prompt(base):
    recipe, talk = base.recipe(), base.conversations.open(None)
    turn = base.conversations.ask(talk, LEAVE, recipe)
    example = Example(7, HOTEL, 0.812, 0.862, 1, "120 [1].")
    base.conversations.conclude(turn, replace(base.ask(LEAVE, recipe).answer, examples=(example,)))
    said = texts(visit("chat.py", talk=str(talk)))
    assert "example] What may a hotel cost\\? :gray[· asked before, cosine 0.81]" in said
