"""What was acknowledged is never lost, and what nothing refers to any more does not stay."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text

from rag import Document, KnowledgeBase, NotFound, StorageError, Upload, Workspace, readers
from rag.cli import inputs
from rag.errors import DiskFull
from rag.readers import web
from rag.storage import bases
from rag.storage import files as file_parts
from rag.storage.every_table import metadata
from rag.storage.files import Files
from rag.storage.shared import deletion as module
from rag.storage.shared import segments as portioned
from rag.storage.tables import knowledge_base
from tests.verbs import run_verb
from tests.workspaces import QUICK, add, workspace_at

LEAVE = b"# Leave\n\nUnused leave may be carried over for three months.\n"
TRAVEL = b"# Travel\n\nTrains are booked in second class.\n"


@pytest.fixture
def workspace(home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(inputs, "workspace", lambda _arguments: workspace_at(home))
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


def test_a_file_that_comes_in_survives_the_deletion_of_the_same_bytes(workspace):
    here, there = workspace.create("here", QUICK), workspace.create("there", QUICK)
    add(workspace, there, {"leave.md": LEAVE})
    slow = Interrupted(TRAVEL, deletion(workspace, there))
    job = here.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE)), Upload("b.md", slow)])
    assert outcomes(workspace, job) == [("leave.md", "added", ""), ("b.md", "added", "")]
    assert here.documents.original(names(LEAVE)) is not None


def test_so_do_questions_that_come_with_files(workspace, monkeypatch):
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
    workspace, home, monkeypatch
):
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


def test_files_whose_lease_ran_out_are_not_acknowledged(workspace, home):
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


def test_files_of_a_batch_that_fails_do_not_stay(workspace, home):
    base = workspace.create("here", QUICK)

    def fails() -> None:
        raise OSError(28, "No space left on device")

    uploads = [Upload("leave.md", io.BytesIO(LEAVE)), Upload("b.md", Interrupted(TRAVEL, fails))]
    with pytest.raises(DiskFull):
        base.documents.add_files(uploads)
    assert stored(home) == set()


BROKEN = b"%PDF-1.4 garbage" * 100


def test_nothing_stays_of_what_could_not_be_read(workspace, home):
    base = workspace.create("here", QUICK)
    assert add(workspace, base, {"leave.md": LEAVE, "broken.pdf": BROKEN}) == ["added", "failed"]
    assert stored(home) == {names(LEAVE)}
    workspace.delete("here")
    assert stored(home) == set()


def test_nothing_stays_of_a_job_that_was_cancelled(workspace, home):
    base = workspace.create("here", QUICK)
    job = base.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE))])
    assert stored(home) == {names(LEAVE)}
    workspace.jobs.cancel(job)
    assert stored(home) == set()


def test_questions_do_not_stay_as_a_file_once_they_are_imported(workspace, home):
    base = workspace.create("here", QUICK)
    questions = ("set", "q.jsonl", io.BytesIO(b'{"id": "q1", "text": "When?"}\n'))
    job = base.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE))], questions)
    assert outcomes(workspace, job) == [("leave.md", "added", "")]
    assert stored(home) == {names(LEAVE)}


class Killed(BaseException):
    """The process ends here."""


def killed(*_: object, **__: object) -> None:
    raise Killed


@pytest.mark.parametrize("whole_base", [True, False])
def test_a_deletion_that_is_killed_goes_on_at_the_next_start(
    workspace, home, monkeypatch, whole_base
):
    base = workspace.create("here", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    assert [path.name for path in (home / "indexes" / str(base.id)).iterdir()] == [QUICK.index.hash]
    ids = [info.id for info in base.documents.documents(QUICK.index)]
    with monkeypatch.context() as moment:
        if whole_base:  # its rows and files go in another thread
            moment.setattr(workspace._services.deletion, "_delete_base", killed)
            moment.setattr("threading.excepthook", lambda _: None)
            workspace.delete("here")
        else:
            moment.setattr(Path, "unlink", killed)
            with pytest.raises(Killed):
                base.documents.delete_documents(ids)
    assert len(stored(home)) == 2
    again = workspace_at(home)
    assert [info.documents for info in again.bases()] == ([] if whole_base else [0])
    started(again, lambda: not stored(home))
    assert stored(home) == set()
    assert (home / "indexes" / str(base.id) / QUICK.index.hash).exists() != whole_base
    assert again.check() == []


def test_a_deleted_base_is_gone_at_once_and_its_rows_in_portions(workspace, home, monkeypatch):
    base = workspace.create("here", QUICK)
    other = workspace.create("there", QUICK)
    for filled in (base, other):
        add(workspace, filled, {f"{n}.md": f"# Leave {n}\n\nIt is {n} days." for n in range(9)})
    deletion = workspace._services.deletion
    portions, delete_some = [], module._delete_some

    def two_portions(*given: Any) -> int:
        portions.append(delete_some(*given))
        if len(portions) == 2:
            deletion._stopped.set()
        return portions[-1]

    monkeypatch.setattr(portioned, "_FIRST_ROWS", 2)
    monkeypatch.setattr(module, "_delete_some", two_portions)
    workspace.delete("here")
    assert max(portions) <= 4
    with pytest.raises(NotFound):
        base.search("How long?", QUICK)
    assert [info.name for info in workspace.bases()] == ["there"]
    assert workspace.create("here", QUICK).id != base.id
    assert _rows(workspace, base.id) > 9
    started(workspace_at(home), lambda: _rows(workspace, base.id) == 0)
    assert _rows(workspace, base.id) == 0
    assert [info.documents for info in workspace.bases()] == [0, 9]
    assert other.search("How long?", QUICK).hits


def _rows(workspace: Workspace, base_id: int) -> int:
    """The number of rows that belong to a base, in all tables that name it."""
    tables = [table for table in metadata.sorted_tables if "base_id" in table.c]
    with workspace._services.database.read() as connection:
        hidden = connection.execute(select(knowledge_base.c.id).where(knowledge_base.c.deleted))
        return len(hidden.all()) + sum(
            connection.execute(
                select(func.count()).select_from(table).where(table.c.base_id == base_id)
            ).scalar_one()
            for table in tables
        )


def test_deleting_a_base_is_one_step(workspace, monkeypatch):
    base = workspace.create("here", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    monkeypatch.setattr(bases, "remove", killed)
    with pytest.raises(Killed):
        workspace.delete("here")
    assert [info.documents for info in workspace.bases()] == [1]


def test_a_check_tells_what_is_left_over_or_lost_and_repairs_what_can_be(workspace, home, capsys):
    base = workspace.create("here", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    code, told, _ = run_verb(capsys, "check")
    assert (code, told) == (0, {"problems": [], "left": 0, "freed": 0})
    files = Files(home / "files", workspace._services.database)
    stray = files.path("0" * 64)
    orphans = [stray, home / "maps" / "7" / "0123456789ab-pca.npz", home / "files" / ".draft-old"]
    orphans += [home / "indexes" / "7" / "0123456789ab", home / "indexes" / "7" / ".new-old"]
    for path in orphans[:3]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    for path in orphans[3:]:
        path.mkdir(parents=True)
    for path in (orphans[2], orphans[4]):
        os.utime(path, (0, 0))
    fresh = home / "files" / ".draft-new"
    fresh.write_bytes(b"")
    files.path(names(LEAVE)).unlink()
    with workspace._services.database.write() as connection:
        file_parts.forget_parts(connection, [names(LEAVE)])
    files.path(names(TRAVEL)).write_bytes(b"other bytes")
    code, told, _ = run_verb(capsys, "check")
    kinds = {each["name"]: (each["kind"], each["what"]) for each in told["problems"]}
    lost = f"files/{names(LEAVE)[:2]}/{names(LEAVE)}, the original of leave.md"
    damaged = f"files/{names(TRAVEL)[:2]}/{names(TRAVEL)}"
    assert kinds == {
        f"files/00/{'0' * 64}": ("orphaned", "file"),
        "maps/7/0123456789ab-pca.npz": ("orphaned", "map"),
        "indexes/7/0123456789ab": ("orphaned", "index"),
        "files/.draft-old": ("orphaned", "draft"),
        "indexes/7/.new-old": ("orphaned", "draft"),
        lost: ("missing", "file"),
        damaged: ("damaged", "file"),
    }
    assert (code, told["left"]) == (1, 7)
    assert all(path.exists() for path in orphans)
    code, told, _ = run_verb(capsys, "check", "--repair")
    left = {each["name"] for each in told["problems"] if not each["repaired"]}
    assert (code, left) == (1, {lost, damaged})
    assert not any(path.exists() for path in orphans)
    assert fresh.exists()
    assert add(workspace, base, {"new.md": LEAVE + b"More."}) == ["added"]


def test_a_check_leaves_alone_what_is_on_its_way(workspace, home, capsys):
    base = workspace.create("here", QUICK)
    seen: list[tuple[int, int]] = []

    def checks() -> None:
        code, told, _ = run_verb(capsys, "check", "--repair")
        seen.append((code, told["left"]))

    slow = Interrupted(TRAVEL, checks)
    job = base.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE)), Upload("b.md", slow)])
    checks()
    assert outcomes(workspace, job) == [("leave.md", "added", ""), ("b.md", "added", "")]
    assert len(seen) > 1
    assert set(seen) == {(0, 0)}


def test_files_of_an_upload_that_was_killed_go_when_their_lease_ran_out(
    workspace, home, monkeypatch
):
    base = workspace.create("here", QUICK)
    uploads = [Upload("a.md", io.BytesIO(LEAVE)), Upload("b.md", Interrupted(TRAVEL, killed))]
    with monkeypatch.context() as moment:
        moment.setattr(Files, "_settle", lambda *_: None)
        with pytest.raises(Killed):
            base.documents.add_files(uploads)
    workspace.check(repair=True)
    assert stored(home) == {names(LEAVE)}
    with workspace._services.database.write() as connection:
        connection.execute(text("UPDATE lease SET until = until - 3601"))
    started(workspace, lambda: not stored(home))
    assert stored(home) == set()


def started(workspace: Workspace, is_clean: Callable[[], bool]) -> None:
    """Lets the worker begin, until it has cleaned up."""
    workspace.jobs.start()
    for _ in range(2000):
        if is_clean():
            break
        time.sleep(0.01)
    workspace.jobs.close()
