"""Reading a stream that may be slow, on a page that may be stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Empty, Queue

PAUSE = 0.25  # seconds


def unhurried(stream: Iterator[str], pause: float = PAUSE) -> Iterator[str]:
    """The pieces of ``stream``, and "" whenever none came for a while.

    A page can only be stopped while it draws: it draws something for every piece.
    """
    arrived: Queue[str | BaseException | None] = Queue()
    threading.Thread(target=_read, args=(stream, arrived), daemon=True).start()
    while True:
        try:
            piece = arrived.get(timeout=pause)
        except Empty:
            yield ""
            continue
        if piece is None:
            return
        if isinstance(piece, BaseException):
            raise piece
        yield piece


def _read(stream: Iterator[str], arrived: Queue[str | BaseException | None]) -> None:
    try:
        for piece in stream:
            arrived.put(piece)
    except BaseException as error:  # raised where the stream is read
        arrived.put(error)
    else:
        arrived.put(None)
