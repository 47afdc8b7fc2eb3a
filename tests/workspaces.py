"""Small workspaces for tests: quick embedder, documents written on the spot."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import MetaData, select

from rag import KnowledgeBase, NotFound, Recipe, Settings, Upload, Workspace
from rag.services.indexing.servers import Servers
from rag.storage import Database

if TYPE_CHECKING:
    from tests.postgres import Server

DATABASE = "touchstone.db"
URL = "TOUCHSTONE_DATABASE_URL"
QUICK = Recipe().with_fields(
    {
        "index.embedder": "fake",
        "index.chunk_size": 24,
        "search.threshold": None,
        "answer.evidence": "passages",  # a scripted model is not tried first
    }
)


@dataclass
class Databases:
    """The databases of a PostgreSQL server by home; without a server, homes have files."""

    server: Server | None = None
    _made: dict[Path, tuple[Server, str]] = field(default_factory=dict)
    _kept: dict[Path, tuple[Server, str]] = field(default_factory=dict)
    _template: str = ""

    def of(self, home: Path) -> str:
        """The address of a home's database, which is made where there is none."""
        if not self._template:
            template = self.server.create()
            with tempfile.TemporaryDirectory() as folder:
                settings = {URL: self.server.url(template)}
                Workspace(Settings.from_env(settings, home=Path(folder))).close()
            self._template = template
        if home not in self._made:
            self._made[home] = self.server, self.server.create(self._template)
        return self.server.url(self._made[home][1])

    def keep(self, home: Path) -> None:
        """Keep the database of a home for copies, beyond the test that made it."""
        if home in self._made:
            self._kept[home] = self._made.pop(home)

    def copy(self, kept: Path, home: Path) -> None:
        """Make the database of a home as a copy of one that is kept."""
        if kept in self._kept:
            server, name = self._kept[kept]
            self._made[home] = server, server.create(name)

    def homes(self) -> set[Path]:
        """Those that have a database there."""
        return set(self._made)

    def drop(self, homes: Iterable[Path]) -> None:
        """Deletes the databases of homes, and ends who is connected to them."""
        for home in homes:
            server, name = self._made.pop(home)
            server.drop(name)


DATABASES = Databases()


def open_or_create(workspace: Workspace, name: str) -> KnowledgeBase:
    """The knowledge base of that name, made if there is none."""
    try:
        return workspace.base(name)
    except NotFound:
        return workspace.create(name, QUICK)


def workspace_at(home: Path, servers: Servers | None = None) -> Workspace:
    """A workspace whose worker is not started: jobs run when a test runs them.

    Its database is a file, or one of the PostgreSQL server where a test of storage asks for that.
    """
    home.mkdir(parents=True, exist_ok=True)
    if DATABASES.server is None and not (home / DATABASE).exists():
        (home / DATABASE).write_bytes(_empty_database())
    return Workspace(Settings.from_env(_address(home), home=home), servers)


def fill_home(home: Path, prepare: Callable[[Path], None]) -> None:
    """Fill a home as ``prepare`` does.

    ``prepare`` runs once per process, on a home of its own, and has to close what it opens. Every
    other home gets a copy of the files and of the database, so no test sees changes of another.
    """
    prepared = _prepared(prepare, DATABASES.server and DATABASES.server.port)
    shutil.copytree(prepared.name, home, dirs_exist_ok=True)
    DATABASES.copy(Path(prepared.name), home)


def stocked(
    home: Path, documents: Mapping[str, str], recipe: Recipe = QUICK, name: str = "handbook"
) -> tuple[Workspace, KnowledgeBase]:
    """A base with documents in an empty home; each process reads the documents once."""
    fill_home(home, _stocking(tuple(documents.items()), recipe, name))
    workspace = workspace_at(home)
    return workspace, workspace.base(name)


@cache
def _stocking(
    documents: tuple[tuple[str, str], ...], recipe: Recipe, name: str
) -> Callable[[Path], None]:
    def prepare(home: Path) -> None:
        workspace = workspace_at(home)
        assert set(add(workspace, workspace.create(name, recipe), dict(documents))) == {"added"}
        workspace.close()

    return prepare


@cache
def _prepared(
    prepare: Callable[[Path], None], _port: int | None
) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="prepared-")
    prepare(Path(folder.name))
    DATABASES.keep(Path(folder.name))
    return folder


def database_at(home: Path) -> Database:
    """The database of a home alone."""
    return Database(Settings.from_env(_address(home), home=home).database_url)


def stored_bytes(workspace: Workspace) -> bytes:
    """All that a workspace has stored: its files, and the rows of its database as text."""
    tables = MetaData()
    with workspace._services.database.read() as connection:
        tables.reflect(connection)
        rows = [connection.execute(select(table)).all() for table in tables.sorted_tables]
    files = [file for file in sorted(workspace.settings.home.rglob("*")) if file.is_file()]
    return b"".join([*(file.read_bytes() for file in files), repr(rows).encode()])


def surroundings(home: Path, **more: str) -> dict[str, str]:
    """The environment of another process that works on the same home."""
    return {**os.environ, "TOUCHSTONE_HOME": str(home), **_address(home), **more}


def _address(home: Path) -> dict[str, str]:
    return {} if DATABASES.server is None else {URL: DATABASES.of(home)}


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
