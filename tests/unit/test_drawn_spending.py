"""Whoever may not spend has nothing sent to a provider, whatever recipe is drawn."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import Asker, ScopedWorkspace, TouchstoneError, Workspace, providers
from tests.api import client
from tests.unit.test_asking_fields import ASKING
from tests.workspaces import QUICK, add, workspace_at

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "index.embedder": st.sampled_from(["fake", "openai", "cohere:large"]),
    "search.rewrite": st.booleans(),
    "search.expansions": st.integers(0, 8),
    "search.hyde": st.booleans(),
    "search.rerank": st.sampled_from([None, "chat", "cohere", "jina:large", "voyage"]),
    "search.tools": st.sampled_from([[], ["wiki"]]),
    "answer.provider": st.sampled_from(["extractive", "openai", "vertex"]),
    "answer.model": st.sampled_from([None, "large"]),
    "answer.mode": st.sampled_from(["strict", "auto", "general"]),
    "answer.max_tokens": st.sampled_from([800, 9000]),
    "answer.context_tokens": st.sampled_from([4000, 90000]),
    "answer.memory": st.integers(0, 10),
    "answer.tool_calls": st.integers(0, 10),
    "answer.tools": st.sampled_from([None, [], ["wiki"]]),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = workspace_at(tmp_path)
    add(found, found.create("manuals", QUICK), {"leave.md": "Unused leave lapses in March."})
    return found


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of providers that somebody came to ask, but for those of this computer."""
    sent: list[str] = []
    for kind in ("embedder", "chat_model", "reranker"):
        make = getattr(providers, kind)

        def spied(name: str, *rest: Any, make: Any = make, **named: Any) -> Any:
            if name not in ("fake", "extractive"):
                sent.append(name)
                raise TouchstoneError("A provider is asked.")
            return make(name, *rest, **named)

        monkeypatch.setattr(providers, kind, spied)
    return sent


def test_values_are_drawn_for_every_field_that_asks() -> None:
    assert [*VALUES] == ASKING


def test_a_drawn_recipe_has_nothing_sent(workspace: Workspace, sent: list[str]) -> None:
    api = client(workspace, "read")
    _, row = workspace.base("manuals").links.create("fair", 3)
    guest = ScopedWorkspace(workspace, Asker(link=row, via="link", key_id=row.id)).base("manuals")
    key = guest.search("leave", QUICK).hits[0].chunk.key

    @settings(max_examples=15)
    @given(st.fixed_dictionaries({}, optional=VALUES))
    def nothing_is_sent(fields: dict[str, Any]) -> None:
        for address, more in (("search", {}), ("explain", {"find": "March"}), ("ask", {})):
            asked = {"question": "leave", "fields": fields} | more
            told = api.post(f"/api/v1/knowledge-bases/manuals/{address}", json=asked)
            assert (sent, told.status_code in (200, 403, 422)) == ([], True), (fields, told.text)
        recipe = QUICK.with_fields(fields)
        for act in (guest.search, guest.part, guest.ask, guest.explain):
            with suppress(TouchstoneError):
                act("leave", recipe)
        with suppress(TouchstoneError):
            guest.explain("leave", recipe).attribution(key)
        assert sent == []

    nothing_is_sent()
