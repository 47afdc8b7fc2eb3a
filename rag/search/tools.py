"""HTTP tools: kept for all knowledge bases, and asked where a recipe names them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rag import telemetry
from rag.answering.asking.sourcing import AnswerTool
from rag.errors import InvalidInput, NotFound, TouchstoneError
from rag.operation import ADMINISTRATOR, operation
from rag.protocols import Embedder
from rag.providers.http_tools import HttpTool, ToolOutcome, ToolResult, call
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval import Part, Timeline, embed_question
from rag.retrieval.hits import pass_cuts
from rag.retrieval.selection import cut
from rag.search.corpus import check_question
from rag.services.services import Services
from rag.storage import registries as rows
from rag.types import TOOL, Chunk, Hit, Trace, chunk_key

FRESH = 120.0
"""Seconds. What a service answers is not known to stay the same."""


class Tools:
    """The tools of a workspace."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @operation("guest")
    def list_all(self) -> list[HttpTool]:
        """All tools by name."""
        definitions = self._services.database.fetch(rows.list_tools)
        return [HttpTool.parse(definition) for definition in definitions.values()]

    @operation("guest")
    def named(self, name: str) -> HttpTool:
        """One tool. Raises NotFound, naming those that exist."""
        tools = {tool.name: tool for tool in self.list_all()}
        if name not in tools:
            names = ", ".join(tools) or "none yet"
            raise NotFound(f"There is no tool named {name!r}.", f"There are: {names}.")
        return tools[name]

    @operation(ADMINISTRATOR, audit="tools")
    def save(self, tool: HttpTool) -> None:
        """Keep a tool, in place of the one of that name."""
        self._services.database.execute(rows.save_tool, tool.name, tool.model_dump(mode="json"))

    @operation(ADMINISTRATOR, audit="tools")
    def remove(self, name: str) -> None:
        """Raise NotFound. A recipe that names it says in every trace that it is gone."""
        removed = self._services.database.execute(rows.remove_tool, name)
        if not removed:
            self.named(name)

    @operation("guest")
    def unset(self, tool: HttpTool) -> list[str]:
        """The environment variables that a tool needs and that are not set."""
        variables = self._services.settings.tool_variables
        return [name for name in tool.variables if name not in variables]

    @operation(ADMINISTRATOR)
    def ask(self, tool: HttpTool, question: str) -> ToolOutcome:
        """One real call. Raises BlockedAddress, ProviderError, InvalidInput for no question."""
        question = check_question(question)
        settings = self._services.settings
        private = settings.allow_private_urls
        span_fields = {"tool": tool.name, "description": tool.description, "question": question}
        with telemetry.spanning("tool", span_fields) as span:
            variables = settings.tool_variables
            span.about = reply = call(
                tool, span_fields["question"], variables, allow_private=private
            )
            return reply


def tool_parts(services: Services, question: str, recipe: Recipe, leading: Trace) -> list[Part]:
    """The results of the tools that ``recipe`` names, as lists to merge with ``leading``.

    A result's relevance is the cosine of question and text, by the recipe's embedder: the same
    figure as that of a passage, compared with the same threshold. A calibrated probability rests on
    BM25 too, which a result has not; with it, results keep the cosine and its default threshold,
    and lists are merged by ranks. Refusal is of documents: results come back where these do not
    speak of the question. The order is the service's. A tool that fails is a stage with the reason
    as its note; what one answers is held for ``FRESH`` seconds.
    """
    tools = {tool.name: tool for tool in named_tools(services, recipe.search)}
    embedder = services.models.embedder(recipe.index.embedder)
    threshold = leading.threshold
    if recipe.search.relevance == "probability":
        plain = {"search.relevance": "cosine", "search.threshold": "auto"}
        changed = recipe.with_fields(plain)
        threshold = services.models.threshold(recipe.index.embedder, changed.search)

    def search_tool(name: str) -> Trace:
        def search() -> Trace:
            return _searched(Tools(services), name, question, recipe, embedder, threshold)

        tool = tools.get(name)
        definition = tool.model_dump_json() if tool else name
        key = definition, question, recipe.index.embedder, recipe.search.hash, threshold
        return services.results.trace(key, search, FRESH)

    names = tuple(dict.fromkeys(recipe.search.tools))
    with ThreadPoolExecutor(max_workers=max(len(names), 1)) as pool:
        traces = list(pool.map(telemetry.carry_context(search_tool), names))
    scale = f"cosine of {embedder.id}"
    return [Part(name, trace, scale) for name, trace in zip(names, traces, strict=True)]


