"""The server of MCP with its tools that read, and its transports.

The tools are search, fetch, ask and explain. The transports are streamable HTTP, with the same
admission as the API, and stdio.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import Field, ValidationError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rag import (
    VERSION,
    AnswerData,
    FederatedBase,
    FindingsData,
    FurtherBase,
    InvalidInput,
    KnowledgeBase,
    NotFound,
    Principal,
    Schema,
    ScopedWorkspace,
    TokenRow,
    TouchstoneError,
    WordCorrection,
    Workspace,
    find_fault,
    findings_data,
    validation_words,
)
from rag.api import problems
from rag.api.admission import Admission, principal_of
from rag.api.mcp_experiments import TOOLS
from rag.api.mcp_tools import Authenticate, Call, tool

_MOST_CHARACTERS = 100_000  # of a document, around the passage that was asked for
_LARGEST = 2**31 - 1  # of an id or a place
_INSTRUCTIONS = (
    "Searches the documents of this Touchstone. Use search for passages, fetch for the document "
    "around one of them, ask for an answer with citations, explain for why passages are found. "
    "The other tools measure and tune retrieval: evaluate, diagnose, try_recipe and sweep on the "
    "tuning questions of a set, then compare_runs on its held-out questions. If that does not "
    "say better, no change is justified: report that."
)


def server(workspace: Workspace, authenticate: Authenticate) -> MCPServer[Any]:
    """A server of the knowledge bases of a workspace."""
    handlers = list(logging.root.handlers)
    made = _Server(
        "touchstone",
        title="Touchstone",
        version=VERSION,
        instructions=_INSTRUCTIONS,
        log_level="WARNING",
    )
    # Without its handler: it would repeat each line of the log, and needs files to format an error.
    logging.root.handlers[:] = handlers
    for declared in (search, fetch, ask, explain, *TOOLS):
        declared.add_to(made, workspace, authenticate)
    return made


class SearchResultData(Schema):
    """A passage that a search found; ``id`` is what fetch takes."""

    id: str
    title: str
    url: str
    text: str


class ResultsData(Schema):
    """The passages that a search found."""

    results: list[SearchResultData]
    corrections: list[WordCorrection]


class ExcerptPlaceData(Schema):
    """The place of an excerpt in its document, in characters."""

    knowledge_base: str
    document_id: str
    start: int
    end: int
    characters: int = Field(description="of the whole document")


class ExcerptData(Schema):
    """A document, or the part of it around a passage."""

    id: str
    title: str
    text: str
    url: str
    metadata: ExcerptPlaceData


class _Server(MCPServer[Any]):
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError, in the words of REST for arguments of another kind."""
        if fault := find_fault([name, arguments]):
            raise ToolError(f"{fault}.")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            faults = error.__cause__.errors()
            messages = [
                f"{'.'.join(map(str, item['loc']))}: {validation_words(item)}" for item in faults
            ]
            raise ToolError(
                f"Error executing tool {name}: {'; '.join(messages)}"
            ) from error.__cause__


@tool("read", reads=True)
def search(call: Call, query: str, knowledge_base: str = "") -> ResultsData:
    """Find passages for a query, in one knowledge base or in all of them."""
    workspace = call.workspace
    first, beside = _bases_beside(workspace, knowledge_base)
    trace = first.search(query, first.recipe(), beside)
    ids = {info.name: info.id for info in workspace.bases()}
    results = [
        SearchResultData(
            id=f"{ids.get(hit.base or first.name, first.id)}:{hit.chunk.document_id}"
            f"@{hit.chunk.start}",
            title=hit.document,
            url=hit.url,
            text=hit.chunk.text,
        )
        for hit in trace.hits
        if not hit.from_tool
    ]
    return ResultsData(results=results, corrections=trace.corrections)


