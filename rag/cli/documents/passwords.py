"""Passwords of encrypted PDFs: from a file or asked for at the terminal, never an argument."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rag import InvalidInput, JobItem, KnowledgeBase, LockedFile, UnreadableDocument
from rag.cli import inputs

_TRIES = 3
Passwords = Callable[[str], Iterator[str]]
"""The passwords to try on the file of a name."""


def given(path: Path | None) -> Passwords:
    """The lines of a file; without one, what is typed where there is a terminal.

    Raises InvalidInput for a file without a password.
    """
    if path is None:
        return _typed
    lines = [line for line in inputs.text_in(path).splitlines() if line]
    if not lines:
        raise InvalidInput(f"{path} contains no password.", "Write one on each line.")
    return lambda _name: iter(lines)


def _typed(name: str) -> Iterator[str]:
    if sys.stdin.isatty() and sys.stderr.isatty():
        for _ in range(_TRIES):
            password = getpass.getpass(f"Password of {name} (empty to leave it out): ")
            if not password:
                return
            yield password


def opened(
    base: KnowledgeBase,
    items: Sequence[JobItem],
    passwords: Passwords,
    read: Callable[[int], JobItem],
) -> list[JobItem]:
    """The items of a job, those that waited for a password as they are with it.

    ``read`` does the job of one file. A wrong password is tried without a word; the last one's
    reason is the item's.
    """
    locked = {
        (locked_file.job_id, locked_file.position): locked_file
        for locked_file in base.documents.locked_files()
    }
    return [
        _opened(base, item, locked[item.job_id, item.position], passwords, read)
        if (item.job_id, item.position) in locked
        else item
        for item in items
    ]


def _opened(
    base: KnowledgeBase,
    item: JobItem,
    locked: LockedFile,
    passwords: Passwords,
    read: Callable[[int], JobItem],
) -> JobItem:
    for password in passwords(locked.name):
        try:
            job = base.documents.open_locked_file(locked, password)
        except UnreadableDocument as error:
            item = replace(item, reason=error.message, hint=error.hint)
            if error.reason != "needs_password":
                break
        else:
            return read(job)
    return item
