"""Comparison of the database of a home with its files, indexes and maps; retention and readiness.

The database is the truth: what nothing in it refers to is left over from work that was killed, and
may go. What is being written at this moment is never taken for such: a file has a lease from before
it is in its place, and a draft has just been written to.

A process can serve where its database answers and is up to date, and its home can be written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from rag.errors import StorageError
from rag.services.indexing import servers
from rag.services.indexing.servers import WITHOUT_PGVECTOR
from rag.services.services import Services
from rag.storage import bases, builds, files, vectors
from rag.storage.access import audit, people
from rag.storage.conversations import sessions
from rag.storage.shared import deletion
from rag.storage.sqlite_file import JOURNAL_LOST
from rag.stores import pgvector

Derived = Literal["index", "map"]
What = Literal["file", "draft", "vectors", "database", "text", "recipe"] | Derived

_DRAFTS = ("files/.draft-*", "indexes/*/.new-*", "maps/*/.draft-*", ".backup-*")
_BUILDS: tuple[tuple[Derived, str], ...] = (("index", "indexes/*/*"), ("map", "maps/*/*.npz"))
_STILL_SECONDS = 3600.0  # a draft that was not written to for so long belongs to nobody

_SIGNED_IN_DAYS = 31  # Streamlit's cookie of a sign-in is kept for 30


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not fit the database: ``name`` is a path below the home, or a sentence.

    What is orphaned is repaired by removing it; ``bytes`` is its size. So is a damaged index, which
    is made again from the database. A database whose journal was lost is repaired by taking it as
    it is. Text that is none, and a recipe beyond its bounds, are stored as they are read.
    """

    kind: Literal["orphaned", "missing", "damaged"]
    what: What
    name: str
    bytes: int = 0
    repaired: bool = False


def sweep(services: Services) -> list[Problem]:
    """Remove what killed work left over, and what is kept no longer; cheap. Returns what could
    not be removed.

    Files that nothing ever dropped stay: they may be those of another database.
    """
    forget_old(services)
    services.deletion.start()
    services.files.discard()
    removed = (_removed(services, problem) for problem in _derived(services))
    return [problem for problem in removed if not problem.repaired]


def check(services: Services, *, repair: bool) -> list[Problem]:
    """Everything that is wrong in a home; ``repair`` removes what is left over."""
    orphans, other = list(_files(services)), [*_derived(services), *_unused_vectors(services)]
    other += _damaged_indexes(services)
    strange = list(_strange_database(services, orphans))
    if repair:
        orphans = orphans if strange else [_removed(services, problem) for problem in orphans]
        other = [_removed(services, problem) for problem in other]
    problems = [*strange, *orphans, *other]
    if services.database.incomplete:
        problems.append(Problem("damaged", "database", JOURNAL_LOST, repaired=repair))
        if repair:
            services.database.accept()
    problems += _stored_before(services, repair)
    faults = (Problem("damaged", "database", fault) for fault in services.database.faults())
    return [*problems, *_missing_grants(services), *_lost_files(services), *faults]


def _missing_grants(services: Services) -> Iterator[Problem]:
    """Find what the role of the database may not do, though pgvector is there."""
    if services.database.dialect == "postgresql" and services.settings.vectors_url != "process":
        with services.database.read() as connection:
            grants = pgvector.missing_grants(connection) if pgvector.available(connection) else []
        if grants:
            yield Problem("missing", "database", f"{WITHOUT_PGVECTOR} {' '.join(grants)}")


def _strange_database(services: Services, orphans: Sequence[Problem]) -> Iterator[Problem]:
    """Find a database that probably belongs to another home, for which every file is orphaned."""
    if orphans and not services.database.fetch(bases.list_bases):
        sentence = (
            f"It has no knowledge base, but files/ has {len(orphans):,} originals. If it is "
            "the right one (TOUCHSTONE_HOME, TOUCHSTONE_DATABASE_URL), delete files/ yourself"
        )
        yield Problem("missing", "database", sentence)


def _stored_before(services: Services, repair: bool) -> list[Problem]:
    """Find stored data that today's validation would refuse, and repair it if ``repair``."""
    database = services.database
    with database.write() if repair else database.read() as connection:
        texts = Counter(deletion.mend_text(connection, repair=repair))
        recipes = deletion.mend_recipes(connection, repair=repair)
    named: list[tuple[What, str]] = [
        *(("text", f"{number:,} in {column} that is none") for column, number in texts.items()),
        *(("recipe", name) for name in recipes),
    ]
    return [Problem("damaged", what, name, repaired=repair) for what, name in named]


