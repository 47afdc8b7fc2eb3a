"""Jobs that are done in a process of their own, and their last steps."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import JobRow, Jobs, KnowledgeBase, Recipe, Reporter, Workspace
from rag.storage import Database, bases
from rag.storage import jobs as rows
from tests.jobs import Work, ended, submit
from tests.workspaces import QUICK, database_at, stocked


@pytest.fixture
def database(home: Path, database: str) -> Iterator[Database]:
    opened = database_at(home)
    yield opened
    opened.close()


@pytest.fixture
def base_id(database: Database) -> int:
    with database.write() as connection:
        return bases.create(connection, "base", Recipe()).id


def python(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)


def test_a_job_goes_on_in_another_process_as_long_as_each_brings_it_further(database, base_id):
    processes = list[int]()

    def apart(job: JobRow, _owner: str) -> subprocess.Popen[bytes]:
        if len(processes) in (1, 2):  # the second and the third store one item each, and are killed
            with database.write() as connection:
                rows.set_item(connection, job.id, len(processes) - 1, "added")
        processes.append(job.id)
        return python("import os; os.kill(os.getpid(), 9)")

    jobs = Jobs(database, {}.get, apart=apart)
    job_id = jobs.submit(base_id, "title", Work(), [(f"{n}.txt", {}) for n in range(3)])
    jobs.start()
    failed = ended(jobs, job_id)
    jobs.close()
    assert processes == [job_id] * 4  # the fourth brought it no further than the third
    assert failed.status == "failed"
    assert [item.status for item in jobs.items(job_id)] == ["added", "added", "waiting"]


def test_a_process_that_ends_before_its_job_failed_at_it(database, base_id):
    def here(_job: JobRow, _reporter: Reporter) -> str:
        return "done here"

    jobs = Jobs(database, {"work": here}.get, apart=lambda *_: python("raise SystemExit(3)"))
    job_id = submit(jobs, base_id)
    jobs.start()
    failed = ended(jobs, job_id)
    jobs.close()
    assert failed.status == "failed"
    assert jobs.run(submit(jobs, base_id)).message == "done here"  # whoever waits does it himself


def test_a_process_ends_with_the_one_that_started_it():
    code = (
        "import sys, time; from rag.services.jobs.process import read_task\n"
        "read_task(sys.stdin.buffer)\n"
        "time.sleep(600)"
    )
    with python(code) as process:
        assert process.stdin
        process.stdin.write(b"{}\n")
        process.stdin.close()
        assert process.wait(60) == 1


def test_a_process_that_does_not_hear_that_its_job_was_cancelled_is_ended(
    database, base_id, monkeypatch
):
    monkeypatch.setattr("rag.services.jobs.runner._STOP_SECONDS", 0.1)
    processes = list[subprocess.Popen[bytes]]()

    def apart(_job: JobRow, _owner: str) -> subprocess.Popen[bytes]:
        processes.append(python("import time; time.sleep(600)"))
        return processes[-1]

    jobs = Jobs(database, {}.get, apart=apart)
    job_id = submit(jobs, base_id)
    jobs.start()
    while not processes:
        time.sleep(0.01)
    jobs.cancel(job_id)
    stopped = ended(jobs, job_id)
    jobs.close()
    assert stopped.status == "cancelled"
    assert [process.returncode for process in processes] == [-9]


FINER = QUICK.with_fields({"index.chunk_size": 12})
QUESTIONS = (
    b'{"id": "a", "text": "When does leave lapse?", "answerable": true, '
    b'"evidence": [{"document": "leave.md", "quote": "Leave lapses in June."}]}\n'
)


def _ingest(workspace: Workspace, base: KnowledgeBase) -> int:
    return base.documents.add_text("pump", "The pump leaks.")


def _build(workspace: Workspace, base: KnowledgeBase) -> int:
    return base.documents.build(FINER.index)


def _duplicate(workspace: Workspace, base: KnowledgeBase) -> int:
    return workspace.duplicate("notes", "copy")[1]


def _import_beir(workspace: Workspace, base: KnowledgeBase) -> int:
    folder = workspace.settings.home / "tiny"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "1", "title": "", "text": "The pump leaks."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "Does it leak?"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    return base.documents.import_beir(folder, "test")


def _evaluate_answers(workspace: Workspace, base: KnowledgeBase) -> int:
    return base.runs.start_answers("leave", QUICK)


@pytest.mark.parametrize(
    ("start", "step", "times"),
    [
        (_ingest, "index up to date", 2),
        (_build, "index up to date", 1),
        (_duplicate, "index up to date", 2),
        (_import_beir, "index up to date", 1),
        (_evaluate_answers, "measured", 1),
    ],
)
def test_a_job_is_cancelled_in_its_last_step(tmp_path, monkeypatch, start, step, times):
    workspace, base = stocked(tmp_path, {"leave.md": "Leave lapses in June."}, name="notes")
    base.questions.import_file("leave", "leave.jsonl", QUESTIONS)
    reported, report = list[str](), Reporter.report

    def cancelled(self: Reporter, done: int, total: int, message: str, *rest: float) -> None:
        reported.append(message)
        if sum(step in words for words in reported) == times:
            self.stop()
        report(self, done, total, message, *rest)

    monkeypatch.setattr(Reporter, "report", cancelled)
    ended = workspace.jobs.run(start(workspace, base))
    assert ended.status == "cancelled"
    assert step in reported[-1]
    workspace.close()
