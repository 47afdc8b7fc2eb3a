"""A process that is killed while it reads documents loses none and leaves none half-present."""

import multiprocessing
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType

import pytest
from sqlalchemy import func, select

from rag import KnowledgeBase
from rag.__main__ import main
from rag.library.documents import ingestion
from rag.storage.shared import segments
from rag.storage.tables import chunk
from tests.workspaces import QUICK, open_or_create, surroundings, workspace_at

MOMENTS = 20
PROCESSES = multiprocessing.get_context("forkserver")  # each has all modules when it begins
PROCESSES.set_forkserver_preload(["pytest", "rag.__main__", "tests.workspaces"])


def _documents(folder: Path, number: int) -> dict[str, str]:
    folder.mkdir()
    dice = random.Random(7)
    words = ["leave", "pump", "valve", "filter", "alarm", "travel", "price", "oven", "sensor"]
    texts = {}
    for place in range(number):
        paragraphs = 40 if place % 4 else 160  # those of every fourth are stored in portions
        body = "\n\n".join(" ".join(dice.choices(words, k=30)) + "." for _ in range(paragraphs))
        texts[f"doc-{place:02}.txt"] = f"Document {place}\n\n{body}"
        (folder / f"doc-{place:02}.txt").write_text(texts[f"doc-{place:02}.txt"])
    return texts


@pytest.fixture(autouse=True)
def _no_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes run the file of the main module again, which a test of a page leaves behind."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))


def _ingest(home: Path, folder: Path) -> ForkServerProcess:
    arguments = ["ingest", "kb", str(folder), "--home", str(home), "--json"]
    arguments += [f"--set=index.{name}" for name in ("embedder=fake", "chunk_size=24")]
    process = PROCESSES.Process(target=_run, args=(arguments, surroundings(home)))
    process.start()
    return process


def _wait_for_the_first() -> None:
    """Wait for a process that does nothing: it imports all modules, which those after it have."""
    first = PROCESSES.Process(target=str)
    first.start()
    first.join()


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    os.environ.update(environment)
    ingestion.LARGE, segments._FIRST_ROWS, segments._SECONDS = 150, 40, 0.02
    raise SystemExit(main(arguments))


def _content(base: KnowledgeBase) -> dict[str, list[str]]:
    """Every document with its passages, as the search sees them."""
    infos = base.documents.documents(QUICK.index)
    return {
        info.name: [chunk.id for chunk in base.documents.chunks(info.id, QUICK.index)]
        for info in infos
    }


@pytest.mark.slow
def test_kill_at_random_moments(tmp_path, monkeypatch):
    texts = _documents(tmp_path / "docs", 40)
    clean = tmp_path / "clean"
    _wait_for_the_first()
    started = time.monotonic()
    done = _ingest(clean, tmp_path / "docs")
    done.join(timeout=300)
    whole = time.monotonic() - started
    assert done.exitcode == 0
    expected = workspace_at(clean).base("kb")
    intact = _content(expected)
    assert set(intact) == set(texts)
    dice = random.Random(11)
    home = tmp_path / "killed"
    acknowledged: set[str] = set()
    for _ in range(MOMENTS):
        process = _ingest(home, tmp_path / "docs")
        process.join(timeout=dice.uniform(0.0, whole * 0.7))
        process.kill()
        process.join()
        present = _present(home)
        for name, passages in present.items():
            assert passages == intact[name], f"{name} is half-present"
        assert acknowledged <= set(present), "an acknowledged document was lost"
        acknowledged = set(present)
    workspace = workspace_at(home)
    base = open_or_create(workspace, "kb")
    for job in reversed(workspace.jobs.recent(base.id, limit=100)):
        ended = workspace.jobs.run(job.id)
        # On a busy machine two kills may leave no time for a single document between them.
        assert ended.status == "done" or "without finishing an item" in ended.message
    last = _ingest(home, tmp_path / "docs")
    last.join(timeout=300)
    assert last.exitcode == 0
    assert _content(base) == intact
    question = "alarm of the pump filter"
    assert base.search(question, QUICK).hits == expected.search(question, QUICK).hits
    monkeypatch.setattr(segments, "_LEASE_SECONDS", -1.0)
    workspace._services.deletion.run()
    with workspace._services.database.read() as connection:
        stored = connection.execute(select(func.count()).select_from(chunk)).scalar_one()
    assert stored == sum(map(len, intact.values()))


def _present(home: Path) -> dict[str, list[str]]:
    workspace = workspace_at(home)
    try:
        names = {info.name for info in workspace.bases()}
        return _content(workspace.base("kb")) if "kb" in names else {}
    finally:
        workspace.close()
