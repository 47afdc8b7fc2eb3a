"""A job in a process of its own: those who look at pages do not wait for its turns.

Its end of the agreement is ``rag.workspace.workspace.do_job``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

BUSY = 75
"""The exit status of a process that ends because the database is busy (EX_TEMPFAIL)."""
_ENTRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); import rag.workspace.workspace as w; w.do_job()"
)
_PROJECT = str(Path(__file__).parents[3])


@cache
def machine() -> str:
    """Name those whose process ids are those of this process, as far as that can be told.

    Containers on the network of their host have its name, and copies of a machine have one name,
    but not its processes.
    """
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text().strip()]
        parts += [str(Path("/proc/self/ns/pid").readlink())]
    return "/".join(parts)


def start(request: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """Start a process that reads its task as JSON; it ends when this one does."""
    command = [sys.executable, "-c", _ENTRY, _PROJECT]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin
    with contextlib.suppress(OSError):  # it ended at once, which is seen by who waits for it
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    return process


def read_task(stream: BinaryIO) -> dict[str, Any]:
    """Return the task of this process. From now on the process ends when ``stream`` ends."""
    request: dict[str, Any] = json.loads(stream.readline())
    threading.Thread(target=_end_with, args=(stream,), daemon=True).start()
    return request


def _end_with(stream: BinaryIO) -> None:
    while os.read(stream.fileno(), 1):  # not by the stream: it could not be closed meanwhile
        pass
    os._exit(1)  # its parent has ended; finished work is stored
