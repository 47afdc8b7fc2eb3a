"""One upload that two workers on one PostgreSQL share: each document and vector is done once."""

import io
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from psycopg import sql

from rag import Document, JobRow, KnowledgeBase, Settings, Upload, Workspace
from rag.errors import ConnectionLost
from rag.library.documents import embedding_queue, ingest_job, ingestion
from rag.library.documents.embedding_queue import EmbeddingQueue
from rag.library.documents.remaining_time import RemainingTime
from rag.services.jobs import Jobs, runner
from rag.storage import leases
from rag.storage.leases import Claims
from rag.workspace import handlers
from rag.workspace.workspace import SubprocessLauncher, share
from tests.postgres import Server
from tests.workspaces import QUICK, found

FILES = 24
Open = Callable[[str], Workspace]


@pytest.fixture
def opened(postgres: Server, tmp_path: Path) -> Iterator[Open]:
    """Opens workspaces of one database, each with a home of its own."""
    url = postgres.url(postgres.create())
    held: list[Workspace] = []

    def open_one(name: str) -> Workspace:
        settings = Settings.from_env({"TOUCHSTONE_DATABASE_URL": url}, home=tmp_path / name)
        held.append(Workspace(settings))
        return held[-1]

    yield open_one
    for workspace in held:
        workspace.close()


def uploaded(workspace: Workspace) -> tuple[KnowledgeBase, int]:
    base = workspace.create("notes", QUICK)
    texts = {f"{at}.txt": f"Pump number {at} leaks. " * 8 for at in range(FILES)}
    files = [Upload(name, io.BytesIO(text.encode())) for name, text in texts.items()]
    return base, base.documents.add_files(files)


def test_what_one_has_claimed_nobody_else_gets(opened):
    database, other = opened("one")._services.database, opened("two")._services.database
    with Claims(other) as theirs:
        with Claims(database) as mine:
            assert mine.take(["a", "b"]) == {"a", "b"}
            assert theirs.take(["a", "b", "c"]) == {"c"}
            mine.leave(["a"])
            assert theirs.take(["a", "b"]) == {"a"}
            assert mine.take(["a", "b"]) == {"b"}
        assert theirs.take(["b"]) == {"b"}  # whoever ends, or dies, has nothing any more


