"""What one search computes is computed once: counted, not timed."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag import KnowledgeBase, Recipe, Workspace
from rag.retrieval import fusion, hits, selection
from rag.search import snapshot
from rag.services.services import Models
from rag.storage import Database
from tests.runs import handbook

QUESTION = "How many days of leave are there?"
ACTIONS: dict[str, Callable[[KnowledgeBase, Recipe], object]] = {
    "search": lambda base, recipe: base.search(QUESTION, recipe),
    "ask": lambda base, recipe: "".join(base.ask(QUESTION, recipe)),
    "explain": lambda base, recipe: base.explain(QUESTION, recipe),
}


@pytest.fixture
def opened(home: Path) -> tuple[Workspace, KnowledgeBase]:
    return handbook(home)


@pytest.mark.parametrize("action", ACTIONS)
def test_threshold_and_fusion_are_computed_once(opened, action, monkeypatch):
    workspace, base = opened
    done = Counter[str]()

    def counted(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            done[name] += 1
            return compute(*given, **named)

        return wrapped

    monkeypatch.setattr(snapshot, "threshold_rule", counted("rule", snapshot.threshold_rule))
    monkeypatch.setattr(Models, "threshold", staticmethod(counted("read", Models.threshold)))
    fused = counted("fused", fusion.fused_scores)
    for module in (selection, hits):
        monkeypatch.setattr(module, "fused_scores", fused, raising=False)
    ACTIONS[action](base, base.recipe())
    assert done == {"rule": 1, "read": 1, "fused": 1}
    workspace.close()


@pytest.mark.parametrize(
    ("action", "transactions"),
    [
        ("search", ["read_state", "read"]),
        ("ask", ["read_state", "read", "_read", "_read"]),
        ("explain", ["read_state", "read"]),
    ],
)
def test_the_state_is_read_in_one_transaction(opened, action, transactions, monkeypatch):
    """After the snapshot, only the passages and documents of the result are read."""
    workspace, base = opened
    readers: list[str] = []
    read = Database.read

    def recorded(database: Database) -> Any:
        caller = sys._getframe(1)
        while caller.f_globals["__name__"] in ("contextlib", "rag.storage.database"):
            assert caller.f_back is not None
            caller = caller.f_back
        readers.append(caller.f_code.co_name)
        return read(database)

    recipe = base.recipe()
    monkeypatch.setattr(Database, "read", recorded)
    base.search("Anything to open the index?", recipe)
    readers.clear()
    ACTIONS[action](base, recipe)
    assert readers == transactions
    workspace.close()
