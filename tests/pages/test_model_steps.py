"""Steps that ask a model, on the pages: switched on, used, corrected, and forgiven."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.recipe.working_recipe import STATE
from rag import KnowledgeBase, Recipe
from tests.handbook import LEAVE, ask, texts, unfold, visit
from tests.servers import Reply, Script, openai_stream, scripted


def use(monkeypatch: pytest.MonkeyPatch, server: Script) -> None:
    monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
    monkeypatch.setenv("TOUCHSTONE_RERANK_URL", server.url)


def recipe(app: AppTest, base: KnowledgeBase) -> Recipe:
    held: Recipe = app.session_state[STATE][base.id].working
    return held


def test_steps_are_switched_on_and_say_what_they_need(base):
    app = unfold(visit("inspector.py", q=LEAVE))
    app.toggle(key="rewrite").set_value(True).run()
    app.number_input(key="expansions").set_value(2).run()
    app.toggle(key="hyde").set_value(True).run()
    assert recipe(app, base).search.steps == {"rewrite": True, "expansions": 2, "hyde": True}
    said = texts(app)
    assert "this step is skipped" in said
    assert said.count("there is no language model") == 2
    assert "made complete" not in said


def test_a_reranker_is_chosen_used_and_counted(base, monkeypatch):
    body = '{"results": [{"index": 1, "relevance_score": 5}, {"index": 0, "relevance_score": 1}]}'
    with scripted(Reply(body=body)) as server:
        use(monkeypatch, server)
        app = visit("inspector.py", q=LEAVE, rerank="service", depth="2")
        assert recipe(app, base).search.steps == {"rerank": "service", "rerank_depth": 2}
        assert not app.error
        names = [each.label for each in app.button]
        assert any("reranked" in name for name in names)
        assert len(server.requests) == 1
        app.slider(key="k").set_value(1).run()
        assert not app.exception
    app.selectbox(key="rerank").set_value("Off").run()
    assert recipe(app, base).search.rerank is None


def test_a_path_is_typed_as_a_reranker_and_a_wrong_one_is_a_note(base):
    app = visit("inspector.py", q=LEAVE, rerank="onnx:/nowhere")
    assert recipe(app, base).search.rerank == "onnx:/nowhere"
    assert not app.exception
    assert not app.error


COMPLETE = "How long may unused leave be carried over, and then?"


def test_a_follow_up_is_shown_complete_and_can_be_corrected(base, monkeypatch):
    with scripted(
        openai_stream("Until 30 June [1]."),
        openai_stream(COMPLETE),
        openai_stream("It lapses [1]."),
        openai_stream("It is lost [1]."),
    ) as server:
        use(monkeypatch, server)
        app = ask(visit("chat.py", provider="compatible", rewrite="true"), LEAVE)
        ask(app, "And then?")
        assert f"Understood as: *{COMPLETE}*" in texts(app).replace("\\", "")
        first, second = base.conversations.turns(1)
        assert (first.rewritten, second.rewritten) == ("", COMPLETE)
        assert second.question == "And then?"
        asked = server.requests[1]["messages"][1]["content"]
        assert LEAVE in asked
        assert "Until 30 June" in asked
        assert COMPLETE in server.requests[2]["messages"][1]["content"]
        app.text_area(key="chat_rewritten_2").set_value("When does unused leave lapse?")
        app.button(key="chat_reask_2").click().run()
        assert not app.exception
        last = base.conversations.turns(1)[-1]
        assert (last.question, last.rewritten, last.status) == (
            "When does unused leave lapse?",
            "",
            "complete",
        )
        assert len(server.requests) == 4  # nothing was rewritten again
        again = visit("chat.py", talk="1")
        assert f"Understood as: *{COMPLETE}*" in texts(again).replace("\\", "")
        again.button(key="chat_inspect_2").click().run()
        assert again.query_params["q"] == COMPLETE
        assert second.state == "answered"
        assert ":green[Answered.]" in texts(again)


def test_a_step_that_fails_is_told_with_the_answer_and_tried_anew(base, monkeypatch):
    with scripted(
        Reply(500, "{}"),
    ) as server:
        use(monkeypatch, server)
        app = ask(visit("chat.py", rerank="service"), LEAVE)
        [turn] = base.conversations.turns(1)
        assert turn.status == "complete"
        app.run()
        assert len(server.requests) == 1
        ask(app, LEAVE)
        assert len(server.requests) == 2


def test_the_inspector_does_not_wait_for_a_failing_server_at_every_touch(base, monkeypatch):
    with scripted(Reply(503, "busy")) as server:
        use(monkeypatch, server)
        app = visit("inspector.py", q=LEAVE, rerank="service")
        asked = len(server.requests)
        app.run()
        assert len(server.requests) == asked == 1
        assert "Reranking service answered 503" in texts(app)
