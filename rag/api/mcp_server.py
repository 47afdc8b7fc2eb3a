"""The tools of MCP: search, fetch, ask, explain. All of them only read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, ValidationError

from rag import (
    LONGEST_QUESTION,
    VERSION,
    AnswerData,
    FederatedBase,
    FindingsData,
    FurtherBase,
    Hit,
    KnowledgeBase,
    NotFound,
    Principal,
    Schema,
    ScopedWorkspace,
    TouchstoneError,
    WordCorrection,
    Workspace,
    find_fault,
    findings_data,
    validation_words,
)
from rag.api.threads import ANSWERS, in_thread

_MOST_CHARACTERS = 100_000  # of a document, around the passage that was asked for
_LARGEST = 2**31 - 1  # of an id or a place
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
_INSTRUCTIONS = (
    "Searches the documents of this Touchstone. Use search for passages, fetch for the document "
    "around one of them, ask for an answer with citations, explain for why passages are found."
)

Value = TypeVar("Value")
Authenticate = Callable[[Context[Any, Any]], tuple[Principal, tuple[str, ...]]]
"""Who calls a tool, and the scopes of the token."""


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
    tools = _Tools(workspace, authenticate)
    for tool in (tools.search, tools.fetch, tools.ask, tools.explain):
        made.add_tool(tool, annotations=_READ_ONLY)
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


class _Tools:
    def __init__(self, workspace: Workspace, authenticate: Authenticate) -> None:
        self._workspace = workspace
        self._authenticate = authenticate

    async def search(
        self, query: str, context: Context[Any, Any], knowledge_base: str = ""
    ) -> ResultsData:
        """Find passages for a query, in one knowledge base or in all of them."""
        return await self._done(context, "read", _search, query, knowledge_base)

    async def fetch(self, id: str, context: Context[Any, Any]) -> ExcerptData:
        """The document around a passage that a search found, by the id of that result."""
        return await self._done(context, "read", _fetch, id)

    async def ask(
        self, question: str, context: Context[Any, Any], knowledge_base: str = ""
    ) -> AnswerData:
        """Answer a question from the documents, with citations."""
        return await self._done(context, "ask", _ask, question, knowledge_base)

    async def explain(
        self, question: str, words: str, context: Context[Any, Any], knowledge_base: str = ""
    ) -> FindingsData:
        """Explain why the passages that contain some words are found for a question or not."""
        return await self._done(context, "read", _explain, question, words, knowledge_base)

    async def _done(
        self, context: Context[Any, Any], scope: str, work: Callable[..., Value], *given: str
    ) -> Value:
        try:
            principal, scopes = self._authenticate(context)
            if scope not in scopes:
                raise ToolError(f"This token lacks the scope {scope!r}.")
            if any(len(text) > LONGEST_QUESTION for text in given):
                raise ToolError(f"Write at most {LONGEST_QUESTION:,} characters.")
            return await in_thread(work, ANSWERS)(
                ScopedWorkspace(self._workspace, principal), *given
            )
        except TouchstoneError as error:
            raise ToolError(f"{error.message} {error.hint}".strip()) from error


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


def _search(workspace: ScopedWorkspace, query: str, name: str) -> ResultsData:
    first, beside = _bases_beside(workspace, name)
    trace = first.search(query, first.recipe(), beside)
    ids = {info.name: info.id for info in workspace.bases()}
    results = [
        SearchResultData(
            id=f"{ids.get(hit.base or first.name, first.id)}:{_place(hit)}",
            title=hit.document,
            url=hit.url,
            text=hit.chunk.text,
        )
        for hit in trace.hits
        if not hit.from_tool
    ]
    return ResultsData(results=results, corrections=trace.corrections)


def _fetch(workspace: ScopedWorkspace, id: str) -> ExcerptData:
    base_id, _, place = id.partition(":")
    document_id, _, start = place.partition("@")
    if not (_is_number(base_id) and _is_number(start)):
        raise NotFound("There is no such result.", "Give the id of a result of search.")
    base = workspace.base_with_id(int(base_id))
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


def _ask(workspace: ScopedWorkspace, question: str, name: str) -> AnswerData:
    base, beside = _bases_beside(workspace, name)
    stream = base.ask(question, base.recipe(), beside)
    answer = stream.answer
    if answer.status == "failed":
        raise stream.error or TouchstoneError(answer.note)
    return AnswerData.of(answer)


def _explain(workspace: ScopedWorkspace, question: str, words: str, name: str) -> FindingsData:
    base = _bases(workspace, name)[0]
    explainer = base.explain(question, base.recipe())
    findings = explainer.find(words)
    changes = [explainer.changes(finding.standing.chunk.key) for finding in findings]
    return findings_data(explainer, findings, changes)


def _is_number(text: str) -> bool:
    """Whether it can be an id or a place: digits of ASCII, and no more than a column holds."""
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST))
    return digits and int(text) <= _LARGEST


def _place(hit: Hit) -> str:
    return f"{hit.chunk.document_id}@{hit.chunk.start}"
