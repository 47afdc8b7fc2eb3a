"""Office files and books as archives, looked at before a parser unpacks them.

Besides, the headers of the sections of a document.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable

from rag.errors import UnreadableDocument
from rag.readers.content import FRESH_COPY, Source, damaged

_PROLOG_BYTES = 65_536
_HARMLESS_BYTES = 20_000_000  # to unpack


def check_archive(source: Source, *, with_declarations: bool = False) -> None:
    """Raise UnreadableDocument: too_large for what would unpack to too much, damaged.

    Document type declarations are no damage ``with_declarations``, for a parser without entities.

    Python's zipfile never unpacks more of a member than the size that the directory declares, so
    the declared sizes can be trusted.
    """
    try:
        with zipfile.ZipFile(source.path) as archive:
            unpacked, packed = (
                sum(m.file_size for m in archive.infolist()),
                source.path.stat().st_size,
            )
            limit, most_times = source.limits.max_unpacked_bytes, source.limits.max_unpacking
            if unpacked > max(_HARMLESS_BYTES, most_times * packed):
                raise UnreadableDocument(
                    f"The file unpacks to {unpacked / packed:,.0f} times its size. The limit is "
                    f"{most_times:,} times.",
                    FRESH_COPY,
                    reason="too_large",
                )
            if unpacked > limit:
                most = limit / 1e6
                raise UnreadableDocument(
                    f"The unpacked file has {unpacked / 1e6:,.0f} MB. The limit is {most:,.0f} MB.",
                    "Split it into smaller files.",
                    reason="too_large",
                )
            declaring = not with_declarations and any(
                _declares_entities(archive, name) for name in archive.namelist()
            )
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise damaged("it is incomplete, or was changed") from error
    if declaring:
        # Entities are not resolved, as they may name files: text would be missing without a word.
        raise damaged("it has a document type declaration, which Office files may not have")


def _declares_entities(archive: zipfile.ZipFile, name: str) -> bool:
    if not name.endswith((".xml", ".rels")):
        return False
    with archive.open(name) as part:
        return b"<!DOCTYPE" in part.read(_PROLOG_BYTES).replace(b"\0", b"")  # UTF-16 too


def section_titles(headers: Iterable[Iterable[str]]) -> set[str]:
    """Return the lines that name sections: headers that have any differ in them.

    Each header has its lines.
    """
    lines = [own for header in headers if (own := {line for line in header if line})]
    shared = lines[0].intersection(*lines) if lines else set[str]()
    names = {frozenset(own - shared) for own in lines if own - shared}
    return set[str]().union(*names) if len(names) > 1 else set()
