"""A home as one file, written while it is in use, and back again.

The file is a zip that holds the database as it was at one moment, the originals by their SHA-256,
and a list of both. Indexes and maps are not in it: they are made anew from the database.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag.errors import InvalidFile, InvalidInput, StorageError, storage_error
from rag.services.services import Services
from rag.settings import Settings
from rag.storage import Database, bases, documents, files, sqlite_file
from rag.storage.files import Arrival, digest
from rag.storage.shared import copying
from rag.workspace.maintenance.check import still

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
