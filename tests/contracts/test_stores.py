"""What every index of vectors promises, in FAISS and on a server, against brute force in numpy."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import numpy as np
import pytest

from rag import InvalidInput, InvalidRecipe, stores
from rag.protocols import VectorIndex
from rag.stores import RemoteVectorIndex, faiss, pgvector
from rag.types import Keys, Scores, Vectors
from tests.vector_server import HttpVectors, vector_server

SERVERS = ("server", "pgvector", "pgvector-hnsw")
EVERY_KIND = pytest.mark.parametrize("kind", [*stores.KINDS, *SERVERS])
IN_FAISS = pytest.mark.parametrize("kind", stores.KINDS)
DIMENSION = 24

New = Callable[[int], VectorIndex]
"""Makes an empty index for vectors of a dimension."""


@pytest.fixture(autouse=True)
def _soon_approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A size at which tests are quick."""
    monkeypatch.setattr(faiss, "SMALLEST_APPROXIMATE", 4096)
    monkeypatch.setattr(pgvector, "SMALLEST_GRAPH", 4096)


_builds = (f"build-{number}/" for number in count())


@pytest.fixture(scope="module")
def server() -> Iterator[HttpVectors]:
    with vector_server() as client:
        yield client


@pytest.fixture
def new(kind: str, request: pytest.FixtureRequest) -> New:
    if kind in SERVERS:
        server = request.getfixturevalue(kind.replace("-", "_"))
        return lambda dimension: RemoteVectorIndex.empty(server, next(_builds), dimension)
    return partial(stores.empty, kind)


