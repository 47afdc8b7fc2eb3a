"""The passages of a large document: stored and deleted in portions, and seen all at once."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from rag import KnowledgeBase, Workspace
from rag.library.documents import ingestion
from rag.storage import passages
from rag.storage.shared import segments
from rag.storage.tables import chunk, cut, vector
from tests.workspaces import QUICK, add, found, workspace_at

pytestmark = pytest.mark.usefixtures("database")
FINER = QUICK.with_fields({"index.chunk_size": 12})
LEAVE = "\n\n".join(
    f"Leave number {place} lapses after {place} days of June." for place in range(40)
)
PASSAGES = 20_000  # at least, of the document whose job is cancelled
PUMP = "The pump stops when its filter is full."


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = workspace_at(tmp_path / "home")
    yield workspace
    workspace.close()


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each document of more than three passages has a segment, in transactions of two rows."""
    monkeypatch.setattr(ingestion, "LARGE", 3)
    monkeypatch.setattr(segments, "_FIRST_ROWS", 2)
    monkeypatch.setattr(segments, "_SECONDS", 0.001)


def _count(workspace: Workspace, table: Any, *where: Any) -> int:
    with workspace._services.database.read() as connection:
        statement = select(func.count()).select_from(table).where(*where)
        return connection.execute(statement).scalar_one()


def _seen(base: KnowledgeBase) -> dict[str, Any]:
    """All that can be seen of the passages of a base, by name of its documents."""
    infos = base.documents.documents(QUICK.index)
    builds = sorted((row.hash, row.documents, row.passages) for row in base.documents.builds())
    seen: dict[str, Any] = {"builds": builds, "found": found(base, "How many days of leave?")}
    for info in infos:
        of_builds = [base.documents.chunks(info.id, recipe.index) for recipe in (QUICK, FINER)]
        seen[info.name] = (info.passages, of_builds)
    return seen


def _through_all_changes(workspace: Workspace) -> list[Any]:
    """Add, replace, edit, build, copy and delete documents; return what is seen after each."""
    base = workspace.create("here", QUICK)
    add(workspace, base, {"leave.txt": LEAVE, "pump.txt": PUMP})
    seen = [_seen(base)]
    workspace.jobs.run(base.documents.build(FINER.index))
    seen += [_seen(base)]
    add(workspace, base, {"leave.txt": f"{LEAVE}\n\nThat is all about leave."})
    seen += [_seen(base)]
    infos = {info.name: info for info in base.documents.documents(QUICK.index)}
    leave = base.documents.document(infos["leave.txt"].id)
    start = leave.text.index("Leave number 20")
    base.documents.edit_passages("leave.txt", "exclude", (start, start + 30), "")
    seen += [_seen(base)]
    workspace.jobs.run(workspace.duplicate("here", "there")[1])
    seen += [_seen(workspace.base("there"))]
    base.documents.delete_documents([leave.id])
    seen += [_seen(base), _seen(workspace.base("there"))]
    workspace.delete("there")
    base.documents.delete_build(FINER.index.hash)
    workspace._services.deletion.run()
    return [*seen, _count(workspace, chunk), _count(workspace, vector)]


def test_a_segment_is_seen_as_passages_of_its_document(workspace, tmp_path, request):
    expected = _through_all_changes(workspace)
    request.getfixturevalue("small_portions")
    other = workspace_at(tmp_path / "other")
    seen = _through_all_changes(other)
    other.close()
    assert seen == expected
    assert seen[-2:] == [1, 1]  # of the pump
    assert len(seen[0]["leave.txt"][1][0]) > 10


def test_a_job_is_cancelled_while_it_stores_one_document(workspace, tmp_path, monkeypatch):
    base = workspace.create("here", QUICK)
    add(workspace, base, {"pump.txt": PUMP})
    other = workspace_at(tmp_path / "home")
    begun, stored = threading.Event(), list[int]()

    def insert_all(*arguments: Any) -> int:
        stored.append(insert(*arguments))
        if len(stored) == 3:
            begun.set()
        return stored[-1]

    insert = passages.insert_all
    monkeypatch.setattr(passages, "insert_all", insert_all)
    text = "\n\n".join(f"Day {day}: {'it rains ' * 10}" for day in range(PASSAGES))
    job = base.documents.add_text("days", text)
    cancelling = threading.Thread(target=lambda: (begun.wait(60), other.jobs.cancel(job)))
    cancelling.start()
    ended = workspace.jobs.run(job)
    cancelling.join()
    other.close()
    assert ended.status == "cancelled"
    assert 2 * ingestion.LARGE < PASSAGES
    assert 0 < sum(stored) < PASSAGES
    assert list(_seen(base)) == ["builds", "found", "pump.txt"]
    workspace._services.deletion.run()
    assert _count(workspace, chunk) == 1
    assert _count(workspace, cut, cut.c.document_id.is_not(None)) == 0
