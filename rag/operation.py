"""Declarations of operations: who may call a method of a knowledge base, and what is recorded.

An operation is a method of ``KnowledgeBase``, of one of its parts, or of ``Tools``. Its
declaration stands above it. The wrapper asks the guard of the object, so that the declaration is
also the enforcement:

    @operation("editor", audit="documents")
    def delete_documents(self, ids: Sequence[str]) -> int: ...

A part is made when it is first used. A knowledge base that ``Workspace`` opens has no guard.
``ScopedWorkspace`` gives out copies with one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache, partial, wraps
from inspect import getattr_static
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

SERVER = "server"
"""The role of the command line alone: the operation reads the server's own files."""
ADMINISTRATOR = "administrator"
"""The role of an operation that changes what all knowledge bases share."""
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


Guard = Callable[[str, Operation, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Calls a bound method with its arguments if the operation of a path is allowed, and records it.

Raises NotAllowed, NotFound.
"""


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
            if (guarded := vars(self).get("_guarded")) is None:
                return method(self, *args, **kwargs)
            guard, prefix, _ = guarded
            bound = partial(method, self)
            result: Output = guard(f"{prefix}{name}", declared, bound, args, kwargs)
            return result

        checked.operation = declared  # type: ignore[attr-defined]
        return checked

    return declare


_MAKING = threading.RLock()


class _Part(Generic[Output]):
    def __init__(self, make: Callable[[Any], Output]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, whole: Any, owner: type) -> Output:
        if guarded := vars(whole).get("_guarded"):
            guard, prefix, original = guarded
            value = guarded_copy(getattr(original, self._name), guard, f"{prefix}{self._name}.")
        else:
            # One thread at a time imports its module: where that fails for want of a file handle, a
            # second one would go on with half of it.
            with _MAKING:
                value = self._make(whole)
        made: Output = vars(whole).setdefault(self._name, value)
        return made


def part(make: Callable[[Any], Output]) -> _Part[Output]:
    """Declare a part of a knowledge base, made when it is first used.

    The part of a guarded copy is guarded too.
    """
    return _Part(make)


def guarded_copy(whole: Owner, guard: Guard, prefix: str = "") -> Owner:
    """Copy a knowledge base or part of it, so that its operations and those of its parts ask a
    guard.

    The copy shares the state of the original. Raises TypeError for a public method without a
    declaration.
    """
    kind: Any = type(whole)
    _require_declarations(kind)
    guarded = copy(whole)
    for name in _parts(kind):
        vars(guarded).pop(name, None)
    vars(guarded)["_guarded"] = guard, prefix, whole
    return guarded


def operations(whole: object, prefix: str = "") -> Mapping[str, Operation]:
    """Return the declarations of a knowledge base and its parts, by path."""
    kind: Any = type(whole)
    own = {f"{prefix}{name}": declared for name, declared in _declared(kind).items()}
    for name in _parts(kind):
        own |= operations(getattr(whole, name), f"{prefix}{name}.")
    return own


@cache
def _parts(kind: type) -> list[str]:
    members = {name: value for one in kind.__mro__ for name, value in vars(one).items()}
    return [name for name, value in members.items() if isinstance(value, _Part)]


@cache
def _declared(kind: type) -> Mapping[str, Operation]:
    """Return the operations of a class by name."""
    members = {name: getattr_static(kind, name) for name in dir(kind)}
    declared = {name: getattr(member, "operation", None) for name, member in members.items()}
    return {name: entry for name, entry in declared.items() if isinstance(entry, Operation)}


@cache
def _require_declarations(kind: type) -> None:
    for name in dir(kind):
        member = getattr_static(kind, name)
        public = not name.startswith("_") and (callable(member) or isinstance(member, classmethod))
        if public and name not in _declared(kind):
            raise TypeError(f"{kind.__name__}.{name} has no declaration of an operation.")