def clustered(count: int, seed: int = 0, dimension: int = DIMENSION) -> tuple[Keys, Vectors]:
    """Unit vectors around a few dozen centres, as topics are, with keys in random order."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((40, dimension))
    around = centres[random.integers(0, 40, count)] + 0.6 * random.standard_normal(
        (count, dimension)
    )
    vectors = (around / np.linalg.norm(around, axis=1, keepdims=True)).astype(np.float32)
    return random.permutation(10 * count)[:count].astype(np.int64), vectors


@pytest.fixture(scope="module")
def stores_by_kind() -> dict[str, VectorIndex]:
    return {}


@pytest.fixture
def searched(
    kind: str, new: New, stores_by_kind: dict[str, VectorIndex]
) -> tuple[Keys, Vectors, VectorIndex]:
    """6,000 vectors in a store that is filled once, for tests that only search."""
    keys, vectors = clustered(6000)
    if kind not in stores_by_kind:
        stores_by_kind[kind] = filled(new, keys, vectors)
    return keys, vectors, stores_by_kind[kind]


def brute(keys: Keys, vectors: Vectors, query: Vectors, k: int) -> tuple[Keys, Scores]:
    scores = (vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    order = np.lexsort((keys, -scores))[:k]
    return keys[order], scores[order]


def filled(new: New, keys: Keys, vectors: Vectors, batch: int = 1000) -> VectorIndex:
    store = new(vectors.shape[1])
    for start in range(0, len(keys), batch):
        part = slice(start, start + batch)
        store = store.added(keys[part], vectors[part])
    store.settle()
    return store


def recall(store: VectorIndex, keys: Keys, vectors: Vectors, queries: Vectors, k: int) -> float:
    """Share of the true k nearest that are found; scores must be the true cosines."""
    found = 0
    cosine = dict(zip(keys.tolist(), range(len(keys)), strict=True))
    for query in queries:
        names, scores = store.search(query, k)
        assert len(names) == min(k, len(keys))
        rows = [cosine[name] for name in names.tolist()]
        np.testing.assert_allclose(scores, vectors[rows].astype(float) @ query, atol=1e-7)
        assert np.all(np.diff(scores) <= 0)
        found += len(np.intersect1d(names, brute(keys, vectors, query, k)[0]))
    return found / (k * len(queries))


@EVERY_KIND
def test_small_stores_are_exact(new):
    keys, vectors = clustered(600)
    store = filled(new, keys, vectors, batch=70)
    assert len(store) == 600
    for query in clustered(5, seed=1)[1]:
        for k in (1, 10, 599, 1000):
            found, expected = store.search(query, k), brute(keys, vectors, query, k)
            assert found[0].tolist() == expected[0].tolist()
            assert found[1].tolist() == expected[1].tolist()


@pytest.mark.parametrize("kind", ["flat", "server", "pgvector"])
def test_an_exact_kind_is_so_at_any_size(new):
    keys, vectors = clustered(9000)
    store = filled(new, keys, vectors)
    assert store.exact
    assert recall(store, keys, vectors, vectors[:20], 100) == 1


@pytest.mark.parametrize("kind", ["hnsw", "ivf", "pgvector-hnsw"])
def test_approximate_kinds_find_nearly_all(kind, new):
    keys, vectors = clustered(9000)
    queries = clustered(9040)[1][-40:]
    store = filled(new, keys, vectors)
    assert not store.exact
    assert kind in SERVERS or filled(new, keys[:4000], vectors[:4000]).exact
    assert recall(store, keys, vectors, queries, 100) >= 0.95


@EVERY_KIND
def test_ties_break_by_key_however_many(new):
    same = np.tile(np.eye(DIMENSION, dtype=np.float32)[0], (3000, 1))
    keys = np.random.default_rng(3).permutation(3000).astype(np.int64)
    found, scores = filled(new, keys, same).search(same[0], 7)
    assert found.tolist() == list(range(7))
    assert scores.tolist() == [1.0] * 7


@EVERY_KIND
def test_a_removed_vector_is_never_found(new):
    keys, vectors = clustered(6000)
    store = filled(new, keys, vectors)
    query = vectors[17]
    nearest = store.search(query, 300)[0]
    smaller = store.removed(np.append(nearest[:200], -5))
    found = smaller.search(query, 100)[0]
    assert len(smaller) == 5800
    assert len(found) == 100
    assert not set(found.tolist()) & set(nearest[:200].tolist())
    assert len(np.intersect1d(found, nearest[200:])) >= 95
    with pytest.raises(KeyError):
        smaller.vectors(nearest[:1])
    assert store.search(query, 300)[0].tolist() == nearest.tolist()


THREE = np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0.8, -0.6]], np.float32)


@EVERY_KIND
def test_scores_are_cosines_by_hand(new):
    store = filled(new, np.array([30, 10, 20]), THREE)
    found, scores = store.search(np.array([0.8, 0.6, 0], np.float32), 5)
    assert found.tolist() == [10, 30, 20]
    assert scores == pytest.approx([0.96, 0.8, 0.48], abs=1e-7)
    assert store.search(np.array([0, 0, 1], np.float32), 2)[0].tolist() == [10, 30]
    assert store.search(np.array([1, 0, 0], np.float32), 0)[0].tolist() == []


@EVERY_KIND
def test_vectors_are_kept_bit_for_bit(new):
    odd = np.array([[1e-40, -0.0, 1], [np.nextafter(np.float32(0.6), 1), 0.8, 0]], np.float32)
    kept = filled(new, np.array([2**62, -7]), odd).vectors(np.array([-7, 2**62]))
    assert kept.tobytes() == odd[::-1].tobytes()
    assert kept.dtype == np.float32


@EVERY_KIND
def test_readers_are_not_disturbed_by_changes(new):
    keys, vectors = clustered(600)
    before = filled(new, keys[:400], vectors[:400])
    query, expected = vectors[0], brute(keys[:400], vectors[:400], vectors[0], 30)[0].tolist()

    def read(_: int) -> bool:
        found, _scores = before.search(query, 30)
        rows = [np.flatnonzero(keys == key)[0] for key in found]
        return found.tolist() == expected and np.array_equal(before.vectors(found), vectors[rows])

    with ThreadPoolExecutor(4) as pool:
        reads = pool.map(read, range(60))
        after = before
        for start in range(0, 200, 20):
            part = slice(400 + start, 420 + start)
            after = after.removed(keys[start : start + 20]).added(keys[part], vectors[part])
            if isinstance(after, RemoteVectorIndex):
                after.snapshot.tidy()
        assert all(reads)
    assert len(after) == 400
    now = brute(keys[200:], vectors[200:], query, 30)[0].tolist()
    assert after.search(query, 30)[0].tolist() == now


@IN_FAISS
def test_a_store_that_lost_most_is_compacted(new):
    keys, vectors = clustered(6000)
    store = filled(new, keys, vectors).removed(keys[100:])
    found, expected = store.search(vectors[0], 50), brute(keys[:100], vectors[:100], vectors[0], 50)
    assert found[0].tolist() == expected[0].tolist()
    assert sum(len(segment.keys) for segment in store.segments) == 100
    assert store.removed(keys).search(vectors[0], 5)[0].tolist() == []


@IN_FAISS
def test_a_key_that_is_added_again_is_replaced(new):
    keys, vectors = clustered(500)
    store = filled(new, keys, vectors)
    twice = store.added(np.array([keys[3], keys[3]]), -vectors[3:5])
    assert len(twice) == 500
    assert twice.vectors(keys[3:4]).tolist() == (-vectors[4:5]).tolist()
    assert store.vectors(keys[3:4]).tolist() == vectors[3:4].tolist()


@EVERY_KIND
@pytest.mark.parametrize("count", [1, 40, 3000, 5500])
def test_allowed_restricts_the_search(searched, count):
    keys, vectors, store = searched
    query = clustered(1, seed=9)[1][0]
    some = np.random.default_rng(4).permutation(6000)[:count]
    found, scores = store.search(query, 30, np.append(keys[some], 10**9))
    expected = brute(keys[some], vectors[some], query, 30)
    assert np.isin(found, keys[some]).all()
    assert found.tolist() == expected[0].tolist()
    assert scores.tolist() == expected[1].tolist()


@EVERY_KIND
def test_vectors_come_back_in_the_order_asked(searched):
    keys, vectors, store = searched
    store.search(vectors[0], 1)
    asked = np.random.default_rng(2).permutation(5000)[:200]
    assert np.array_equal(store.vectors(keys[asked]), vectors[asked])
    with pytest.raises(KeyError, match="123456789"):
        store.vectors(np.array([keys[0], 123456789]))


@IN_FAISS
def test_saved_and_loaded(kind, new, tmp_path):
    keys, vectors = clustered(5200)
    store = filled(new, keys, vectors).removed(keys[:10])
    store.save(str(tmp_path))
    assert store.segments[0].index.kind == kind
    loaded = stores.load(kind, str(tmp_path))
    assert len(loaded) == 5190
    for query in vectors[:5]:
        found, expected = loaded.search(query, 40), store.search(query, 40)
        assert found[0].tolist() == expected[0].tolist()
        assert found[1].tolist() == expected[1].tolist()
    grown = loaded.added(keys[:1], vectors[:1])
    assert grown.search(vectors[0], 1)[0].tolist() == [keys[0]]


@IN_FAISS
def test_an_empty_store_is_saved_and_loaded(kind, new, tmp_path):
    new(3).save(str(tmp_path))
    assert len(stores.load(kind, str(tmp_path))) == 0


@pytest.mark.parametrize("damage", ["missing", "cut", "emptied", "other kind", "mixed"])
def test_a_damaged_folder_is_refused(damage, tmp_path):
    keys, vectors = clustered(50)
    filled(partial(stores.empty, "flat"), keys, vectors).save(str(tmp_path))
    data, names = tmp_path / "segment-0.faiss", tmp_path / "keys-0.npy"
    if damage == "missing":
        data.unlink()
    elif damage == "cut":
        data.write_bytes(data.read_bytes()[:-9])
    elif damage == "emptied":
        names.write_bytes(b"")
    elif damage == "mixed":
        np.save(names, keys[:3])
    with pytest.raises((OSError, ValueError)):
        stores.load("ivf" if damage == "other kind" else "flat", str(tmp_path))


@EVERY_KIND
def test_an_empty_store(kind, new):
    store = new(3)
    query = np.array([1, 0, 0], dtype=np.float32)
    none = np.empty(0, dtype=np.int64)
    assert len(store.added(none, np.empty((0, 3), dtype=np.float32))) == 0
    assert store.search(query, 5)[0].tolist() == []
    assert store.vectors(none).shape == (0, 3)
    assert len(store.removed(np.array([1]))) == 0
    assert store.exact or kind == "pgvector-hnsw"


@EVERY_KIND
def test_another_dimension_is_refused(new):
    keys, vectors = clustered(5)
    store = filled(new, keys, vectors)
    with pytest.raises(InvalidInput, match="25 dimensions, the index has 24"):
        store.search(np.ones(25, dtype=np.float32), 1)
    with pytest.raises(InvalidInput, match="23 dimensions"):
        store.added(keys, vectors[:, 1:])
    with pytest.raises(InvalidInput, match="4 passages came with 5 vectors"):
        store.added(keys[:4], vectors)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InvalidRecipe, match="annoy"):
        stores.empty("annoy", 3)


@EVERY_KIND
def test_threads_search_one_store(searched):
    _, vectors, store = searched
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: store.search(query, 20)[0].tolist(), vectors[:64]))
    assert found == [store.search(query, 20)[0].tolist() for query in vectors[:64]]


@IN_FAISS
def test_segments_stay_few(new):
    keys, vectors = clustered(40_000, dimension=4)
    store = filled(new, keys, vectors, batch=500)
    sizes = [segment.size for segment in store.segments]
    assert sum(sizes) == 40_000
    assert len(sizes) <= 5
