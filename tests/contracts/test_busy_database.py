"""A PostgreSQL that takes no more connections, or holds locks for long: waited for, then told."""

import io
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from queue import Queue

import psycopg
import pytest
from psycopg import sql

from rag import Settings, StorageError, Upload, Workspace
from rag.services.jobs import runner
from rag.storage.shared import database_errors
from rag.workspace import handlers
from tests.api import client
from tests.postgres import Server, serving
from tests.workspaces import QUICK, add, found

LIMIT = 8
SEARCH = "/api/v1/knowledge-bases/notes/search"


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    with serving(max_connections=LIMIT, superuser_reserved_connections=0) as server:
        yield server


@contextmanager
def opened(server: Server, home: Path, **settings: str) -> Iterator[Workspace]:
    given = {"TOUCHSTONE_DATABASE_URL": server.url(server.create()), **settings}
    workspace = Workspace(Settings.from_env(given, home=home))
    yield workspace
    workspace.close()


def connected(server: Server, name: str = "postgres") -> psycopg.Connection:
    return psycopg.connect(
        f"host=127.0.0.1 port={server.port} user=touchstone dbname={name}", autocommit=True
    )


@contextmanager
def nobody_gets_in(server: Server) -> Iterator[list[psycopg.Connection]]:
    """Every connection that a server has left, until they are closed.

    Those that were closed just before end a moment later, and leave their places.
    """
    taken, tries_in_vain = list[psycopg.Connection](), 0
    while tries_in_vain < 5:
        try:
            taken.append(connected(server))
            tries_in_vain = 0
        except psycopg.OperationalError:
            tries_in_vain += 1
            time.sleep(0.1)
    yield taken
    for connection in taken:
        connection.close()


def test_a_search_waits_for_a_connection_of_its_process(postgres, tmp_path):
    with opened(postgres, tmp_path, TOUCHSTONE_DATABASE_POOL="1") as workspace, ExitStack() as mine:
        base = workspace.create("notes", QUICK)
        add(workspace, base, {"pump.txt": "The pump leaks."})
        for _ in range(3):  # one that stays open, and two more
            mine.enter_context(workspace._services.database.read())
        release = threading.Timer(0.5, mine.close)
        release.start()
        assert found(base, "pump") == ["The pump leaks."]
        release.join()


def test_a_search_waits_for_a_connection_of_the_server(small, tmp_path):
    with opened(small, tmp_path) as workspace:
        base = workspace.create("notes", QUICK)
        add(workspace, base, {"pump.txt": "The pump leaks."})
        workspace._services.database.close()
        with nobody_gets_in(small) as taken:
            release = threading.Timer(0.5, taken[0].close)
            release.start()
            assert found(base, "pump") == ["The pump leaks."]
            release.join()


def test_who_waits_in_vain_is_told_when_to_come_again(small, tmp_path, monkeypatch):
    monkeypatch.setattr(database_errors, "_seconds", ContextVar("_seconds", default=0.5))
    with opened(small, tmp_path) as workspace:
        add(workspace, workspace.create("notes", QUICK), {"pump.txt": "The pump leaks."})
        api, asked = client(workspace), {"question": "pump"}
        assert api.post(SEARCH, json=asked).status_code == 200
        workspace._services.database.close()
        with nobody_gets_in(small):
            refused = api.post(SEARCH, json=asked)
            with pytest.raises(StorageError) as told:
                workspace.bases()
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
        for hint in (refused.json()["hint"], told.value.hint):
            assert "TOUCHSTONE_DATABASE_POOL" in hint
            assert "max_connections" in hint
        assert api.post(SEARCH, json=asked).status_code == 200


@pytest.mark.parametrize("setting", ["lock_timeout", "statement_timeout"])
@pytest.mark.parametrize("table", ["document", "job_item"])
def test_an_upload_goes_on_after_a_lock(postgres, tmp_path, monkeypatch, setting, table):
    monkeypatch.setattr(runner, "_PAUSES", (0.2,) * 30)
    with opened(postgres, tmp_path) as workspace:
        name = workspace._services.database.engine.url.database
        base = workspace.create("notes", QUICK)
        with connected(postgres, str(name)) as admin:
            statement = "ALTER DATABASE {} SET {} = '200ms'"
            admin.execute(
                sql.SQL(statement).format(sql.Identifier(str(name)), sql.Identifier(setting))
            )
            admin.execute(sql.SQL("SET {} = 0").format(sql.Identifier(setting)))
            workspace._services.database.close()  # which begins sessions with the new setting
            job = base.documents.add_text("pump.txt", "The pump leaks.")
            admin.execute("BEGIN")
            admin.execute(sql.SQL("LOCK TABLE {}").format(sql.Identifier(table)))
            done: list[str] = []
            worker = threading.Thread(
                target=lambda: done.append(workspace.jobs.run(job).status), daemon=True
            )
            worker.start()
            worker.join(0.8)
            admin.execute("COMMIT")
        worker.join(60)
        assert done == ["done"]
        assert found(base, "pump") == ["The pump leaks."]


def test_a_statement_that_always_takes_too_long_ends_its_job(postgres, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_PAUSES", (0.01,) * 3)
    with opened(postgres, tmp_path) as workspace:
        base = workspace.create("notes", QUICK)
        job = base.documents.add_text("pump.txt", "The pump leaks.")

        def slow(*_: object) -> str:
            with workspace._services.database.write() as connection:
                connection.exec_driver_sql("SET LOCAL statement_timeout = 10")
                connection.exec_driver_sql("SELECT pg_sleep(10)")
            return "done"

        monkeypatch.setattr(workspace.jobs, "_handler", lambda _kind: slow)
        ended = workspace.jobs.run(job)
        assert ended.status == "failed"
        assert "statement_timeout" in ended.message


@pytest.mark.slow
def test_the_process_of_a_job_waits_for_its_connections(small, tmp_path, monkeypatch):
    """It starts when there is none, and none of what it was to read fails."""
    monkeypatch.setattr(handlers, "LARGE", 10)
    monkeypatch.setattr(runner, "_POLL_SECONDS", 0.1)
    ends: Queue[int] = Queue()

    def left(code: int, job_id: int) -> None:
        left_by(code, job_id)
        ends.put(code)

    with opened(small, tmp_path, TOUCHSTONE_DATABASE_POOL="1") as workspace:
        left_by = workspace.jobs._left_by
        monkeypatch.setattr(workspace.jobs, "_left_by", left)
        base = workspace.create("notes", QUICK)
        files = [Upload(f"{at}.txt", io.BytesIO(b"The pump leaks. %d" % at)) for at in range(4)]
        with nobody_gets_in(small):
            job = base.documents.add_files(files)
            workspace.jobs.start()
            time.sleep(database_errors.SECONDS_OF_A_REQUEST + 5)
        assert ends.get(timeout=300) == 0
        assert workspace.jobs.get(job).status == "done"
        assert [item.status for item in workspace.jobs.items(job)] == ["added"] * 4
