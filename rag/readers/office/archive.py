"""Office files are ZIP archives: this looks at one before a parser unpacks it."""

from __future__ import annotations

import zipfile

from rag.errors import UnreadableDocument
from rag.readers.content import Source


def check_archive(source: Source) -> None:
    """Raises UnreadableDocument: too_large for what would unpack to too much, damaged.

    Python's zipfile never unpacks more of a member than the size that the directory declares, so
    the declared sizes can be trusted.
    """
    try:
        with zipfile.ZipFile(source.path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableDocument(
            "The file is damaged: it is incomplete, or was changed on its way.",
            "Open it in the program that made it, save a fresh copy, and add that.",
            reason="damaged",
        ) from error
    if unpacked > source.limits.max_unpacked_bytes:
        most = source.limits.max_unpacked_bytes / 1e6
        raise UnreadableDocument(
            f"The file unpacks to {unpacked / 1e6:,.0f} MB; at most {most:,.0f} MB are read.",
            "If it is what you meant to add, split it into smaller files.",
            reason="too_large",
        )
