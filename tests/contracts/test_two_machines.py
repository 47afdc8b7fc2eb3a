"""Two machines on one PostgreSQL: each has a home of its own, and nothing is lost with one."""

import hashlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag import Settings, Upload, Workspace
from rag.storage import files as file_parts
from tests.jobs import ended, until
from tests.postgres import Server
from tests.workspaces import QUICK, add, found

ROOT = Path(__file__).resolve().parents[2]
SEARCHES = 60
FILES = 12  # of each of four jobs
WORKER = """
import sys
from rag import Workspace
workspace = Workspace.from_env()
workspace.jobs.start()
print("ready", flush=True)
sys.stdin.read()
"""
SEARCHER = """
import sys
from rag import Workspace
from tests.workspaces import QUICK
workspace = Workspace.from_env()
base = workspace.base("notes")
for number in range(int(sys.argv[1])):
    hits = base.search(f"what leaks in pump {number}", QUICK).hits
    assert any("pump 0 leaks" in hit.chunk.text for hit in hits) or number, hits
    print(number, len(hits), flush=True)
"""


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.url(postgres.create())


@pytest.fixture
def machine(url: str, tmp_path: Path) -> Iterator[Callable[[str], Workspace]]:
    """Opens a workspace of a machine, by name."""
    opened: list[Workspace] = []

    def open_one(name: str) -> Workspace:
        settings = Settings.from_env({"TOUCHSTONE_DATABASE_URL": url}, home=tmp_path / name)
        opened.append(Workspace(settings))
        return opened[-1]

    yield open_one
    for workspace in opened:
        workspace.close()


def started(url: str, home: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TOUCHSTONE_DATABASE_URL": url, "TOUCHSTONE_HOME": str(home)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_file_is_read_on_another_machine(machine):
    here, there = machine("here"), machine("there")
    base = here.create("notes", QUICK)
    job = base.documents.add_files([Upload("pump.txt", io.BytesIO(b"The pump leaks."))])
    assert there.jobs.run(job).status == "done"
    assert found(base, "pump") == ["The pump leaks."]
    [info] = base.documents.documents(QUICK.index)
    for workspace in (here, there):
        original = workspace.base("notes").documents.original(info.id)
        assert original.read_bytes() == b"The pump leaks."
    third = machine("third")
    assert third.check() == []
    base.documents.delete_documents([info.id])
    with third._services.database.read() as connection:
        assert file_parts.find_stored_parts(connection, [info.id]) == set()
    assert third.base("notes").documents.original(info.id) is None


class Counted(io.RawIOBase):
    """Bytes that are made when they are read."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, size: int = -1) -> bytes:
        size = min(self.left, size if size >= 0 else self.left)
        self.left -= size
        return bytes(size)


def test_a_large_file_is_never_held_whole(machine):
    here, there = machine("here")._services.files, machine("there")._services.files
    size, most = 40 << 20, 8 << 20
    with here.arriving() as arrival:
        peak = _peak(lambda: arrival.put(Counted(size)))
        [name] = arrival.names
        fetched = _peak(lambda: there.path(name))
        assert hashlib.sha256(bytes(size)).hexdigest() == name
        assert there.place(name).stat().st_size == size
    assert max(peak, fetched) < most


def _peak(work: Callable[[], object]) -> int:
    """The most bytes that Python held at once for some work."""
    import tracemalloc

    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_killed_worker_is_taken_over_while_others_search(url, machine, tmp_path):
    here = machine("here")
    base = here.create("notes", QUICK)
    assert add(here, base, {"first.txt": "The pump 0 leaks."}) == ["added"]
    acknowledged: list[int] = []
    worker = started(url, tmp_path / "worker", WORKER)
    searchers = [started(url, tmp_path / f"s{n}", SEARCHER, str(SEARCHES)) for n in range(2)]
    try:
        assert worker.stdout.readline() == "ready\n"
        for number in range(1, 5):
            files = [
                Upload(f"{number}-{n}.txt", io.BytesIO(f"The pump {number} {n} leaks.".encode()))
                for n in range(FILES)
            ]
            acknowledged.append(base.documents.add_files(files))
        until(lambda: _some_done(here, acknowledged))
        worker.send_signal(signal.SIGKILL)
        worker.wait(120)
        here.jobs.start()
        for job in acknowledged:
            assert ended(here.jobs, job).status == "done"
        for searcher in searchers:
            told, _ = searcher.communicate(timeout=300)
            assert searcher.returncode == 0
            assert len(told.splitlines()) == SEARCHES
    finally:
        for process in (worker, *searchers):
            process.kill()
            process.communicate()
    names = {info.name for info in base.documents.documents(QUICK.index)}
    assert names == {"first.txt", *(f"{k}-{n}.txt" for k in range(1, 5) for n in range(FILES))}
    for job in acknowledged:
        assert {item.status for item in here.jobs.items(job)} == {"added"}


def _some_done(workspace: Workspace, jobs: list[int]) -> bool:
    items = [item.status for job in jobs for item in workspace.jobs.items(job)]
    return "added" in items and "waiting" in items
