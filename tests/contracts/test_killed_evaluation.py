"""A process that is killed while it evaluates: the next one finishes the run, once."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rag import KnowledgeBase, Run, Workspace
from tests.workspaces import QUICK, add, surroundings, workspace_at

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = 500
SET = "many"
WORK = """
import sys
from pathlib import Path
from rag import Settings, Workspace
from rag.storage import jobs

def wait(*_):
    print("stored", flush=True)
    sys.stdin.read()

if sys.argv[3] == "never ends":
    jobs.finish = wait
workspace = Workspace(Settings.from_env(home=Path(sys.argv[1])))
workspace.jobs.run(int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, KnowledgeBase]:
    """Documents of drawn words, and hundreds of questions: they take seconds."""
    workspace = workspace_at(tmp_path_factory.mktemp("killed"))
    base = workspace.create("kb", QUICK)
    dice = random.Random(5)
    words = ["leave", "pump", "valve", "filter", "alarm", "travel", "price", "oven", "sensor"]
    lines = [" ".join(dice.choices(words, k=12)) + f" {number}." for number in range(300)]
    assert add(workspace, base, {"lines.txt": "\n\n".join(lines)}) == ["added"]
    rows = [
        {
            "id": f"q{number}",
            "text": " ".join(dice.choices(words, k=4)) + f" {number}",
            "evidence": [{"document": "lines.txt", "quote": lines[number % 300]}],
        }
        for number in range(QUESTIONS)
    ]
    base.questions.import_file(SET, "many.jsonl", "\n".join(map(json.dumps, rows)))
    return workspace, base


def _working(workspace: Workspace, job: int, ending: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WORK, str(workspace.settings.home), str(job), ending]
    environment, pipe = surroundings(workspace.settings.home), subprocess.PIPE
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    )


def _killed_when(process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> None:
    while not reached():
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()


def _finished(workspace: Workspace, base: KnowledgeBase, job: int) -> Run:
    """The one run, after another process took up the job."""
    before = {run.id for run in base.runs.list_all()}
    named = str(workspace.jobs.get(job).payload["run"])
    other = _working(workspace, job, "ends")
    assert other.wait(timeout=300) == 0
    assert workspace.jobs.get(job).status == "done"
    after = [run for run in base.runs.list_all() if run.id not in before - {named}]
    assert [run.id for run in after] == [named]
    return after[0]


def _same(base: KnowledgeBase, run: Run) -> None:
    """Whether the figures are those of an evaluation that nobody disturbed."""
    expected = base.runs.evaluate(SET, QUICK)
    assert run.metrics == expected.run.metrics
    assert tuple(base.runs.results(run.id)) == expected.results
    base.runs.remove(expected.run.id)


@pytest.mark.slow
def test_killed_in_the_middle(filled):
    workspace, base = filled
    job = base.runs.start_evaluation(SET, QUICK)
    _killed_when(
        _working(workspace, job, "ends"), lambda: 0 < workspace.jobs.get(job).done < QUESTIONS
    )
    assert workspace.jobs.get(job).active
    assert base.runs.list_all() == []
    _same(base, _finished(workspace, base, job))


@pytest.mark.slow
def test_killed_when_the_run_was_stored_and_the_job_had_not_ended(filled):
    workspace, base = filled
    job = base.runs.start_evaluation(SET, QUICK)
    process = _working(workspace, job, "never ends")
    assert process.stdout.readline() == b"stored\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    stored = base.runs.get(str(workspace.jobs.get(job).payload["run"]))
    assert workspace.jobs.get(job).active
    assert _finished(workspace, base, job) == stored
    _same(base, stored)
