"""Caches: bounded, forgetful, shared between threads; one search computes nothing twice."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import KnowledgeBase, Recipe, Stage, Trace, Workspace
from rag.protocols import InputType
from rag.retrieval import (
    Cache,
    KnownResults,
    KnownVectors,
    RememberingEmbedder,
    fusion,
    hits,
    selection,
)
from rag.search import snapshot
from rag.storage import Database
from rag.types import Vectors
from tests.clock import Clock
from tests.runs import handbook
from tests.tokenizers import Words
from tests.workspaces import workspace_at


class Counting:
    """An embedder that remembers what it was asked."""

    id, dimension, tokenizer = "counting", 2, Words()

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.kinds: list[InputType] = []

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        self.asked.append(list(texts))
        self.kinds.append(input_type)
        return np.array([[len(text), 0.0] for text in texts], np.float32).reshape(-1, 2)


def test_what_was_used_longest_ago_goes_first():
    cache = Cache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert cache.figures("x").rate == 3 / 4


def test_what_is_too_old_is_gone():
    clock = Clock()
    cache = Cache[str, int](9, clock=clock)
    cache.put("a", 1, 10)
    clock.now = 9.9
    assert cache.get("a") == 1
    clock.now = 10.0
    assert cache.get("a") is None
    assert cache.figures("x").entries == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=40))
def test_the_weight_is_never_more_than_allowed(puts):
    cache = Cache[int, int](10, weigh=lambda value: value)
    newest: dict[int, int] = {}
    for key, value in puts:
        cache.put(key, value)
        newest[key] = value
        held = {key: found for key in range(6) if (found := cache.get(key)) is not None}
        assert sum(held.values()) <= 10
        assert held.items() <= newest.items()
        assert held[key] == value


def test_a_value_that_is_too_heavy_by_itself_pushes_nothing_out():
    cache = Cache[str, int](10, weigh=lambda value: value)
    cache.put("a", 5)
    cache.put("b", 11)
    assert (cache.get("a"), cache.get("b")) == (5, None)


def test_threads_do_not_break_it():
    cache = Cache[int, int](50)

    def work(seed: int) -> None:
        for step in range(2000):
            key = (step * seed) % 97
            cache.put(key, key)
            assert cache.get(key) in (key, None)

    threads = [Thread(target=work, args=(seed,)) for seed in (3, 5, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    figures = cache.figures("x")
    assert figures.entries == 50
    assert figures.hits + figures.misses == 8000


def test_only_new_questions_are_embedded_and_none_twice():
    known, embedder = KnownVectors(), Counting()
    rows, before = known.vectors(embedder, ["a", "bb", "a"])
    assert (rows[:, 0].tolist(), before) == ([1.0, 2.0, 1.0], 0)
    rows, before = known.vectors(embedder, ["ccc", "a"])
    assert (rows[:, 0].tolist(), before) == ([3.0, 1.0], 1)
    assert embedder.asked == [["a", "bb"], ["ccc"]]
    assert set(embedder.kinds) == {"query"}
    rows[:] = 0  # what was handed out is the caller's own
    assert known.vectors(embedder, ["a"])[0].tolist() == [[1.0, 0.0]]
    none, before = known.vectors(embedder, [])
    assert (none.shape, before) == ((0, 2), 0)


def test_a_remembering_embedder_is_asked_once_for_a_sentence_and_apart_for_a_question():
    counting = Counting()
    embedder = RememberingEmbedder(counting, KnownVectors())
    assert embedder.embed(["a", "bb"], "document")[:, 0].tolist() == [1.0, 2.0]
    assert embedder.embed(["bb", "ccc"], "document")[:, 0].tolist() == [2.0, 3.0]
    assert embedder.embed(["bb"], "query")[:, 0].tolist() == [2.0]
    assert counting.asked == [["a", "bb"], ["ccc"], ["bb"]]
    assert counting.kinds == ["document", "document", "query"]
    assert (embedder.id, embedder.dimension) == (counting.id, counting.dimension)


def test_two_embedders_do_not_share_vectors():
    known, one, other = KnownVectors(), Counting(), Counting()
    other.id = "other"
    known.vectors(one, ["a"])
    assert known.vectors(other, ["a"])[1] == 0


def trace(*stages: Stage) -> Trace:
    return Trace("q", "r", 1, None, stages, (), 0.5)


def test_a_known_result_says_so_and_keeps_its_own_times():
    known, searched = KnownResults(), ("state", "q")
    stage = Stage("question", 1, 1, note="embedding of the question", seconds=0.3)
    first = known.trace(searched, lambda: trace(stage))
    again = known.trace(searched, lambda: trace())
    assert first.stages == (stage,)
    assert (again.stages[0].seconds, again.seconds) == (0.3, 0.5)
    assert known.trace(("later state", "q"), lambda: trace()).stages == ()


def test_a_result_with_a_failed_step_is_not_kept():
    known, searched = KnownResults(), ("state", "q")
    known.trace(searched, lambda: trace(Stage("rerank", 5, 5, failed=True)))
    assert known.trace(searched, lambda: trace()).stages == ()
    assert known.figures().entries == 1


QUESTION = "How many days of leave are there?"
ACTIONS: dict[str, Callable[[KnowledgeBase, Recipe], object]] = {
    "search": lambda base, recipe: base.search(QUESTION, recipe),
    "ask": lambda base, recipe: "".join(base.ask(QUESTION, recipe)),
    "explain": lambda base, recipe: base.explanations.explain(QUESTION, recipe),
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
    fused = counted("fused", fusion.fused_scores)
    for module in (selection, hits):
        monkeypatch.setattr(module, "fused_scores", fused, raising=False)
    ACTIONS[action](base, base.recipe())
    assert done == {"rule": 1, "fused": 1}
    workspace.close()


@pytest.mark.parametrize(
    ("action", "transactions"),
    [
        ("search", ["read_state", "read"]),
        ("ask", ["read_state", "read", "document", "document"]),
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


def test_a_document_that_another_process_deletes_is_gone_for_answers(opened, home):
    _, base = opened
    recipe = base.recipe()
    trace = base.search(QUESTION, recipe)
    quoted = base.answer(trace, recipe).answer.citations[0].hit
    assert not base.answer(trace, recipe).answer.note
    other = workspace_at(home).base(base.name)
    other.documents.delete_documents([quoted.chunk.document_id])
    assert quoted.document in base.answer(trace, recipe).answer.note
