"""Reading in a child process, so that a hang, a crash or a memory bomb takes nothing down.

The messages between the two are JSON, one per line. A request contains the extension, the reader,
the fields of a Source, and for a picture the page. The replies are any number of ``progress``
messages, then one ``content``, ``page``, ``error`` or ``defect`` (a traceback).
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import functools
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rag.errors import Cancelled, InvalidFile, TouchstoneError, UnreadableDocument
from rag.readers.content import Content, Limits, Source, damaged
from rag.readers.formats import Format, format_of
from rag.readers.pdf.page_image import Mark, PageImage
from rag.types import Heading, Omission, Page, Table

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """One line; letters are not escaped, which would make six of one."""
    line = f"{json.dumps(message, ensure_ascii=False)}\n"
    return line.encode("utf-8", "surrogatepass")


def decode(line: bytes) -> Message:
    """The message of one line. Raises ValueError."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not a message")  # noqa: TRY004
    return message


def read_request(form: Format, source: Source) -> Message:
    """Ask for a file to be read."""
    return {
        "extension": form.extensions[0],
        "reader": form.reader,
        "path": str(source.path),
        "limits": dataclasses.asdict(source.limits),
        "password": source.password,
        "about": dict(source.about),
    }


def page_number(message: Message) -> tuple[int, str, list[Mark]] | None:
    """Number, text and marks of the page that a request is for; None where it wants the text."""
    body = message.get("page")
    return body and (body["number"], body["text"], [Mark(*span) for span in body["marks"]])


def page_message(page: PageImage) -> Message:
    """A page that was drawn."""
    picture = base64.b64encode(page.png).decode("ascii")
    return {"page": dataclasses.asdict(page) | {"png": picture}}


def source_of(message: Message) -> Source:
    """The file that a request names, still without a ``tick``."""
    limits = Limits(**message["limits"])
    return Source(Path(message["path"]), limits, message["password"], about=message["about"])


def content_message(content: Content) -> Message:
    """A reading that went well."""
    return {"content": dataclasses.asdict(content)}


def content_of(message: Message) -> Content:
    """The reverse of ``content_message``."""
    body = message["content"]
    for table in body["tables"]:
        table["labels"] = tuple(table["labels"])
    kinds = {"pages": Page, "headings": Heading, "tables": Table, "left_out": Omission}
    parts = {name: tuple(kind(**one) for one in body[name]) for name, kind in kinds.items()}
    return Content(**body | parts)


def error_message(error: TouchstoneError) -> Message:
    """A reading that failed."""
    reason = error.reason if isinstance(error, UnreadableDocument) else None
    return {"error": {"message": error.message, "hint": error.hint, "reason": reason}}


def _error_of(message: Message) -> UnreadableDocument | InvalidFile:
    """The reverse of ``error_message``: without a reason it is the file of a question set."""
    body = message["error"]
    if body["reason"] is None:
        return InvalidFile(body["message"], body["hint"])
    return UnreadableDocument(**body)


_POLL_SECONDS = 0.05
_PROCESSES = 2
_CRASHED = "the program that reads it crashed on it"
_READS_PER_PROCESS = 100
BUSY = 10.0
"""How many times as long as on an idle machine something may take on a busy one."""


class ReaderDefect(Exception):
    """A fault of the program in a reading process; the text is the traceback there."""


