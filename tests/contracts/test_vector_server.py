"""A knowledge base that lives on a server of vectors."""

import gc
import io
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import KnowledgeBase, Recipe, StorageError, Upload, Workspace
from rag.services.indexing.servers import Servers
from rag.stores import RemoteVectorIndex
from rag.stores.qdrant import QdrantVectors
from tests.qdrant import local_qdrant
from tests.runs import SET, VECTORS, handbook
from tests.vector_server import HttpVectors, vector_server
from tests.workspaces import add, workspace_at

THREE = np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0.8, -0.6]], np.float32)
BUILDS = (f"build-{number}/" for number in count())
QUESTION = "May unused leave be carried over when the bearing is dry?"
HYBRID = VECTORS.with_fields({"search.mode": "hybrid", "search.candidates": 3, "search.top_k": 2})
GRID = {"search.b": [0.0, 0.75], "search.k1": [0.9, 1.2], "search.threshold": [None, 0.3]}
RECIPES = (
    VECTORS,
    HYBRID,
    HYBRID.with_fields({"search.mmr": 0.5, "search.feedback": 2}),
    HYBRID.with_fields({"search.documents": ["*.txt"]}),
)


@pytest.fixture(scope="module")
def server() -> Iterator[HttpVectors]:
    with vector_server() as client:
        yield client


def test_a_server_that_is_away_is_told():
    with vector_server() as server:
        held = RemoteVectorIndex.empty(server, "b", 3).added(np.array([1, 2, 3]), THREE)
    fewer = held.removed(np.array([1]))
    del held
    fewer.snapshot.tidy()  # what is gone stays; searches would go on
    for ask in (lambda: fewer.search(THREE[0], 1), lambda: fewer.added(np.array([4]), THREE[:1])):
        with pytest.raises(StorageError, match="does not answer"):
            ask()


NOTES = {
    f"note-{number}.txt": f"The {name} is greased and carried over in {month}."
    for number, (name, month) in enumerate(
        [("rotor", "May"), ("valve", "June"), ("bearing", "July"), ("hotel", "May")]
    )
}


def opened(home: Path, servers: Servers | None = None) -> Workspace:
    workspace, base = handbook(home, servers=servers)
    assert set(add(workspace, base, NOTES)) == {"added"}
    return workspace


@pytest.fixture
def servers(server: HttpVectors) -> Servers:
    server.drop("")
    return Servers(server)


@pytest.fixture
def served(home: Path, servers: Servers) -> Iterator[Workspace]:
    workspace = opened(home / "served", servers)
    yield workspace
    workspace.close()


def figures(workspace: Workspace) -> dict[str, Any]:
    """Every figure that rests on vectors, of a handbook."""
    base = workspace.base("handbook")
    return {
        "hits": [_hits(base, recipe) for recipe in RECIPES],
        "standings": [_standings(base, recipe) for recipe in RECIPES],
        "map": _map(workspace, base),
        "runs": [_run(base, recipe) for recipe in RECIPES],
        "sweep": base.tuning.sweep(SET, GRID, HYBRID, [1, 3]).figures.tolist(),
    }


def _hits(base: KnowledgeBase, recipe: Recipe) -> list[Any]:
    hits = base.search(QUESTION, recipe).hits
    return [(hit.chunk.key, hit.rank, hit.score, hit.relevance, dict(hit.parts)) for hit in hits]


def _standings(base: KnowledgeBase, recipe: Recipe) -> list[Any]:
    explainer = base.explanations.explain(QUESTION, recipe)
    keys = [
        chunk.key
        for info in base.documents.documents(recipe.index)
        for chunk in base.documents.chunks(info.id, recipe.index)
    ]
    stands = [explainer.standing(key) for key in keys]
    tried = [explainer.changes(key) for key in keys[::4]]  # each takes dozens of searches
    return [tried, *((found.figures, found.summary, found.steps) for found in stands)]


def _map(workspace: Workspace, base: KnowledgeBase) -> list[Any]:
    assert workspace.jobs.run(base.documents.maps.draw(VECTORS.index)).status == "done"
    shown = base.documents.maps.current(VECTORS.index)
    placed = base.documents.maps.place(VECTORS.index, shown, QUESTION)
    tables = shown.keys, shown.points, placed.point, placed.cosines
    return [table.tolist() for table in tables]


