"""Every error that Touchstone raises on purpose.

::

    TouchstoneError              message, hint
    ├── InvalidInput             the caller asked for something that cannot be
    │   ├── InvalidRecipe        a recipe field, or its value, is wrong
    │   └── InvalidFile          a question file, grid or data set does not parse
    ├── NotFound                 no such knowledge base, document, question set, run
    ├── NotAllowed               who asks may not do this
    ├── AlreadyExists            a name is taken
    ├── UnreadableDocument       a file gave no text; ``reason`` names why
    ├── BlockedAddress           a URL that must not be fetched
    ├── ProviderError            a model provider failed
    │   ├── ProviderUnavailable  refused, timed out, or answers 5xx
    │   ├── ProviderRejected     answers 4xx: key, quota, model name
    │   │   └── ContextOverflow  the prompt is longer than the model's context
    │   └── ProviderMisbehaved   answered something that is not what was asked for
    ├── MissingDependency        an optional package is not installed
    ├── StorageError             the database or the disk said no
    │   ├── DiskFull             there is no room; what was begun goes on when there is
    │   └── ConnectionLost       the database is away; what was begun can be done again
    │       └── DatabaseBusy     it is there, but has no connection, or a lock took too long
    └── Cancelled                the user stopped the work

The dashboard shows ``message`` and ``hint``; the command line prints both to stderr and exits 2.
Anything else that surfaces is a defect, is logged with an id, and shown as "unexpected".
"""

from __future__ import annotations

import errno

TYPE_CHECKING = False  # the name is enough for type checkers
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    UnreadableReason = Literal[
        "encrypted",
        "needs_password",
        "scanned",
        "damaged",
        "empty",
        "too_large",
        "unsupported_type",
        "wrong_extension",
        "timed_out",
        "unreachable",
        "missing",
    ]


class TouchstoneError(Exception):
    """The root: ``message`` says what happened and why, ``hint`` says what to do about it.

    ``retry_after`` is the wait in seconds after which the same may succeed, None where none is
    known.
    """

    retry_after: float | None = None

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def validation_words(problem: Mapping[str, Any]) -> str:
    """Return the message of one error of a pydantic ValidationError, without pydantic's prefix."""
    return str(problem["msg"]).removeprefix("Value error, ")


class InvalidInput(TouchstoneError):
    """The caller asked for something that cannot be."""


class InvalidRecipe(InvalidInput):
    """A recipe field does not exist, or its value is out of range."""


class InvalidFile(InvalidInput):
    """A question file, a grid or a data set does not parse."""


class NotFound(TouchstoneError):
    """A knowledge base, document, question set, passage or run does not exist."""


class NotAllowed(TouchstoneError):
    """An error for a known principal without the permission.

    Objects that the principal may not see raise ``NotFound``.
    """


class AlreadyExists(TouchstoneError):
    """A name is taken."""


class UnreadableDocument(TouchstoneError):
    """A file gave no text; ``reason`` is the machine-readable cause."""

    def __init__(self, message: str, hint: str = "", *, reason: UnreadableReason) -> None:
        super().__init__(message, hint)
        self.reason: UnreadableReason = reason

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Pickled with its reason: what reads a file may be another machine."""
        return _unreadable, (self.message, self.hint, self.reason)


def _unreadable(message: str, hint: str, reason: UnreadableReason) -> UnreadableDocument:
    return UnreadableDocument(message, hint, reason=reason)


class BlockedAddress(TouchstoneError):
    """A URL points where the server must not go (private, loopback, link-local, odd scheme)."""


class ProviderError(TouchstoneError):
    """A model provider failed."""


class ProviderUnavailable(ProviderError):
    """The provider refused the connection, timed out, or answers 5xx or 429 after all retries.

    ``retry_after`` is the wait in seconds that it requests, None where it names none.
    """

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class ProviderRejected(ProviderError):
    """The provider answers 4xx: a wrong key, an exhausted quota, an unknown model."""


class ContextOverflow(ProviderRejected):
    """The prompt is longer than the model's context; ``share`` of it fits, 0 where untold."""

    def __init__(self, message: str, hint: str = "", *, share: float = 0.0) -> None:
        super().__init__(message, hint)
        self.share = share


class ProviderMisbehaved(ProviderError):
    """The provider answered something else than was asked for (wrong dimension, not a number)."""


class MissingDependency(TouchstoneError):
    """An optional package is not installed; the hint names the command that installs it."""


class StorageError(TouchstoneError):
    """The database or the disk said no; nothing that was acknowledged is lost."""


class DiskFull(StorageError):
    """The disk has no room; what was begun goes on when there is."""

    retry_after = 60.0


class ConnectionLost(StorageError):
    """The server of the database is away, or was for a moment; what was begun can be done again."""

    retry_after = 2.0


class DatabaseBusy(ConnectionLost):
    """The database is there, but takes no connection now, or what was asked took too long."""


def storage_error(message: str, error: OSError) -> StorageError:
    """Return the error for a file that cannot be written; ``message`` names it, without a stop."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{message}: the disk is full.", "Free some space, and try again.")
    return StorageError(
        f"{message}: {error.strerror or error}.", "Check that the folder may be written to."
    )


class Cancelled(TouchstoneError):
    """The user stopped the work."""
