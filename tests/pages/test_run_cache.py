"""What a page reads alike is read once while it is drawn, and afresh after that."""

import sys
from collections import Counter
from typing import Any, cast

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.shell import session
from pages.components.shell.session import cached_per_run, run_cache
from rag import KnowledgeBase
from rag.operation import operation
from tests.handbook import LEAVE, visit


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    held: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", held)
    return held


def test_a_page_reads_once_and_what_comes_after_it_reads_again():
    read = iter(range(9))
    with run_cache():
        assert [cached_per_run("a", lambda: next(read)) for _ in range(3)] == [0, 0, 0]
        assert cached_per_run("b", lambda: next(read)) == 1
    assert [cached_per_run("a", lambda: next(read)) for _ in range(2)] == [2, 3]
    with pytest.raises(StopIteration), run_cache():
        cached_per_run("c", lambda: next(iter(())))
    assert cached_per_run("a", lambda: next(read)) == 4


class _Base:
    """A knowledge base whose documents change when a test says so."""

    id, documents = 7, 1

    def version(self) -> int:
        return self.documents


def test_what_is_shared_holds_until_the_documents_change(state, monkeypatch):
    base, asked = _Base(), Counter[str]()

    @session.shared_cache(2)
    def found(_base: KnowledgeBase, name: str) -> list[str]:
        asked[name] += 1
        return [name]

    held = cast("KnowledgeBase", base)
    monkeypatch.setattr(session, "_state", lambda held: ("here", held.id, held.version()))
    assert found(held, "a") is found(held, "a")
    found(held, "b")
    found(held, "a")
    found(held, "c")  # the one that was asked for longest ago goes
    found(held, "a")
    assert asked == {"a": 1, "b": 1, "c": 1}
    found(held, "b")
    assert asked["b"] == 2
    base.documents = 2
    found(held, "b")
    assert asked["b"] == 3
    assert state == {}


def test_a_page_of_cards_asks_for_the_version_of_its_documents_once(base, monkeypatch):
    app = visit("inspector.py", q=LEAVE)
    places, asked = places_of(app), list[int]()
    versions = KnowledgeBase.version
    pages = "pages/components/shell/session.py"

    @operation("guest")
    def counted(self: KnowledgeBase) -> int:
        callers = [sys._getframe(depth).f_code.co_filename for depth in range(1, 5)]
        if any(path.endswith(pages) for path in callers):
            asked.append(self.id)
        return versions(self)

    monkeypatch.setattr(KnowledgeBase, "version", counted)
    assert places_of(app.run()) == places
    assert asked == [base.id]


def places_of(app: AppTest) -> list[str]:
    """What the cards say of where their passages stand."""
    return [each.label for each in app.button if (each.key or "").startswith("inspector_card_")]
