"""Limits on the resources that reading one file may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one file; whatever passes them raises UnreadableDocument instead of harm.

    ``max_bytes`` bounds the file, ``max_unpacked_bytes`` what an office file unpacks to,
    ``max_pages`` the pages of a PDF, ``max_characters`` the text of the document.
    ``max_unpacking`` bounds how many times its size an office file unpacks to, if that is more than
    20 MB: files that Office makes stay below 25 times.

    ``seconds_to_open`` may pass until the first page (or block of rows) is done,
    ``seconds_per_page`` between two of them, ``seconds`` altogether. These are seconds of a
    processor, as long as the reading process says so: a busy machine may take longer.
    ``memory_mb`` (MiB) bounds the address space of that process.
    """

    max_bytes: int = 200_000_000
    max_unpacked_bytes: int = 1_000_000_000
    max_pages: int = 5000
    max_characters: int = 50_000_000
    max_unpacking: int = 200
    seconds_to_open: float = 60.0
    seconds_per_page: float = 20.0
    seconds: float = 600.0
    memory_mb: int = 2048
