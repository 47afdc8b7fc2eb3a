"""A process that is asked to end (SIGTERM) hands its job back: nobody waits for its lease."""

import io
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from rag import Upload
from rag.cli.options import STOPPED
from rag.services.jobs import reporter
from rag.storage import jobs, tables
from tests.workspaces import QUICK, database_at, surroundings, workspace_at

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = 400


def document(number: int) -> str:
    return "\n\n".join(f"Pump {number} of hall {part} leaks." * 5 for part in range(40))


def job_of(home: Path) -> tuple[str, int, int, str | None, float | None]:
    """Status, units done and in all, holder and lease of the one job of a home."""
    columns = tables.job.c
    with (
        closing(database_at(home)) as database,
        database.read() as connection,
    ):
        asked = select(columns.status, columns.done, columns.total, columns.owner, columns.lease)
        return tuple(connection.execute(asked).first() or ("", 0, 0, None, None))


def until_it_works(home: Path, process: subprocess.Popen[str]) -> None:
    """Waits for the first units of the job."""
    while job_of(home)[1] < 2:
        assert process.poll() is None
        time.sleep(0.1)


def end(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(120)
    finally:
        process.kill()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    workspace_at(tmp_path / "home").close()
    return tmp_path / "home"


def test_a_verb_hands_its_job_back(home, tmp_path):
    documents = tmp_path / "docs"
    documents.mkdir()
    for number in range(DOCUMENTS):
        (documents / f"{number}.txt").write_text(document(number))
    command = [sys.executable, "-m", "rag", "ingest", "kb", str(documents), "--home", str(home)]
    command += ["--set=index.embedder=fake", "--set=index.chunk_size=24"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=surroundings(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until_it_works(home, process)
    assert end(process) == STOPPED
    assert "Error: Stopped." in process.stderr.read()
    status, done, total, owner, lease = job_of(home)
    assert (status, owner, lease) == ("running", None, 0.0)
    assert 2 <= done < total


def test_an_interrupt_that_a_callback_lost_comes_again(home, monkeypatch):
    monkeypatch.setattr(reporter, "_ENDING", threading.Event())
    workspace = workspace_at(home)
    base = workspace.create("kb", QUICK)
    job = base.documents.add_files([Upload("0.txt", io.BytesIO(document(0).encode()))])
    with pytest.raises(KeyboardInterrupt):
        reporter.end_process()
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run(job)
    status, _, _, owner, lease = job_of(home)
    assert (status, owner, lease) == ("running", None, 0.0)
    workspace.close()


def test_the_server_hands_its_job_back(home):
    workspace = workspace_at(home)
    base = workspace.create("kb", QUICK)
    texts = (document(number).encode() for number in range(DOCUMENTS))
    base.documents.add_files([Upload(f"{i}.txt", io.BytesIO(t)) for i, t in enumerate(texts)])
    workspace.close()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    command += ["--server.port", str(port)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=surroundings(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    until_it_works(home, process)
    end(process)
    status, done, total, owner, lease = job_of(home)
    assert (status, owner, lease) == ("running", None, 0.0)
    assert 2 <= done < total
    with closing(database_at(home)) as database, database.write() as other:
        assert jobs.claim(other, "another machine:1:a") == 1
