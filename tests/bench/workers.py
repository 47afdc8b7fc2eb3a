"""One upload that one worker, and then two on the same PostgreSQL, read and embed.

``python -m rag bench --only workers`` runs it, on a server of its own beside them. The documents
are some of the sample's, of every kind, and abstracts of SciFact. Workers have loaded the model
before they are given the upload, and time goes until the last vector is in and the index is made.
A worker alone uses two cores already, so the ratio that tells how the work is shared is that of
workers with a core of their own each.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

from rag import Recipe, Settings, Upload, Workspace
from rag.workspace.workspace import SAMPLE_FOLDER, SAMPLE_QUESTIONS
from tests.postgres import Server, serving

ROOT = Path(__file__).resolve().parents[2]
EVERY, ABSTRACTS = 6, 60
WORKER = """
import os, sys
os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
from rag import Workspace
from rag.workspace.subprocess_launcher import share
workspace = Workspace.from_env()
workspace._services.models.embedder("minilm").embed(["hello"], "document")
print("ready", flush=True)
job = int(sys.stdin.readline())
if sys.argv[2] == "0":
    workspace.jobs.run(job)
while workspace.jobs.get(job).active:
    share(workspace._services, job, f"host:{os.getpid()}:helper")
"""


def measure(folder: Path) -> dict[str, float]:
    """Passages read, cut, embedded and stored in a second, and ratios of two workers to one."""
    files = uploads(folder)
    cores = sorted(os.sched_getaffinity(0))
    both = ",".join(map(str, cores[:2]))
    layouts = {
        "two cores, one worker": [both],
        "two cores, two workers": [both, both],
        "one worker with one core": [str(cores[0])],
        "two workers with one core each": [str(core) for core in cores[:2]],
    }
    with serving() as server:
        pace = {name: _pace(server, files, each) for name, each in layouts.items()}
    one, two, alone, each = pace.values()
    figures = {f"{name}, passages a second": value for name, value in pace.items()}
    return figures | {"two cores: ratio": two / one, "a core each: ratio": each / alone}


def uploads(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(SAMPLE_FOLDER.iterdir()) if path.name != SAMPLE_QUESTIONS]
    found = {path.name: path.read_bytes() for path in files[::EVERY]}
    lines = (folder / "scifact" / "corpus.jsonl").read_text("utf-8").splitlines()[:ABSTRACTS]
    rows = map(json.loads, lines)
    return found | {
        f"{row['_id']}.txt": f"{row['title']}\n\n{row['text']}".encode() for row in rows
    }


def _pace(server: Server, files: dict[str, bytes], layout: Sequence[str]) -> float:
    url = server.url(server.create())
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        given = {"TOUCHSTONE_DATABASE_URL": url}
        workspace = Workspace(Settings.from_env(given, home=Path(place) / "desk"))
        stack.callback(workspace.close)
        base = workspace.create("bench", Recipe())
        job = base.documents.add_files(
            [Upload(name, BytesIO(content)) for name, content in files.items()]
        )
        workers = [
            stack.enter_context(_worker(given, Path(place) / str(number), cores, number))
            for number, cores in enumerate(layout)
        ]
        began = time.perf_counter()
        _tell(workers, job)
        codes = [worker.wait() for worker in workers]
        seconds = time.perf_counter() - began
        done = workspace.jobs.get(job)
        if any(codes) or base.documents.missing(base.recipe().index):
            raise AssertionError(f"the workers ended with {codes}: {done.message}")
        return sum(build.passages for build in base.documents.builds()) / seconds


def _worker(given: dict[str, str], home: Path, cores: str, number: int) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, cores, str(number)],
        cwd=ROOT,
        env={**os.environ, **given, "TOUCHSTONE_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout
    if worker.stdout.readline() != "ready\n":
        raise AssertionError("a worker did not start")
    return worker


def _tell(workers: Collection[subprocess.Popen[str]], job: int) -> None:
    for worker in workers:
        assert worker.stdin
        worker.stdin.write(f"{job}\n")
        worker.stdin.close()
