"""The version of the code: the release, and the commit if the package is in a git checkout."""

from __future__ import annotations

import re
from pathlib import Path

VERSION = "1.0.0"

_PROJECT = Path(__file__).resolve().parents[2]
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


def code_version(project: Path = _PROJECT) -> str:
    """``1.0.0+g1a2b3c4d5e6f`` in a checkout, ``1.0.0`` elsewhere.

    Read from git's own files, so git need not be installed. Changes that are not committed do not
    show.
    """
    commit = _commit(project / ".git")
    return f"{VERSION}+g{commit[:12]}" if commit else VERSION


def _commit(place: Path) -> str | None:
    """The commit that is checked out, or None where that cannot be told."""
    try:
        git = _folder(place)
        head = (git / "HEAD").read_text("utf-8").strip()
        name = head.removeprefix("ref: ")
        commit = head if name == head else _resolved(git, name)
    except (OSError, UnicodeDecodeError):
        return None
    return commit if commit and _COMMIT.fullmatch(commit) else None


def _folder(place: Path) -> Path:
    """Git's folder; in a linked worktree ``.git`` is a file that names it."""
    if place.is_dir():
        return place
    return place.parent / place.read_text("utf-8").strip().removeprefix("gitdir: ")


def _resolved(git: Path, name: str) -> str | None:
    """The commit of a branch: a file of its own, or a line of ``packed-refs``."""
    common = git / "commondir"
    shared = git / common.read_text("utf-8").strip() if common.exists() else git
    for folder in (git, shared):
        if (folder / name).is_file():
            return (folder / name).read_text("utf-8").strip()
    packed = shared / "packed-refs"
    lines = packed.read_text("utf-8").splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(f" {name}")), None)
