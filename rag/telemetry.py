"""Telemetry of the process: units of work and spans for listeners.

Without a listener nothing is stored. Work is counted and timed at its end. Spans are followed from
their beginning, as parts of one another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

log = logging.getLogger(__name__)

REQUEST_ID: ContextVar[str] = ContextVar("REQUEST_ID", default="")
"""The id of the request that this thread, or this task, answers; "" without one."""
_LINE = "%(asctime)s %(levelname)s %(name)s: %(request)s%(message)s"

P = ParamSpec("P")
T = TypeVar("T")

Kind = Literal["search", "answer", "provider", "request"]


@dataclass(frozen=True, slots=True)
class Work:
    """Work that has just ended, after ``seconds``. ``about`` is what came of it, if anything.

    ``labels`` have few values each; no text of a user is among them.
    """

    kind: Kind
    seconds: float
    labels: dict[str, str] = field(default_factory=dict)
    about: Any = None


Listener = Callable[[Work], None]
_listeners: list[Listener] = []


def watch_work(listener: Listener) -> None:
    """Tell ``listener`` of all work from now on."""
    _listeners.append(listener)


def note_work(kind: Kind, seconds: float, about: Any = None, **labels: str) -> None:
    """Tell all listeners of work that has just ended."""
    if _listeners:
        work = Work(kind, seconds, labels, about)
        for listener in tuple(_listeners):
            listener(work)


SpanKind = Literal[
    "request", "turn", "search", "answer", "chat", "embeddings", "rerank", "tool", "job"
]


@dataclass(eq=False, slots=True)
class Span:
    """Work under way, as a part of ``parent``.

    ``labels`` say what is done and may hold text of a user, ``about`` is what came of it, and
    ``error`` what ended it. ``caller`` is the W3C ``traceparent`` of who asked for it, "" where
    no callback. A follower keeps its own in ``kept``, and names the trace in ``trace_id``.
    """

    kind: SpanKind
    labels: dict[str, Any]
    parent: Span | None = None
    caller: str = ""
    about: Any = None
    error: BaseException | None = None
    trace_id: str = ""
    kept: Any = None
    follower: Follower | None = field(default=None, repr=False)


class Follower(Protocol):
    """An observer of work while it goes on. What it raises is logged and fails nobody's work."""

    def began(self, span: Span) -> None:
        """Work has begun; its parent is reported already."""

    def passed(self, span: Span, seconds: float, about: Any) -> None:
        """A step of it has just ended, after ``seconds``."""

    def ended(self, span: Span) -> None:
        """Work has ended; some of its parts may go on, in other threads."""


_follower: Follower | None = None
_current: ContextVar[Span | None] = ContextVar("_current", default=None)


def follow(follower: Follower | None) -> None:
    """Let ``follower`` follow all work that begins from now on, in place of any other."""
    global _follower
    _follower = follower


def is_followed() -> bool:
    """Whether anybody follows; if not, spans cost next to nothing and are not kept."""
    return _follower is not None


def current() -> Span | None:
    """The work that this thread, or this task, is at."""
    return _current.get()


def trace_id() -> str:
    """Name the trace of the work under way, in 32 hexadecimal digits; "" where nobody follows."""
    span = _current.get()
    return span.trace_id if span else ""


def begin(
    kind: SpanKind,
    labels: Mapping[str, Any],
    parent: Span | None = None,
    caller: str = "",
) -> Span:
    """Work that goes on until ``end``, in whatever thread."""
    span = Span(kind, dict(labels), parent, caller, follower=_follower)
    if span.follower is not None:
        _safely(span.follower.began, span)
    return span


def end(span: Span, about: Any = None, error: BaseException | None = None) -> None:
    """Ends work, once: whatever ends it again is ignored."""
    follower, span.follower = span.follower, None
    if follower is not None:
        span.about = span.about if about is None else about
        span.error = error
        _safely(follower.ended, span)


@contextmanager
def at(span: Span) -> Iterator[None]:
    """Make ``span`` the parent of the spans that this thread or task begins in the block."""
    token = _current.set(span)
    try:
        yield
    finally:
        _current.reset(token)


def carry_context(work: Callable[P, T]) -> Callable[P, T]:
    """The same function: what it begins, in whatever thread, is a part of the work under way now.

    A thread of a pool starts without any.
    """
    span = _current.get()
    if span is None:
        return work

    def done(*arguments: P.args, **named: P.kwargs) -> T:
        with at(span):
            return work(*arguments, **named)

    return done


@contextmanager
def within(span: Span) -> Iterator[Span]:
    """The same; what the block raises ends ``span``."""
    try:
        with at(span):
            yield span
    except BaseException as error:
        end(span, error=error)
        raise


@contextmanager
def spanning(kind: SpanKind, labels: Mapping[str, Any], caller: str = "") -> Iterator[Span]:
    """Work that is done within the block."""
    with within(begin(kind, labels, _current.get(), caller)) as span:
        yield span
    end(span)


def note_step(seconds: float, about: Any) -> None:
    """A step of the work under way has just ended, after ``seconds``."""
    span = _current.get()
    if span is not None and span.follower is not None:
        _safely(span.follower.passed, span, seconds, about)


def came_of_it(about: Any) -> None:
    """Tell what came of the work under way."""
    span = _current.get()
    if span is not None:
        span.about = about


def write_log_lines(*loggers: str) -> None:
    """Write what the program logs with time, level and request, once for the process."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_LINE))
    handler.addFilter(_named_request)
    for logger in map(logging.getLogger, loggers):
        if not logger.handlers:
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)


def _named_request(record: logging.LogRecord) -> bool:
    request = REQUEST_ID.get()
    record.request = f"[{request}] " if request else ""
    return True


def _safely(observe: Callable[..., None], *what: Any) -> None:
    try:
        observe(*what)
    except Exception:
        log.exception("What is done could not be followed.")
