"""From vectors to points: known shapes come out as they are, and nothing depends on chance."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import InvalidInput
from rag.library import maps
from rag.library.maps import MapFiles, Method, Projection, among, project
from rag.types import Vectors
from tests.unit.test_snapshots import flipped


def silent(_done: int, _total: int, _message: str) -> None:
    """Progress that nobody watches."""


def drawn(vectors: Vectors, method: Method = "pca") -> Projection:
    return project(method, np.arange(len(vectors)), lambda keys: vectors[keys], silent)


def flat(count: int, dimension: int = 8, seed: int = 1) -> Vectors:
    """Vectors that differ in two directions only, in the first three times as much."""
    dice = np.random.default_rng(seed)
    basis = np.linalg.qr(dice.normal(size=(dimension, 2)))[0].T
    return (dice.normal(size=(count, 2)) * [3.0, 1.0] @ basis + 5).astype(np.float32)


def test_what_lies_in_a_plane_is_shown_whole():
    vectors = flat(200)
    found = drawn(vectors)
    assert found.explained == pytest.approx(1.0)
    between = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    shown = np.linalg.norm(found.points[:, None] - found.points[None], axis=-1)
    assert shown == pytest.approx(between, abs=1e-3)
    assert found.points[:, 0].var() > found.points[:, 1].var()


def test_the_variance_shown_is_that_of_a_full_decomposition():
    vectors = np.random.default_rng(3).normal(size=(300, 16)).astype(np.float32)
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    assert drawn(vectors).explained == pytest.approx(values[:2].sum() / values.sum(), rel=1e-4)


def test_a_map_is_the_same_twice_and_in_blocks(monkeypatch):
    vectors = np.random.default_rng(4).normal(size=(100, 12)).astype(np.float32)
    whole = drawn(vectors)
    monkeypatch.setattr(maps, "_BLOCK", 7)
    assert drawn(vectors).points == pytest.approx(whole.points, abs=1e-4)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 99))
def test_newcomers_are_placed_by_the_same_formula(count, dimension, seed):
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    found = drawn(vectors)
    assert found.points.shape == (count, 2)
    assert np.isfinite(found.points).all()
    assert 0 <= found.explained <= 1 + 1e-9
    assert found.place(vectors) == pytest.approx(found.points, abs=1e-4)


def test_progress_is_told_and_stops_the_work():
    heard: list[tuple[int, int]] = []

    def stop(done: int, total: int, _message: str) -> None:
        heard.append((done, total))
        raise KeyboardInterrupt

    vectors = flat(50)
    with pytest.raises(KeyboardInterrupt):
        project("pca", np.arange(50), lambda keys: vectors[keys], stop)
    assert heard == [(50, 100)]


def test_nothing_to_draw_is_said():
    with pytest.raises(InvalidInput, match="no passages"):
        drawn(np.empty((0, 4), np.float32))


def test_a_newcomer_without_a_formula_stands_among_its_nearest():
    points = np.array([[0, 0], [1, 0], [9, 9]] + [[50, 50]] * 9, np.float32)
    cosines = np.array([0.9, 0.9, 0.0] + [-1.0] * 9, np.float32)
    assert among(points, cosines)[0] == pytest.approx([0.5, 0.0], abs=0.01)


def test_umap_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(InvalidInput) as caught:
        drawn(flat(20), "umap")
    assert "requirements-umap.txt" in caught.value.hint
    with pytest.raises(InvalidInput, match="10 passages"):
        drawn(flat(9), "umap")


def test_a_map_with_any_byte_changed_is_the_same_map_or_none(tmp_path):
    dice = np.random.default_rng(3)
    points, axes = (dice.random((rows, 2)).astype(np.float32) for rows in (8, 3))
    files = MapFiles(tmp_path)
    drawn = Projection("pca", np.arange(8), points, axes[:, 0], axes.T, 0.5)
    files.save(1, "build", drawn)
    path = files.path(1, "build", "pca")
    content = path.read_bytes()
    wrong = []
    for place in range(len(content)):
        path.write_bytes(flipped(place / max(len(content) - 1, 1))(content))
        loaded = files.load(1, "build", "pca")
        if loaded is not None and not np.array_equal(loaded.points, points):
            wrong.append(place)
    assert wrong == []
