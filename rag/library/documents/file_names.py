"""Selection and naming of the files in folders that are added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rag.input_rules import composed

Item = tuple[str, Mapping[str, object]]
"""The name and the payload of an item of a job."""


def name_files(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Every file once, with its path below the folder given; equal ones with that folder's name.

    Neither depends on the order of ``paths``, so that the same files are the same documents.
    """
    roots: dict[Path, tuple[Path, Path]] = {}
    for path in sorted(paths):
        root = path if path.is_dir() else path.parent
        for file in _files(path):
            roots.setdefault(file.resolve(), (file, root))
    names = [_readable(file.relative_to(root)) for file, root in roots.values()]
    count = Counter(names)
    return [
        (file, f"{_readable(Path(root.resolve().name))}/{name}" if count[name] > 1 else name)
        for (file, root), name in zip(roots.values(), names, strict=True)
    ]


def _readable(path: Path) -> str:
    """A path as text; bytes in it that are no UTF-8 are replaced, as no database has them."""
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _files(path: Path) -> list[Path]:
    """The file itself, or every file below a folder, hidden ones aside."""
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def distinct(items: Iterable[Item]) -> list[Item]:
    """The items, a number in every name that an earlier one has, like ``readme (2).md``."""
    by_name: dict[str, Item] = {}
    for written, payload in items:
        name = composed(written)
        stem, dot, extension = name.rpartition(".") if "." in name else (name, "", "")
        number, free = 2, name
        while free in by_name:
            free = f"{stem} ({number}){dot}{extension}"
            number += 1
        by_name[free] = (free, payload)
    return list(by_name.values())
