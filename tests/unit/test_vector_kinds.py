"""``index.vector_index=auto``: flat up to a size, a graph beyond; no search waits for it."""

import json
import threading
import time
from typing import Any

import pytest

from rag import KnowledgeBase, Workspace
from rag.services.indexing import index as kinds
from rag.services.indexing import indexes
from rag.stores import faiss
from tests.workspaces import QUICK, add, found, workspace_at

AUTO = QUICK.with_fields({"search.mode": "dense"})
FLAT = AUTO.with_fields({"index.vector_index": "flat"})
WORDS = ("pump", "train", "leave", "bearing", "valve", "signal", "ticket", "platform")
LIMIT = 5
DIMENSION = 64  # of the embedder "fake"


def notes(first: int, last: int) -> dict[str, str]:
    return {f"{at}.txt": f"The {WORDS[at % 8]} number {at} runs." for at in range(first, last)}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_SCANNED", LIMIT * DIMENSION)
    monkeypatch.setattr(faiss, "SMALLEST_APPROXIMATE", 2)


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    base = workspace.create("notes", AUTO)
    add(workspace, base, notes(0, LIMIT))
    return base


def current(workspace: Workspace, base: KnowledgeBase) -> Any:
    return workspace._services.indexes.current(base.id, AUTO.index)


def kind(workspace: Workspace, base: KnowledgeBase) -> tuple[str, str, bool]:
    index = current(workspace, base)
    return index.kind, index.dense.kind, index.dense.exact


@pytest.mark.sqlite("a graph in the process; on PostgreSQL it is pgvector's")
def test_the_size_decides_and_says_so(workspace, base):
    at_most = base.documents.vector_index(AUTO.index)
    assert (at_most.kind, at_most.vectors, at_most.limit) == ("flat", LIMIT, LIMIT)
    assert at_most.headline == "Exact search (small index)."
    assert kind(workspace, base) == ("flat", "flat", True)
    add(workspace, base, notes(LIMIT, LIMIT + 1))
    beyond = base.documents.vector_index(AUTO.index)
    assert (beyond.kind, beyond.vectors, beyond.limit) == ("hnsw", 6, LIMIT)
    assert beyond.headline == "Approximate search (large index)."
    assert kind(workspace, base) == ("hnsw", "hnsw", False)  # the job that added them moved it
    trace = base.search("pump", AUTO)
    (dense,) = (stage for stage in trace.stages if stage.name == "dense")
    assert dense.note == "nearest 100 vectors, approximately"


def test_up_to_the_limit_nothing_differs_from_flat(workspace, base):
    workspace.jobs.run(base.documents.build(FLAT.index))
    for question in ("pump", "the train number 1", "which ticket"):
        mine, theirs = (base.search(question, recipe) for recipe in (AUTO, FLAT))
        assert [(hit.chunk, hit.score) for hit in mine.hits] == [
            (hit.chunk, hit.score) for hit in theirs.hits
        ]
        assert (
            [stage.note for stage in mine.stages[1:] if stage.name != "question"]
            == [  # the question is embedded once
                stage.note for stage in theirs.stages[1:] if stage.name != "question"
            ]
        )


def test_it_goes_back_when_documents_are_deleted(workspace, base):
    add(workspace, base, notes(LIMIT, LIMIT + 1))
    base.documents.delete_documents([base.documents.documents(AUTO.index)[0].id])
    workspace._services.indexes.save(base.id, AUTO.index)
    assert kind(workspace, base) == ("flat", "flat", True)
    assert len(current(workspace, base).dense) == LIMIT


@pytest.mark.sqlite("a graph in the process; on PostgreSQL it is pgvector's")
def test_a_restart_finds_the_kind_again(workspace, base, home):
    add(workspace, base, notes(LIMIT, LIMIT + 1))
    workspace.close()
    (about,) = (home / "indexes").rglob("index.json")
    assert json.loads(about.read_text())["vectors"] == "hnsw"
    again = workspace_at(home)
    assert kind(again, again.base("notes")) == ("hnsw", "hnsw", False)
    again.close()


def test_searches_go_on_while_a_graph_is_made(workspace, base, monkeypatch):
    begun, may_end = threading.Event(), threading.Event()
    copied = indexes.copied

    def slowly(*given: object) -> object:
        begun.set()
        assert may_end.wait(120)
        return copied(*given)  # type: ignore[arg-type]

    before = current(workspace, base)
    monkeypatch.setattr(indexes, "copied", slowly)
    monkeypatch.setattr(kinds, "MOST_SCANNED", (LIMIT - 1) * DIMENSION)
    scanned = found(base, "pump", AUTO)
    assert begun.wait(120)
    # Meanwhile a document comes in and another one goes.
    base.documents.delete_documents([base.documents.documents(AUTO.index)[0].id])
    after = current(workspace, base)
    assert (after.kind, len(after.dense)) == ("flat", LIMIT - 1)
    monkeypatch.setattr(kinds, "MOST_SCANNED", 1 * DIMENSION)
    may_end.set()
    waited = 0
    while current(workspace, base).kind == "flat" and waited < 300:
        time.sleep(0.1)
        waited += 1
    moved = current(workspace, base)
    assert (moved.kind, moved.version) == ("hnsw", after.version)
    assert moved.embedded_passages.tolist() == after.embedded_passages.tolist()
    assert len(moved.dense) == LIMIT - 1
    assert len(before.dense) == LIMIT  # whoever held the one before is not disturbed
    assert scanned


def test_what_is_measured_is_settled(workspace, base, monkeypatch):
    monkeypatch.setattr(kinds, "MOST_SCANNED", 1 * DIMENSION)
    whole = workspace._services.indexes.complete(base.id, AUTO.index)
    assert (whole.kind, whole.dense.settled) == ("hnsw", True)


@pytest.mark.parametrize("deleted", [False, True])
def test_only_a_build_that_is_deleted_meanwhile_is_let_go_with_its_new_graph(
    workspace, base, monkeypatch, deleted
):
    other = AUTO.with_fields({"index.chunk_size": 12})
    workspace.jobs.run(base.documents.build(other.index))
    copied = indexes.copied

    def copied_late(*given: Any) -> Any:
        if deleted:
            base.documents.delete_build(other.index.hash)
        return copied(*given)

    monkeypatch.setattr(indexes, "copied", copied_late)
    monkeypatch.setattr(kinds, "MOST_SCANNED", 1 * DIMENSION)
    moved = workspace._services.indexes.settled(base.id, other.index)
    assert (moved.kind, len(moved.dense)) == ("hnsw", LIMIT)
    kept = workspace._services.indexes._cached((base.id, other.index.hash))
    assert kept is (None if deleted else moved)
