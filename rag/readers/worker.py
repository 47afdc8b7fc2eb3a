"""The process that files are read in: ``python -m rag.readers.worker``.

Serves requests from stdin until it closes, which also happens when the parent dies. One that is
reading then ends at its next beat.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
from dataclasses import replace
from typing import BinaryIO

from rag.errors import TouchstoneError, UnreadableDocument
from rag.readers import wire
from rag.readers.content import Source
from rag.readers.failures import explain_failure
from rag.readers.formats import run
from rag.readers.pdf.page_image import draw_page

_BEAT_SECONDS = 1.0


def main() -> None:
    """Answer every request on stdin by replies on stdout."""
    logging.disable(logging.CRITICAL)
    # Parsers may print, even from C: their stdout becomes stderr (which goes nowhere).
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin.buffer:
        _serve(wire.decode(line), replies)


def _serve(request: wire.Message, replies: BinaryIO) -> None:
    received = wire.source_of(request)

    one_at_a_time, over = threading.Lock(), threading.Event()

    def send(message: wire.Message) -> None:
        with one_at_a_time:
            replies.write(wire.encode(message | {"cpu": time.process_time()}))
            replies.flush()

    def tick(done: int, total: int) -> None:
        send({"progress": [done, total]})

    def beat() -> None:
        while not over.wait(_BEAT_SECONDS):
            try:
                send({"beat": True})
            except OSError:
                os._exit(1)  # the caller has ended: nothing waits for the end of this file

    beats = threading.Thread(target=beat, daemon=True)
    beats.start()
    _limit_memory(received.limits.memory_mb)
    source = replace(received, tick=tick)

    def last(message: wire.Message) -> None:
        over.set()
        beats.join()
        send(message)

    try:
        reply = _reply(request, source)
    except TouchstoneError as error:
        last(wire.error_message(error))
    except MemoryError:
        last(wire.error_message(_out_of_memory(received.limits.memory_mb)))
        # What filled the memory may still hold it: the parent starts a fresh process.
        raise SystemExit(1) from None
    except Exception as error:
        explanation = explain_failure(error, request["extension"])
        defect = {"defect": "".join(traceback.format_exception(error))}
        last(wire.error_message(explanation) if explanation else defect)
    else:
        last(reply)


def _reply(request: wire.Message, source: Source) -> wire.Message:
    page = wire.page_number(request)
    if page is not None:
        return wire.page_message(draw_page(source, *page))
    content = run(request["reader"], source)
    if len(content.text) > source.limits.max_characters:
        raise UnreadableDocument(
            f"The document has {len(content.text):,} characters. The limit is "
            f"{source.limits.max_characters:,}.",
            "Split it into smaller documents, or raise TOUCHSTONE_MAX_DOCUMENT_CHARACTERS.",
            reason="too_large",
        )
    return wire.content_message(content)


def _limit_memory(megabytes: int) -> None:
    """Bounds the address space, where the system can (not on Windows)."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = megabytes << 20
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ValueError, OSError):  # macOS refuses some values
        return


def _out_of_memory(megabytes: int) -> UnreadableDocument:
    return UnreadableDocument(
        f"Reading the file takes more than {megabytes:,} MB of memory.",
        "Split the file into smaller ones.",
        reason="too_large",
    )


if __name__ == "__main__":
    main()
