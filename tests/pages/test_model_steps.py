"""Steps that ask a model, on the pages: switched on, used, corrected, and forgiven."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.recipe_state import STATE
from rag import KnowledgeBase, Recipe
from tests.handbook import LEAVE, make, texts, visit
from tests.servers import Reply, Script, scripted


@pytest.fixture
def base(home: Path) -> Iterator[KnowledgeBase]:
    st.cache_resource.clear()
    st.cache_data.clear()
    workspace, made = make(home)
    yield made
    workspace.close()
    st.cache_resource.clear()


def use(monkeypatch: pytest.MonkeyPatch, server: Script) -> None:
    monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
    monkeypatch.setenv("TOUCHSTONE_RERANK_URL", server.url)


def recipe(app: AppTest, base: KnowledgeBase) -> Recipe:
    held: Recipe = app.session_state[STATE][base.id].working
    return held


def ask(app: AppTest, question: str) -> AppTest:
    app.chat_input[0].set_value(question).run()
    assert not app.exception
    return app


def test_steps_are_switched_on_and_say_what_they_need(base: KnowledgeBase) -> None:
    app = visit("inspector.py", q=LEAVE)
    app.toggle(key="rewrite").set_value(True).run()
    app.number_input(key="expansions").set_value(2).run()
    app.toggle(key="hyde").set_value(True).run()
    assert recipe(app, base).search.steps == {"rewrite": True, "expansions": 2, "hyde": True}
    said = texts(app)
    assert "without a language model this is left out" in said
    assert "**No further wordings were searched:** there is no language model" in said
    assert "**No imagined answer was searched:** there is no language model" in said
    assert "follow-up was not made complete" not in said


def test_a_reranker_is_chosen_used_and_counted(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_path_is_typed_as_a_reranker_and_a_wrong_one_is_a_note(base: KnowledgeBase) -> None:
    app = visit("inspector.py", q=LEAVE, rerank="onnx:/nowhere")
    assert recipe(app, base).search.rerank == "onnx:/nowhere"
    assert not app.exception
    assert not app.error
    assert "**The results were not reranked:**" in texts(app)
    assert "there is no tokenizer" in texts(app)
