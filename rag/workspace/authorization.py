"""The principal of a request, and the authorization and record of operations.

The role is looked up when an operation is called, not when the knowledge base is opened, because a
page or a stream can outlive a role. Jobs have a view that shows those of a principal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from rag.access.people import NOBODY_SIGNS_IN, Person
from rag.access.roles import GUEST, ROLES, reaches
from rag.answering import AnswerStream
from rag.errors import NotAllowed, NotFound
from rag.operation import SERVER, Operation
from rag.recipe import Recipe
from rag.services.jobs import JobItem, JobRow, Jobs
from rag.storage.access.links import LinkRow
from rag.storage.access.tokens import TokenRow
from rag.storage.conversations import SessionOwner

ASK = "Ask an owner of the knowledge base."
WHOLE_BASE: Mapping[str, str] = {
    "bundle": "viewer",
    "cancel": "editor",
    "delete": "owner",
    "duplicate": "owner",
    "rename": "editor",
}
"""The least role for what a workspace does with a whole knowledge base, or one of its jobs."""

Note = Callable[..., None]
"""Writes an audit entry from its kind, its path, and a detail."""
Role = Callable[[], str | None]
"""Returns the current role of a principal; None for a stranger."""
Use = Callable[[Recipe, Operation], None]
"""Raises NotAllowed if a principal may not run an operation with a recipe."""

_IN_THE_CHAT = frozenset(
    f"runs.{name}" for name in ("failing_questions", "newest_runs", "recipe_name", "recipe_names")
)
"""The operations of hidden parts that a chat needs."""
_LONGEST_DETAIL = 300
_ROLE_SECONDS = 1.0  # reads may use a role of this age; changes look it up
_recorded_base: ContextVar[int | None] = ContextVar("_recorded_base", default=None)


def refusal(role: str, least: str) -> str:
    """Return the message for a role that is below the required role."""
    mine = f"as {role}" if role in ROLES else "with this link"
    return f"You may not do this {mine}: it takes the role {least}."


class Authorization:
    """The guard of a knowledge base for one principal."""

    def __init__(
        self,
        base_id: int,
        role: Role,
        note: Note,
        use: Use,
        clock: Callable[[], float] = time.monotonic,
        *,
        hidden_parts: Collection[str] = (),
    ) -> None:
        """``hidden_parts`` of the knowledge base are not for the principal, whatever the role."""
        self._base_id = base_id
        self._role = role
        self._note = note
        self._use = use
        self._clock = clock
        self._hidden_parts = hidden_parts
        self._known_role: tuple[float, str | None] = clock(), role()

    def call(
        self,
        path: str,
        operation: Operation,
        method: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call an operation if it is allowed, and record it. Raises NotAllowed, NotFound."""
        self._require(operation.role)
        if path.partition(".")[0] in self._hidden_parts and path not in _IN_THE_CHAT:
            raise NotAllowed("Your link shows the chat and one tour, no runs.", ASK)
        # Editors can save a recipe, so they choose its models anyway.
        if operation.models != "none" and not reaches(operation.role, "editor"):
            for argument in (*args, *kwargs.values()):
                if isinstance(argument, Recipe):
                    self._use(argument, operation)
        if operation.audit and _recorded_base.get() != self._base_id:
            token = _recorded_base.set(self._base_id)
            try:
                result = method(*args, **kwargs)
            finally:
                _recorded_base.reset(token)
            recorded = [*args, *kwargs.values()][: operation.audited_arguments]
            self._note(operation.audit, path, _detail(recorded))
        else:  # a step of a recorded operation has no entry of its own
            result = method(*args, **kwargs)
        if isinstance(result, AnswerStream):  # it continues for as long as a model writes
            result.while_allowed(partial(self._require, operation.role))
        return result

    def _require(self, least: str) -> None:
        if least == SERVER:
            raise NotAllowed("Only the command line of the server can do this.")
        at, role = self._known_role
        reads = least in (GUEST, "viewer")
        if not reads or self._clock() - at >= _ROLE_SECONDS:
            role = self._role()
            self._known_role = self._clock(), role
        if role is None:
            raise NotFound("The knowledge base is gone.", "Someone deleted it; choose another.")
        if not reaches(role, least):
            raise NotAllowed(refusal(role, least), ASK)


