"""A cancelled job ends, with every process that reads for it, and stays ended after a restart."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from rag import Upload, Workspace
from rag.workspace.handlers import LARGE
from tests.jobs import until
from tests.workspaces import QUICK, surroundings, workspace_at

ROOT = Path(__file__).resolve().parents[2]
ROWS = 10_500
BEGUN = 300
"""So many rows were read when the reader is past those by which it finds the delimiter."""
CSV = "number,note\n" + "".join(f"{row},{'a note on a pump ' * 6}\n" for row in range(ROWS))

# A file whose rows are slow to read, whatever the reader does with them. Each is counted.
SLOW = """
import csv, os, time
from pathlib import Path

reader, parent = csv.reader, os.getppid()

def slow_reader(*given, **options):
    for row in reader(*given, **options):
        with Path(os.environ["ROWS_READ"]).open("a") as file:
            file.write(f"{os.getpid()} {parent}\\n")
        end = time.process_time() + 0.005
        while time.process_time() < end:
            pass
        yield row

csv.reader = slow_reader
"""
SERVER = """
import sys
from rag import Workspace

workspace = Workspace.from_env()
workspace.jobs.start()
sys.stdin.read()
workspace.close()
"""


class Reading:
    """What is read of the slow file, by whom."""

    def __init__(self, folder: Path) -> None:
        (folder / "sitecustomize.py").write_text(SLOW)
        self._file = folder / "rows"
        self._file.touch()
        self.variables = {"PYTHONPATH": str(folder), "ROWS_READ": str(self._file)}

    def _lines(self) -> list[str]:
        return self._file.read_text().splitlines()

    @property
    def rows(self) -> int:
        """How many rows were read so far."""
        return len(self._lines())

    @property
    def processes(self) -> set[int]:
        """Those that read, and those that asked them to."""
        return {int(pid) for line in self._lines() for pid in line.split()}


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def server(home: Path, reading: Reading) -> subprocess.Popen[bytes]:
    variables = surroundings(home, **reading.variables)
    command = [sys.executable, "-c", SERVER]
    return subprocess.Popen(command, cwd=ROOT, env=variables, stdin=subprocess.PIPE)


def end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    process.stdin.close()
    assert process.wait(120) == 0


def add(workspace: Workspace, base: str, name: str, text: str) -> int:
    upload = Upload(name, io.BytesIO(text.encode()))
    return workspace.create(base, QUICK).documents.add_files([upload])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize(
    "killed",
    # test_two_machines.py kills a worker too
    [False, pytest.param(True, marks=pytest.mark.thorough)],
    ids=["ended", "killed"],
)
def test_a_cancelled_reading_ends_and_is_not_taken_up(home, reading, killed):
    """The server is asked to end once the job is cancelled, or it was killed before."""
    assert LARGE < len(CSV) < 1.2 * LARGE
    workspace = workspace_at(home)
    slow = add(workspace, "slow", "notes.csv", CSV)
    first = server(home, reading)
    until(lambda: reading.rows > BEGUN)
    other = add(workspace, "other", "leave.md", "Unused leave lapses in March.")
    assert len(reading.processes) == 2
    assert first.pid not in reading.processes  # which has one apart for a job as large as this
    if killed:
        first.kill()
        first.wait()
    workspace.jobs.cancel(slow)
    until(lambda: all(map(is_gone, reading.processes)))
    rows, readers = reading.rows, reading.processes
    assert rows < BEGUN + ROWS / 4
    if not killed:
        until(lambda: not workspace.jobs.get(slow).active)
        end(first)

    second = server(home, reading)
    until(lambda: not workspace.jobs.get(other).active)
    until(lambda: not workspace.jobs.get(slow).active)
    end(second)
    jobs = [workspace.jobs.get(job) for job in (slow, other)]
    assert [job.status for job in jobs] == ["cancelled", "done"]
    assert [item.status for item in workspace.jobs.items(slow)] == ["waiting"]
    assert (reading.rows, reading.processes) == (rows, readers)
    workspace.close()
