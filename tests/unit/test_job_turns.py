"""A long job gives way, between two items, to a job of another knowledge base that waits."""

import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rag import Document, JobRow, Jobs, Recipe, Upload, Workspace
from rag.library.documents.ingestion import Ingestion, Stored
from rag.services.jobs import Reporter, reporter
from rag.services.jobs.reporter import TURN_SECONDS
from rag.storage import Database, bases
from rag.storage import jobs as rows
from tests.clock import Clock
from tests.jobs import Unknown, Work, ended
from tests.workspaces import QUICK, add, database_at, workspace_at

pytestmark = pytest.mark.usefixtures("database")

ITEMS = [(f"{n}.txt", {}) for n in range(4)]


@pytest.fixture
def stored(home: Path, database: str) -> Iterator[Database]:
    opened = database_at(home)
    yield opened
    opened.close()


@pytest.fixture
def base_ids(stored: Database) -> tuple[int, int]:
    with stored.write() as connection:
        one, two = (bases.create(connection, name, Recipe()).id for name in ("one", "two"))
    return one, two


class Worker:
    """Does items, each of which takes ``seconds``, and keeps the order in which they were done."""

    def __init__(self, database: Database, seconds: float) -> None:
        self.clock = Clock()
        self.done: list[tuple[int, int]] = []
        self.after: Callable[[], None] = lambda: None
        self._database = database
        self._seconds = seconds
        self.jobs = Jobs(database, {"work": self._work}.get, clock=self.clock)

    def _work(self, job: JobRow, reporter: Reporter) -> str:
        with self._database.read() as connection:
            items = rows.items(connection, job.id)
        for item in items:
            if item.status == "waiting":
                reporter.report(item.position, len(items), item.name)
                with self._database.write() as connection:
                    rows.set_item(connection, job.id, item.position, "added")
                self.clock.sleep(self._seconds)
                self.done.append((job.id, item.position))
                self.after()
                reporter.give_way()
        return "all done"

    def submit(self, base_id: int, count: int = 4) -> int:
        return self.jobs.submit(base_id, "Working", Work(), ITEMS[:count])

    def work(self, *job_ids: int) -> list[JobRow]:
        """Lets the worker go until jobs are over."""
        self.jobs.start()
        over = [ended(self.jobs, job_id) for job_id in job_ids]
        self.jobs.close()
        return over


