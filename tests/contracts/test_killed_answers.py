"""A process that is killed while it answers a question set: what it had stays, and is not asked."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from rag import KnowledgeBase, Workspace
from tests.workspaces import QUICK, add, surroundings, workspace_at

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = 40
SET = "many"
RECIPE = QUICK.with_fields({"answer.provider": "ollama", "answer.model": "slow"})
WORK = """
import re, sys, time
from pathlib import Path
from rag import Settings, Workspace
from rag.services.services import Models
from rag.types import Delta, Usage

class Slow:
    def stream(self, messages, *, temperature, max_tokens):
        asked = re.search(r"case (\\d+)[?]", messages[-1].content)[1]
        with open(sys.argv[3], "a") as log:
            log.write(asked + "\\n")
        time.sleep(0.05)
        yield Delta(f"It is in paragraph {asked} [1].")
        yield Delta(usage=Usage(100, 10))

Models.chat = lambda self, provider, model: Slow()
workspace = Workspace(Settings.from_env(home=Path(sys.argv[1])))
workspace.jobs.run(int(sys.argv[2]))
"""


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Workspace, KnowledgeBase]:
    workspace = workspace_at(tmp_path / "home")
    base = workspace.create("kb", QUICK)
    lines = [f"Paragraph {n} says what is done in case {n}." for n in range(QUESTIONS)]
    assert add(workspace, base, {"lines.txt": "\n\n".join(lines)}) == ["added"]
    rows = [
        {
            "id": f"q{n}",
            "text": f"What is done in case {n}?",
            "evidence": [{"document": "lines.txt", "quote": lines[n]}],
        }
        for n in range(QUESTIONS)
    ]
    base.questions.import_file(SET, "many.jsonl", "\n".join(map(json.dumps, rows)))
    return workspace, base


def _working(workspace: Workspace, job: int, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WORK, str(workspace.settings.home), str(job), str(log)]
    environment = surroundings(workspace.settings.home)
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_killed_in_the_middle_of_its_answers(filled, tmp_path):
    workspace, base = filled
    log = tmp_path / "asked.log"
    job = base.runs.start_answers(SET, RECIPE)
    run = str(workspace.jobs.get(job).payload["run"])
    process = _working(workspace, job, log)
    while len(base.runs.answers(run)) < 5:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = base.runs.answers(run)
    assert 5 <= len(kept) < QUESTIONS
    assert base.runs.list_all() == []
    assert workspace.jobs.get(job).active

    assert _working(workspace, job, log).wait(timeout=300) == 0
    assert [each.id for each in base.runs.list_all()] == [run]
    answers = base.runs.answers(run)
    assert len(answers) == QUESTIONS
    assert {key: answers[key] for key in kept} == kept
    asked = Counter(f"q{line}" for line in log.read_text().split())
    assert asked.keys() == answers.keys()
    assert {key: asked[key] for key in kept} == dict.fromkeys(kept, 1)
    # Only what was on its way when the process died is asked again.
    assert sum(asked.values()) - QUESTIONS <= 4
