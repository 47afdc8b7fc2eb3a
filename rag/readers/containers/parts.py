"""The files that come out of another one, on their way to the program that asked for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from rag.errors import InvalidFile
from rag.readers.content import Composer, Content, Source
from rag.readers.formats import extension_of, refusal_of
from rag.readers.sniff import HEAD

_PICTURES = {"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "tif", "tiff", "ico", "heic"}
_UNWANTED = re.compile(r"[\x00-\x1f\x7f]+|^[A-Za-z]:(?=/)")
_BLOCK = 1 << 20
MOST = 10_000
"""Files that come out of one."""


class Parts:
    """Files in a folder, numbered from 0; the content lists their names, a line each.

    Without a folder (``source.about``), there is the list alone.
    """

    def __init__(self, source: Source) -> None:
        folder = source.about.get("folder")
        self.composer = Composer()
        self._source = source
        self._folder = Path(folder) if folder else None
        self._names: list[str] = []

    def add(self, name: str, content: IO[bytes], *, with_pictures: bool = False) -> None:
        """Take a file that somebody reads; count what nobody does, and pictures without need."""
        name = safe_name(name)
        head = content.read(HEAD)
        if extension_of(name) in _PICTURES and not with_pictures:
            self.composer.leave_out("picture", name)
        elif not head or refusal_of(name, head) is not None:
            self.composer.leave_out("file" if head else "empty_file", name)
        elif len(self._names) == MOST:
            self.composer.leave_out("file_above_the_limit", name)
        else:
            if self._folder is not None:
                self._write(self._folder / str(len(self._names)), head, content)
            self._names.append(name)
            self._source.tick(len(self._names), len(self._names) + 1)

    def _write(self, path: Path, head: bytes, content: IO[bytes]) -> None:
        block = head
        while block:
            try:
                with path.open("ab") as target:
                    target.write(block)
            except OSError as error:
                raise InvalidFile(
                    f"The files in it could not be written ({error.strerror}).",
                    "Make room on the disk for temporary files, and add it again.",
                ) from error
            block = content.read(_BLOCK)

    def content(self) -> Content:
        """The names, and what was left out."""
        self.composer.block("\n".join(self._names))
        self._source.tick(1, 1)
        return self.composer.content()


def safe_name(name: str) -> str:
    """A path below a folder: neither absolute nor up, and one line."""
    path = _UNWANTED.sub("", name.replace("\\", "/"))
    return "/".join(part for part in path.split("/") if part.strip(". ")) or "file"
