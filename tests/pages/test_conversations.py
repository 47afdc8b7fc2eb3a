"""Conversations on the chat page: the list, names, settings of their own, and whose they are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, SessionOwner, Workspace
from tests.handbook import FRAME, LEAVE, make, texts, visit
from tests.servers import Reply, openai_stream, scripted

HOTEL = "What may a hotel cost?"


@pytest.fixture
def opened(home: Path) -> Iterator[tuple[Workspace, KnowledgeBase]]:
    st.cache_resource.clear()
    workspace, base = make(home)
    yield workspace, base
    workspace.close()
    st.cache_resource.clear()


@pytest.fixture
def base(opened: tuple[Workspace, KnowledgeBase]) -> KnowledgeBase:
    return opened[1]


def ask(app: AppTest, question: str) -> AppTest:
    app.chat_input[0].set_value(question).run()
    assert not app.exception
    return app


def menu(app: AppTest, chosen: int = 0) -> AppTest:
    """Opens the list of conversations, after another one was chosen so often."""
    app.session_state[f"chat_earlier_{chosen}"] = True
    return app.run()


def test_a_conversation_is_named_found_and_deleted(base):
    app = ask(visit("chat.py"), LEAVE)
    menu(app).text_input(key="chat_name_1").set_value("Holidays").run()
    app.button(key="chat_new").click().run()
    ask(app, HOTEL)
    menu(app, 1).text_input(key="chat_search_talks").set_value("holi").run()
    assert app.button(key="chat_talk_1").label == "Holidays :gray[· just now]"
    app.text_input(key="chat_search_talks").set_value("zebra").run()
    app.button(key="chat_delete_2").click().run()
    assert "chat_search_talks" not in [each.key for each in app.text_input]  # over the dialog
    assert base.conversations.find(2) is not None
    app.button(key="chat_delete_really").click().run()
    assert base.conversations.find(2) is None
    assert "talk" not in app.query_params
    assert [row.title for row in base.conversations.recent()] == ["Holidays"]


def test_a_conversation_keeps_its_settings_and_brings_them_back(base):
    app = ask(visit("chat.py"), LEAVE)
    app.slider(key="k").set_value(7).run()
    kept = base.conversations.find(1)
    assert kept.settings == {"recipe": {"search.top_k": 7}, "also": [], "sources": True}
    app.button(key="chat_new").click().run()
    app.slider(key="k").set_value(2).run()
    ask(app, HOTEL)
    menu(app, 1).button(key="chat_talk_1").click().run()
    assert app.slider(key="k").value == 7
    assert ask(app, HOTEL).session_state["recipe_working"][base.id].working.search.top_k == 7
    again = AppTest.from_file(str(FRAME), default_timeout=300)  # after a restart
    again.query_params["talk"] = "1"
    again.switch_page("chat.py").run()
    assert again.slider(key="k").value == 7
    assert base.conversations.turns(1)[-1].recipe.search.top_k == 7


def test_an_address_with_a_recipe_of_its_own_means_that_one(base):
    app = ask(visit("chat.py"), LEAVE)
    app.slider(key="k").set_value(7).run()
    assert visit("chat.py", talk="1", k="4").slider(key="k").value == 4


def test_hidden_sources_stay_hidden(base):
    app = ask(visit("chat.py"), LEAVE)
    assert len(app.get("pills")) == 1
    menu(app).toggle(key="chat_sources_switch").set_value(False).run()
    assert len(app.get("pills")) == 0
    kept = base.conversations.find(1)
    assert kept.settings["sources"] is False
    assert len(visit("chat.py", talk="1").get("pills")) == 0


def test_a_link_to_the_conversation_of_another_visitor_says_that_it_is_private(opened):
    workspace, base = opened
    other = workspace.base(base.name, SessionOwner("other", ("other",)))
    talk = other.conversations.open(None)
    other.conversations.ask(talk, "A secret question", base.recipe())
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    app.query_params["talk"] = str(talk)
    app.run()
    assert "secret" not in texts(app)
    assert "talk" not in app.query_params


def test_another_recipe_answers_again_and_both_versions_stay(base):
    app = ask(ask(visit("chat.py"), LEAVE), HOTEL)
    app.slider(key="k").set_value(1).run()
    app.button(key="chat_again_1").click().run()
    app.button(key="chat_again_really").click().run()
    [version] = base.conversations.turns(1)
    assert (version.question, version.recipe.search.top_k) == (LEAVE, 1)
    assert version.versions == (1, 3)
    assert "2/2" in texts(app)
    assert "$120" not in texts(app)
    app.button(key="chat_version_-1_3").click().run()
    assert [turn.question for turn in base.conversations.turns(1)] == [LEAVE, HOTEL]
    assert "1/2" in texts(app)
    assert "120 a night" in texts(app)


def test_a_turn_tells_how_its_prompt_was_spent_and_what_was_left_out(base, monkeypatch):
    limits = {"context": "300", "length": "100", "cut": "Off", "k": "10"}
    with scripted(openai_stream("Until 30 June [1].")) as server:
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
        app = ask(visit("chat.py", provider="compatible", **limits), LEAVE)
    [turn] = base.conversations.turns(1)
    spent = {part.name: part for part in turn.details.budget}
    passages, rules = spent["passages"], spent["rules and question"].used
    assert passages.left_out
    said = texts(app)
    assert f"[instructions and question] {rules:,} · " in said
    assert f"[passages] {passages.used:,}" in said
    assert "[kept free for the answer] 100" in said
    assert "left out for want of room, passages: " in said
    assert "earlier conversation" not in said


def test_a_model_goes_on_where_its_answer_broke_off(base, monkeypatch):
    broken = openai_stream("Until 30 June [2], so it", finish=False, cut=True)
    with scripted(broken, openai_stream(" lapses then [2].")) as server:
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
        app = ask(visit("chat.py", provider="compatible", cut="Off"), LEAVE)
        [turn] = base.conversations.turns(1)
        assert (turn.status, turn.answer) == ("interrupted", "Until 30 June [1], so it")
        app.button(key="chat_continue_1").click().run()
        assert not app.exception
        [turn] = base.conversations.turns(1)
        said = "Until 30 June [1], so it lapses then [1]."
        assert (turn.status, turn.answer) == ("complete", said)
        *_, before, asked = server.requests[1]["messages"]
        assert before == {"role": "assistant", "content": "Until 30 June [2], so it"}
        assert asked["content"].startswith("Your reply was cut off.")
        assert "chat_continue_1" not in [button.key for button in app.button]


def test_an_answer_that_cannot_go_on_keeps_what_it_had_said(base, monkeypatch):
    broken = openai_stream("Until 30 June, so it", finish=False, cut=True)
    with scripted(broken, Reply(status=401)) as server:
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
        fields = {"answer.provider": "compatible", "search.refuse": "off", "answer.mode": "strict"}
        base.recipes.save(base.recipe().with_fields(fields))
        app = ask(visit("chat.py", cut="Off"), LEAVE)
        assert base.conversations.turns(1)[0].answer == "Until 30 June, so it"
        held = base.documents.documents(base.recipe().index)
        base.documents.delete_documents([each.id for each in held])
        app.button(key="chat_continue_1").click().run()
        assert not app.exception
        [turn] = base.conversations.turns(1)
        assert (turn.status, turn.answer) == ("interrupted", "Until 30 June, so it")


def test_general_knowledge_goes_on_too(base, monkeypatch):
    broken = openai_stream("Paris, because", finish=False, cut=True)
    with scripted(broken, openai_stream(" it is the capital.")) as server:
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
        fields = {"answer.provider": "compatible", "answer.mode": "general"}
        base.recipes.save(base.recipe().with_fields(fields))
        app = ask(visit("chat.py"), "Where?")
        app.button(key="chat_continue_1").click().run()
        [turn] = base.conversations.turns(1)
        assert (turn.status, turn.answer) == ("complete", "Paris, because it is the capital.")
