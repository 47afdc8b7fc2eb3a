"""Whoever has a link is offered what the owner chose, and nothing else that costs money."""

from __future__ import annotations

from collections.abc import Callable

import pytest
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