@tool("read", reads=True)
def fetch(call: Call, id: str) -> ExcerptData:
    """The document around a passage that a search found, by the id of that result."""
    base_id, _, place = id.partition(":")
    document_id, _, start = place.partition("@")
    if not (_is_number(base_id) and _is_number(start)):
        raise NotFound("There is no such result.", "Give the id of a result of search.")
    base = call.workspace.base_with_id(int(base_id))
    document = base.documents.document(document_id)
    begin = max(0, min(int(start), len(document.text)) - _MOST_CHARACTERS // 2)
    text = document.text[begin : begin + _MOST_CHARACTERS]
    return ExcerptData(
        id=id,
        title=document.name,
        text=text,
        url=document.source if document.source.startswith("http") else "",
        metadata=ExcerptPlaceData(
            knowledge_base=base.name,
            document_id=document_id,
            start=begin,
            end=begin + len(text),
            characters=len(document.text),
        ),
    )


@tool("ask", reads=True)
def ask(call: Call, question: str, knowledge_base: str = "") -> AnswerData:
    """Answer a question from the documents, with citations."""
    base, beside = _bases_beside(call.workspace, knowledge_base)
    stream = base.ask(question, base.recipe(), beside)
    answer = stream.answer
    if answer.status == "failed":
        raise stream.error or TouchstoneError(answer.note)
    return AnswerData.of(answer)


@tool("read", reads=True)
def explain(call: Call, question: str, words: str, knowledge_base: str = "") -> FindingsData:
    """Explain why the passages that contain some words are found for a question or not."""
    base = _bases(call.workspace, knowledge_base)[0]
    explainer = base.explanations.explain(question, base.recipe())
    findings = explainer.find(words)
    changes = [explainer.changes(finding.standing.chunk.key) for finding in findings]
    return findings_data(explainer, findings, changes)


def _bases(workspace: ScopedWorkspace, name: str) -> list[KnowledgeBase]:
    """The one that is named; else all that hold something."""
    if name:
        return [workspace.base(name)]
    names = [info.name for info in workspace.bases() if info.passages]
    if not names:
        raise NotFound("There is no knowledge base with documents yet.")
    return [workspace.base(base_name) for base_name in names]


def _bases_beside(
    workspace: ScopedWorkspace, name: str
) -> tuple[KnowledgeBase, Sequence[FederatedBase]]:
    """The knowledge base that answers, and those whose passages it also gets."""
    first, *others = _bases(workspace, name)
    return first, workspace.beside(first.name, [FurtherBase(other.name) for other in others])


def _is_number(text: str) -> bool:
    """Whether it can be an id or a place: digits of ASCII, and no more than a column holds."""
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST))
    return digits and int(text) <= _LARGEST


PATH = "/mcp"
_POST_ALONE = problems.problem(405, "Use POST: this MCP server sends no messages of its own.")


def over_http(workspace: Workspace) -> ASGIApp:
    """Return the ASGI application for ``/mcp``."""
    return Admission(_Http(workspace), workspace)


def over_stdio(workspace: Workspace, scopes: tuple[str, ...] = ("read", "ask")) -> None:
    """Serve the client at the other end of standard input, until that closes.

    Without a token, the client may do what ``scopes`` allow: who starts the server beside the home
    could open it anyway. Raises InvalidInput where ``TOUCHSTONE_API_TOKEN`` is no valid token.
    """
    secret = workspace.settings.api_token

    def authenticate(_: object = None) -> tuple[Principal, tuple[str, ...]]:
        if secret is None:
            return Principal(via="mcp"), scopes
        row = workspace.access.tokens.holder(secret)  # each time: a token ends, a client stays
        if row is None:
            raise InvalidInput(
                "TOUCHSTONE_API_TOKEN is not a valid token.", "Create one with `token create`."
            )
        return principal_of(row, "mcp"), row.scopes

    authenticate()
    server(workspace, authenticate).run("stdio")


class _Http:
    """The server of MCP, begun with its first request: each request stands alone."""

    def __init__(self, workspace: Workspace) -> None:
        # A token is needed whatever the host is called, so a page of another site gets nowhere.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._apps, self._sessions = dict[bool, ASGIApp](), list[Any]()
        for streams in (False, True):
            made = server(workspace, _authenticate_request)
            self._apps[streams] = made.streamable_http_app(
                streamable_http_path=PATH,
                stateless_http=True,
                json_response=not streams,
                transport_security=security,
            )
            self._sessions.append(made.session_manager)
        self._running: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "POST":  # nothing is told unasked: no stream stays open for it
            await problems.answer(PATH, _POST_ALONE, {"Allow": "POST"})(scope, receive, send)
            return
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await self._begun.wait()
        # Progress needs a stream; a client that takes JSON alone gets the result alone.
        streams = "text/event-stream" in Headers(scope=scope).get("accept", "")
        await self._apps[streams](scope, receive, send)

    async def _run(self) -> None:
        async with self._sessions[0].run(), self._sessions[1].run():
            self._begun.set()
            await asyncio.Event().wait()  # until the server ends


def _authenticate_request(context: Context[Any, Any]) -> tuple[Principal, tuple[str, ...]]:
    request: Any = context.request_context.request
    holder: TokenRow = request.state.holder
    return principal_of(holder, "mcp"), holder.scopes
