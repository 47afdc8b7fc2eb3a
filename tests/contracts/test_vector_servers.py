"""What every server of vectors promises, by hand; each kind is one line of ``KINDS``.

Qdrant is its client's local mode.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import count

import numpy as np
import pytest

from rag import InvalidInput, StorageError
from rag.protocols import VectorServer
from rag.storage import Database
from rag.stores import RemoteVectorIndex
from rag.stores import server as server_at
from rag.stores.pgvector import PgVectors
from rag.stores.qdrant import QdrantVectors
from tests.postgres import serving as postgresql
from tests.qdrant import local_qdrant
from tests.vector_server import vector_server

THREE = np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0.8, -0.6]], np.float32)
BUILDS = (f"build-{number}/" for number in count())


@contextmanager
def _pgvector(kind: str) -> Iterator[VectorServer]:
    with postgresql() as held, closing(Database(held.url(held.create()))) as database:
        yield PgVectors(database, kind)


KINDS: dict[str, Callable[[], AbstractContextManager[VectorServer]]] = {
    "sqlite over http": vector_server,
    "qdrant": lambda: nullcontext(QdrantVectors(local_qdrant())),
    "pgvector": lambda: _pgvector("hnsw"),
    "pgvector, exact": lambda: _pgvector("flat"),
}

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[VectorServer]:
    with KINDS[request.param]() as held:
        yield held


def test_a_server_searches_by_hand(server):
    build = next(BUILDS)
    server.upsert(build, np.array([30, 10, 20]), THREE)
    query = np.array([0.8, 0.6, 0], np.float32)
    found, scores = server.search(build, query, 2)
    assert found.tolist() == [10, 30]
    assert scores == pytest.approx([0.96, 0.8], abs=2e-7)
    found, scores = server.search(build, query, 5, np.array([20, 30, 99]))
    assert found.tolist() == [30, 20]
    assert scores == pytest.approx([0.8, 0.48], abs=2e-7)
    server.upsert(build, np.array([20, 40]), THREE[[0, 0]])
    assert server.search(build, query, 3)[0].tolist() == [10, 20, 30]
    assert server.vectors(build, np.array([20])).tobytes() == THREE[0].tobytes()
    server.delete(build, np.array([10, 99]))
    assert server.search(build, query, 1)[0].tolist() == [20]
    assert sorted(server.keys(build).tolist()) == [20, 30, 40]
    with pytest.raises(KeyError, match="10"):
        server.vectors(build, np.array([20, 10]))
    with pytest.raises(InvalidInput, match="2 dimensions"):
        server.upsert(build, np.array([1]), THREE[:1, :2])
    with pytest.raises(InvalidInput, match="2 dimensions"):
        server.search(build, query[:2], 1)


def test_a_server_keeps_builds_apart(server):
    one, two, other = (f"{base}/{next(BUILDS)}" for base in (7, 7, 77))
    server.upsert(one, np.array([1, 2]), THREE[:2])
    server.upsert(two, np.array([1]), THREE[2:, :2])
    server.upsert(other, np.array([1]), THREE[2:])
    assert server.search(one, THREE[0], 5)[0].tolist() == [1, 2]
    assert server.vectors(two, np.array([1])).tolist() == THREE[2:, :2].tolist()
    server.delete(one, np.array([1]))
    assert [server.keys(build).tolist() for build in (one, two, other)] == [[2], [1], [1]]
    server.drop("7/")
    assert [server.keys(build).tolist() for build in (one, two, other)] == [[], [], [1]]
    assert server.search(one, THREE[0], 5)[0].tolist() == []


def test_what_is_removed_leaves_the_server_when_nobody_reads_it(server):
    build = next(BUILDS)
    before = RemoteVectorIndex.empty(server, build, 3).added(np.array([1, 2, 3]), THREE)
    after = before.removed(np.array([1]))
    after.snapshot.tidy()
    assert sorted(server.keys(build).tolist()) == [1, 2, 3]
    assert after.search(THREE[0], 1)[0].tolist() == [2]
    assert before.search(THREE[0], 1)[0].tolist() == [1]
    del before
    after.snapshot.tidy()
    assert sorted(server.keys(build).tolist()) == [2, 3]
    again = after.removed(np.array([2])).added(np.array([2]), THREE[1:2])
    again.snapshot.tidy()
    assert sorted(server.keys(build).tolist()) == [2, 3]


def test_a_build_is_taken_up_where_it_was_left(server, tmp_path):
    build = next(BUILDS)
    held = RemoteVectorIndex.empty(server, build, 3).added(np.array([1, 2, 3]), THREE)
    held.removed(np.array([3])).save(str(tmp_path))
    again = RemoteVectorIndex.load(server, build, 3, str(tmp_path))
    assert len(again) == 2
    assert again.search(THREE[2], 3)[0].tolist() == [2, 1]
    again.snapshot.tidy()
    assert sorted(server.keys(build).tolist()) == [1, 2]
    server.delete(build, np.array([2]))
    with pytest.raises(ValueError, match="lost"):
        RemoteVectorIndex.load(server, build, 3, str(tmp_path))
    with pytest.raises(StorageError, match="lacks passage 2") as lost:
        again.vectors(np.array([1, 2]))
    assert "restart" in lost.value.hint


def test_ties_are_broken_by_key_where_they_are_cut(server):
    build = next(BUILDS)
    keys = np.random.default_rng(3).permutation(60)
    server.upsert(build, keys, np.repeat(THREE[:1], 60, axis=0))
    server.upsert(build, np.array([60]), THREE[1:2])
    found, scores = server.search(build, THREE[0], 7)
    assert found.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert scores == pytest.approx([1.0] * 7, abs=2e-7)
    assert server.search(build, THREE[0], 100)[0].tolist() == list(range(61))


def test_nothing_is_found_where_nothing_is_allowed(server):
    build = next(BUILDS)
    server.upsert(build, np.array([1, 2]), THREE[:2])
    none = np.array([], np.int64)
    assert server.search(build, THREE[0], 5, none)[0].tolist() == []
    assert server.search(build, THREE[0], 0)[0].tolist() == []
    assert server.search("unknown/", THREE[0], 5)[0].tolist() == []
    with pytest.raises(KeyError, match="4"):
        server.vectors("unknown/", np.array([4]))


def test_scores_are_those_of_a_scan(server):
    build, rng = next(BUILDS), np.random.default_rng(11)
    vectors = rng.standard_normal((300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keys = rng.permutation(300).astype(np.int64)
    server.upsert(build, keys, vectors)
    cosines = vectors.astype(np.float64) @ vectors[0]
    order = np.lexsort((keys, -cosines))
    found, scores = server.search(build, vectors[0], 300)
    assert found.tolist() == keys[order].tolist()
    assert scores == pytest.approx(cosines[order], abs=2e-7)
    may = keys[rng.random(300) < 0.1]
    found, _ = server.search(build, vectors[0], 5, may)
    assert found.tolist() == [key for key in keys[order].tolist() if key in set(may.tolist())][:5]
    assert server.vectors(build, keys).tobytes() == vectors.tobytes()


def test_readers_go_on_while_a_build_is_swapped(server):
    build = next(BUILDS)
    before = RemoteVectorIndex.empty(server, build, 3).added(np.array([1, 2, 3]), THREE)

    def read() -> list[list[int]]:
        return [before.search(THREE[0], 3)[0].tolist() for _ in range(15)]

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        after = before
        for key in range(4, 12):
            after = after.removed(np.array([key - 1])).added(np.array([key]), THREE[:1])
            after.snapshot.tidy()
        assert reader.result() == [[1, 2, 3]] * 15
    assert after.search(THREE[0], 5)[0].tolist() == [1, 11, 2]


def test_a_server_that_is_away_is_told():
    with pytest.raises(StorageError, match="Qdrant does not answer") as told:
        server_at("qdrant+http://127.0.0.1:9").keys("7/a/")
    assert "TOUCHSTONE_VECTORS_URL" in told.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "redis://host",
        "mongodb://host",
        "elasticsearch+https://host:9200",
        "qdrant+http://host#shards=many",
        "qdrant",
        "qdrant+file:///x",
    ],
)
def test_an_address_of_no_known_form_is_refused(url):
    with pytest.raises(InvalidInput, match="TOUCHSTONE_VECTORS_URL") as told:
        server_at(url)
    assert all(way in told.value.hint for way in ("qdrant+http://", "pgvector", "database"))
