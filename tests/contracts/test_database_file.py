"""The database as a file: who may read it, whether all of it is there, and that reading needs no
right to write."""

import _thread
import json
import logging
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rag import KnowledgeBase, Settings, StorageError, Workspace
from rag.__main__ import main
from rag.storage import Connection, Database
from rag.storage.shared import deletion
from rag.storage.sqlite_file import JOURNAL_LOST
from tests.verbs import output_of
from tests.workspaces import DATABASE, QUICK, add, database_at, workspace_at

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.sqlite("about the file, its journal and its rights")
FILES = {f"{name}.md": f"The {name} is serviced in June.\n" for name in ("pump", "oven")}
LABEL = {"document": "pump.md", "quote": "pump is serviced"}
QUESTION = {"id": "q1", "text": "When is the pump serviced?", "evidence": [LABEL]}
READING = [
    ["search", "notes", "pump"],
    ["ask", "notes", "When is the pump serviced?"],
    ["explain", "notes", "pump", "--find", "June"],
    ["runs", "notes"],
    ["builds", "notes"],
]
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.workspaces import QUICK, add, workspace_at

workspace = workspace_at(Path(sys.argv[1]))
add(workspace, workspace.create("notes", QUICK), {"pump.md": "The pump."})
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def told(caplog: pytest.LogCaptureFixture, home: Path) -> bool:
    """Whether a start says that the journal was lost."""
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        workspace_at(home).close()
    return JOURNAL_LOST in caplog.text


def interrupted(database: Database) -> None:
    """Ctrl+C while a transaction waits for a row of a statement."""
    with database.write() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.create_function("interrupt", 0, _thread.interrupt_main)
        connection.exec_driver_sql("SELECT interrupt() UNION ALL SELECT 1")


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl+C raises KeyboardInterrupt, also where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupted_transaction_lets_go_of_the_database(tmp_path):
    """Its statement lives as long as the traceback, and would keep the database locked."""
    with closing(database_at(tmp_path)) as database:
        with pytest.raises(KeyboardInterrupt) as stopped:
            interrupted(database)
        with database.write() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
        assert stopped.tb is not None


def test_a_new_home_is_its_owners_alone(tmp_path):
    home = tmp_path / "new" / "home"
    before = os.umask(0o002)
    try:
        workspace = Workspace(Settings.from_env({}, home=home))
    finally:
        os.umask(before)
    add(workspace, workspace.create("notes", QUICK), FILES)
    assert mode(home) == 0o700
    assert [mode(home / f"{DATABASE}{end}") for end in ("", "-wal", "-shm")] == [0o600] * 3


def test_a_copy_of_an_open_database_without_its_journal_is_told_until_it_is_accepted(
    tmp_path, caplog, capsys
):
    live, copy = tmp_path / "live", tmp_path / "copy"
    workspace = workspace_at(live)
    add(workspace, workspace.create("notes", QUICK), FILES)
    copy.mkdir()
    shutil.copy(live / DATABASE, copy)
    assert told(caplog, copy)
    assert told(caplog, copy)
    check = ("check", "--home", copy)
    assert output_of(capsys, *check, code=1)["problems"][0]["name"] == JOURNAL_LOST
    output_of(capsys, *check, "--repair")
    assert not told(caplog, copy)
    assert [info.name for info in workspace.bases()] == ["notes"]
    assert not told(caplog, live)


@pytest.mark.parametrize("end", ["killed", pytest.param("exit", marks=pytest.mark.thorough)])
def test_no_journal_is_missed_after_a_process_that_ended_or_was_killed(tmp_path, caplog, end):
    home = tmp_path / "home"
    command = [sys.executable, "-c", KILLED, str(home), end]
    ended = subprocess.run(command, cwd=ROOT, check=False).returncode
    assert ended == (-signal.SIGKILL if end == "killed" else 0)
    assert (home / f"{DATABASE}-wal").exists() == (end == "killed")
    assert not told(caplog, home)
    assert [info.documents for info in workspace_at(home).bases()] == [1]