class WorkerPool:
    """A few reading processes, started when needed and kept warm. Threads wait for a free one."""

    def __init__(self, processes: int = _PROCESSES) -> None:
        self._free = threading.Semaphore(processes)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._busy: list[Worker] = []

    @property
    def idle(self) -> tuple[Worker, ...]:
        """Processes that wait for work."""
        with self._lock:
            return tuple(self._idle)

    @property
    def busy(self) -> tuple[Worker, ...]:
        """Processes that are reading."""
        with self._lock:
            return tuple(self._busy)

    def read(
        self, form: Format, source: Source, cancelled: Callable[[], bool] | None = None
    ) -> Content:
        """Have ``source`` read. Raises UnreadableDocument, Cancelled, or what its tick raises."""
        request = read_request(form, source)
        return content_of(self._ask(request, source, cancelled, heavy=form.heavy))

    def draw(self, source: Source, number: int, text: str, marks: Sequence[Mark]) -> PageImage:
        """Have a page of a PDF drawn, see ``draw_page``. Raises UnreadableDocument."""
        spans = [(mark.start, mark.end) for mark in marks]
        request = read_request(format_of("x.pdf"), source) | {
            "page": {"number": number, "text": text, "marks": spans}
        }
        body = self._ask(request, source, None)["page"]
        boxes = tuple(tuple(tuple(box) for box in mark_boxes) for mark_boxes in body["boxes"])
        return PageImage(**body | {"png": base64.b64decode(body["png"]), "boxes": boxes})

    def _ask(
        self,
        request: Message,
        source: Source,
        cancelled: Callable[[], bool] | None,
        *,
        heavy: bool = True,
    ) -> Message:
        while not self._free.acquire(timeout=_POLL_SECONDS):
            _stop_if(cancelled)
        try:
            _stop_if(cancelled)
            worker = self._take()
            worker.reads += heavy
            try:
                return worker.ask(request, source, cancelled)
            finally:
                self._give_back(worker)
        finally:
            self._free.release()

    def close(self) -> None:
        """End the idle processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def _take(self) -> Worker:
        with self._lock:
            waiting, self._idle = self._idle, []
            alive = [worker for worker in waiting if worker.alive]
            worker = alive.pop() if alive else Worker()
            self._idle = alive
            self._busy.append(worker)
        for dead in waiting:
            if dead is not worker and dead not in alive:
                dead.end()
        return worker

    def _give_back(self, worker: Worker) -> None:
        # Parsers leak a little; a fresh process now and then keeps memory flat.
        keep = worker.clean and worker.alive and worker.reads < _READS_PER_PROCESS
        with self._lock:
            self._busy.remove(worker)
            if keep:
                self._idle.append(worker)
        if not keep:
            worker.end()


@functools.cache
def shared_pool() -> WorkerPool:
    """The pool of this program. Its processes end with it, because their stdin closes."""
    return WorkerPool()


class Worker:
    """One reading process. ``clean`` is False from a request until its final reply came."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rag.readers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],  # where -m finds this very package
        )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._pump, daemon=True).start()
        self.clean = True
        self.reads = 0  # of heavy formats

    @property
    def pid(self) -> int:
        """The number that the system knows the process by."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Return when the process has ended."""
        self._process.wait()

    def ask(
        self, request: Message, source: Source, cancelled: Callable[[], bool] | None
    ) -> Message:
        """The answer to a request.

        Raises UnreadableDocument, Cancelled, what ``tick`` raises, or ReaderDefect.

        The program that crashes, hangs or lies is given up; the next caller gets another.
        """
        self.clean = False
        try:
            assert self._process.stdin
            self._process.stdin.write(encode(request))
            self._process.stdin.flush()
        except OSError as error:
            raise damaged(_CRASHED) from error
        retry_policy = _Patience(source.limits)
        while True:
            _stop_if(cancelled)
            retry_policy.check()
            message = self._receive()
            if message is None:
                continue
            retry_policy.hears(message.get("cpu"))
            if "beat" in message:
                continue
            if "progress" in message:
                retry_policy.renew()
                source.tick(*message["progress"])
                continue
            if "error" in message:
                failure = _error_of(message)
                # After running out of memory the process ends itself.
                self.clean = getattr(failure, "reason", None) != "too_large"
                raise failure
            if "defect" in message:
                self.clean = True
                raise ReaderDefect(message["defect"])
            self.clean = True
            return message

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close() if pipe else None

    def _receive(self) -> Message | None:
        """The next message, or None if there is none for a moment."""
        try:
            line = self._lines.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            return None
        try:
            return decode(line or b"")
        except ValueError as error:
            raise damaged(_CRASHED) from error

    def _pump(self) -> None:
        """Moves lines from the pipe to the queue, where one can wait for them with a timeout."""
        assert self._process.stdout
        with contextlib.suppress(OSError, ValueError):
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)


class _Patience:
    """A timeout for the first progress report, for the next one, and for the whole reading.

    It counts the processor time of the reading process, which the process reports as it goes: a
    busy machine loses no page. The process must not be silent for that long by the clock. Nothing
    may take longer than ``BUSY`` times the limit by the clock.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._cpu: float | None = None
        self._heard = time.monotonic()
        self._whole, self._step = _Stretch(limits.seconds), _Stretch(limits.seconds_to_open)

    def hears(self, cpu: float | None) -> None:
        """Note a message, and how much of the processor's time its sender had until then."""
        now = time.monotonic()
        if self._cpu is None and cpu is not None:  # what it did for others before does not count
            used = min(cpu, now - self._heard)
            self._whole.begin = self._step.begin = cpu - used
        self._cpu, self._heard = cpu, now

    def renew(self) -> None:
        self._step = _Stretch(self._limits.seconds_per_page, self._cpu)

    def check(self) -> None:
        silent = time.monotonic() - self._heard
        if self._whole.over(self._cpu, silent):
            raise _timed_out(f"Reading took longer than {self._limits.seconds:g} seconds")
        if self._step.over(self._cpu, silent):
            raise _timed_out("Reading got stuck on one page or block")


class _Stretch:
    """Some work and its time."""

    def __init__(self, seconds: float, begin: float | None = None) -> None:
        self._seconds = seconds
        self._since = time.monotonic()
        self.begin = begin  # the processor's time then; None while nobody told

    def over(self, cpu: float | None, silent: float) -> bool:
        """``cpu`` is the processor's time now, ``silent`` how long nothing was heard."""
        used = 0.0 if cpu is None or self.begin is None else cpu - self.begin
        late = time.monotonic() - self._since > BUSY * self._seconds
        return late or max(used, silent) > self._seconds


def _stop_if(cancelled: Callable[[], bool] | None) -> None:
    if cancelled is not None and cancelled():
        raise Cancelled("Reading was stopped.")


def _timed_out(what: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{what}, so it was stopped.",
        "Split the file into smaller ones, or save a fresh copy (print to PDF) and add that.",
        reason="timed_out",
    )
