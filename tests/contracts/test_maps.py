"""Maps of real builds: drawn by a job, kept in a file, brought up to date, gone with the build."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag import KnowledgeBase, PassageMap, Workspace
from rag.library.maps import project
from rag.types import Vectors
from tests.workspaces import QUICK, add, workspace_at

DOCUMENTS = {
    f"{name}.txt": "\n\n".join(f"The {name} number {row} is kept dry." for row in range(12))
    for name in ("valve", "rotor", "filter")
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = workspace_at(tmp_path / "home")
    yield opened
    opened.close()


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    made = workspace.create("kb", QUICK)
    assert set(add(workspace, made, DOCUMENTS)) == {"added"}
    return made


def draw(workspace: Workspace, base: KnowledgeBase) -> PassageMap:
    assert workspace.jobs.run(base.documents.maps.draw(QUICK.index)).status == "done"
    shown = base.documents.maps.current(QUICK.index)
    assert shown is not None
    return shown


def test_a_map_has_every_passage_with_its_document(workspace, base):
    assert base.documents.maps.current(QUICK.index) is None
    shown = draw(workspace, base)
    for info in base.documents.documents(QUICK.index):
        keys = {chunk.key for chunk in base.documents.chunks(info.id, QUICK.index)}
        mine = shown.document == shown.names.index(info.name)
        assert set(shown.keys[mine].tolist()) == keys
    assert (shown.changed, shown.outdated) == (0.0, False)
    assert 0 < shown.explained <= 1


def test_a_map_survives_the_process_and_its_loss(workspace, base):
    shown = draw(workspace, base)
    again = workspace_at(workspace.settings.home)
    found = again.base("kb").documents.maps.current(QUICK.index)
    assert found.points.tolist() == shown.points.tolist()
    [file] = (workspace.settings.home / "maps").rglob("*.npz")
    file.write_bytes(file.read_bytes()[:100])
    again.close()
    again = workspace_at(workspace.settings.home)
    assert again.base("kb").documents.maps.current(QUICK.index) is None
    assert draw(again, again.base("kb")).points.tolist() == shown.points.tolist()
    again.close()


def test_a_map_follows_the_documents(workspace, base):
    before = draw(workspace, base)
    add(workspace, base, {"pump.txt": "The pump is new here."})
    more = base.documents.maps.current(QUICK.index)
    assert len(more.keys) == len(before.keys) + 1
    assert 0 < more.changed < 0.1
    kept = np.isin(more.keys, before.keys)
    assert more.points[kept].tolist() == before.points.tolist()
    [valve] = [info for info in base.documents.documents(QUICK.index) if info.name == "valve.txt"]
    base.documents.delete_documents([valve.id])
    fewer = base.documents.maps.current(QUICK.index)
    assert "valve.txt" not in fewer.names
    assert fewer.outdated
    assert not draw(workspace, base).outdated


def test_a_question_stands_by_the_passages_it_is_like(workspace, base):
    shown = draw(workspace, base)
    placed = base.documents.maps.place(QUICK.index, shown, "The rotor number 3 is kept dry.")
    best = int(np.argmax(placed.cosines))
    hits = base.search("The rotor number 3 is kept dry.", QUICK).hits
    relevance = {hit.chunk.key: hit.relevance for hit in hits}
    assert placed.cosines[best] == pytest.approx(max(relevance.values()), abs=1e-6)
    at = np.searchsorted(np.sort(shown.keys), list(relevance))
    order = np.argsort(shown.keys)
    found = placed.cosines[order][at]
    assert found == pytest.approx(list(relevance.values()), abs=1e-6)
    if len(shown.points) > 1:
        assert np.isfinite(placed.point).all()


def test_asking_twice_draws_once(workspace, base):
    first = base.documents.maps.draw(QUICK.index)
    assert base.documents.maps.draw(QUICK.index) == first
    running = base.documents.maps.drawing(QUICK.index)
    assert running.id == first
    assert workspace.jobs.run(first).message == "12 passages drawn"
    assert base.documents.maps.drawing(QUICK.index) is None


def test_an_empty_base_cannot_be_drawn(workspace):
    empty = workspace.create("empty", QUICK)
    job = workspace.jobs.run(empty.documents.maps.draw(QUICK.index))
    assert (job.status, job.message.partition(".")[0]) == (
        "failed",
        "There are no passages to draw",
    )


def test_maps_go_with_their_build_and_base(workspace, base):
    draw(workspace, base)
    other = QUICK.with_fields({"index.chunk_size": 12}).index
    workspace.jobs.run(base.documents.build(other))
    workspace.jobs.run(base.documents.maps.draw(other))
    folder = workspace.settings.home / "maps"
    assert len(list(folder.rglob("*.npz"))) == 2
    base.documents.delete_build(other.hash)
    assert [path.name for path in folder.rglob("*.npz")] == [f"{QUICK.index.hash}-pca.npz"]
    workspace.delete("kb")
    assert list(folder.rglob("*.npz")) == []


def test_questions_stand_where_each_one_stands_alone(workspace, base):
    shown = draw(workspace, base)
    questions = ["Is the rotor number 3 kept dry?", "valve number 7"]
    placed = base.documents.maps.place_questions(QUICK.index, shown, questions)
    for at, question in enumerate(questions):
        alone = base.documents.maps.place(QUICK.index, shown, question)
        assert placed.points[at].tolist() == pytest.approx(alone.point.tolist(), abs=1e-5)
        assert placed.cosines[at] == pytest.approx(alone.cosines.max(), abs=1e-5)
        assert alone.cosines[placed.nearest[at]] == pytest.approx(alone.cosines.max(), abs=1e-5)
    assert base.documents.maps.place_questions(QUICK.index, shown, []).points.shape == (0, 2)


def _around(centre: int, seed: int) -> Vectors:
    """Vectors of 8 dimensions, shape (30, 8), far from the origin along one axis."""
    dice = np.random.default_rng(seed)
    return (dice.normal(size=(30, 8)) + 40 * np.eye(8)[centre]).astype(np.float32)


def test_two_groups_stay_apart(monkeypatch):
    # Compiling takes far longer than what is compiled then takes on so few vectors.
    monkeypatch.setattr("numba.config.DISABLE_JIT", True)
    vectors = np.concatenate([_around(0, 1), _around(1, 2)])
    keys = np.arange(len(vectors))
    points = project("umap", keys, lambda asked: vectors[asked], lambda *_told: None).points
    assert points.shape == (60, 2)
    within = np.linalg.norm(points[:30] - points[:30].mean(axis=0), axis=1).mean()
    assert np.linalg.norm(points[:30].mean(axis=0) - points[30:].mean(axis=0)) > 2 * within