def _files(services: Services) -> Iterator[Problem]:
    present = services.files.present()  # before the database is asked: who stores has a lease
    referenced = services.database.fetch(files.find_referenced, list(present))
    for name in sorted(present - referenced):
        yield _orphaned("file", services.settings.home, services.files.place(name))


def _derived(services: Services) -> Iterator[Problem]:
    home = services.settings.home
    drafts = (path for pattern in _DRAFTS for path in _like(home, pattern))
    yield from (_orphaned("draft", home, path) for path in drafts if still(path))
    paths = [(what, path) for what, pattern in _BUILDS for path in _like(home, pattern)]
    places = {(str(base_id), build) for base_id, build in services.database.fetch(builds.places)}
    for what, path in sorted(paths):
        owner = (path.parent.name, path.name.partition("-")[0])
        if owner not in places and not path.name.startswith("."):
            yield _orphaned(what, home, path)


def _unused_vectors(services: Services) -> Iterator[Problem]:
    if unused := services.database.fetch(vectors.count_unused):
        yield Problem("orphaned", "vectors", f"{unused:,} that no passage refers to")


def _damaged_indexes(services: Services) -> Iterator[Problem]:
    home = services.settings.home
    places = services.database.fetch(builds.places)
    for base_id, build in sorted(places):
        path = home / "indexes" / str(base_id) / build
        # One of an earlier version is no damage: the first search makes it again.
        if servers.is_sealed(path) and not servers.intact(path):
            yield Problem("damaged", "index", str(path.relative_to(home)), _size(path))


def _lost_files(services: Services) -> Iterator[Problem]:
    home, present = services.settings.home, services.files.present()
    with services.database.read() as connection:
        expected = files.expected_files(connection)
        referenced = files.find_referenced(connection, list(present))
    missing = services.files.missing(expected)
    for sha256, name in expected.items():
        path = services.files.place(sha256)
        if sha256 in missing:
            yield Problem("missing", "file", f"{path.relative_to(home)}, the original of {name}")
    for sha256 in sorted(referenced):
        path = services.files.place(sha256)
        if path.exists() and sha256 != files.digest(path):
            yield Problem("damaged", "file", str(path.relative_to(home)), _size(path))


def _like(home: Path, pattern: str) -> list[Path]:
    try:
        return list(home.glob(pattern))
    except FileNotFoundError:  # a folder that was listed went meanwhile
        return _like(home, pattern)


def _orphaned(what: What, home: Path, path: Path) -> Problem:
    return Problem("orphaned", what, str(path.relative_to(home)), _size(path))


def _removed(services: Services, problem: Problem) -> Problem:
    """The problem with what became of it."""
    path = services.settings.home / problem.name
    if problem.what == "vectors":
        services.database.execute(vectors.forget_unused)
        return replace(problem, repaired=True)
    if problem.what == "file":
        services.files.discard([path.name])
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
    return replace(problem, repaired=not path.exists())


def still(path: Path) -> bool:
    """Whether nothing was written to a draft for an hour."""
    last = max((stats.st_mtime for stats in _within(path)), default=time.time())
    return time.time() - last > _STILL_SECONDS


def _size(path: Path) -> int:
    return sum(stats.st_size for stats in _within(path) if stat.S_ISREG(stats.st_mode))


def _within(path: Path) -> list[os.stat_result]:
    """The state of a file, or of all in a folder; of nothing where it goes meanwhile."""
    try:
        return [entry.stat() for entry in (path, *path.rglob("*"))]
    except FileNotFoundError:
        return []


def forget_old(services: Services) -> None:
    """Delete what is older than the settings say."""
    settings = services.settings
    for days, forget in (
        (settings.keep_conversations_days, sessions.forget_conversations),
        (settings.keep_interactions_days, sessions.forget_interactions),
        (settings.keep_traces_days, sessions.forget_traces),
        (settings.keep_audit_days, audit.forget),
        (_SIGNED_IN_DAYS, people.forget_deleted),
        (_SIGNED_IN_DAYS, people.forget_sign_ins),
    ):
        if days is not None:
            services.database.execute(forget, datetime.now(UTC) - timedelta(days=days))


_ROOM = 1 << 20  # bytes


def obstacles(services: Services) -> Iterator[str]:
    """Yield the reasons why the process is not ready, in sentences without secrets."""
    try:
        if not services.database.up_to_date():
            yield "The database has the schema of another version."
    except StorageError:
        yield "The database does not answer."
    try:
        with tempfile.TemporaryFile(dir=services.settings.home) as file:
            file.write(bytes(_ROOM))  # an empty file needs none
            file.flush()
    except OSError as error:
        full = error.errno == errno.ENOSPC
        yield "The disk is full." if full else "The home folder cannot be written to."
