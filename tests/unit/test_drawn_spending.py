"""Whoever may not spend has nothing sent to a provider, whatever recipe is drawn."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import SCOPES, Principal, ScopedWorkspace, Settings, TouchstoneError, Workspace
from tests.api import client, spoken
from tests.costly_fields import VALUES, spied_providers
from tests.unit.test_spending import ASKING
from tests.workspaces import QUICK, stocked, surroundings


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A base, and keys of the services that are free without one."""
    stocked(tmp_path, {"leave.md": "Unused leave lapses in March."}, name="manuals")[0].close()
    keys = {"TOUCHSTONE_DECISIONS_API_KEY": "one", "TOUCHSTONE_SYSTEMONE_API_KEY": "two"}
    return Workspace(Settings.from_env(surroundings(tmp_path, **keys)))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of providers that somebody came to ask."""
    return spied_providers(monkeypatch)


def test_values_are_drawn_for_every_field_that_asks():
    assert [*VALUES] == ASKING


def test_a_drawn_recipe_has_nothing_sent(workspace, sent):
    api = client(workspace, *(scope for scope in SCOPES if scope != "ask"))
    _, row = workspace.base("manuals").access.create_link("fair", 3)
    guest = ScopedWorkspace(workspace, Principal(link=row, via="link", key_id=row.id)).base(
        "manuals"
    )
    key = guest.search("leave", QUICK).hits[0].chunk.key

    @settings(max_examples=15)
    @given(st.fixed_dictionaries({}, optional=VALUES))
    def nothing_is_sent(fields: dict[str, Any]) -> None:
        recipe = QUICK.with_fields(fields)
        some, whole = {"fields": fields}, {"recipe": recipe.model_dump(mode="json")}
        for address, more in (
            *(("search", some), ("explain", some | {"find": "March"}), ("ask", some)),
            *(("search", whole), ("explain", whole | {"find": "March"}), ("ask", whole)),
            ("explain", {"against": fields}),
        ):
            asked = {"question": "leave", **more}
            told = api.post(f"/api/v1/knowledge-bases/manuals/{address}", json=asked)
            assert (sent, told.status_code in (200, 403, 422)) == ([], True), (fields, told.text)
        for act in (guest.search, guest.explanations.part, guest.ask, guest.explanations.explain):
            with suppress(TouchstoneError):
                act("leave", recipe)
        with suppress(TouchstoneError):
            guest.explanations.explain("leave", recipe).attribution(key)
        assert sent == []

    nothing_is_sent()


def test_a_drawn_recipe_has_nothing_sent_by_tools_of_mcp(workspace, sent):
    """Tools take no recipe; whoever sends one with their arguments spends nothing by it."""
    tools = {
        "search": {"query": "leave"},
        "fetch": {"id": "1:x@0"},
        "ask": {"question": "leave"},
        "explain": {"question": "leave", "words": "March"},
    }
    with client(workspace, "read") as api:
        listed = spoken(api, "tools/list")[1]["result"]["tools"]
        named = {tool["name"]: tool["inputSchema"]["properties"] for tool in listed}
        assert [name for name in named if name in tools] == [*tools]
        takes = {name for name, arguments in named.items() if "fields" in arguments}
        assert takes == {"evaluate", "try_recipe", "diagnose", "gate", "save_recipe"}

        @settings(max_examples=8)
        @given(st.fixed_dictionaries({}, optional=VALUES))
        def nothing_is_sent(fields: dict[str, Any]) -> None:
            recipe = QUICK.with_fields(fields).model_dump(mode="json")
            for name, asked in tools.items():
                for more in ({"fields": fields}, {"recipe": recipe}, fields):
                    call = {"name": name, "arguments": {**asked, **more}}
                    _, told = spoken(api, "tools/call", call)
                    refused = name in ("ask", "fetch")
                    assert (sent, told["result"]["isError"]) == ([], refused), (fields, told)

        nothing_is_sent()


def test_a_drawn_recipe_has_nothing_sent_by_experiments_of_mcp(workspace, sent):
    """A token without the scope ask measures what the saved recipe may cost, and no more."""
    base = workspace.base("manuals")
    base.questions.create_set("policies")
    base.questions.add_question("policies", "Who pays lunch?", answerable=False)
    tools = ("evaluate", "try_recipe", "diagnose", "gate", "save_recipe")
    asked = {"reason": "To see what it costs.", "minimums": {"recall@5": 0.5}}
    with client(workspace, "read", "experiment", "recipe") as api:

        @settings(max_examples=8)
        @given(st.fixed_dictionaries({}, optional=VALUES))
        def nothing_is_sent(fields: dict[str, Any]) -> None:
            for name in tools:
                call = {"name": name, "arguments": {**asked, "fields": fields}}
                _, told = spoken(api, "tools/call", call)
                assert (sent, "result" in told) == ([], True), (name, fields, told)

        nothing_is_sent()
