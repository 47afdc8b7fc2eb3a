"""Every command in the documentation runs as it stands, page by page, on a home with the sample."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag import SAMPLE
from tests.documentation import commands
from tests.sample import sample
from tests.workspaces import surroundings

pytestmark = [pytest.mark.thorough, pytest.mark.sqlite("what is documented is the default")]
ROOT = Path(__file__).parents[2]
_PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_ELSEWHERE = {
    "ollama:": "asks a server of models",
    "decide sample 3f2a9c1b7d10": "names the runs of its example",
    "my_package.": "is code of the reader",
    "my_retrieval:": "is code of the reader",
    "https://api.dify.ai": "asks a service",
    "some-server": "starts a server of the reader",
    "--system ": "asks a service",
    "ragflow": "asks a service",
    "open-webui": "asks a service",
    "ragas.jsonl": "reads a file of the reader",
    "results.jsonl": "reads a file of the reader",
    "traces.jsonl": "reads a file of the reader",
    "$OTHER": "names a run of the reader",
    "import-store": "reads a store of the reader",
    "/var/lib": "is about a server",
    "ingest handbook documents/": "reads files of the reader",
    "import-questions handbook": "reads files of the reader",
    "gate handbook frozen": "names a set of the reader",
    "--only honesty": "takes an hour",
    "wordllama --baseline": "fails, as the page says",
}
"""Parts of commands that cannot run here, each with the reason."""


def _runnable(page: Path) -> list[str]:
    return [
        line
        for line in commands(page.read_text("utf-8"))
        if line.startswith(("python -m rag ", "RUN=$("))
        and not any(part in line for part in _ELSEWHERE)
    ]


def test_each_exception_is_a_command():
    lines = [line for page in _PAGES for line in commands(page.read_text("utf-8"))]
    assert [part for part in _ELSEWHERE if not any(part in line for line in lines)] == []


@pytest.mark.parametrize("page", [*filter(_runnable, _PAGES)], ids=lambda page: page.stem)
def test_commands_of_a_page_run(page, tmp_path):
    home = tmp_path / "home"
    with sample(home) as base:
        run = base.runs.evaluate(SAMPLE, base.recipe()).run
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "DOCS").mkdir()
    (tmp_path / "DOCS" / "leave.md").write_text("Unused leave may be carried over for six months.")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = surroundings(home, PATH=path, PYTHONPATH=str(ROOT), RUN=run.id)
    failed = list[str]()
    for line in _runnable(page):
        done = subprocess.run(
            ["bash", "-c", f"{line}; code=$?; echo $RUN > run; exit $code"],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        environment["RUN"] = (tmp_path / "run").read_text().strip()
        if done.returncode:
            failed.append(f"{line}\nexit {done.returncode}: {done.stderr[-500:]}")
    assert failed == []
