"""Declarations of operations: who may call a method of a knowledge base, and what is recorded.

An operation is a method of ``KnowledgeBase`` or of one of its parts. Its declaration stands above
it. The wrapper asks the guard of the object, so that the declaration is also the enforcement:

    @operation("editor", audit="documents")
    def delete_documents(self, ids: Sequence[str]) -> int: ...

A knowledge base that ``Workspace`` opens has no guard. ``ScopedWorkspace`` gives out copies with
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

SERVER = "server"
"""The role of the command line alone: the operation reads the server's own files."""
ALL = None
"""All arguments of an operation are recorded."""

Owner = TypeVar("Owner")
Inputs = ParamSpec("Inputs")
Output = TypeVar("Output")
Models = Literal["none", "search", "answer"]


@dataclass(frozen=True, slots=True)
class Operation:
    """The declaration of an operation.

    ``role`` is the least role that may call it. ``audit`` is the kind of its entry in the audit
    log, "" for none; the entry has the first ``audited_arguments`` that are names, or all of them
    if it is None. ``models`` names the steps of a recipe argument that the operation runs, and
    which may therefore ask a paid model: none, those of a search, or also those of an answer.
    """

    role: str
    audit: str = ""
    audited_arguments: int | None = 0
    models: Models = "search"


class Guard(Protocol):
    """A guard that decides whether an operation may be called, and records it."""

    def call(
        self,
        path: str,
        operation: Operation,
        method: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call a bound method if it is allowed. Raises NotAllowed, NotFound."""


def operation(
    role: str,
    *,
    audit: str = "",
    audited_arguments: int | None = 0,
    models: Models = "search",
) -> Callable[
    [Callable[Concatenate[Owner, Inputs], Output]], Callable[Concatenate[Owner, Inputs], Output]
]:
    """Declare a method as an operation. For the parameters, see ``Operation``."""
    declared = Operation(role, audit, audited_arguments, models)

    def declare(
        method: Callable[Concatenate[Owner, Inputs], Output],
    ) -> Callable[Concatenate[Owner, Inputs], Output]:
        name = method.__name__

        @wraps(method)
        def checked(self: Owner, /, *args: Inputs.args, **kwargs: Inputs.kwargs) -> Output:
            guarded: tuple[Guard, str] | None = vars(self).get("_guarded")
            if guarded is None:
                return method(self, *args, **kwargs)
            guard, prefix = guarded
            bound = partial(method, self)
            result: Output = guard.call(f"{prefix}{name}", declared, bound, args, kwargs)
            return result

        checked.operation = declared  # type: ignore[attr-defined]
        return checked

    return declare


def guarded_copy(part: Owner, guard: Guard, prefix: str = "") -> Owner:
    """Copy a knowledge base or part of it, so that its operations and those of its parts ask a
    guard.

    The copy shares the state of the original. Raises TypeError for a public method without a
    declaration.
    """
    _require_declarations(type(part))
    guarded = copy(part)
    for name, value in _parts(part):
        vars(guarded)[name] = guarded_copy(value, guard, f"{prefix}{name}.")
    vars(guarded)["_guarded"] = guard, prefix
    return guarded


def operations(part: object, prefix: str = "") -> Mapping[str, Operation]:
    """Return the declarations of a knowledge base and its parts, by path."""
    own = {f"{prefix}{name}": declared for name, declared in _declared(type(part)).items()}
    for name, value in _parts(part):
        own |= operations(value, f"{prefix}{name}.")
    return own


def _parts(part: object) -> Iterator[tuple[str, Any]]:
    """Yield the public attributes that have operations."""
    for name, value in vars(part).items():
        if not name.startswith("_") and _declared(type(value)):
            yield name, value


_declarations: dict[type, Mapping[str, Operation]] = {}
_complete: set[type] = set()


def _declared(kind: type) -> Mapping[str, Operation]:
    """Return the operations of a class by name; read once, as each guarded copy needs them."""
    if kind not in _declarations:
        members = {name: getattr(kind, name, None) for name in dir(kind)}
        declared = {name: getattr(member, "operation", None) for name, member in members.items()}
        _declarations[kind] = {
            name: entry for name, entry in declared.items() if isinstance(entry, Operation)
        }
    return _declarations[kind]


def _require_declarations(kind: type) -> None:
    if kind in _complete:
        return
    for name in dir(kind):
        public = not name.startswith("_") and callable(getattr(kind, name))
        if public and name not in _declared(kind):
            raise TypeError(f"{kind.__name__}.{name} has no declaration of an operation.")
    _complete.add(kind)
