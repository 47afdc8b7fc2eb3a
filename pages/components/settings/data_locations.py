"""Descriptions of the data locations, without secrets."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit


def shown_database(url: str) -> str:
    """A database URL for people: the file, or server and name; never a password."""
    parts = urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        return unquote(parts.path.removeprefix("/"))
    port = f":{parts.port}" if parts.port else ""
    server = parts.hostname or "this machine"
    return f"{parts.scheme.partition('+')[0]} on {server}{port}{parts.path}"


def size(folder: Path) -> str:
    """The total size of the files in a folder, such as ``8 MB``."""
    total = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{total / 1e6:,.0f} MB" if total >= 1e6 else f"{total / 1e3:,.0f} kB"
