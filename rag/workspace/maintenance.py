"""Checks, retention and backups of a home.

Comparison of the database of a home with its files, indexes and maps; retention and readiness.

The database is the truth: what nothing in it refers to is left over from work that was killed, and
may go. What is being written at this moment is never taken for such: a file has a lease from before
it is in its place, and a draft has just been written to.

A process can serve where its database answers and is up to date, and its home can be written.

A home as one file, written while it is in use, and back again.

The file is a zip that holds the database as it was at one moment, the originals by their SHA-256,
and a list of both. Indexes and maps are not in it: they are made anew from the database.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from rag.errors import InvalidFile, InvalidInput, StorageError, storage_error
from rag.services.indexing import servers
from rag.services.indexing.servers import WITHOUT_PGVECTOR
from rag.services.services import Services
from rag.settings import Settings
from rag.storage import Database, bases, builds, documents, files, sqlite_file, vectors
from rag.storage.access import audit, people
from rag.storage.conversations import sessions
from rag.storage.files import Arrival, digest
from rag.storage.shared import copying, deletion
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


_UNDER_WAY = ".restore.json"  # in a home: the moves of a restore that has not ended
_LIST = "backup.json"
_DATABASE = "touchstone.db"
_DRAFT = ".backup-"
_PARTS = ("files", "indexes", "maps")
_MOST_TRIES = 5
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Backup:
    """The contents of a backup; ``lost`` names missing or damaged original files of the home."""

    database: str
    files: Sequence[str]
    lost: Sequence[str]
    knowledge_bases: int
    documents: int


def back_up(services: Services, target: Path, *, allow_empty: bool = False) -> Backup:
    """Write a backup, whole or not at all. Raises StorageError, InvalidInput.

    A home without a knowledge base is refused, unless ``allow_empty``.
    """
    if not (allow_empty or services.database.fetch(bases.list_bases)):
        raise InvalidInput(
            "There is no knowledge base to back up.",
            f"Check the home, {services.settings.home} (TOUCHSTONE_HOME). If it is the right "
            "one, use --allow-empty.",
        )
    try:
        for left in target.parent.glob(f"{_DRAFT}*"):  # of a backup that was killed
            if still(left):
                shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_DRAFT) as folder:
            draft, copy = Path(folder) / "draft", Path(folder) / _DATABASE
            with services.files.arriving() as arrival:
                names = _snapshot(services, arrival, copy)
                backup = _pack(services, copy, sorted(names), draft)
            draft.replace(target)
    except OSError as error:
        raise storage_error(f"{target} cannot be written", error) from error
    return backup


def _snapshot(services: Services, arrival: Arrival, copy: Path) -> set[str]:
    """Copy the database; return the originals that belong to the copy, kept until the end.

    What was deleted before it could be kept is in a copy that is made anew.
    """
    missing: set[str] = set()
    for _ in range(_MOST_TRIES):
        before = services.files.list_names()
        if services.files.in_database:
            copying.save_as_file(services.database, copy)
        else:
            services.database.copy_to(copy)
        with closing(Database(sqlite_file.url(copy))) as copied, copied.read() as connection:
            needed = (
                files.list_referenced_files(connection) & before
                | files.expected_files(connection).keys()
            )
        if not services.database.read_only:
            arrival.keep(needed)
        last, missing = missing, services.files.missing(needed)
        if not missing or missing == last:  # what a new copy lacks as well was lost before
            return needed
    raise StorageError("Documents are deleted faster than they are copied.", "Try again later.")


def _pack(services: Services, copy: Path, names: Sequence[str], draft: Path) -> Backup:
    with closing(Database(sqlite_file.url(copy))) as copied, copied.read() as connection:
        infos = bases.list_bases(connection)
        count = sum(documents.count(connection, base.id) for base in infos)
    places = {name: services.files.path(name) for name in names}
    whole = [name for name in names if _is_whole(places[name], name)]
    lost = sorted(set(names).difference(whole))
    backup = Backup(digest(copy), whole, lost, len(infos), count)
    draft.touch(mode=0o600)
    with zipfile.ZipFile(draft, "w") as archive:
        archive.write(copy, _DATABASE)
        for name in whole:
            archive.write(places[name], f"files/{name}")
        archive.writestr(_LIST, json.dumps({"made": f"{datetime.now(UTC)}", **asdict(backup)}))
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    return backup


def _is_whole(path: Path, name: str) -> bool:
    """Whether an original is there, as it came. Raises StorageError where it cannot be read."""
    try:
        return path.exists() and digest(path) == name
    except OSError as error:
        raise StorageError(
            f"The original {path} cannot be read: {error.strerror}.",
            "Check its permissions, and back up again.",
        ) from error


def restore_backup(
    settings: Settings, source: Path, *, force: bool = False
) -> tuple[Backup, Path | None]:
    """Fill a home from a backup; every byte is checked before anything is put in its place.

    What the home held is moved to a folder in it, which is returned: with ``force``, or if the
    database is on a server, which has to be empty. The home then had copies alone. Raises
    InvalidInput for a home that holds something or is in use, InvalidFile for a damaged backup,
    StorageError.
    """
    home, database = settings.home, sqlite_file.of(settings.database_url)
    finish_restore(home)
    places = [home / name for name in _PARTS] + ([database] if database else [])
    existing = [path for path in places if path.exists()]
    if existing and database and not force:
        raise InvalidInput(
            f"{home} is not empty.",
            "Give an empty folder with --home, or use --force to move its contents aside.",
        )
    if database and database.exists() and not sqlite_file.leave(database):
        raise InvalidInput(f"{database} is in use.", "Stop the processes that use it first.")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=home, prefix=".restore-"))
    try:
        backup = _unpacked(source, fresh)
        if database is None:
            _load(settings.database_url, fresh, backup)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    aside = home / f"before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S}" if existing else None
    plan = {
        "fresh": fresh.name,
        "aside": aside and aside.name,
        "held": [str(path) for path in existing],
        "database": database and str(database),
    }
    draft = fresh / _UNDER_WAY
    draft.write_text(json.dumps(plan), "utf-8")
    draft.rename(home / _UNDER_WAY)  # from here on, the next start continues
    finish_restore(home)
    return backup, aside


def finish_restore(home: Path) -> None:
    """Put in place what a restore had checked when it was killed; nothing where none was."""
    marker = home / _UNDER_WAY
    try:
        plan = json.loads(marker.read_text("utf-8"))
    except FileNotFoundError:
        return
    fresh = home / plan["fresh"]
    if plan["aside"]:
        _set_aside([Path(path) for path in plan["held"]], home / plan["aside"])
    moves = [(fresh / "files", home / "files")]
    moves += [(fresh / _DATABASE, Path(plan["database"]))] if plan["database"] else []
    for source, target in moves:
        with suppress(FileNotFoundError):  # it is in its place already
            source.rename(target)
    marker.unlink(missing_ok=True)
    shutil.rmtree(fresh, ignore_errors=True)


def _load(url: str, fresh: Path, backup: Backup) -> None:
    """Fill the database of a server, which has the originals too, from an unpacked backup."""
    originals = {name: _place(fresh, name) for name in backup.files}
    with (
        closing(Database(sqlite_file.url(fresh / _DATABASE))) as copy,
        closing(Database(url)) as database,
    ):
        copying.load_from_file(copy, database, originals)


def _place(folder: Path, name: str) -> Path:
    return folder / "files" / name[:2] / name


def _unpacked(source: Path, folder: Path) -> Backup:
    try:
        with zipfile.ZipFile(source) as archive:
            backup = _listed(json.loads(archive.read(_LIST)))
            (folder / "files").mkdir()
            _extract(archive, _DATABASE, folder / _DATABASE, backup.database)
            for name in backup.files:
                place = _place(folder, name)
                place.parent.mkdir(exist_ok=True)
                _extract(archive, f"files/{name}", place, name)
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise InvalidFile(
            f"{source} is not a complete backup: {error}.", "Use another backup."
        ) from error
    return backup


def _listed(listing: dict[str, Any]) -> Backup:
    backup = Backup(**{name: listing[name] for name in Backup.__slots__})
    if not all(_SHA256.fullmatch(name) for name in backup.files):
        raise ValueError("its list of files is damaged")
    return backup


def _extract(archive: zipfile.ZipFile, name: str, place: Path, sha256: str) -> None:
    hashed = hashlib.sha256()
    place.touch(mode=0o600)
    with archive.open(name) as packed, place.open("wb") as target:
        while block := packed.read(1 << 20):
            hashed.update(block)
            target.write(block)
        target.flush()
        os.fsync(target.fileno())
    if hashed.hexdigest() != sha256:
        raise ValueError(f"{name} is damaged")


def _set_aside(existing: Sequence[Path], aside: Path) -> None:
    aside.mkdir(exist_ok=True)
    for path in existing:
        if path.exists() and not (aside / path.name).exists():  # else what is there is restored
            path.rename(aside / path.name)
