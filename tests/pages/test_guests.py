"""Guests get the chat and the runs of one knowledge base, and its saved recipe."""

import json
from typing import Any

import pytest
import streamlit as st
from streamlit.navigation.page import Page
from streamlit.testing.v1 import AppTest

from pages.components.recipe.working_recipe import STATE
from pages.components.shell import identity
from pages.components.shell.text import plain
from rag import TourStop
from tests.handbook import LEAVE, ask
from tests.members import said
from tests.pages.conftest import DOCUMENTS, questions_file
from tests.workspaces import add


def test_a_guest_sees_no_recipe_and_asks_with_the_saved_one(visit, world, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    secret, row = world.base.access.create_link("fair")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    named = {"provider": "openai", "hyde": "true", "k": "1", "cut": "Off", "also": "mine"}
    app = ask(visit("stranger", "chat.py", **named), LEAVE)
    assert not app.slider
    assert not app.sidebar.toggle
    assert [each.label for each in app.sidebar.selectbox] == ["Knowledge base"]
    assert [each.key for each in app.sidebar.button] == ["door_leave"]
    assert "Recipe" not in said(app)
    assert "30 June" in said(app)
    draft = app.session_state[STATE][world.base.id]
    assert draft.working == draft.saved == world.base.recipe()
    app = ask(visit("stranger", "chat.py"), "zebra quux")
    assert not [each for each in app.button if "threshold" in each.label]
    world.base.access.revoke_link(row.id)


def test_a_guest_is_offered_no_question_of_a_test(visit, world, monkeypatch):
    base = world.workspace.create("exam")
    add(world.workspace, base, DOCUMENTS)
    base.questions.import_file("checks", "q.jsonl", questions_file())
    secret, row = base.access.create_link("fair")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    assert not visit("stranger", "chat.py").get("pills")
    results = base.runs.evaluate("checks", base.recipe()).results
    right = [one for one in results if one.answerable and one.first_relevant == 1]
    offered = visit("stranger", "chat.py").get("pills")[0].options
    assert {plain(one.text) for one in right} & {*offered}
    base.access.revoke_link(row.id)


def test_a_guest_is_led_to_no_page_that_is_not_there(visit, world, monkeypatch):
    secret, row = world.base.access.create_link("led")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    app = visit("stranger", "chat.py")
    ask(app, LEAVE)
    labels = [each.label for each in app.button]
    assert "Answer again" in labels
    assert not {"Inspect this", "Add to questions"} & {*labels}
    world.base.access.revoke_link(row.id)
    empty = world.workspace.create("empty")
    secret, _ = empty.access.create_link("led")
    for page, words in (("chat.py", "There are none here yet"), ("runs.py", "saved here as a run")):
        app = visit("stranger", page)
        assert words in said(app)
        assert not app.exception
        assert "unexpected" not in said(app)
        assert not app.main.get("page_link")


def test_a_guest_gets_runs_where_there_are_some(visit, world, monkeypatch):
    base = world.workspace.create("shared")
    assert set(add(world.workspace, base, DOCUMENTS)) == {"added"}
    base.questions.import_file("checks", "checks.jsonl", questions_file())
    assert not base.runs.has_runs()
    secret, _ = base.access.create_link("runs")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    shown = _navigations(monkeypatch)
    visit("stranger", "chat.py")
    assert shown[-1] == ["Chat"]
    base.runs.evaluate("checks", base.recipe())
    assert base.runs.has_runs()
    visit("stranger", "chat.py")
    assert shown[-1] == ["Chat", "Runs"]
    (run,) = base.runs.list_all()
    app = visit("stranger", "runs.py", runs=run.id)
    labels = [button.label for button in app.button]
    assert {"Pin as baseline", "Note and tags", "Delete"}.isdisjoint(labels)
    captions = [caption.value for caption in app.caption]
    assert f":material/database: {base.name}" in captions
    assert any(
        text.startswith("**nDCG@10**: Are the best passages at the top?") for text in captions
    )
    assert "Use this recipe" not in labels


def test_a_guest_is_offered_no_judge_of_answers(visit, world, monkeypatch):
    base = world.workspace.create("answered")
    assert set(add(world.workspace, base, DOCUMENTS)) == {"added"}
    base.questions.import_file("checks", "checks.jsonl", questions_file())
    for top_k in (1, 2):
        recipe = base.recipe().with_fields({"search.top_k": top_k})
        world.workspace.jobs.run(base.runs.start_answers("checks", recipe))
    newer, older = (each.id for each in base.runs.list_all("checks"))
    secret, _ = base.access.create_link("fair")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    app = visit("stranger", "runs.py", runs=f"{newer},{older}")
    app.session_state[f"runs_prefer_{newer}_{older}"] = True
    app.run()
    assert [each.value for each in app.header] == ["Comparison"]
    assert "A model reads both answers" not in said(app)


def test_a_guest_of_a_tour_sees_it_alone(visit, world, monkeypatch):
    board, other = (
        world.base.conversations.tours.create(title, [TourStop("answer", "Why?", "Because.")])
        for title in ("For the board", "For others")
    )
    secret, row = world.base.access.create_link("board", tour_id=board)
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    shown = _navigations(monkeypatch)
    for address in ({"tour": str(board)}, {"tour": str(other)}, {}):
        app = visit("stranger", "tour.py", **address)
        assert [title.value for title in app.title] == ["For the board"]
        assert shown[-1] == ["Chat", "Tours"]
    app = visit("stranger", "chat.py")
    assert [error.value for error in app.error] == []
    assert plain(LEAVE) in app.get("pills")[0].options
    app = visit("stranger", "runs.py")
    assert "The page Runs is not part of what your link shows." in said(app)
    world.base.conversations.tours.delete(board)
    app = visit("stranger", "tour.py", tour=str(board))
    assert "The tour of this link was deleted. Ask the person who sent it" in said(app)
    assert [title.value for title in app.title] == ["Tours"]
    assert "For others" not in said(app)
    assert shown[-1] == ["Chat"]
    assert "30 June" in said(ask(visit("stranger", "chat.py"), LEAVE))
    world.base.access.revoke_link(row.id)


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        (
            "http://localhost:8501/settings",
            "This address works on this machine only. For others, replace `http://localhost:8501` "
            "with the address at which they reach this server.",
        ),
        ("https://kb.example/touchstone/settings", ""),
    ],
)
def test_the_address_of_a_link_says_where_it_works(url, warned, visit, world, monkeypatch):
    monkeypatch.setattr(type(st.context), "url", url)
    app = visit("owner", "settings.py", kb="handbook", settings="Access")
    next(each for each in app.button if each.label == "Make a link").click().run()
    (address,) = (each.value for each in app.code if "/share/" in each.value)
    server, _, secret = address.rpartition("/share/")
    assert server == url.removesuffix("/settings")
    assert world.workspace.access.link(secret) is not None
    assert [each.value for each in app.warning] == ([warned] if warned else [])


def test_a_link_is_left_in_the_same_tab(visit, world, monkeypatch):
    """By a button, which has the browser go there: links open in another tab."""
    secret, row = world.base.access.create_link("left")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    app = visit("stranger", "chat.py")
    assert "/share/leave" not in said(app)
    assert _sent_to(app) == []
    app.button(key="door_leave").click().run()
    assert _sent_to(app) == ["/share/leave"]
    world.base.access.revoke_link(row.id)
    app = visit("stranger", "chat.py")
    assert "This link is not valid" in said(app)
    app.button(key="door_leave").click().run()
    assert _sent_to(app) == ["/share/leave"]


def _navigations(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The titles of the visible pages, for each drawing of the navigation from now on."""
    shown: list[list[str]] = []
    navigation = st.navigation

    def spy(pages: list[Page], **options: Any) -> Page:
        shown.append([page.title for page in pages if page.visibility == "visible"])
        return navigation(pages, **options)

    monkeypatch.setattr(st, "navigation", spy)
    return shown


def _sent_to(app: AppTest) -> list[str]:
    drawn = [each.proto for each in app.get("bidi_component")]
    return [
        json.loads(each.json) for each in drawn if each.component_name.endswith("go_to_address")
    ]
