"""A process that is killed while it reads documents loses none and leaves none half-present."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rag import KnowledgeBase
from tests.workspaces import QUICK, open_or_create, surroundings, workspace_at

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = 20


def _documents(folder: Path, number: int) -> dict[str, str]:
    folder.mkdir()
    dice = random.Random(7)
    words = ["leave", "pump", "valve", "filter", "alarm", "travel", "price", "oven", "sensor"]
    texts = {}
    for place in range(number):
        body = "\n\n".join(" ".join(dice.choices(words, k=30)) + "." for _ in range(40))
        texts[f"doc-{place:02}.txt"] = f"Document {place}\n\n{body}"
        (folder / f"doc-{place:02}.txt").write_text(texts[f"doc-{place:02}.txt"])
    return texts


def _ingest(home: Path, folder: Path) -> subprocess.Popen[bytes]:
    arguments = ["ingest", "kb", str(folder), "--home", str(home), "--json"]
    arguments += [f"--set=index.{name}" for name in ("embedder=fake", "chunk_size=24")]
    return subprocess.Popen(
        [sys.executable, "-m", "rag", *arguments],
        cwd=ROOT,
        env=surroundings(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _content(base: KnowledgeBase) -> dict[str, list[str]]:
    """Every document with its passages, as the search sees them."""
    infos = base.documents.documents(QUICK.index)
    return {
        info.name: [chunk.id for chunk in base.documents.chunks(info.id, QUICK.index)]
        for info in infos
    }


@pytest.mark.slow
def test_kill_at_random_moments(tmp_path: Path) -> None:
    texts = _documents(tmp_path / "docs", 40)
    clean = tmp_path / "clean"
    started = time.monotonic()
    done = _ingest(clean, tmp_path / "docs")
    output, _ = done.communicate(timeout=300)
    whole = time.monotonic() - started
    assert {row["status"] for row in json.loads(output)["documents"]} == {"added"}
    expected = workspace_at(clean).base("kb")
    intact = _content(expected)
    dice = random.Random(11)
    home = tmp_path / "killed"
    acknowledged: set[str] = set()
    for _ in range(MOMENTS):
        process = _ingest(home, tmp_path / "docs")
        time.sleep(dice.uniform(0.2, whole * 0.7))
        process.send_signal(signal.SIGKILL)
        process.wait()
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
    assert last.wait(timeout=300) == 0
    assert _content(base) == intact
    assert set(intact) == set(texts)
    question = "alarm of the pump filter"
    assert base.search(question, QUICK).hits == expected.search(question, QUICK).hits


def _present(home: Path) -> dict[str, list[str]]:
    workspace = workspace_at(home)
    try:
        names = {info.name for info in workspace.bases()}
        return _content(workspace.base("kb")) if "kb" in names else {}
    finally:
        workspace.close()
