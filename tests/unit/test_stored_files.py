"""What was acknowledged is never lost, and what nothing refers to any more does not stay."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from rag import Document, KnowledgeBase, Upload, Workspace, readers
from rag.errors import StorageError
from rag.readers import web
from tests.workspaces import QUICK, add, workspace_at

LEAVE = b"# Leave\n\nUnused leave may be carried over for three months.\n"
TRAVEL = b"# Travel\n\nTrains are booked in second class.\n"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return workspace_at(home)


class Interrupted(io.BytesIO):
    """Content during whose arrival something else happens."""

    def __init__(self, content: bytes, happens: Callable[[], None]) -> None:
        super().__init__(content)
        self._happens = happens

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() == 0:
            self._happens()
        return super().read(size)


def names(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def stored(home: Path) -> set[str]:
    return {path.name for path in (home / "files").rglob("*") if path.is_file()}


def deletion(workspace: Workspace, base: KnowledgeBase) -> Callable[[], None]:
    """What another visitor of the same home does meanwhile: deletes every document of a base."""
    other = workspace_at(workspace.settings.home).base(base.name).documents

    def happens() -> None:
        other.delete_documents([info.id for info in other.documents(QUICK.index)])

    return happens


def outcomes(workspace: Workspace, job: int) -> list[tuple[str, str, str]]:
    workspace.jobs.run(job)
    return [(item.name, item.status, item.reason) for item in workspace.jobs.items(job)]


def test_a_file_that_comes_in_survives_the_deletion_of_the_same_bytes(workspace: Workspace) -> None:
    here, there = workspace.create("here", QUICK), workspace.create("there", QUICK)
    add(workspace, there, {"leave.md": LEAVE})
    slow = Interrupted(TRAVEL, deletion(workspace, there))
    job = here.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE)), Upload("b.md", slow)])
    assert outcomes(workspace, job) == [("leave.md", "added", ""), ("b.md", "added", "")]
    assert here.documents.original(names(LEAVE)) is not None


def test_so_do_questions_that_come_with_files(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = b'{"id": "q1", "text": "When does leave lapse?"}\n'
    here, there = workspace.create("here", QUICK), workspace.create("there", QUICK)
    add(workspace, there, {"questions.txt": questions})
    happens = deletion(workspace, there)
    submit = workspace.jobs.submit

    def slow_submit(*given: Any) -> int:
        happens()
        return submit(*given)

    monkeypatch.setattr(workspace.jobs, "submit", slow_submit)
    told = ("set", "questions.jsonl", io.BytesIO(questions))
    job = here.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE))], told)
    assert outcomes(workspace, job) == [("leave.md", "added", "")]
    assert here.questions.named("set").questions == 1


def test_a_page_that_was_fetched_survives_the_deletion_of_the_same_bytes(
    workspace: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = workspace.create("here", QUICK), workspace.create("there", QUICK)
    add(workspace, there, {"page.md": LEAVE})
    happens = deletion(workspace, there)
    address = "http://a.example/page.md"
    page = web.Fetched(LEAVE, address, address, "page.md", "text/markdown")
    monkeypatch.setattr(web, "fetch", lambda *_, **__: page)
    read = readers.read

    def slow_read(*given: Any, **options: Any) -> Document:
        happens()
        return read(*given, **options)

    monkeypatch.setattr(readers, "read", slow_read)
    job = here.documents.add_urls([address])
    assert outcomes(workspace, job) == [(address, "added", "")]
    assert stored(home) == {names(LEAVE)}


def test_files_whose_lease_ran_out_are_not_acknowledged(workspace: Workspace, home: Path) -> None:
    base = workspace.create("here", QUICK)
    database = workspace_at(home)._services.database

    def forgotten() -> None:
        with database.write() as connection:
            connection.execute(text("DELETE FROM lease"))

    uploads = [
        Upload("leave.md", io.BytesIO(LEAVE)),
        Upload("b.md", Interrupted(TRAVEL, forgotten)),
    ]
    with pytest.raises(StorageError, match="took too long"):
        base.documents.add_files(uploads)
    assert workspace.jobs.recent(base.id) == []
    assert stored(home) == set()


def test_files_of_a_batch_that_fails_do_not_stay(workspace: Workspace, home: Path) -> None:
    base = workspace.create("here", QUICK)

    def fails() -> None:
        raise OSError(28, "No space left on device")

    uploads = [Upload("leave.md", io.BytesIO(LEAVE)), Upload("b.md", Interrupted(TRAVEL, fails))]
    with pytest.raises(StorageError, match="No space left"):
        base.documents.add_files(uploads)
    assert stored(home) == set()
