"""What the server does beside its visitors."""

import gc
import threading
import tomllib

import pytest

from pages.components.shell import warm_up
from rag import KnowledgeBase, Recipe, Trace
from tests.rooms import ROOT
from tests.workspaces import QUICK, add, workspace_at


class _Stop(threading.Event):
    """Stops after a few waits, and counts them."""

    waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1
        return self.waits > 3


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that the worker would be started."""
    calls = list[int]()
    monkeypatch.setattr(warm_up, "start_work", lambda: calls.append(1))
    return calls


def test_garbage_is_collected_now_and_then_and_not_after_every_rerun(monkeypatch, started):
    stop, collected = _Stop(), list[int]()
    monkeypatch.setattr(warm_up, "_stopped", stop)
    monkeypatch.setattr(warm_up, "_load", lambda: None)
    monkeypatch.setattr(gc, "collect", lambda: collected.append(gc.get_freeze_count()) or 0)
    before = gc.get_freeze_count()
    warm_up.warm_up()
    assert collected[0] == before  # once before what is loaded is set aside
    assert [count > before for count in collected[1:]] == [True] * 3
    assert started == [1] * 3
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["runner"]["postScriptGC"] is False
    assert config["server"]["fileWatcherType"] == "none"


def test_a_workspace_that_cannot_be_opened_does_not_end_the_collections(
    monkeypatch, started, caplog
):
    def broken() -> None:
        raise OSError("the disk is full")

    stop = _Stop()
    monkeypatch.setattr(warm_up, "_stopped", stop)
    monkeypatch.setattr(warm_up, "opened", broken)
    warm_up.warm_up()
    assert "could not be warmed up" in caplog.text
    assert (stop.waits, started) == (4, [1] * 4)


def test_the_first_search_asks_no_model_that_rewrites_or_ranks(tmp_path, monkeypatch):
    workspace, asked = workspace_at(tmp_path), list[Recipe]()
    base = workspace.create("notes", QUICK.with_fields({"search.rerank": "jina"}))
    add(workspace, base, {"pump.md": "The pump."})
    search = KnowledgeBase.search

    def recorded(self: KnowledgeBase, question: str, recipe: Recipe) -> Trace:
        asked.append(recipe)
        return search(self, question, recipe)

    monkeypatch.setattr(KnowledgeBase, "search", recorded)
    workspace.warm_up()
    assert asked == [Recipe(index=QUICK.index)]
