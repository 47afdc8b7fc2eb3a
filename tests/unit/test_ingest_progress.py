"""Uploads tell their progress truly, let small documents in first, and leave others alone."""

import io
import time

from rag import Upload
from rag.library.documents import ingestion
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
