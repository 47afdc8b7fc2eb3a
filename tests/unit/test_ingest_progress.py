"""Uploads tell their progress truly, let small documents in first, and leave others alone."""

import io
import time

from rag import Upload
from rag.documents import ingestion
from rag.documents.ingest_job import ingest
from tests.workspaces import QUICK, add, workspace_at

LEAVE = "# Leave\n\nUnused leave may be carried over for three months.\n"
TRAVEL = "# Travel\n\nTrains are booked in second class.\n"


def test_small_documents_are_in_before_large_ones(workspace):
    base = workspace.create("handbook", QUICK)
    texts = {"a.md": LEAVE * 40, "b.md": TRAVEL, "c.md": LEAVE * 10}
    assert add(workspace, base, texts) == ["added"] * 3
    infos = base.documents.documents(QUICK.index)
    assert [info.name for info in sorted(infos, key=lambda info: info.added)] == [
        "b.md",
        "c.md",
        "a.md",
    ]


class _Told:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.messages: list[str] = []

    def report(self, done: int, total: int, message: str, seconds_left: float) -> None:
        assert seconds_left >= 0
        self.shares.append(done / total)
        self.messages.append(message)

    def cancelled(self) -> bool:
        return False

    def give_way(self) -> None:
        pass


def test_progress_is_told_within_a_document_and_never_runs_backwards(workspace):
    base = workspace.create("handbook", QUICK)
    text = "".join(f"Rule {number}: {TRAVEL}" for number in range(3000))
    uploads = [Upload("all.md", io.BytesIO(text.encode()))]
    job = workspace.jobs.get(base.documents.add_files(uploads))
    told = _Told()
    ingest(workspace._services, job, told)
    assert told.shares == sorted(told.shares)
    assert sum(message.startswith("all.md: cutting") for message in told.messages) > 2
    assert sum(message.startswith("all.md: embedding") for message in told.messages) > 3
    assert base.search("Trains are booked", QUICK).hits


def test_a_large_document_is_cut_and_embedded_in_another_process(home, monkeypatch):
    def here(*_: object) -> None:
        raise AssertionError("those who share this process wait")

    monkeypatch.setattr(ingestion, "chunks", here)
    workspace = workspace_at(home)
    base = workspace.create("handbook", QUICK)
    text = "".join(f"Rule {number}: {TRAVEL}" for number in range(20_000))
    job_id = base.documents.add_files([Upload("all.md", io.BytesIO(text.encode()))])
    workspace.jobs.start()
    while workspace.jobs.get(job_id).active:
        time.sleep(0.05)
    [item] = workspace.jobs.items(job_id)
    assert (item.status, item.reason) == ("added", "")
    assert base.search("Trains are booked", QUICK).hits
    workspace.close()
