"""Chat and inspector over several knowledge bases and tools: every hit says whose it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.navigation.page import Page
from streamlit.testing.v1 import AppTest

from rag import HttpTool, Workspace
from tests.handbook import FRAME, LEAVE, RECIPE, make, texts
from tests.servers import Reply, scripted
from tests.workspaces import add

POLICY = "How long unused leave may be carried over: until 30 June."
HOSTILE = "Unused leave may be carried over <b>for a year</b> $x$ [link](javascript:x)."


@pytest.fixture
def workspace(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("TOUCHSTONE_ALLOW_PRIVATE_URLS", "1")
    st.cache_resource.clear()
    st.cache_data.clear()
    workspace, _ = make(home)
    add(workspace, workspace.create("policies", RECIPE), {"council.txt": POLICY})
    yield workspace
    workspace.close()
    st.cache_resource.clear()
    st.cache_data.clear()


def visit(page: str, **parameters: str | list[str]) -> AppTest:
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    for name, value in {"kb": "handbook", **parameters}.items():
        app.query_params[name] = value
    app.switch_page(page).run()
    assert not app.exception
    return app


def cards(app: AppTest) -> list[str]:
    return [each.label for each in app.button if (each.key or "").startswith("inspector_card_")]


def grades(app: AppTest) -> list[str]:
    keys = [each.key or "" for each in app.get("button_group")]
    return [key for key in keys if key.startswith("inspector_grade_")]


def test_one_base_has_no_picker(home):
    workspace, _ = make(home)
    st.cache_resource.clear()
    assert not [each for each in visit("inspector.py").multiselect if each.key == "also"]
    workspace.close()


def test_the_address_brings_the_other_base(workspace):
    app = visit("inspector.py", q=LEAVE, also=["policies"])
    assert app.multiselect(key="also").value == ["policies"]
    assert cards(app)[:2] == [r"**1 · council\.txt**", r"**2 · leave\.md**"]
    step = app.button(key="inspector_step_merge").label.partition("  \n")[0]
    assert step == ":gray[**2** merged]"


def test_choosing_a_base_searches_it(workspace):
    app = visit("inspector.py", q=LEAVE)
    assert r"council\.txt" not in "".join(cards(app))
    app.multiselect(key="also").set_value(["policies"]).run()
    assert not app.exception
    assert r"council\.txt" in cards(app)[0]
    app.slider(key="also_weight_policies").set_value(0.1).run()
    assert cards(app)[:2] == [r"**1 · leave\.md**", r"**2 · council\.txt**"]
    assert app.slider(key="also_weight_policies").proto.set_value is False
    app.session_state["scope_settings"] = True  # as a click on it does
    app.run()
    assert app.slider(key="also_weight_policies").proto.set_value is True
    assert app.slider(key="also_weight_policies").value == 0.1


def test_only_passages_of_the_chosen_base_are_labelled(workspace):
    for name, graded in (("handbook", 1), ("policies", 0)):
        passage = workspace.base(name).search(LEAVE, RECIPE).hits[0].chunk.id
        app = visit("inspector.py", q=LEAVE, also=["policies"], passage=passage)
        assert grades(app) == [f"inspector_grade_{passage}"] * graded


@pytest.mark.parametrize("view", ["Terms", "What if", "Attribution", "Compare", "Prompt"])
def test_a_passage_is_explained_by_its_own_base(workspace, view):
    app = visit("inspector.py", q=LEAVE, also=["policies"], view=view)
    assert not app.exception
    assert not app.error
    if view != "Prompt":
        assert "As policies finds it by its saved recipe" in texts(app)


def test_an_answer_cites_the_other_base_and_opens_its_document(workspace):
    app = visit("chat.py", also=["policies"])
    app.chat_input[0].set_value(LEAVE).run()
    assert not app.exception
    [turn] = workspace.base("handbook").conversations.turns(1)
    assert (turn.also, turn.citations[0].base) == (("policies",), "policies")
    app = visit("chat.py", talk="1", source=f"{turn.id}.1")
    assert r"**1** policies · council\.txt" in app.get("pills")[0].options[0]
    assert r"**council\.txt**" in texts(app)


def test_a_base_that_is_gone_does_not_break_a_stored_turn(workspace):
    app = visit("chat.py", also=["policies"])
    app.chat_input[0].set_value(LEAVE).run()
    [turn] = workspace.base("handbook").conversations.turns(1)
    workspace.delete("policies")
    app = visit("chat.py", talk="1", source=f"{turn.id}.1", also=["policies"])
    assert not app.exception
    assert ["has been deleted or replaced" in each.value for each in app.warning] == [True]


@pytest.fixture
def tool(workspace: Workspace) -> Iterator[None]:
    results = [{"text": HOSTILE, "title": "<i>Wiki</i>", "link": "https://x.example/leave"}]
    with scripted(Reply(body=json.dumps({"results": results}))) as server:
        data = {"name": "wiki", "url": f"{server.url}/?q={{question}}", "results": "results"}
        workspace.tools.save(HttpTool.parse({**data, "title": "title", "link": "link"}))
        yield


@pytest.mark.usefixtures("tool")
def test_results_of_a_tool_are_shown_as_text(workspace):
    app = visit("inspector.py", q=LEAVE, tools=["wiki"])
    assert app.multiselect(key="tools").value == ["wiki"]
    assert r"\<i\>Wiki\<\/i\>" in "".join(cards(app))
    assert r"\<b\>for a year\<\/b\> \$x\$" in texts(app)
    assert "<b>" not in texts(app)
    assert app.button(key="inspector_step_tool").label.startswith("**1** of tools")


@pytest.mark.usefixtures("tool")
def test_a_result_that_is_cited_opens_as_it_came(workspace):
    app = visit("chat.py", tools=["wiki"])
    app.chat_input[0].set_value(LEAVE).run()
    [turn] = workspace.base("handbook").conversations.turns(1)
    number = next(each.n for each in turn.citations if each.from_tool)
    app = visit("chat.py", talk="1", source=f"{turn.id}.{number}")
    assert not app.exception
    assert "https://x.example/leave" in [each.proto.url for each in app.get("link_button")]


def test_the_first_run_of_an_address_has_the_tours_of_its_base(workspace, monkeypatch):
    shown: list[str] = []
    navigation = st.navigation

    def recorded(pages: list[Page], **options: Any) -> Page:
        shown[:] = [page.title for page in pages if page.visibility == "visible"]
        return navigation(pages, **options)

    monkeypatch.setattr(st, "navigation", recorded)
    workspace.base("policies").conversations.tours.create("For the board")
    first = AppTest.from_file(str(FRAME), default_timeout=300)
    first.query_params["kb"] = "policies"
    first.switch_page("chat.py").run()
    assert "Tours" in shown
    visit("chat.py")
    assert "Tours" not in shown
