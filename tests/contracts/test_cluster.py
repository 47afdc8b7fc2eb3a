"""A job on a Dask cluster of two worker processes stores what it would have stored without it."""

import io
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster
from sqlalchemy import text

from rag import (
    Document,
    InvalidInput,
    JobRow,
    KnowledgeBase,
    MissingDependency,
    Recipe,
    Settings,
    Upload,
    Workspace,
    readers,
)
from rag.cluster import Cluster, SpreadEmbedder, cluster, connection
from rag.errors import ProviderMisbehaved
from rag.protocols import InputType
from rag.providers.hashing import HashingEmbedder
from rag.providers.minilm import MiniLM
from rag.types import Vectors
from tests.cluster import hold, holding, programs, workers
from tests.workspaces import QUICK, found

PUMPS = {f"pump {at}.html": f"<h1>Pump {at}</h1><p>Valve {at} leaks.</p>" * 4 for at in range(9)}
FILES = {
    **PUMPS,
    "rules.md": "# Leave\n\nUnused leave may be carried over for three months.\n" * 9,
    "broken.docx": "PK\3\4 this is no document",
    "empty.html": "<p> </p>",
}
QUESTIONS = ("which valve leaks in pump 7", "how long is leave carried over")
AWAY = "tcp://127.0.0.1:1"
Opened = Callable[..., tuple[Workspace, KnowledgeBase]]


@pytest.fixture(scope="module")
def two() -> Iterator[LocalCluster]:
    with workers() as started:
        yield started


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens workspaces, each with a home of its own, on a cluster or on none."""
    held: list[Workspace] = []

    def open_one(address: str = "", recipe: Recipe = QUICK) -> tuple[Workspace, KnowledgeBase]:
        home = tmp_path / str(len(held))
        held.append(Workspace(Settings.from_env({"TOUCHSTONE_CLUSTER": address}, home=home)))
        return held[-1], held[-1].create("notes", recipe)

    yield open_one
    for workspace in held:
        workspace.close()


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process reads no file that could be sent, and embeds no passage."""
    here = HashingEmbedder.embed

    def embed(self: HashingEmbedder, texts: Sequence[str], input_type: InputType) -> Vectors:
        assert input_type == "query", "passages were embedded here"
        return here(self, texts, input_type)

    def read(path: Path, name: str, **how: object) -> Document:
        assert name == "rules.md", f"{name} was read here"
        return plainly(path, name, **how)  # type: ignore[arg-type]

    plainly = readers.read
    monkeypatch.setattr(HashingEmbedder, "embed", embed)
    monkeypatch.setattr(readers, "read", read)


def upload(base: KnowledgeBase, files: dict[str, str]) -> int:
    return base.documents.add_files(
        [Upload(name, io.BytesIO(content.encode())) for name, content in files.items()]
    )


def job_of(workspace: Workspace, base: KnowledgeBase, files: dict[str, str]) -> JobRow:
    return workspace.jobs.run(upload(base, files))


def stored(workspace: Workspace, base: KnowledgeBase) -> dict[str, object]:
    """All that a search depends on, and what the job says of each file."""
    chunks = 'SELECT document_id, cut_id, "order", start, heading, text FROM chunk ORDER BY 1, 2, 3'
    vectors = "SELECT embedder, text_hash, data FROM text_vector ORDER BY 1, 2"
    with base._database.read() as database:
        passages = [tuple(each) for each in database.execute(text(chunks))]
        embedded = [tuple(map(bytes_of, each)) for each in database.execute(text(vectors))]
    last = workspace.jobs.recent(base.id)[-1]
    items = workspace.jobs.items(last.id)
    return {
        "items": [(each.name, each.status, each.reason, each.hint, each.chunks) for each in items],
        "passages": passages,
        "vectors": embedded,
        "found": [found(base, question) for question in QUESTIONS],
        "scores": [[hit.score for hit in base.search(each, QUICK).hits] for each in QUESTIONS],
    }


