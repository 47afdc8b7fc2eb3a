"""The declaration of a tool of MCP: a function whose name, arguments, scope and words are its own.

The first parameter of the function is the ``Call``; the others are the arguments of the tool, and
the docstring is what a model reads. The checks, the budget and the log are the same for all.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from anyio import from_thread
from anyio.lowlevel import current_token
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from rag import (
    LONGEST_QUESTION,
    AgentCall,
    Budget,
    InvalidInput,
    KnowledgeBase,
    NotAllowed,
    Principal,
    Recipe,
    Schema,
    ScopedWorkspace,
    TouchstoneError,
    Workspace,
    changed_recipe,
)
from rag.api.threads import ANSWERS, in_thread

Authenticate = Callable[[Context[Any, Any]], tuple[Principal, tuple[str, ...]]]
"""Who calls a tool, and the scopes of the token."""

_LOGGED = ("experiment", "label", "recipe")  # scopes of tools whose calls are all listed
_LONGEST_OUTCOME = 300
_LONGEST_REASON = 500


class Call:
    """A call of a tool.

    ``base_id`` is the knowledge base that it turned out to be about, and ``money`` what its job
    spent on models.
    """

    def __init__(
        self, workspace: ScopedWorkspace, all_bases: Workspace, context: Context[Any, Any]
    ) -> None:
        self.workspace = workspace
        self.base_id: int | None = None
        self.money = 0.0
        self._jobs, self._log = all_bases.jobs, all_bases.access.agents
        self._context = context
        self._loop = current_token()  # a job reports from threads that do not know it

    def base(self, name: str) -> KnowledgeBase:
        """Return the base that is named, or the only one. Raises NotFound, InvalidInput."""
        names = [name] if name else [info.name for info in self.workspace.bases()]
        if len(names) != 1:
            raise InvalidInput("Name the knowledge base.", f"There are: {', '.join(names)}.")
        base = self.workspace.base(names[0])
        self.base_id = base.id
        return base

    def recipe(self, base: KnowledgeBase, fields: Mapping[str, Any] | None) -> Recipe:
        """Return the saved recipe with some fields changed. Raises InvalidRecipe, NotAllowed."""
        recipe = changed_recipe(base.recipe(), fields=dict(fields or {}))
        if reason := self.workspace.costs(base, recipe):
            raise NotAllowed(reason)
        return recipe

    def answers_budget(self, recipe: Recipe) -> Budget:
        """Return the rest of the token's money for answers by a recipe. Raises NotAllowed."""
        principal = self.workspace.principal
        if recipe.answer.provider != "extractive" and not principal.may_spend:
            raise NotAllowed("Answers by a model need the scope 'ask'.", "Ask for such a token.")
        left = self._log.left(principal.token) if principal.token else {}
        return Budget(money=left.get("money"))

    def finish(self, job_id: int) -> None:
        """Wait for a job, or do it here, and tell the client how far it is. Raises its error."""
        job = self._jobs.run(job_id, self.report)
        self.report(1, 1, job.message)
        if job.status != "done":
            raise TouchstoneError(job.message or f"{job.title}: {job.status}")

    def report(self, done: int, total: int, message: str = "") -> None:
        """Tell the client how far the work is."""
        share = done / total if total else 0.0
        from_thread.run(
            self._context.report_progress, share, 1.0, message or None, token=self._loop
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the function that does its work, the scope of a token, and whether it only reads."""

    work: Callable[..., Schema]
    scope: str
    reads: bool

    def add_to(
        self, server: MCPServer[Any], workspace: Workspace, authenticate: Authenticate
    ) -> None:
        """Offer the tool to the clients of a server."""
        signature = inspect.signature(self.work, eval_str=True)
        arguments = list(signature.parameters.values())[1:]
        context_argument = inspect.Parameter(
            "context", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any]
        )

        async def called(*, context: Context[Any, Any], **given: Any) -> Schema:
            return await self._done(workspace, authenticate, context, given)

        called.__name__, called.__doc__ = self.work.__name__, inspect.getdoc(self.work)
        vars(called)["__signature__"] = signature.replace(
            parameters=[
                *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in arguments),
                context_argument,
            ]
        )
        called.__annotations__ = {one.name: one.annotation for one in arguments} | {
            "context": Context[Any, Any],
            "return": signature.return_annotation,
        }
        server.add_tool(
            called,
            annotations=ToolAnnotations(
                read_only_hint=self.reads, destructive_hint=False, open_world_hint=False
            ),
        )

    async def _done(
        self,
        workspace: Workspace,
        authenticate: Authenticate,
        context: Context[Any, Any],
        given: dict[str, Any],
    ) -> Schema:
        try:
            principal, scopes = authenticate(context)
            if self.scope not in scopes:
                raise ToolError(f"This token lacks the scope {self.scope!r}.")
            if any(isinstance(it, str) and len(it) > LONGEST_QUESTION for it in given.values()):
                raise ToolError(f"Write at most {LONGEST_QUESTION:,} characters.")
            call = Call(ScopedWorkspace(workspace, principal), workspace, context)
            return await in_thread(self._logged, ANSWERS)(workspace, call, given)
        except TouchstoneError as error:
            raise ToolError(f"{error.message} {error.hint}".strip()) from error

    def _logged(self, workspace: Workspace, call: Call, given: dict[str, Any]) -> Schema:
        """Do the work within the budget of the token, and store what was done."""
        token, log = call.workspace.principal.token, workspace.access.agents
        if token is not None:
            log.require_budget(token)
        started, outcome, money = time.monotonic(), "", 0.0
        try:
            result = self.work(call, **given)
            cost = getattr(result, "cost", None)
            outcome, money = str(getattr(result, "sentence", "")), cost.amount if cost else 0.0
            return result
        except TouchstoneError as error:
            outcome = error.message
            raise
        finally:
            if self.scope in _LOGGED or (token is not None and token.budget):
                reason = str(given.pop("reason", ""))[:_LONGEST_REASON]
                entry = AgentCall(
                    at=datetime.now(UTC),
                    token_id=token.id if token else "",
                    agent=token.name if token else "local client",
                    base_id=call.base_id,
                    tool=self.work.__name__,
                    arguments={name: value for name, value in given.items() if value},
                    reason=reason,
                    outcome=outcome[:_LONGEST_OUTCOME],
                    seconds=time.monotonic() - started,
                    money=money or call.money,
                )
                log.note(entry)


def tool(scope: str, *, reads: bool = False) -> Callable[[Callable[..., Schema]], Tool]:
    """Declare a function as a tool that a token with ``scope`` may call."""

    def declare(work: Callable[..., Schema]) -> Tool:
        return Tool(work, scope, reads)

    return declare