def _run(base: KnowledgeBase, recipe: Recipe) -> Any:
    found = base.runs.evaluate(SET, recipe, (1, 3))
    return found.run.metrics, found.results


def test_a_base_on_a_server_has_the_figures_of_faiss(home, served, server):
    plain = opened(home / "plain")
    assert figures(served) == figures(plain)
    for workspace in (served, plain):
        base = workspace.base("handbook")
        held = {info.name: info.id for info in base.documents.documents(VECTORS.index)}
        gc.collect()  # no cycle holds what was there before
        base.documents.delete_documents([held["pump.txt"]])
        assert add(workspace, base, {"rotor.txt": "It is dry when unused."}) == ["added"]
    assert figures(served) == figures(plain)
    assert {"upsert", "delete", "search", "vectors"} <= set(server.asked)
    plain.close()


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
def test_a_base_on_qdrant_finds_what_faiss_finds(home):
    served = opened(home / "served", Servers(QdrantVectors(local_qdrant())))
    plain = opened(home / "plain")
    for workspace in (served, plain):
        base = workspace.base("handbook")
        held = {info.name: info.id for info in base.documents.documents(VECTORS.index)}
        base.documents.delete_documents([held["pump.txt"]])
        assert add(workspace, base, {"rotor.txt": "It is dry when unused."}) == ["added"]
    for recipe in RECIPES:
        one, two = (_hits(workspace.base("handbook"), recipe) for workspace in (served, plain))
        assert [hit[:2] for hit in one] == [hit[:2] for hit in two]
        assert [hit[2] for hit in one] == pytest.approx([hit[2] for hit in two], abs=1e-6)
    served.close()
    plain.close()


def test_nothing_asks_a_server_for_all(served, servers, server):
    server.deepest, base = 0, served.base("handbook")
    assert len(server.keys(_build(server))) > 2 * HYBRID.search.candidates
    keys = server.keys(_build(server)).tolist()
    ranks = [
        base.explanations.explain(QUESTION, HYBRID).standing(key).figures.dense_rank for key in keys
    ]
    assert sorted(ranks) == list(range(1, len(keys) + 1))
    _map(served, base)
    _run(base, HYBRID)
    assert server.deepest == HYBRID.search.candidates


def test_a_restart_sends_nothing_again(served, servers, server, home):
    before = _hits(served.base("handbook"), HYBRID)
    server.asked.clear()
    again = workspace_at(home / "served", servers)
    assert _hits(again.base("handbook"), HYBRID) == before
    assert server.asked == ["keys", "search", "vectors"]
    again.close()


def test_a_server_that_lost_vectors_gets_them_back(served, servers, server, home):
    base = served.base("handbook")
    before, keys = _hits(base, VECTORS), server.keys(_build(server))
    server.delete(_build(server), keys[:3])
    with pytest.raises(StorageError, match="lacks passage"):
        base.explanations.explain(QUESTION, VECTORS).standing(int(keys[0]))
    again = workspace_at(home / "served", servers)
    assert _hits(again.base("handbook"), VECTORS) == before
    assert sorted(server.keys(_build(server))) == sorted(keys)
    again.close()


def test_documents_are_taken_while_the_server_is_away(home):
    with vector_server() as server:
        workspace = opened(home / "served", Servers(server))
    base = workspace.base("handbook")
    job = base.documents.add_files([Upload("rotor.txt", io.BytesIO(b"The rotor is dry."))])
    assert workspace.jobs.run(job).status == "done"
    assert "rotor.txt" in {info.name for info in base.documents.documents(VECTORS.index)}
    with pytest.raises(StorageError, match="does not answer"):
        base.search(QUESTION, VECTORS)
    workspace.close()


def test_builds_leave_the_server_with_their_base(served, server):
    base = served.base("handbook")
    other = VECTORS.with_fields({"index.chunk_size": 12})
    served.jobs.run(base.documents.build(other.index))
    assert len(server.builds()) == 2
    base.documents.delete_build(other.index.hash)
    assert _build(server).startswith(f"{base.id}/{VECTORS.index.hash}/")
    served.delete("handbook")
    assert server.builds() == []


def _build(server: HttpVectors) -> str:
    [build] = server.builds()
    return build
