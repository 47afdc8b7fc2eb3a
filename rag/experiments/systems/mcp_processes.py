"""MCP servers that are commands: a process of its own, which ends with the work."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO

from rag.errors import ProviderMisbehaved, ProviderRejected, ProviderUnavailable
from rag.experiments.systems.endpoints import HttpSystem
from rag.experiments.systems.mcp_endpoints import Session, ask_session
from rag.experiments.systems.returned import Returned
from rag.input_rules import storable
from rag.providers.http_tools.calling import MOST_BYTES

_START_SECONDS = 120.0  # a command may install itself first
_MOST_MEMORY = 4 << 30  # bytes of data of the process
_MOST_LINES = 16  # that wait to be looked at: a process may print without end


@contextlib.contextmanager
def started(
    system: HttpSystem,
    variables: Mapping[str, str],
    usual: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[ProcessSession]:
    """Start the command of a system, and agree with it on the protocol; end it afterwards.

    It gets the ``usual`` variables, and those of ``variables`` that its definition names.
    Raises ProviderRejected where it cannot start, and what its answers raise.
    """
    environment = dict(usual)
    for name, variable in system.env.items():
        if not variables.get(variable):
            raise ProviderRejected(
                f"The {system.label} needs {variable}, which is not set.",
                "Set it in the environment of the server and start it again.",
            )
        environment[name] = variables[variable]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                shlex.split(system.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ProviderRejected(
                f"The command of the {system.label} cannot start: {error}.",
                "Check that it is installed, and give its whole path.",
            ) from error
        try:
            _limit_memory(process.pid)
            session = ProcessSession(system, process=process, complaints=complaints)
            session.deadline = time.monotonic() + _START_SECONDS
            session.begin()
            yield session
        finally:
            _end(process)


def _limit_memory(pid: int) -> None:
    """Limit the data of a process, where the system can: what it forks has the same limit."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.prlimit(pid, resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started."""
    with contextlib.suppress(OSError):
        if process.stdin:
            process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


@dataclass(slots=True)
class ProcessSession(Session):
    """The requests to a process: one JSON object a line. ``deadline`` is that of a question."""

    process: subprocess.Popen[bytes] = field(kw_only=True)
    complaints: BinaryIO = field(kw_only=True)
    deadline: float = 0.0
    _lines: queue.Queue[bytes] = field(default_factory=lambda: queue.Queue(_MOST_LINES))

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, question: str) -> Returned:
        """Ask one question within the seconds of the system. Raises ProviderError."""
        self.deadline = time.monotonic() + self.system.seconds
        return ask_session(self, question)

    def _read(self) -> None:
        """Take lines until the process ends, no faster than they are looked at."""
        stream = self.process.stdout
        with contextlib.suppress(OSError, ValueError):
            while stream and (line := stream.readline(MOST_BYTES + 1)):
                while not self._took(line):
                    if self.process.poll() is not None:
                        return
        self._took(b"")

    def _took(self, line: bytes) -> bool:
        try:
            self._lines.put(line, timeout=1.0)
        except queue.Full:
            return False
        return True

    def _send(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            if self.process.stdin:
                self.process.stdin.write(json.dumps(message).encode() + b"\n")
                self.process.stdin.flush()
        except OSError as error:
            raise self._ended() from error
        if (number := message.get("id")) is None:
            return MappingProxyType({})
        while (left := self.deadline - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                break
            if not line:
                raise self._ended()
            if len(line) > MOST_BYTES:
                raise ProviderMisbehaved(
                    f"The {self.system.label} answers with more than {MOST_BYTES:,} bytes.",
                    "Ask it for fewer results.",
                )
            with contextlib.suppress(ValueError, RecursionError):  # a log line
                answer = json.loads(line)
                if isinstance(answer, dict) and answer.get("id") == number:
                    return answer
        raise ProviderUnavailable(
            f"The {self.system.label} did not answer in time.",
            "Give it more seconds, or ask it for fewer results.",
        )

    def _ended(self) -> ProviderUnavailable:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        self.complaints.seek(0)
        last = self.complaints.read()[-400:].decode("utf-8", "replace").strip()
        reason = storable(last.splitlines()[-1]) if last else "no reason"
        return ProviderUnavailable(
            f"The command of the {self.system.label} ended: {reason}",
            "Run the command in a terminal to see what it needs.",
        )
