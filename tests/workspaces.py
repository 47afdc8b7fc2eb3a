"""Small workspaces for tests: quick embedder, documents written on the spot."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rag import KnowledgeBase, Recipe, Settings, Upload, Workspace

DATABASE = "touchstone.db"
QUICK = Recipe().with_fields(
    {"index.embedder": "fake", "index.chunk_size": 24, "search.threshold": None}
)


def workspace_at(home: Path) -> Workspace:
    """A workspace whose worker is not started: jobs run when a test runs them."""
    database = home / DATABASE
    if not database.exists():
        home.mkdir(parents=True, exist_ok=True)
        database.write_bytes(_empty_database())
    return Workspace(Settings.from_env({}, home=home))


@cache
def _empty_database() -> bytes:
    """The file of a new workspace: made once, as most tests begin with one."""
    with tempfile.TemporaryDirectory() as folder:
        Workspace(Settings.from_env({}, home=Path(folder))).close()
        return (Path(folder) / DATABASE).read_bytes()


def add(workspace: Workspace, base: KnowledgeBase, files: Mapping[str, str | bytes]) -> list[str]:
    """Adds files by name and content; returns what became of each."""
    uploads = [
        Upload(name, io.BytesIO(content.encode() if isinstance(content, str) else content))
        for name, content in files.items()
    ]
    job = base.documents.add_files(uploads)
    workspace.jobs.run(job)
    return [item.status for item in workspace.jobs.items(job)]


def found(base: KnowledgeBase, question: str, recipe: Recipe = QUICK) -> list[str]:
    """Texts of the hits."""
    return [hit.chunk.text for hit in base.search(question, recipe).hits]