def bytes_of(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


def started(workspace: Workspace, job: int) -> threading.Thread:
    thread = threading.Thread(target=workspace.jobs.run, args=(job,), name="job")
    thread.start()
    return thread


@pytest.fixture
def alone(opened: Opened) -> dict[str, object]:
    """What is stored without a cluster."""
    workspace, base = opened()
    assert job_of(workspace, base, FILES).message == "10 of 12 read, 2 failed"
    return stored(workspace, base)


@pytest.mark.slow
def test_a_cluster_gives_what_one_process_gives(two, alone, opened, nothing_here):
    workspace, base = opened(two.scheduler_address)
    job = job_of(workspace, base, FILES)
    assert (job.status, job.message) == ("done", "10 of 12 read, 2 failed")
    assert stored(workspace, base) == alone


def test_builds_of_a_sweep_are_embedded_by_workers(two, opened, request):
    sizes = [QUICK.with_fields({"index.chunk_size": size}).index for size in (12, 16)]
    workspace, base = opened()
    job_of(workspace, base, PUMPS)
    workspace.jobs.run(base.documents.build_several(sizes) or 0)
    here = stored(workspace, base)
    request.getfixturevalue("nothing_here")
    workspace, base = opened(two.scheduler_address)
    job_of(workspace, base, PUMPS)
    job = workspace.jobs.run(base.documents.build_several(sizes) or 0)
    assert (job.status, job.message) == ("done", "2 indexes built")
    assert stored(workspace, base) == here
    assert [base.documents.missing(each) for each in sizes] == [0, 0]


def test_vectors_of_the_default_model_are_the_same_to_the_last_bit(two):
    here = MiniLM()
    texts = ["Pumps leak. " * times for times in (1, 7, 2, 30, 7, 1, 12)] + ["", "ß"]
    with Cluster(two.scheduler_address, lambda: False) as there:
        spread = SpreadEmbedder("minilm", here, there).embed(texts, "document")
    assert np.array_equal(spread, here.embed(texts, "document"))
    assert there.note() == ""


def test_a_worker_with_another_model_fails_the_job_and_not_the_search(two):
    other = HashingEmbedder()
    other.id = "fake-65"
    with (
        Cluster(two.scheduler_address, lambda: False) as there,
        pytest.raises(ProviderMisbehaved, match="has the model fake-64, not fake-65"),
    ):
        SpreadEmbedder("fake", other, there).embed(["a", "b"], "document")


def test_a_worker_that_is_killed_takes_nothing_with_it(two, alone, opened, tmp_path):
    hold(two.scheduler_address, tmp_path / "held")
    workspace, base = opened(two.scheduler_address)
    job = upload(base, FILES)
    thread = started(workspace, job)
    os.kill(holding(tmp_path / "held")[0], signal.SIGKILL)
    (tmp_path / "held" / "go").touch()
    thread.join(60)
    done = workspace.jobs.get(job)
    assert (done.status, done.message) == ("done", "10 of 12 read, 2 failed")
    assert stored(workspace, base) == alone


def test_a_cancelled_job_leaves_nothing_to_do(two, opened, tmp_path):
    hold(two.scheduler_address, tmp_path / "held")
    workspace, base = opened(two.scheduler_address)
    job = upload(base, FILES)
    thread = started(workspace, job)
    holding(tmp_path / "held")
    workspace.jobs.cancel(job)
    thread.join(60)
    assert workspace.jobs.get(job).status == "cancelled"
    deadline = time.monotonic() + 30
    while two.scheduler.tasks and time.monotonic() < deadline:
        time.sleep(0.05)
    assert two.scheduler.tasks == {}
    (tmp_path / "held" / "go").touch()
    assert job_of(workspace, base, FILES).status == "done"
    assert base.documents.missing(QUICK.index) == 0


def test_a_scheduler_that_ends_leaves_the_job_to_its_process(alone, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 1.0)
    with programs(tmp_path) as (address, scheduler):
        hold(address, tmp_path / "held")
        workspace, base = opened(address)
        job = upload(base, FILES)
        thread = started(workspace, job)
        holding(tmp_path / "held")
        scheduler.kill()
        thread.join(60)
        (tmp_path / "held" / "go").touch()
    done = workspace.jobs.get(job)
    alone_now = f"; done on this computer alone: the cluster at {address} does not answer any more"
    assert (done.status, done.message) == ("done", "10 of 12 read, 2 failed" + alone_now)
    assert stored(workspace, base) == alone


def test_without_a_scheduler_a_job_is_done_here_and_says_so(alone, opened, monkeypatch, caplog):
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    workspace, base = opened(AWAY)
    with caplog.at_level(logging.WARNING):
        job = job_of(workspace, base, FILES)
    told = f"done on this computer alone: the cluster at {AWAY} does not answer"
    assert (job.status, job.message) == ("done", f"10 of 12 read, 2 failed; {told}")
    assert "Check TOUCHSTONE_CLUSTER" in caplog.text
    assert stored(workspace, base) == alone


def test_a_scheduler_without_workers_is_not_waited_for(opened, monkeypatch):
    monkeypatch.setattr(cluster, "_WITHOUT_WORKERS", 0.2)
    with workers(0) as mine:
        workspace, base = opened(mine.scheduler_address)
        job = job_of(workspace, base, PUMPS)
    assert job.message == (
        "9 of 9 read; done on this computer alone: "
        f"the cluster at {mine.scheduler_address} has no workers"
    )


def test_what_is_missing_is_told_at_the_start(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match="TOUCHSTONE_CLUSTER is not the address") as caught:
        Settings.from_env({"TOUCHSTONE_CLUSTER": "http://scheduler"}, home=tmp_path)
    assert caught.value.hint == "Write it like tcp://HOST:8786, or tls://HOST:8786."
    settings = Settings.from_env({"TOUCHSTONE_CLUSTER": AWAY}, home=tmp_path)
    monkeypatch.setattr(cluster, "find_spec", lambda _name: None)
    with pytest.raises(MissingDependency, match="needs the package distributed") as lacking:
        Workspace(settings)
    assert "pip install -r requirements-cluster.txt" in lacking.value.hint
