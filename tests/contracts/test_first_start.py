"""Several processes start at the same moment, on a PostgreSQL that nobody used before."""

import subprocess
import sys
from pathlib import Path

import pytest

from rag import Settings, Workspace
from tests.workspaces import surroundings

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 6
START = """
import sys
from alembic import command
from rag import Workspace
print("ready", flush=True)
sys.stdin.readline()
workspace = Workspace.from_env()
workspace.welcome()
workspace.close()
"""


def started(url: str, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START],
        cwd=ROOT,
        env=surroundings(home, TOUCHSTONE_DATABASE_URL=url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_one_process_makes_the_tables(postgres, tmp_path):
    url = postgres.url(postgres.create())
    processes = [started(url, tmp_path / f"home{number}") for number in range(PROCESSES)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES, ends
    settings = Settings.from_env({"TOUCHSTONE_DATABASE_URL": url}, home=tmp_path / "desk")
    workspace = Workspace(settings)
    assert [info.name for info in workspace.bases()] == ["sample"]
    workspace.close()
