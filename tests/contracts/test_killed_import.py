"""A process that is killed while it imports a bundle leaves nothing that looks whole."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rag import AlreadyExists
from tests.bundles import bundle, evaluated
from tests.workspaces import surroundings, workspace_at

ROOT = Path(__file__).resolve().parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
from rag import Settings, Workspace

def on_progress(done, total, message):
    if message.startswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

workspace = Workspace(Settings.from_env(home=Path(sys.argv[1])))
workspace.import_bundle(Path(sys.argv[2]), on_progress=on_progress)
"""


def _import_until(moment: str, home: Path, file: Path) -> int:
    command = [sys.executable, "-c", KILLED, str(home), str(file), moment]
    return subprocess.run(command, cwd=ROOT, env=surroundings(home), check=False).returncode


def test_a_base_has_its_name_only_when_all_is_in_it(tmp_path):
    file, home = tmp_path / "run.zip", tmp_path / "there"
    bundle(evaluated(tmp_path / "here"), file)
    assert _import_until("measuring", home, file) == -signal.SIGKILL
    assert _import_until("adding travel.txt", home, file) == -signal.SIGKILL
    there = workspace_at(home)
    halves = ["handbook (import not finished 2)", "handbook (import not finished)"]
    assert [info.name for info in there.bases()] == halves
    during: set[str] = set()
    found = there.import_bundle(
        file, on_progress=lambda *_: during.update(info.name for info in there.bases())
    )
    assert (found.exact, found.base) == (True, "handbook")
    assert during == {*halves, "handbook (import not finished 3)"}
    assert [info.name for info in there.bases()] == ["handbook", *halves]
    for name in halves:
        there.delete(name)
    with pytest.raises(AlreadyExists):
        there.import_bundle(file)
    assert [info.name for info in there.bases()] == ["handbook"]
    assert there.base("handbook").runs.get(found.run).metrics
