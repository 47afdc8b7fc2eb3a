"""A guest whose address names any recipe has nothing sent to a provider that may cost money."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.components.recipe.working_recipe import OFF, PARAMETERS
from pages.components.shell import identity
from rag import providers
from tests.costly_fields import VALUES, spied_providers
from tests.handbook import LEAVE, ask
from tests.members import World, said

BUILD_OF_EMBEDDER = "index.embedder"
"""The one field that an address names by a build."""
NAMES = {field: name for name, field in PARAMETERS.items()}


def address(fields: dict[str, Any]) -> dict[str, str]:
    """Fields of a recipe as the address of a page has them."""
    return {NAMES[field]: _written(value) for field, value in fields.items()}


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return OFF if value is None else str(value).lower()


@pytest.fixture
def build(world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """The hash of a complete build whose embedder costs money from here on."""
    recipe = world.base.recipe().with_fields({BUILD_OF_EMBEDDER: "wordllama"})
    world.workspace.jobs.run(world.base.documents.build(recipe.index))
    costs = providers.may_cost
    monkeypatch.setattr(
        providers,
        "may_cost",
        lambda name, variables: name == "wordllama" or costs(name, variables),
    )
    return next(
        each.hash for each in world.base.documents.builds() if each.recipe.embedder == "wordllama"
    )


def test_an_address_can_name_every_field_that_asks() -> None:
    assert VALUES.keys() - NAMES.keys() == {BUILD_OF_EMBEDDER}


@pytest.mark.parametrize("page", ["chat.py", "runs.py"])
def test_a_guest_has_nothing_sent_by_an_address(
    page: str,
    build: str,
    visit: Callable[..., AppTest],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("COHERE_API_KEY", "k")
    secret, row = world.base.links.create("drawn")
    monkeypatch.setattr(identity, "share_secret", lambda: secret)
    sent, answered = spied_providers(monkeypatch), list[bool]()
    by_address = {name: values for name, values in VALUES.items() if name != BUILD_OF_EMBEDDER}

    @settings(max_examples=6, phases=[Phase.generate])  # shrinking would take minutes
    @given(st.fixed_dictionaries({}, optional=by_address), st.booleans())
    def nothing_is_sent(fields: dict[str, Any], other_build: bool) -> None:
        named = address(fields) | ({"build": build} if other_build else {})
        app = visit("stranger", page, kb="handbook", q=LEAVE, **named)
        if page == "chat.py":
            ask(app, LEAVE)
            answered.append("30 June" in said(app))
        assert not app.exception
        assert "unexpected" not in said(app)
        assert sent == [], named

    nothing_is_sent()
    for named in ({"build": build}, {"provider": "openai"}, {"rerank": "cohere"}, {}):
        app = visit("stranger", page, kb="handbook", q=LEAVE, **named)
        if page == "chat.py":
            answered.append("30 June" in said(ask(app, LEAVE)))
        assert sent == [], named
    assert all(answered)
    world.base.links.revoke(row.id)
