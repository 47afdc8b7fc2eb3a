"""Jobs are durable, belong to one worker at a time, tell their progress and can be stopped."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import update

from rag import InvalidInput, JobRow, Jobs, Recipe, StorageError
from rag.errors import ConnectionLost
from rag.services.jobs import Reporter, runner
from rag.services.jobs.runner import machine
from rag.storage import Connection, Database, bases, tables
from rag.storage import jobs as rows
from tests.jobs import ended, submit
from tests.workspaces import database_at


@pytest.fixture
def database(home: Path, database: str) -> Iterator[Database]:
    opened = database_at(home)
    yield opened
    opened.close()


@pytest.fixture
def base_id(database: Database) -> int:
    with database.write() as connection:
        return bases.create(connection, "base", Recipe()).id


def test_those_that_wait_or_work_are_listed_oldest_first(database, base_id):
    jobs = Jobs(database, {"work": lambda _job, _reporter: "done"}.get)
    done, first, second = (submit(jobs, base_id) for _ in range(3))
    with database.write() as connection:
        other = bases.create(connection, "other", Recipe()).id
    elsewhere = submit(jobs, other)
    jobs.run(done)
    assert [job.id for job in jobs.active()] == [first, second, elsewhere]
    assert [job.id for job in jobs.active(base_id)] == [first, second]


def test_an_expected_failure_is_told_and_an_unexpected_one_gets_an_id(database, base_id):
    def expected(_job: JobRow, _reporter: Reporter) -> str:
        raise InvalidInput("No such thing.", "Try another.")

    def unexpected(_job: JobRow, _reporter: Reporter) -> str:
        raise ZeroDivisionError("secret detail")

    first = Jobs(database, {"work": expected}.get)
    assert first.run(submit(first, base_id)).message == "No such thing. Try another."
    second = Jobs(database, {"work": unexpected}.get)
    failed = second.run(submit(second, base_id))
    assert failed.status == "failed"
    assert "secret" not in failed.message


def test_a_running_job_can_be_stopped(database, base_id):
    started = threading.Event()

    def endless(_job: JobRow, reporter: Reporter) -> str:
        while True:
            started.set()
            reporter.report(1, 100, "turning")
            time.sleep(0.01)

    jobs = Jobs(database, {"work": endless}.get)
    job_id = submit(jobs, base_id)
    jobs.start()
    assert started.wait(120)
    other = Jobs(database, {}.get)
    other.cancel(job_id)
    finished = ended(jobs, job_id)
    assert finished.status == "cancelled"
    assert finished.done == 1
    jobs.close()


def test_the_job_of_a_dead_process_is_taken_over(database, base_id):
    jobs = Jobs(database, {"work": lambda _job, _reporter: "finished by another"}.get)
    job_id = submit(jobs, base_id)
    dead = f"{machine()}:999999:abcdef01"
    with database.write() as connection:
        assert rows.claim(connection, dead) == job_id
    assert jobs.run(job_id).message == "finished by another"


def test_a_job_that_someone_works_on_is_not_claimed_twice(database, base_id):
    job_id = submit(Jobs(database, {}.get), base_id)
    with database.write() as connection:
        assert rows.claim(connection, "host:1:one") == job_id
        assert rows.claim(connection, "host:2:two") is None
        assert not rows.report(connection, job_id, "host:2:two", 0, 0, "")
        assert rows.report(connection, job_id, "host:1:one", 5, 9, "going")
        assert rows.get(connection, job_id).done == 5


def test_who_waits_for_a_job_of_another_process_sees_how_far_it_is(database, base_id, monkeypatch):
    monkeypatch.setattr(runner, "HEARTBEAT_SECONDS", 0.0)
    jobs = Jobs(database, {}.get)
    job_id, owner = submit(jobs, base_id), "host:1:one"
    with database.write() as connection:
        rows.claim(connection, owner)
        rows.report(connection, job_id, owner, 5, 9, "going")
    seen = list[tuple[int, int, str]]()

    def watch(done: int, total: int, message: str) -> None:
        seen.append((done, total, message))
        with database.write() as connection:
            rows.finish(connection, job_id, owner, "done", "ready", None)

    assert jobs.run(job_id, watch).message == "ready"
    assert seen == [(5, 9, "going")]


def test_a_job_of_a_kind_that_is_gone_fails_with_a_hint(database, base_id):
    jobs = Jobs(database, {}.get)
    job = jobs.run(submit(jobs, base_id))
    assert job.status == "failed"
    assert "'work'" in job.message
    assert "changelog" in job.message


def test_who_does_a_job_itself_waits_for_nobody(database, base_id, monkeypatch):
    waits = list[float]()
    monkeypatch.setattr(runner, "time", SimpleNamespace(sleep=waits.append))
    jobs = Jobs(database, {"work": lambda _job, _reporter: "done"}.get)
    assert jobs.run(submit(jobs, base_id)).status == "done"
    assert waits == []


def test_who_lost_a_job_neither_tells_its_progress_nor_ends_it(database, base_id):
    asleep, awake = "host:1:one", "host:2:two"
    job_id = submit(Jobs(database, {}.get), base_id)
    with database.write() as connection:
        assert rows.claim(connection, asleep) == job_id
        rows.release(connection, asleep)  # as when its lease runs out
        assert rows.claim(connection, awake) == job_id
        assert rows.report(connection, job_id, awake, 7, 9, "the successor works")
        assert not rows.report(connection, job_id, asleep, 1, 9, "waking up")
        rows.finish(connection, job_id, asleep, "failed", "too late")
        job = rows.get(connection, job_id)
        assert (job.status, job.done, job.message) == ("running", 7, "the successor works")
        rows.finish(connection, job_id, awake, "done", "finished by the successor")
        assert rows.get(connection, job_id).message == "finished by the successor"


def test_a_worker_that_lost_its_job_goes_on_with_the_next(database, base_id):
    def work(job: JobRow, reporter: Reporter) -> str:
        if job.id == second:
            return "done as well"
        with database.write() as connection:
            [owner] = rows.owners(connection)
            rows.release(connection, owner)
            assert rows.claim(connection, "host:2:two", first) == first
        while not reporter.cancelled():
            time.sleep(0.01)
        reporter.report(1, 1, "never heard")
        return "never returned"

    jobs = Jobs(database, {"work": work}.get)
    first, second = submit(jobs, base_id), submit(jobs, base_id)
    jobs.start()
    assert ended(jobs, second).message == "done as well"
    jobs.close()
    assert (jobs.get(first).status, jobs.get(first).message) == ("running", "")


def test_shutting_down_gives_the_job_back(database, base_id):
    started = threading.Event()

    def patient(_job: JobRow, reporter: Reporter) -> str:
        while True:
            started.set()
            reporter.report(0, 1, "waiting")
            time.sleep(0.01)

    jobs = Jobs(database, {"work": patient}.get)
    job_id = submit(jobs, base_id)
    jobs.start()
    assert started.wait(120)
    jobs.close()
    resumed = Jobs(database, {"work": lambda _job, _reporter: "resumed"}.get)
    assert resumed.get(job_id).active
    assert resumed.run(job_id).message == "resumed"


def test_ctrl_c_is_told_as_such_where_the_job_cannot_be_handed_back(database, base_id, monkeypatch):
    def interrupted(_job: JobRow, _reporter: Reporter) -> str:
        raise KeyboardInterrupt

    def away(*_: object) -> None:
        raise StorageError("The database is away.")

    monkeypatch.setattr(rows, "give_back", away)
    jobs = Jobs(database, {"work": interrupted}.get)
    with pytest.raises(KeyboardInterrupt):
        jobs.run(submit(jobs, base_id))


def test_a_worker_outlives_a_database_that_is_away(database, base_id, monkeypatch):
    owners, failures = rows.owners, [StorageError("The database is away."), OSError("disk")]

    def away_at_first(connection: Connection) -> list[str]:
        if failures:
            raise failures.pop()
        return owners(connection)

    monkeypatch.setattr(rows, "owners", away_at_first)
    monkeypatch.setattr(runner, "_POLL_SECONDS", 0.01)
    jobs = Jobs(database, {"work": lambda _job, _reporter: "done after all"}.get)
    job_id = submit(jobs, base_id)
    jobs.start()
    assert ended(jobs, job_id).message == "done after all"
    assert failures == []
    jobs.close()


def test_a_job_whose_database_went_away_goes_on_as_long_as_it_gets_further(
    database, base_id, monkeypatch
):
    done = [1, 0, 0]  # items before the connection ends, each time

    def cut_off(job: JobRow, _reporter: Reporter) -> str:
        with database.write() as connection:
            for item in rows.items(connection, job.id)[: done.pop(0)]:
                rows.set_item(connection, job.id, item.position, "added")
        raise ConnectionLost("The server was shut down.")

    monkeypatch.setattr(runner, "_POLL_SECONDS", 0.01)
    jobs = Jobs(database, {"work": cut_off}.get)
    jobs.start()
    failed = ended(jobs, submit(jobs, base_id))
    assert (failed.status, failed.message, done) == ("failed", "The server was shut down.", [0])
    jobs.close()


def test_a_failed_job_is_counted_and_is_a_line_of_the_log(database, base_id, caplog):
    def fail(_job: JobRow, _reporter: Reporter) -> str:
        raise StorageError("The shelf is full.")

    jobs = Jobs(database, {"work": fail}.get)
    job = jobs.run(submit(jobs, base_id))
    assert job.status == "failed"
    assert jobs.failed() == {"work": 1}
    (line,) = [line for line in caplog.messages if "The shelf is full." in line]
    assert str(job.id) in line


def test_others_can_tell_whether_a_worker_lives(database):
    jobs, others = Jobs(database, {}.get), Jobs(database, {}.get)
    assert not others.attended()
    jobs.start()
    assert any(others.attended() or time.sleep(0.01) for _ in range(2000))
    jobs.close()
    assert not others.attended()


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_leases_go_by_the_clock_of_the_database(database, base_id, monkeypatch, jump):
    job_id, now = submit(Jobs(database, {}.get), base_id), time.time()
    with monkeypatch.context() as wrong, database.write() as connection:
        wrong.setattr(time, "time", lambda: now + jump)
        assert rows.claim(connection, "wrong:1:clock") == job_id
    with database.write() as connection:
        assert rows.claim(connection, "right:1:clock") is None
        assert rows.report(connection, job_id, "wrong:1:clock", 1, 2, "")


def test_a_lease_from_before_the_clock_was_set_back_does_not_hold(database, base_id):
    job_id = submit(Jobs(database, {}.get), base_id)
    with database.write() as connection:
        assert rows.claim(connection, "host:1:one") == job_id
        connection.execute(update(tables.job).values(lease=time.time() + 86400))
    with database.write() as connection:
        assert rows.claim(connection, "host:2:two") == job_id


def test_a_cancelled_job_whose_owner_died_is_never_claimed(database, base_id):
    job_id = submit(Jobs(database, {}.get), base_id)
    with database.write() as connection:
        assert rows.claim(connection, "host:1:one") == job_id
        rows.cancel(connection, job_id)
        assert rows.get(connection, job_id).status == "running"
        rows.release(connection, "host:1:one")
        assert rows.claim(connection, "host:2:two") is None
        ended = rows.get(connection, job_id)
    assert ended.status == "cancelled"


def test_a_job_whose_owners_died_twice_has_failed(database, base_id):
    job_id = submit(Jobs(database, {}.get), base_id)
    with database.write() as connection:
        for owner in ("host:1:one", "host:2:two"):
            assert rows.claim(connection, owner) == job_id
            rows.bury(connection, owner)
        assert rows.claim(connection, "host:3:three") is None
        ended = rows.get(connection, job_id)
    assert ended.status == "failed"


def test_a_death_is_forgotten_when_an_item_is_done(database, base_id):
    job_id = submit(Jobs(database, {}.get), base_id)
    with database.write() as connection:
        for owner in ("host:1:one", "host:2:two", "host:3:three"):
            assert rows.claim(connection, owner) == job_id
            rows.set_item(connection, job_id, 0, "added")
            rows.bury(connection, owner)
        assert rows.claim(connection, "host:4:four") == job_id
        rows.release(connection, "host:4:four")  # which shut down, and did not die
        assert rows.claim(connection, "host:5:five") == job_id
