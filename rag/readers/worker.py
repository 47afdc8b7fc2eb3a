"""The process that risky formats are read in: ``python -m rag.readers.worker``.

Serves requests from stdin until it closes, which also happens when the parent dies.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import BinaryIO

from rag.errors import UnreadableDocument
from rag.readers import wire
from rag.readers.content import Source
from rag.readers.formats import format_of
from rag.readers.pdf.page_image import draw_page


def main() -> None:
    """Answers every request on stdin by replies on stdout."""
    logging.disable(logging.CRITICAL)
    # Parsers may print, even from C: their stdout becomes stderr (which goes nowhere).
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin.buffer:
        _serve(wire.decode(line), replies)


def _serve(request: wire.Message, replies: BinaryIO) -> None:
    asked = wire.source_of(request)

    def send(message: wire.Message) -> None:
        replies.write(wire.encode(message))
        replies.flush()

    def tick(done: int, total: int) -> None:
        send({"progress": [done, total]})

    _limit_memory(asked.limits.memory_mb)
    source = Source(asked.path, asked.limits, asked.password, tick)
    try:
        reply = _reply(request, source)
    except UnreadableDocument as error:
        send(wire.error_message(error))
    except MemoryError:
        send(wire.error_message(_out_of_memory(asked.limits.memory_mb)))
        # What filled the memory may still hold it: the parent starts a fresh process.
        raise SystemExit(1) from None
    except Exception:  # parsers raise anything on hostile input
        send(wire.error_message(_damaged(request["extension"])))
    else:
        send(reply)


def _reply(request: wire.Message, source: Source) -> wire.Message:
    page = wire.page_asked(request)
    if page is not None:
        return wire.page_message(draw_page(source, *page))
    return wire.content_message(format_of(f"file.{request['extension']}").read(source))


def _limit_memory(megabytes: int) -> None:
    """Bounds the address space, where the system can (not on Windows)."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes << 20
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    except (ValueError, OSError):  # macOS refuses some values
        return


def _out_of_memory(megabytes: int) -> UnreadableDocument:
    return UnreadableDocument(
        f"Reading the file takes more than {megabytes:,} MB of memory.",
        "Split the file into smaller ones.",
        reason="too_large",
    )


def _damaged(extension: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"The file is damaged: it cannot be read as .{extension}.",
        "Open it in the program that made it, save a fresh copy, and add that.",
        reason="damaged",
    )


if __name__ == "__main__":
    main()