def _detail(arguments: Iterable[Any]) -> str:
    """The names among some arguments, separated by commas."""
    names: list[str] = []
    for argument in arguments:
        if isinstance(argument, str | int) and not isinstance(argument, bool):
            names.append(str(argument))
        elif isinstance(argument, list | tuple) and all(isinstance(one, str) for one in argument):
            names += argument
    return ", ".join(filter(None, names))[:_LONGEST_DETAIL]


@dataclass(frozen=True, slots=True)
class Principal:
    """The principal of a request: a person, or the user of a link.

    ``via`` is the channel, and ``key_id`` the token or link. A ``token`` is checked again during a
    long operation.
    """

    person: Person = NOBODY_SIGNS_IN
    via: str = "page"
    key_id: str = ""
    link: LinkRow | None = None
    token: TokenRow | None = None

    @property
    def local(self) -> bool:
        """Whether it is the one user of a server that nobody signs in to."""
        return self.person.local and self.link is None

    @property
    def administrator(self) -> bool:
        """Whether tools, providers and people may be changed."""
        return self.person.administrator and self.link is None

    @property
    def may_run_commands(self) -> bool:
        """Whether systems may run that are commands of the server: a token needs scope admin."""
        return self.administrator and (self.token is None or "admin" in self.token.scopes)

    @property
    def may_spend(self) -> bool:
        """Whether what may cost money is asked because a request names it: see ``spending``."""
        return self.link is None and (self.token is None or "ask" in self.token.scopes)

    def visitor(self, visitor: SessionOwner) -> SessionOwner:
        """Return the owner of the conversations: a person, or else a browser.

        With a link, a browser's conversations are separate from those without the link.
        """
        if self.link is not None:
            key = f"{self.link.id}:{visitor.key}"
            return SessionOwner(key, (key,))
        return visitor if self.person.local else SessionOwner(self.person.id, (self.person.id,))


class ScopedJobs:
    """The jobs of the knowledge bases that may be seen; others are not there."""

    def __init__(self, jobs: Jobs, role_in: Callable[[int], str | None], note: Note) -> None:
        self._jobs = jobs
        self._role_in = role_in
        self._note = note

    def get(self, job_id: int) -> JobRow:
        """One job. Raises NotFound."""
        job = self._jobs.get(job_id)
        if self._role_in(job.base_id) in (None, GUEST):
            raise NotFound("This job no longer exists.", "Its knowledge base was deleted.")
        return job

    def items(self, job_id: int) -> list[JobItem]:
        """Return the outcome of each item of a job. Raises NotFound."""
        return self._jobs.items(self.get(job_id).id)

    def active(self, base_id: int | None = None) -> list[JobRow]:
        """Jobs that wait or work, oldest first, of one knowledge base or of all."""
        return self._seen(self._jobs.active(base_id))

    def recent(self, base_id: int, limit: int = 20) -> list[JobRow]:
        """The jobs of a knowledge base, newest first."""
        return self._seen(self._jobs.recent(base_id, limit))

    def attended(self) -> bool:
        """Whether a worker lives."""
        return self._jobs.attended()

    def cancel(self, job_id: int) -> None:
        """Ask a job to stop. Raises NotFound, NotAllowed."""
        job = self.get(job_id)
        role, least = self._role_in(job.base_id) or GUEST, WHOLE_BASE["cancel"]
        if not reaches(role, least):
            raise NotAllowed(refusal(role, least), ASK)
        self._jobs.cancel(job_id)
        self._note("jobs", "cancel", job.title)

    def _seen(self, jobs: list[JobRow]) -> list[JobRow]:
        roles = {base_id: self._role_in(base_id) for base_id in {job.base_id for job in jobs}}
        return [job for job in jobs if roles[job.base_id] not in (None, GUEST)]
