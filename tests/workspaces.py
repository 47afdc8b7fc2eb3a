"""Small workspaces for tests: quick embedder, documents written on the spot."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag import KnowledgeBase, Recipe, Settings, Upload, Workspace
from rag.indexing.servers import IN_PROCESS, Servers

if TYPE_CHECKING:
    from tests.postgres import Server

DATABASE = "touchstone.db"
URL = "TOUCHSTONE_DATABASE_URL"
QUICK = Recipe().with_fields(
    {"index.embedder": "fake", "index.chunk_size": 24, "search.threshold": None}
)


@dataclass
class Databases:
    """The databases of a PostgreSQL server by home; without a server, homes have files."""

    server: Server | None = None
    _urls: dict[Path, str] = field(default_factory=dict)
    _template: str = ""

    def of(self, home: Path) -> str:
        """The address of a home's database, which is made where there is none."""
        assert self.server is not None
        if not self._template:
            template = self.server.create()
            with tempfile.TemporaryDirectory() as folder:
                settings = {URL: self.server.url(template)}
                Workspace(Settings.from_env(settings, home=Path(folder))).close()
            self._template = template
        if home not in self._urls:
            self._urls[home] = self.server.url(self.server.create(self._template))
        return self._urls[home]


DATABASES = Databases()


def workspace_at(home: Path, servers: Servers = IN_PROCESS) -> Workspace:
    """A workspace whose worker is not started: jobs run when a test runs them.

    Its database is a file, or one of the PostgreSQL server where a test of storage asks for that.
    """
    if DATABASES.server is not None:
        home.mkdir(parents=True, exist_ok=True)
        return Workspace(Settings.from_env({URL: DATABASES.of(home)}, home=home), servers)
    database = home / DATABASE
    if not database.exists():
        home.mkdir(parents=True, exist_ok=True)
        database.write_bytes(_empty_database())
    return Workspace(Settings.from_env({}, home=home), servers)


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
