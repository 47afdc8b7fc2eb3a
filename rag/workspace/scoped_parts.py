"""Jobs, tokens and tools, as far as they are a principal's."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from rag.access.roles import GUEST, reaches
from rag.access.tokens import Tokens
from rag.errors import NotAllowed, NotFound
from rag.providers.http_tools import HttpTool, ToolOutcome
from rag.search.tools import Tools
from rag.services.jobs import JobItem, JobRow, Jobs
from rag.storage.access.tokens import TokenRow
from rag.workspace.authorization import ASK, WHOLE_BASE, refusal
from rag.workspace.principal import Principal

Note = Callable[..., None]


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


class OwnTokens:
    """The tokens of one person."""

    def __init__(self, tokens: Tokens, principal: Principal, note: Note) -> None:
        self._tokens = tokens
        self._asker = principal
        self._note = note

    def create(
        self, name: str, scopes: Collection[str], days: int | None = 90
    ) -> tuple[str, TokenRow]:
        """A new token of the principal. Raises InvalidInput, NotAllowed."""
        if self._asker.link is not None:
            raise NotAllowed("You may not do this with a link.", "Sign in.")
        secret, row = self._tokens.create(name, scopes, days, self._asker.person.id)
        self._note("tokens", "create", f"{row.name} ({', '.join(row.scopes)})")
        return secret, row

    def list_all(self) -> list[TokenRow]:
        """The asker's tokens, newest first."""
        if self._asker.link is not None:
            return []
        mine = self._asker.person.id
        return [row for row in self._tokens.list_all() if row.owner == mine]

    def revoke(self, token_id: str) -> None:
        """Let nobody in by one of these tokens any more. Raises NotFound."""
        token = next((row for row in self.list_all() if row.id == token_id), None)
        if token is None:
            raise NotFound(f"There is no token {token_id!r}.")
        self._tokens.revoke(token_id)
        self._note("tokens", "revoke", token.name)


class OwnTools:
    """HTTP tools: everybody may see them, administrators change and try them."""

    def __init__(self, tools: Tools, administrator: bool, note: Note) -> None:
        self._tools = tools
        self._administrator = administrator
        self._note = note

    def list_all(self) -> list[HttpTool]:
        """All tools by name."""
        return self._tools.list_all()

    def unset(self, tool: HttpTool) -> Any:
        """The variables that a tool needs and that are not set."""
        return self._tools.unset(tool)

    def ask(self, tool: HttpTool, question: str) -> ToolOutcome:
        """Call a tool with a question and return its results. Raises NotAllowed."""
        self._administer()
        return self._tools.ask(tool, question)

    def save(self, tool: HttpTool) -> None:
        """Store a tool. Raises NotAllowed."""
        self._administer()
        self._tools.save(tool)
        self._note("tools", "save", tool.name)

    def remove(self, name: str) -> None:
        """Delete a tool. Raises NotAllowed, NotFound."""
        self._administer()
        self._tools.remove(name)
        self._note("tools", "remove", name)

    def _administer(self) -> None:
        if not self._administrator:
            raise NotAllowed("Only an administrator may change tools.", "Ask one.")
