"""What one search computes is computed once: counted, not timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rag.knowledge_base
from rag import KnowledgeBase, Workspace
from rag.retrieval import fusion, hits, selection
from rag.services import Models
from tests.runs import handbook

QUESTION = "How many days of leave are there?"
ACTIONS: dict[str, Callable[[KnowledgeBase], object]] = {
    "search": lambda base: base.search(QUESTION, base.recipe()),
    "ask": lambda base: "".join(base.ask(QUESTION, base.recipe())),
    "explain": lambda base: base.explain(QUESTION, base.recipe()),
}


@pytest.fixture
def opened(home: Path) -> tuple[Workspace, KnowledgeBase]:
    return handbook(home)


@pytest.mark.parametrize("action", ACTIONS)
def test_threshold_and_fusion_are_computed_once(
    opened: tuple[Workspace, KnowledgeBase], action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, base = opened
    done = Counter[str]()

    def counted(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            done[name] += 1
            return compute(*given, **named)

        return wrapped

    rule = counted("rule", rag.knowledge_base.threshold_rule)
    monkeypatch.setattr(rag.knowledge_base, "threshold_rule", rule)
    monkeypatch.setattr(Models, "threshold", staticmethod(counted("read", Models.threshold)))
    fused = counted("fused", fusion.fused_scores)
    for module in (selection, hits):
        monkeypatch.setattr(module, "fused_scores", fused, raising=False)
    ACTIONS[action](base)
    assert done == {"rule": 1, "read": 1, "fused": 1}
    workspace.close()