def test_a_copy_of_a_closed_database_is_whole(tmp_path, caplog):
    home, copy = tmp_path / "home", tmp_path / "copy"
    first, second = workspace_at(home), workspace_at(home)
    add(first, first.create("notes", QUICK), FILES)
    for workspace in (first, second):
        workspace.close()
    copy.mkdir()
    shutil.copy(home / DATABASE, copy)
    assert not told(caplog, copy)
    assert [info.documents for info in workspace_at(copy).bases()] == [2]


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A home with a run, that this process may read and not write; also where it is root's."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    home = folder / "home"
    handbook(home)
    for verb in READING:  # what they import is root's perhaps
        assert main([*verb, "--home", str(home)]) == 0
    for path in (home, *home.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield home
    os.seteuid(user)
    for path in (home, *home.rglob("*")):
        with suppress(FileNotFoundError):  # the database takes its last files away meanwhile
            path.chmod(0o755)
    shutil.rmtree(folder)


def handbook(home: Path) -> None:
    workspace = workspace_at(home)
    base = workspace.create("notes", QUICK)
    add(workspace, base, FILES)
    base.questions.import_file("set", "set.jsonl", json.dumps(QUESTION).encode())
    base.runs.evaluate("set", QUICK)
    base.recipes.save(QUICK)
    workspace.close()


@pytest.mark.parametrize("verb", READING)
def test_a_home_that_may_only_be_read_answers(read_only, capsys, verb):
    code = main([*verb, "--home", str(read_only), "--json"])
    told = capsys.readouterr()
    assert (code, told.err) == (0, "")
    assert "pump.md" in told.out or verb[0] in ("runs", "builds")


def test_a_home_that_may_only_be_read_says_so_when_it_is_written_to(read_only):
    with pytest.raises(StorageError, match="readonly") as raised:
        workspace_at(read_only).create("more", QUICK)
    assert "may be written to" in raised.value.hint


def _filled(home: Path) -> tuple[Workspace, KnowledgeBase]:
    workspace = workspace_at(home)
    base = workspace.create("here", QUICK)
    words = "\n\n".join(f"Zorblax number {number} is kept for ten years." for number in range(4000))
    add(workspace, base, {f"{letter}.md": f"# {letter}\n\n{words}" for letter in "abcd"})
    return workspace, base


def test_deletion_gives_room_back_and_leaves_no_words(tmp_path, monkeypatch):
    portions, give_back = list[int](), Database.give_back

    def counted(self: Database, connection: Connection, pages: int) -> None:
        portions.append(pages)
        give_back(self, connection, pages)

    monkeypatch.setattr(Database, "give_back", counted)
    monkeypatch.setattr(deletion, "_KEPT_PAGES", 10)
    workspace, base = _filled(tmp_path)
    file = tmp_path / DATABASE
    workspace.close()
    full = file.stat().st_size
    assert b"Zorblax" in file.read_bytes()
    workspace = workspace_at(tmp_path)
    base = workspace.base("here")
    base.documents.delete_documents([info.id for info in base.documents.documents(QUICK.index)])
    workspace._services.deletion.run()  # on a busy machine, the first turn was too short
    workspace.close()
    assert file.stat().st_size < full / 2
    assert b"Zorblax" not in file.read_bytes()
    assert len(portions) < 40


def test_an_older_file_gives_room_back_once_it_was_compacted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(deletion, "_KEPT_PAGES", 10)
    workspace, _ = _filled(tmp_path)
    file = tmp_path / DATABASE
    workspace.close()
    with closing(sqlite3.connect(file)) as older:
        older.execute("PRAGMA auto_vacuum = NONE")
        older.execute("VACUUM")
    full = file.stat().st_size
    workspace = workspace_at(tmp_path)
    workspace.delete("here")
    workspace.close()
    assert file.stat().st_size >= full
    workspace = workspace_at(tmp_path)
    add(workspace, workspace.create("other", QUICK), {"a.md": "# A\n\nOne."})
    workspace.close()
    told = output_of(capsys, "check", "--compact", "--home", str(tmp_path))
    assert full - file.stat().st_size >= told["freed"] > full / 2
    assert [info.documents for info in workspace_at(tmp_path).bases()] == [1]
    with closing(sqlite3.connect(file)) as compacted:
        assert compacted.execute("PRAGMA auto_vacuum").fetchone() == (2,)


def test_a_new_connection_does_not_wait_for_a_writer(tmp_path):
    database = database_at(tmp_path)
    with database.write() as writer:
        writer.exec_driver_sql("PRAGMA user_version")
        database.engine.dispose()  # the next one is opened anew
        started = time.monotonic()
        with database.read() as reader:
            assert reader.exec_driver_sql("PRAGMA auto_vacuum").scalar() == 2
        assert time.monotonic() - started < 10  # it would be refused after 30
