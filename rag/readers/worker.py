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
from pathlib import Path
from typing import BinaryIO

from rag.errors import TouchstoneError, UnreadableDocument
from rag.readers.content import Source, damaged
from rag.readers.formats import run
from rag.readers.isolation import (
    Message,
    content_message,
    decode,
    encode,
    error_message,
    page_message,
    page_number,
    source_of,
)
from rag.readers.pdf.page_image import draw_page

_BEAT_SECONDS = 1.0
_PROGRAM = str(Path(__file__).parents[1])
_XML_LIMITS = {2, 114}  # libxml2: ERR_NO_MEMORY, ERR_RESOURCE_LIMIT


def main() -> None:
    """Answer every request on stdin by replies on stdout."""
    logging.disable(logging.CRITICAL)
    # Parsers may print, even from C: their stdout becomes stderr (which goes nowhere).
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin.buffer:
        _serve(decode(line), replies)


def _serve(request: Message, replies: BinaryIO) -> None:
    received = source_of(request)

    one_at_a_time, over = threading.Lock(), threading.Event()

    def send(message: Message) -> None:
        with one_at_a_time:
            replies.write(encode(message | {"cpu": time.process_time()}))
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

    def last(message: Message) -> None:
        over.set()
        beats.join()
        send(message)

    try:
        reply = _reply(request, source)
    except TouchstoneError as error:
        last(error_message(error))
    except MemoryError:
        last(error_message(_out_of_memory(received.limits.memory_mb)))
        # What filled the memory may still hold it: the parent starts a fresh process.
        raise SystemExit(1) from None
    except Exception as error:
        explanation = _explain_failure(error, request["extension"])
        defect = {"defect": "".join(traceback.format_exception(error))}
        last(error_message(explanation) if explanation else defect)
    else:
        last(reply)


def _explain_failure(error: Exception, extension: str) -> UnreadableDocument | None:
    """Return the error to show for a file; None for a defect of the program, which must be logged.

    Parsers raise any exception on hostile input. An exception from the project's own lines is a
    defect, unless they cannot process a value or the depth of nesting.
    """
    if isinstance(error, ImportError | NameError):
        return None
    if _is_ours(error) and not isinstance(error, ValueError | OSError | RecursionError):
        return None
    etree = sys.modules.get("lxml.etree")
    if etree and isinstance(error, etree.XMLSyntaxError) and error.code in _XML_LIMITS:
        return UnreadableDocument(
            "The unpacked file has a part that is too large or nested too deep.",
            "Split it into smaller files.",
            reason="too_large",
        )
    return damaged(f"it cannot be read as .{extension}")


def _is_ours(error: Exception) -> bool:
    """Whether a line of this package raised it, and not a library that it called."""
    innermost = traceback.extract_tb(error.__traceback__)[-1:]
    return any(frame.filename.startswith(_PROGRAM) for frame in innermost)


def _reply(request: Message, source: Source) -> Message:
    page = page_number(request)
    if page is not None:
        return page_message(draw_page(source, *page))
    content = run(request["reader"], source)
    if len(content.text) > source.limits.max_characters:
        raise UnreadableDocument(
            f"The document has {len(content.text):,} characters. The limit is "
            f"{source.limits.max_characters:,}.",
            "Split it into smaller documents, or raise TOUCHSTONE_MAX_DOCUMENT_CHARACTERS.",
            reason="too_large",
        )
    return content_message(content)


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