def test_a_worker_that_stands_still_is_not_waited_for_for_ever(opened, monkeypatch):
    database, other = opened("one")._services.database, opened("two")._services.database
    clock = [1000.0]
    monkeypatch.setattr(leases, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with Claims(other) as theirs, Claims(database) as mine:
        assert theirs.take(["a", "b"]) == {"a", "b"}
        for passed, free in ((0, set()), (299, set()), (2, {"a"})):
            clock[0] += passed
            assert mine.take(["a"]) == free
        assert mine.take(["b"]) == set()
        theirs.leave(["a"])
        assert mine.take(["a"]) == {"a"}
        assert theirs.take(["a"]) == set()


def test_two_workers_do_each_document_and_each_text_once(opened, monkeypatch):
    one, two = opened("one"), opened("two")
    base, job = uploaded(one)
    taken: Counter[str] = Counter()
    embedded: Counter[str] = Counter()
    who: dict[str, set[str]] = {"read": set(), "embedded": set()}
    both = {what: threading.Barrier(2) for what in who}
    take, vectors_for = ingestion.Ingestion.take, embedding_queue.vectors_for

    def met(what: str) -> None:
        """Nobody goes on with the second piece before the other has begun with the first."""
        name = threading.current_thread().name
        if name not in who[what]:
            who[what].add(name)
            both[what].wait(60)

    def counted_take(self: ingestion.Ingestion, document: Document, *rest: object) -> None:
        met("read")
        taken[document.name] += 1
        take(self, document, *rest)  # type: ignore[arg-type]

    def counted_vectors(embedder: object, texts: list[str]) -> dict[bytes, bytes]:
        met("embedded")
        embedded.update(set(texts))
        return vectors_for(embedder, texts)  # type: ignore[arg-type]

    monkeypatch.setattr(ingestion.Ingestion, "take", counted_take)
    monkeypatch.setattr(embedding_queue, "vectors_for", counted_vectors)
    monkeypatch.setattr(ingestion, "_LEAST_AT_ONCE", 2)
    monkeypatch.setattr(ingestion, "_MOST_AT_ONCE", 2)
    monkeypatch.setattr(ingest_job, "_PATIENCE", 60.0)  # vectors come after reading
    owner = threading.Thread(target=one.jobs.run, args=(job,), name="owner")
    owner.start()
    while two.jobs.get(job).status != "running":
        time.sleep(0.05)
    share(two._services, job, "host:1:helper")
    owner.join(60)
    done = one.jobs.get(job)
    assert (done.status, done.message) == ("done", f"{FILES} of {FILES} read")
    assert taken == Counter(f"{at}.txt" for at in range(FILES))
    assert set(embedded.values()) == {1}
    assert len(who["read"]) == len(who["embedded"]) == 2
    assert base.documents.missing(QUICK.index) == 0
    assert "Pump number 7 leaks." in " ".join(found(two.base("notes"), "pump number 7"))


def test_a_helper_that_is_killed_takes_nothing_with_it(opened, monkeypatch):
    one, two = opened("one"), opened("two")
    base, job = uploaded(one)
    monkeypatch.setattr(handlers, "_WORTH_SHARING", -1)
    with one._services.database.write() as connection:
        ingest_job.rows.claim(connection, "elsewhere:1:owner", job)
    helper = SubprocessLauncher(two._services).shared(one.jobs.get(job), "elsewhere:2:helper")
    while all(item.status == "waiting" for item in one.jobs.items(job)):
        assert helper.poll() is None
        time.sleep(0.05)
    helper.send_signal(signal.SIGKILL)
    helper.wait(120)
    with one._services.database.write() as connection:
        ingest_job.rows.release(connection, "elsewhere:1:owner")
    assert one.jobs.run(job).message == f"{FILES} of {FILES} read"
    assert len(base.documents.documents(QUICK.index)) == FILES
    assert base.documents.missing(QUICK.index) == 0


def test_an_idle_worker_helps_until_another_job_waits(opened):
    one, two = opened("one"), opened("two")
    _base, job = uploaded(one)
    with one._services.database.write() as connection:
        ingest_job.rows.claim(connection, "elsewhere:1:owner", job)
        assert [each.id for each in ingest_job.rows.to_help(connection, "host:2:two")] == [job]
        assert ingest_job.rows.to_help(connection, "elsewhere:1:owner") == []
        assert ingest_job.rows.takes_help(connection, job)
    other = two.create("others", QUICK)
    other.documents.add_files([Upload("a.txt", io.BytesIO(b"The valve is shut."))])
    with one._services.database.read() as connection:
        assert not ingest_job.rows.takes_help(connection, job)


def test_small_jobs_are_not_shared(opened):
    one = opened("one")
    _base, job = uploaded(one)
    assert not handlers.can_be_shared(one._services, one.jobs.get(job))


def test_what_a_job_has_to_read_is_measured_where_it_is(opened, monkeypatch):
    one, two = opened("one"), opened("two")
    _base, job = uploaded(one)
    size = sum(len(f"Pump number {at} leaks. " * 8) for at in range(FILES))
    for large, shared in ((size - 1, True), (size, False)):
        monkeypatch.setattr(handlers, "LARGE", large)
        for each in (one, two):
            assert handlers.can_be_shared(each._services, each.jobs.get(job)) == shared
    assert two._services.files.present() == set()  # nothing was copied for it


def test_a_helper_that_stands_still_is_ended_after_the_job(opened, monkeypatch):
    one = opened("one")
    _base, job = uploaded(one)
    with one._services.database.write() as connection:
        ingest_job.rows.claim(connection, "elsewhere:1:owner", job)
    started: list[subprocess.Popen[bytes]] = []

    def start(_job: JobRow, _owner: str) -> subprocess.Popen[bytes]:
        with one._services.database.write() as connection:
            ingest_job.rows.finish(connection, job, "elsewhere:1:owner", "done")
        started.append(subprocess.Popen(["sleep", "1000"]))
        return started[0]

    monkeypatch.setattr(runner, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(runner, "_AGAIN_SECONDS", 0.0)
    assert Jobs(one._services.database, {}.get, shared=start)._share_job()
    assert started[0].returncode == -signal.SIGKILL


def test_another_machine_of_the_same_name_keeps_its_jobs(opened):
    one = opened("one")
    _base, job = uploaded(one)
    namesake = f"{socket.gethostname()}:999999:abcdef01"  # no process has that id here
    with one._services.database.write() as connection:
        assert ingest_job.rows.claim(connection, namesake, job) == job
        one.jobs._adopt_orphans(connection)
        assert ingest_job.rows.owners(connection) == [namesake]


def test_only_what_is_left_of_a_job_is_worth_sharing(opened, monkeypatch):
    one = opened("one")
    _base, job = uploaded(one)
    monkeypatch.setattr(handlers, "LARGE", 400)  # bytes; a file has 168 and more
    assert handlers.can_be_shared(one._services, one.jobs.get(job))
    with one._services.database.write() as connection:
        for at in range(1, FILES):
            ingest_job.rows.set_item(connection, job, at, "added")
    assert not handlers.can_be_shared(one._services, one.jobs.get(job))


def test_a_job_that_waits_for_another_worker_can_be_stopped(opened):
    one, two = opened("one"), opened("two")
    _base, job = uploaded(one)
    every = [f"item {job}/{at}" for at in range(FILES)]
    with Claims(two._services.database) as theirs:  # a worker that stands still
        assert theirs.take(every) == set(every)
        owner = threading.Thread(target=one.jobs.run, args=(job,))
        owner.start()
        while two.jobs.get(job).message != "other workers are reading":
            assert owner.is_alive()
            time.sleep(0.05)
        two.jobs.cancel(job)
        owner.join(60)
        assert not owner.is_alive()
    assert one.jobs.get(job).status == "cancelled"


def test_what_others_have_claimed_does_not_hide_what_is_left(opened, monkeypatch):
    one, two = opened("one"), opened("two")
    base, job = uploaded(one)
    with monkeypatch.context() as patched:
        patched.setattr(EmbeddingQueue, "some", lambda _self: False)
        one.jobs.run(job)
    monkeypatch.setattr(ingestion, "_LEAST_AT_ONCE", 1)
    monkeypatch.setattr(ingestion, "_MOST_AT_ONCE", 1)
    database = one._services.database
    with Claims(two._services.database) as theirs, Claims(database) as mine:
        place = ingestion.Ingestion(database, base.id, one._services.models.embedder)
        late = EmbeddingQueue(database, place, mine, RemainingTime({}))
        waiting = late.waiting()
        pieces = [f"{base.id}/{QUICK.index.hash}/{each.id}/0" for each in waiting]
        assert theirs.take(pieces[:-1]) == set(pieces[:-1])
        while late.some():
            pass
        assert [each.id for each in late.waiting()] == [each.id for each in waiting[:-1]]
        assert late.elsewhere


def test_a_connection_that_ends_fails_no_job(opened, postgres, monkeypatch):
    one = opened("one")
    take, cut = ingestion.Ingestion.take, threading.Event()

    def cut_off(self: ingestion.Ingestion, document: Document, *rest: object) -> None:
        if document.name == "7.txt" and not cut.is_set():
            cut.set()  # as when the server is started anew, or another one takes its place
            name = one._services.database.engine.url.database
            postgres.tell(
                sql.SQL(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}"
                ).format(name)
            )
        take(self, document, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ingestion.Ingestion, "take", cut_off)
    base, job = uploaded(one)
    one.jobs.start()
    goes_on = True
    while goes_on:
        time.sleep(0.05)
        with suppress(ConnectionLost):  # who asks in that very moment is cut off too
            goes_on = one.jobs.get(job).active
    assert cut.is_set()
    assert one.jobs.get(job).message == f"{FILES} of {FILES} read"
    assert base.documents.missing(QUICK.index) == 0
