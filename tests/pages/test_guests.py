"""Whoever has a link is offered what the owner chose, and nothing else that costs money."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.shell import identity
from tests.handbook import LEAVE, ask, unfold
from tests.members import World, said


def test_a_guest_is_offered_nothing_that_costs(
    visit: Callable[..., AppTest], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    secret, row = world.base.links.create("fair")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    saved = world.base.recipe()
    app = unfold(visit("stranger", "chat.py"))
    assert "openai" not in app.selectbox(key="provider").options
    assert "service" in app.selectbox(key="rerank").options  # without a key it costs nothing
    assert not app.toggle(key="hyde").disabled  # quotes ask no model
    # By the address: a search says why not, and the page lets it be taken back.
    app = unfold(visit("stranger", "chat.py", provider="openai", hyde="true"))
    ask(app, LEAVE)
    assert "asks what may cost money" in said(app)
    app.toggle(key="hyde").set_value(False).run()
    app.selectbox(key="provider").select("extractive").run()
    assert "openai" not in app.selectbox(key="provider").options
    # What the owner chose is there, and as it is.
    world.base.save_recipe(saved.with_fields({"answer.provider": "openai"}))
    app = unfold(visit("stranger", "chat.py"))
    assert app.selectbox(key="provider").value == "openai"
    for each in (
        *(app.toggle(key=key) for key in ("hyde", "rewrite")),
        *(app.number_input(key=key) for key in ("expansions", "length", "context")),
        app.text_input(key="model"),
    ):
        assert each.disabled, each.label
        assert "may cost money" in each.help, each.label
    assert "Auto" not in "".join(app.selectbox(key="draws_on").options).title()
    assert "chat" not in app.selectbox(key="rerank").options
    assert not app.slider(key="k").disabled
    world.base.save_recipe(saved)
    world.base.links.revoke(row.id)


def test_a_guest_is_led_to_no_page_that_is_not_there(
    visit: Callable[..., AppTest], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, row = world.base.links.create("led")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    app = visit("stranger", "chat.py")
    ask(app, LEAVE)
    turn = next(each for each in app.button if each.label == "Inspect this")
    assert turn.disabled
    assert "viewer" in turn.help
    world.base.links.revoke(row.id)
    empty = world.workspace.create("empty")
    secret, _ = empty.links.create("led")
    for page, words in (("chat.py", "There are none here yet"), ("runs.py", "kept here as a run")):
        app = visit("stranger", page)
        assert words in said(app)
        assert not app.exception
        assert "unexpected" not in said(app)
        assert not app.main.get("page_link")


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
def test_the_address_of_a_link_says_where_it_works(
    url: str,
    warned: str,
    visit: Callable[..., AppTest],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(st.context), "url", url)
    app = visit("owner", "settings.py", kb="handbook")
    next(each for each in app.button if each.label == "Make a link").click().run()
    (address,) = (each.value for each in app.code if "/share/" in each.value)
    server, _, secret = address.rpartition("/share/")
    assert server == url.removesuffix("/settings")
    assert world.workspace.access.link(secret) is not None
    assert [each.value for each in app.warning] == ([warned] if warned else [])


def test_a_link_is_left_in_the_same_tab(
    visit: Callable[..., AppTest], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a button, which has the browser go there: links open in another tab."""
    secret, row = world.base.links.create("left")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    app = visit("stranger", "chat.py")
    assert "/share/leave" not in said(app)
    assert _sent_to(app) == []
    app.button(key="door_leave").click().run()
    assert _sent_to(app) == ["/share/leave"]
    world.base.links.revoke(row.id)
    app = visit("stranger", "chat.py")
    assert "This link is over" in said(app)
    app.button(key="door_leave").click().run()
    assert _sent_to(app) == ["/share/leave"]


def _sent_to(app: AppTest) -> list[str]:
    drawn = [each.proto for each in app.get("bidi_component")]
    return [
        json.loads(each.json) for each in drawn if each.component_name.endswith("go_to_address")
    ]
