"""Folders whose files are as they were written, or are not read at all.

``seal`` lists the hash of every file, and ``opened`` compares: no format of an array or an index
says by itself that one of its bytes is another than it was.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from rag.storage.files import digest, sync_folder

_MANIFEST = "manifest.json"


def seal(folder: Path) -> None:
    """Put a folder on disk, with a list of its files and their hashes. Raises OSError."""
    (folder / _MANIFEST).write_bytes(_listed(folder))
    for path in (*folder.rglob("*"), folder):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("r+b") as file:
                os.fsync(file.fileno())


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[None]:
    """Let the block read a sealed folder.

    Raises ValueError for one that was never sealed, was changed since, or was replaced by another
    process while it was read; OSError where it cannot be read.
    """
    sealed = _manifest(folder)
    if sealed != _listed(folder):
        raise ValueError("its files are not as they were written")
    yield
    if sealed != _manifest(folder):
        raise ValueError("another process replaced it meanwhile")


def is_sealed(folder: Path) -> bool:
    """Whether a folder has a list of hashes; those of earlier versions have none, and are not
    read."""
    return (folder / _MANIFEST).exists()


def intact(folder: Path) -> bool:
    """Whether a folder can be used."""
    try:
        with opened(folder):
            return True
    except (OSError, ValueError):
        return False


def _manifest(folder: Path) -> bytes:
    try:
        return (folder / _MANIFEST).read_bytes()
    except FileNotFoundError as error:
        raise ValueError("it has no list of hashes") from error


def _listed(folder: Path) -> bytes:
    """The SHA-256 of every file but the list itself, by path."""
    hashes = {
        path.relative_to(folder).as_posix(): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != _MANIFEST
    }
    return json.dumps(hashes, indent=1).encode()