def test_jobs_of_two_bases_are_done_in_turns_and_nothing_twice(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    worker = Worker(stored, TURN_SECONDS / 2)
    large, small = worker.submit(base_ids[0]), worker.submit(base_ids[1], 3)
    over = worker.work(large, small)
    assert [(job.status, job.message) for job in over] == [("done", "all done")] * 2
    assert worker.done == [
        *((large, 0), (large, 1)),
        *((small, 0), (small, 1)),
        *((large, 2), (large, 3)),
        (small, 2),
    ]


@pytest.mark.parametrize("seconds", [TURN_SECONDS / 5, 0.0])
def test_a_job_goes_on_until_its_time_is_up(
    stored: Database, base_ids: tuple[int, int], seconds: float
) -> None:
    worker = Worker(stored, seconds)
    first, second = worker.submit(base_ids[0]), worker.submit(base_ids[1])
    worker.work(first, second)
    assert worker.done == [(job, place) for job in (first, second) for place in range(4)]


def test_a_job_gives_way_to_no_other_one_of_its_base(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    worker = Worker(stored, TURN_SECONDS)
    first, second = worker.submit(base_ids[0]), worker.submit(base_ids[0])
    worker.work(first, second)
    assert worker.done == [(job, place) for job in (first, second) for place in range(4)]


def test_whoever_waits_for_a_job_of_its_own_does_all_of_it(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    worker = Worker(stored, TURN_SECONDS)
    mine, other = worker.submit(base_ids[0]), worker.submit(base_ids[1])
    assert worker.jobs.run(mine).status == "done"
    assert worker.done == [(mine, place) for place in range(4)]
    assert worker.jobs.get(other).status == "queued"


def test_a_job_gives_way_only_to_one_that_would_come_first(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    jobs = Jobs(stored, {}.get)
    mine, at_work, waits = (jobs.submit(base, "w", Work()) for base in (*base_ids, base_ids[1]))
    with stored.write() as connection:
        assert not rows.others_come_first(connection, mine)
        assert rows.claim(connection, "host:1:one", mine) == mine
        assert rows.others_come_first(connection, mine)
        assert rows.claim(connection, "host:2:two", at_work) == at_work
        # The other base has a worker, and would have two.
        assert not rows.others_come_first(connection, mine)
        rows.give_way(connection, at_work, "host:2:two", 0, 0)
        assert rows.others_come_first(connection, mine)
        for job_id in (at_work, waits):
            rows.cancel(connection, job_id)
        assert not rows.others_come_first(connection, mine)


def test_what_a_job_came_to_stays_while_it_waits_for_its_turn(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    owner = "host:1:one"
    job_id = Jobs(stored, {}.get).submit(base_ids[0], "Working", Work(), ITEMS)
    with stored.write() as connection:
        assert rows.claim(connection, owner) == job_id
        rows.report(connection, job_id, owner, 1, 4, "0.txt: reading", 30.0)
        rows.give_way(connection, job_id, owner, 2, 4, {"copied": 2})
        waits = rows.get(connection, job_id)
        assert (waits.status, waits.done, waits.total, waits.message) == ("queued", 2, 4, "")
        assert (waits.seconds_left, waits.finished) == (None, None)
        assert rows.result(connection, job_id) == {"copied": 2}
        assert rows.owners(connection) == []
        rows.give_way(connection, job_id, owner, 0, 4)  # of one that is not its owner's any more
        assert rows.get(connection, job_id).done == 2


def test_giving_way_is_no_death_of_an_owner_and_others_may_go_on(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    job_id = Jobs(stored, {}.get).submit(base_ids[0], "Working", Work(), ITEMS)
    with stored.write() as connection:
        for number in range(5):
            owner = f"host:{number}:a"
            assert rows.claim(connection, owner) == job_id
            rows.give_way(connection, job_id, owner, 0, 4)
            rows.bury(connection, owner)
        assert rows.get(connection, job_id).status == "queued"


def test_a_job_that_waits_for_its_turn_is_cancelled_at_once(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    worker = Worker(stored, TURN_SECONDS)
    large, small = worker.submit(base_ids[0]), worker.submit(base_ids[1], 1)

    def cancel() -> None:
        if worker.done[-1][0] == small:
            assert worker.jobs.get(large).status == "queued"
            worker.jobs.cancel(large)
            assert worker.jobs.get(large).status == "cancelled"

    worker.after = cancel
    worker.work(small)
    assert worker.done == [(large, 0), (small, 0)]


def test_a_job_that_is_cancelled_as_its_turn_ends_is_cancelled(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    worker = Worker(stored, TURN_SECONDS)
    large, small = worker.submit(base_ids[0]), worker.submit(base_ids[1], 1)
    worker.after = partial(worker.jobs.cancel, large)
    over = worker.work(large, small)
    assert [job.status for job in over] == ["cancelled", "done"]
    assert worker.done == [(large, 0), (small, 0)]


def test_the_time_left_counts_the_turns_of_others(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    jobs = Jobs(stored, {}.get)
    mine, _, _ = (jobs.submit(base, "w", Work()) for base in (*base_ids, base_ids[0]))
    with stored.write() as connection:
        third = bases.create(connection, "three", Recipe()).id
        assert rows.claim(connection, "host:1:one", mine) == mine
        assert rows.seconds_per_second_of_work(connection) == 2.0  # each second turn is its own
        jobs_of_third = rows.create(connection, third, "work", "w", {})
        assert rows.seconds_per_second_of_work(connection) == 3.0
        assert rows.claim(connection, "host:2:two", jobs_of_third) == jobs_of_third
        assert rows.seconds_per_second_of_work(connection) == 1.5  # two workers for three bases


@pytest.mark.parametrize("gives_way", [True, False])
def test_the_time_left_is_that_of_the_work_where_a_job_gives_no_way(
    stored: Database, base_ids: tuple[int, int], gives_way: bool
) -> None:
    heard, go_on = threading.Event(), threading.Event()

    def work(_job: JobRow, reporter: Reporter) -> str:
        if gives_way:
            reporter.give_way()
        reporter.report(1, 4, "reading", 1000.0)
        heard.set()
        assert go_on.wait(60)
        return ""

    jobs = Jobs(stored, {"work": work}.get, clock=Clock())
    job_id = jobs.submit(base_ids[0], "w", Work())
    jobs.submit(base_ids[1], "w", Unknown())
    jobs.start()
    assert heard.wait(60)
    while (left := jobs.get(job_id).seconds_left) is None:
        time.sleep(0.02)
    go_on.set()
    jobs.close()
    assert left == pytest.approx(2000.0 if gives_way else 1000.0, rel=0.1)


def test_progress_stays_until_the_next_turn_tells_some(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    job_id = Jobs(stored, {}.get).submit(base_ids[0], "Working", Work(), ITEMS)
    with stored.write() as connection:
        rows.claim(connection, "host:1:one")
        rows.give_way(connection, job_id, "host:1:one", 2, 4)
        assert rows.claim(connection, "host:2:two") == job_id
    reporter = Reporter(stored, job_id, "host:2:two", lambda *_: None)
    reporter._write()
    with stored.read() as connection:
        assert (rows.get(connection, job_id).done, reporter.cancelled()) == (2, False)


def test_a_process_that_hands_its_job_back_is_not_one_that_left_it(
    stored: Database, base_ids: tuple[int, int]
) -> None:
    started = list[int]()

    def apart(job: JobRow, owner: str) -> subprocess.Popen[bytes]:
        started.append(job.id)
        with stored.write() as connection:  # what the process would do
            if len(started) <= 5:
                rows.give_way(connection, job.id, owner, 0, 4)
            else:
                rows.finish(connection, job.id, owner, "done", "done apart")
        return subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)

    jobs = Jobs(stored, {}.get, apart=apart)
    job_id = jobs.submit(base_ids[0], "Working", Work(), ITEMS)
    jobs.start()
    assert ended(jobs, job_id).message == "done apart"
    jobs.close()
    assert started == [job_id] * 6


TEXTS = {
    "leave.md": "# Leave\n\nUnused leave may be carried over for three months.\n",
    "pump.md": "# Pump\n\nThe Marlin 7 pump needs a pressure of 40 bar.\n",
    "trains.md": "# Travel\n\nTrains are booked in second class by the office.\n",
}


def uploads(texts: dict[str, str]) -> list[Upload]:
    return [Upload(name, io.BytesIO(text.encode())) for name, text in texts.items()]


@pytest.fixture
def workspace(home: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """One whose jobs give way after each item."""
    monkeypatch.setattr(reporter, "TURN_SECONDS", 0.0)
    opened = workspace_at(home)
    yield opened
    opened.close()


def test_files_of_two_bases_are_read_in_turns(workspace: Workspace) -> None:
    one, two = (workspace.create(name, QUICK) for name in ("one", "two"))
    large = one.documents.add_files(uploads(TEXTS))
    small = two.documents.add_files(uploads(TEXTS))
    workspace.jobs.start()
    over = [ended(workspace.jobs, job) for job in (large, small)]
    assert [job.message for job in over] == ["3 of 3 read"] * 2
    read = {
        info.added: base.name
        for base in (one, two)
        for info in base.documents.documents(QUICK.index)
    }
    assert [read[when] for when in sorted(read)] == ["one", "two"] * 3
    for base in (one, two):
        assert base.documents.by_words(QUICK.index) == []
        assert base.search("Trains are booked", QUICK).hits


def test_a_build_and_a_copy_say_all_that_they_did_in_several_turns(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.library.documents.bulk_jobs._GROUP", 1)
    one, two = (workspace.create(name, QUICK) for name in ("one", "two"))
    for base in (one, two):
        add(workspace, base, TEXTS)
    other = QUICK.with_fields({"index.chunk_size": 12})
    builds = [base.documents.build(other.index) for base in (one, two)]
    copy, copying = workspace.duplicate("one", "copy")
    workspace.jobs.start()
    over = [ended(workspace.jobs, job) for job in (*builds, copying)]
    assert [job.message for job in over] == ["3 documents built"] * 2 + ["3 documents copied"]
    assert [base.documents.missing(other.index) for base in (one, two)] == [0, 0]
    assert len(copy.documents.documents(QUICK.index)) == 3


def test_a_collection_is_imported_in_several_turns(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.library.documents.bulk_jobs._BEIR_GROUP", 2)
    folder = tmp_path / "pumps"
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": f"d{n}", "text": f"pump {n} leaks"} for n in range(5)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "pumps"}) + "\n")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    one, two = (workspace.create(name, QUICK) for name in ("one", "two"))
    stored = list[str]()
    store = Ingestion.store

    def counted(self: Ingestion, group: Sequence[Document], *rest: Any) -> list[Stored]:
        stored.append(f"{one.id == self.base_id} {len(group)}")
        return store(self, group, *rest)

    monkeypatch.setattr(Ingestion, "store", counted)
    jobs = [base.documents.import_beir(folder, "test") for base in (one, two)]
    workspace.jobs.start()
    over = [ended(workspace.jobs, job) for job in jobs]
    assert [job.message for job in over] == ["5 of 5 documents added, 1 questions"] * 2
    assert stored == ["True 2", "False 2"] * 2 + ["True 1", "False 1"]


def test_questions_of_two_bases_are_made_in_turns(workspace: Workspace) -> None:
    bases = [workspace.create(name, QUICK) for name in ("one", "two")]
    for base in bases:
        add(workspace, base, TEXTS)
    jobs = [base.questions.request_proposals("checks", ["heading"], 3, QUICK) for base in bases]
    workspace.jobs.start()
    over = [ended(workspace.jobs, job) for job in jobs]
    assert [job.message for job in over] == ["3 of 3 questions proposed"] * 2
    assert [len(base.questions.proposals("checks")) for base in bases] == [3, 3]
