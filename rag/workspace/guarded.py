"""Parts of a knowledge base that let through what a role may do, and tell what was done.

The role is looked up when something is done, not when the base was opened: what a page drew, or a
stream began, may outlive it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any

from rag.access.roles import GUEST, reaches
from rag.answering import AnswerStream
from rag.errors import NotAllowed, NotFound
from rag.knowledge_base import KnowledgeBase
from rag.recipe import Recipe
from rag.workspace.rights import (
    ASK,
    ASKS_NO_MODEL,
    AUDITED,
    AUDITED_ARGUMENTS,
    REQUIRED_ROLES,
    refusal,
)

Note = Callable[[str, str, str], None]
"""Keeps what was done: its kind, its path, and a detail."""
Role = Callable[[], str | None]
"""What somebody is now; None for a stranger."""
Use = Callable[[Recipe, str], None]
"""Raises NotAllowed where somebody may not have a recipe do what a path says: answer, or search."""

_LONGEST_DETAIL = 300
_KNOWN_SECONDS = 1.0  # how late looking may notice that a role was taken; changes notice at once
_at_work: ContextVar[int | None] = ContextVar("_at_work", default=None)  # on which base


def restrict(
    base: KnowledgeBase,
    role: Role,
    note: Note,
    use: Use,
    **instead: Callable[..., Any],
) -> None:
    """Leaves of a knowledge base what ``role`` may do; ``instead`` are other methods in place."""
    gate = _Authorization(base.id, role, note, use)
    for name, part in list(vars(base).items()):
        if not name.startswith("_") and any(path.startswith(f"{name}.") for path in REQUIRED_ROLES):
            setattr(base, name, AuthorizedPart(part, name, gate))
    for name in (name for name in dir(type(base)) if not name.startswith("_")):
        act = instead.get(name, getattr(base, name))
        setattr(base, name, gate.authorize(name, act))


class AuthorizedPart:
    """A part whose methods are let through by a gate."""

    def __init__(self, part: object, path: str, gate: _Authorization) -> None:
        self._part = part
        self._path = path
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return self._gate.authorize(f"{self._path}.{name}", getattr(self._part, name))


class _Authorization:
    def __init__(
        self,
        base_id: int,
        role: Role,
        note: Note,
        use: Use,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._base_id = base_id
        self._role = role
        self._note = note
        self._use = use
        self._clock = clock
        self._known: tuple[float, str | None] = clock(), role()

    def authorize(self, path: str, value: Any) -> Any:
        """A method or part as the role has it: one that asks for the role at each call, and notes
        it where that is kept."""
        if any(each.startswith(f"{path}.") for each in REQUIRED_ROLES):
            return AuthorizedPart(value, path, self)
        if not callable(value):
            self._require(path)
            return value

        @wraps(value)
        def asked(*given: Any, **named: Any) -> Any:
            self._require(path)
            self._check_recipes(path, [*given, *named.values()])
            noted = path in AUDITED
            done = self._noted(path, value, given, named) if noted else value(*given, **named)
            if isinstance(done, AnswerStream):  # it goes on for as long as a model writes
                done.while_allowed(partial(self._require, path))
            return done

        return asked

    def _check_recipes(self, path: str, given: Sequence[Any]) -> None:
        # Whoever may save a recipe decides who is asked anyway.
        if path in ASKS_NO_MODEL or reaches(REQUIRED_ROLES[path], "editor"):
            return
        for each in given:
            if isinstance(each, Recipe):
                self._use(each, path)

    def _require(self, path: str) -> None:
        least = REQUIRED_ROLES.get(path)
        if least is None:
            raise NotAllowed("Only whoever has the files of the server may do this.")
        role = self._role_for(least)
        if role is None:
            raise NotFound("The knowledge base is gone.", "Someone deleted it; choose another.")
        if not reaches(role, least):
            raise NotAllowed(refusal(role, least), ASK)

    def _role_for(self, least: str) -> str | None:
        at, role = self._known
        looks = least in (GUEST, "viewer")
        if not looks or self._clock() - at >= _KNOWN_SECONDS:
            role = self._role()
            self._known = self._clock(), role
        return role

    def _noted(
        self, path: str, act: Callable[..., Any], given: Sequence[Any], named: dict[str, Any]
    ) -> Any:
        if _at_work.get() == self._base_id:  # part of what is noted already
            return act(*given, **named)
        token = _at_work.set(self._base_id)
        try:
            done = act(*given, **named)
        finally:
            _at_work.reset(token)
        names = (
            [*given, *named.values()][: AUDITED_ARGUMENTS[path]]
            if path in AUDITED_ARGUMENTS
            else []
        )
        self._note(AUDITED[path], path, _detail(names))
        return done


def _detail(given: Sequence[Any]) -> str:
    """The names among some arguments."""
    names = []
    for each in given:
        if isinstance(each, str | int):
            names.append(str(each))
        elif isinstance(each, list | tuple) and all(isinstance(one, str) for one in each):
            names += each
    return ", ".join(filter(None, names))[:_LONGEST_DETAIL]