def named_tools(services: Services, search: SearchRecipe) -> list[HttpTool]:
    """The tools of a recipe that there are."""
    all_tools = Tools(services).list_all() if search.tools else ()
    return [tool for tool in all_tools if tool.name in search.tools]


def without_tools(recipe: Recipe) -> Recipe:
    """Only passages can be explained and compared: what a service finds, it does not explain."""
    return recipe.with_fields({"search.tools": ()}) if recipe.search.tools else recipe


def answer_tools(services: Services, recipe: Recipe) -> tuple[AnswerTool, ...]:
    """The tools that an answer in mode auto may call: those that the recipe names.

    A recipe from before it could name them means all tools of the workspace.
    """
    tools, embedder = Tools(services), services.models.embedder(recipe.index.embedder)

    def asking(tool: HttpTool) -> AnswerTool:
        def ask(question: str) -> list[Hit]:
            return _hits(tool.name, tools.ask(tool, question).results, question, embedder)

        return AnswerTool(tool.name, tool.description, ask)

    named = recipe.answer.tools
    allowed = None if named is None else {*named, *recipe.search.tools}
    return tuple(
        asking(tool) for tool in tools.list_all() if allowed is None or tool.name in allowed
    )


def refuse_tools(search: SearchRecipe) -> None:
    """Raise InvalidInput where figures are wanted: labels say nothing about a service."""
    if search.tools:
        raise InvalidInput(
            "Metrics use the labels of documents, and the results of "
            f"{', '.join(search.tools)} have none.",
            "Measure without tools: search.tools=[].",
        )


def _searched(
    tools: Tools,
    name: str,
    question: str,
    recipe: Recipe,
    embedder: Embedder,
    threshold: float | None,
) -> Trace:
    timeline, results, failed = Timeline(), tuple[ToolResult, ...](), False
    try:
        outcome = tools.ask(tools.named(name), question)
    except TouchstoneError as error:
        note, failed = error.message, True
    else:
        empty = f", {outcome.empty} empty" if outcome.empty else ""
        note, results = f"{outcome.seconds:.1f} s{empty}", tuple(outcome.results)
    hits = _hits(name, results, question, embedder)
    timeline.passed("tool", len(results), len(hits), note, failed=failed)
    off = {"refuse": "off", "exact_codes": False, "duplicates": None, "mmr": None}
    plain = recipe.search.model_copy(update={"relevance": "cosine", **off})
    keys = np.array([hit.chunk.key for hit in hits], np.int64)
    scores = np.array([hit.score for hit in hits])
    relevance = np.array([hit.relevance for hit in hits])
    selection = cut(keys, scores, relevance, plain, threshold)
    selected = pass_cuts(keys, selection, hits.__getitem__, plain, threshold, timeline)
    stages = tuple(timeline.stages)
    return Trace(question, recipe.hash, 0, threshold, stages, selected, timeline.seconds)


def _hits(name: str, results: Sequence[ToolResult], question: str, embedder: Embedder) -> list[Hit]:
    if not results:
        return []
    query = embed_question(question, embedder).astype(np.float64)
    texts = [result.text for result in results]
    cosines = embedder.embed(texts, "document").astype(np.float64) @ query
    return [
        _hit(name, result, rank, float(cosine))
        for rank, (result, cosine) in enumerate(zip(results, cosines, strict=True), 1)
    ]


def _hit(name: str, result: ToolResult, rank: int, cosine: float) -> Hit:
    content = f"{result.url}\n{result.title}\n{result.text}".encode()
    document_id = f"{TOOL}{name}:{hashlib.sha256(content).hexdigest()}"
    length = len(result.text)
    chunk = Chunk(chunk_key(document_id, 0, length), document_id, 0, length, result.text, rank - 1)
    parts = {"dense": cosine, "tool_rank": float(rank)}
    if result.score is not None:
        parts["service"] = result.score
    document = result.title or result.url or f"{name}, result {rank}"
    return Hit(chunk, document, rank, 1.0 / rank, cosine, parts, url=result.url)
