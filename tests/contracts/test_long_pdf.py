"""A PDF of a thousand pages tells how far it is, and can be stopped on the way."""

import io
import re
from pathlib import Path

import pytest

from rag import KnowledgeBase, Upload, Workspace, readers
from rag.services.jobs import reporter
from tests.sample_files import PROSE, pdf
from tests.workspaces import QUICK, workspace_at

PAGES = 1000


@pytest.fixture(scope="module")
def thousand_pages() -> bytes:
    return pdf(*(f"Page {number} of the manual.\n{PROSE}" for number in range(1, PAGES + 1)))


def _queued(home: Path, content: bytes) -> tuple[Workspace, KnowledgeBase, int]:
    workspace = workspace_at(home)
    base = workspace.create("kb", QUICK)
    return workspace, base, base.documents.add_files([Upload("manual.pdf", io.BytesIO(content))])


def _pages_read(message: str) -> int | None:
    found = re.search(r"manual\.pdf: reading ([\d,]+) of 1,000", message)
    return int(found[1].replace(",", "")) if found else None


@pytest.mark.slow
def test_progress_counts_pages_upwards_to_the_end(tmp_path, thousand_pages):
    workspace, base, job = _queued(tmp_path, thousand_pages)
    told: list[tuple[int, str]] = []

    def watch(units: int, _total: int, message: str) -> None:
        told.append((units, message))

    done = workspace.jobs.run(job, watch)
    workspace.close()
    assert (done.status, done.message) == ("done", "1 of 1 read")
    pages = [page for _, message in told if (page := _pages_read(message)) is not None]
    assert pages == sorted(pages)
    assert any(0 < page < PAGES for page in pages)
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    (document,) = base.documents.documents(QUICK.index)
    assert document.pages == PAGES


@pytest.mark.slow
def test_cancelled_half_way_it_ends_there_and_leaves_nothing(tmp_path, thousand_pages):
    workspace, base, job = _queued(tmp_path, thousand_pages)
    seen: list[int] = []

    def stop_half_way(_units: int, _total: int, message: str) -> None:
        page = _pages_read(message)
        if page is not None:
            seen.append(page)
            workspace.jobs.cancel(job)

    done = workspace.jobs.run(job, stop_half_way)
    assert done.status == "cancelled"
    assert max(seen) < PAGES
    assert base.documents.documents(QUICK.index) == []
    assert base.search("manual", QUICK).hits == ()
    workspace.close()


def test_cancelled_after_the_last_page_it_leaves_nothing(tmp_path, monkeypatch):
    workspace, base, job = _queued(tmp_path, pdf("Page 1 of the manual."))
    read = readers.read

    def cancelled(*given: object, **options: object) -> object:
        document = read(*given, **options)
        workspace.jobs.cancel(job)
        return document

    monkeypatch.setattr(reporter, "HEARTBEAT_SECONDS", 5.0)  # the next is after it is stored
    monkeypatch.setattr(readers, "read", cancelled)
    assert workspace.jobs.run(job).status == "cancelled"
    assert base.documents.documents(QUICK.index) == []
    workspace.close()
