"""Systems behind HTTP endpoints: their definition, forms of known products, and one question."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from rag.errors import InvalidInput, ProviderMisbehaved
from rag.experiments.systems.formats.shapes import LONGEST_TEXT, MOST_TEXTS
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.input_rules import storable
from rag.network import checked_url
from rag.providers.http_tools import VARIABLE, HttpTool, Path, answer_of, compiled, number_of

_LONGEST_NAME = 500


LOCAL_FORMS = ("grep", "documents")
"""Searches of the knowledge base itself that need no index of passages."""


class HttpSystem(HttpTool):
    """A system that answers a question over HTTP. Defined like a tool.

    In contrast to a tool, its results are measured: they keep their rank where they repeat or have
    no text, and their texts aren't shortened. ``id`` is the JMESPath of a result's id.

    With the protocol "mcp", ``body`` has the arguments of ``tool``, whose result the paths are of,
    unless the results are to be ``recognised``. Results without a text are fetched by their id by
    the tool ``fetch``, "" for none. A server is at ``url``, or it is a ``command``, whose
    environment has the variables of ``env``: its names, and those that have the values. With the
    protocol "local", the knowledge base itself is searched in the form of ``LOCAL_FORMS``.
    """

    noun: ClassVar[str] = "system"
    url: str = Field("", max_length=2000)
    protocol: Literal["http", "mcp", "local"] = "http"
    command: str = Field("", max_length=2000)
    env: dict[str, str] = Field(default_factory=dict)
    tool: str = Field("search", max_length=200)
    fetch: str = Field("fetch", max_length=200)
    fetch_argument: str = Field("id", max_length=200)
    recognised: bool = False
    form: str = Field("", max_length=40, description="the product whose form it has")
    id: Path = ""
    most: int = Field(100, ge=1, le=MOST_TEXTS, description="results of a question that are read")

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that its headers and its command need."""
        return tuple(dict.fromkeys([*super().variables, *self.env.values()]))

    @field_validator("env")
    @classmethod
    def _names_of_variables(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not (name.isidentifier() and VARIABLE.fullmatch(value)):
                raise ValueError(
                    f"{name} must be the name of a variable, and its value another name that "
                    "begins with TOUCHSTONE_TOOL_"
                )
        return env

    @model_validator(mode="after")
    def _is_somewhere(self) -> HttpSystem:
        if self.protocol == "local":
            if self.url or self.command or self.form not in LOCAL_FORMS:
                raise ValueError(f"a search of this base is one of {', '.join(LOCAL_FORMS)}")
            return self
        if bool(self.url) == bool(self.command):
            raise ValueError("give either a url or a command")
        if self.command and self.protocol != "mcp":
            raise ValueError("a command must be an MCP server")
        return self


def ask(
    system: HttpSystem, question: str, variables: Mapping[str, str], *, allow_private: bool
) -> Returned:
    """Ask a system one question.

    Raises BlockedAddress, and ProviderError: unavailable (refused, timed out, 429, 5xx), rejected
    (4xx, a variable isn't set), misbehaved (no JSON, no list at its path, too large).
    """
    data = answer_of(system, question, variables, allow_private=allow_private)
    return Returned(question, tuple(_results(system, data)))


def _results(system: HttpSystem, data: bytes) -> list[ReturnedText]:
    try:
        return results_of_answer(system, json.loads(data))
    except (ValueError, RecursionError) as error:
        raise ProviderMisbehaved(
            f"The {system.label} did not answer with JSON.", "Check its address."
        ) from error


def results_of_answer(system: HttpSystem, answer: Any) -> list[ReturnedText]:
    """Read the results at the paths of a system. Raises ProviderMisbehaved without a list."""
    items = compiled(system.results or "@")(answer)
    if not isinstance(items, list):
        fields = ""
        if isinstance(answer, dict):
            fields = f" It has: {storable(', '.join(answer))[:200]}.{_reason(answer)}"
        where = f"at “{system.results}”" if system.results else "at its top"
        raise ProviderMisbehaved(
            f"The {system.label} answered without a list of results {where}.{fields}",
            "Compare the path of its results with its answer.",
        )
    read = _reader(system)
    return [read(item) for item in items[: system.most]]


def _reason(answer: Mapping[str, Any]) -> str:
    """The reason of an answer that is an error: products answer some of these with status 200."""
    error = answer.get("error")
    message = answer.get("message") or (error.get("message") if isinstance(error, dict) else error)
    return f" It says: {storable(message)[:200]}" if isinstance(message, str) else ""


def _reader(system: HttpSystem) -> Callable[[Any], ReturnedText]:
    text, score = compiled(system.text), compiled(system.score)
    name, title, link = compiled(system.id), compiled(system.title), compiled(system.link)

    def read(item: Any) -> ReturnedText:
        url = _words(link(item))[:2000]
        return ReturnedText(
            text=_words(text(item))[:LONGEST_TEXT],
            score=number_of(score(item)),
            id=_words(name(item))[:_LONGEST_NAME],
            title=_words(title(item))[:_LONGEST_NAME],
            metadata={"url": url} if url.lower().startswith(("http://", "https://")) else {},
        )

    return read


def _words(value: Any) -> str:
    """Text of a string, of a number, or of a list of these; else ""."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return storable(str(value)).strip()


_Form = Callable[[str, str, int], dict[str, Any]]


def _dify_external(address: str, collection: str, depth: int) -> dict[str, Any]:
    setting = {"top_k": depth, "score_threshold": 0.0}
    body = {"knowledge_id": collection, "query": "{question}", "retrieval_setting": setting}
    paths = {"results": "records", "text": "content", "score": "score", "title": "title"}
    return {"url": f"{address}/retrieval", "body": body, **paths}


def _dify_dataset(address: str, collection: str, depth: int) -> dict[str, Any]:
    return {
        "url": f"{address}/v1/datasets/{collection}/retrieve",
        "body": {"query": "{question}"},
        "results": "records",
        "text": "segment.content",
        "score": "score",
        "id": "segment.id",
        "title": "segment.document.name",
    }


def _openai(address: str, collection: str, depth: int) -> dict[str, Any]:
    return {
        "url": f"{address}/vector_stores/{collection}/search",
        "body": {"query": "{question}", "max_num_results": min(depth, 50)},
        "results": "data",
        "text": "content[?type=='text'].text",
        "score": "score",
        "id": "file_id",
        "title": "filename",
    }


def _ragflow(address: str, collection: str, depth: int) -> dict[str, Any]:
    return {
        "url": f"{address}/api/v1/retrieval",
        "body": {
            "question": "{question}",
            "dataset_ids": [collection],
            "page_size": min(depth, 100),
        },
        "results": "data.chunks",
        "text": "content",
        "score": "similarity",
        "id": "id",
        "title": "document_keyword",
    }


def _touchstone(address: str, collection: str, depth: int) -> dict[str, Any]:
    return {
        "url": f"{address}/api/v1/knowledge-bases/{collection}/search",
        "body": {"question": "{question}", "fields": {"search.top_k": depth}},
        "results": "hits",
        "text": "text",
        "score": "relevance",
        "id": "chunk_id",
        "title": "document",
    }


def _mcp(address: str, collection: str, depth: int) -> dict[str, Any]:
    arguments = {"query": "{question}"} | ({"knowledge_base": collection} if collection else {})
    paths = {"results": "results", "text": "text", "id": "id", "title": "title", "link": "url"}
    return {"url": address, "protocol": "mcp", "body": arguments, "score": "score", **paths}


SYSTEM_FORMS: Mapping[str, _Form] = {
    "dify-external": _dify_external,
    "dify-dataset": _dify_dataset,
    "openai": _openai,
    "ragflow": _ragflow,
    "touchstone": _touchstone,
    "mcp": _mcp,
}
"""Requests and answers of known products: from address, collection and depth to fields.

Another Touchstone answers in the form ``touchstone``, and in ``dify-external`` and ``openai`` at
``/api/v1``. A dataset of Dify returns as many results as its own settings say. Sources: RAGFlow,
https://ragflow.io/docs/http_api_reference; Dify, https://docs.dify.ai; OpenAI,
https://platform.openai.com/docs/api-reference/vector-stores.
"""


def system_of(
    form: str, name: str, address: str, collection: str, depth: int = 10, key: str = ""
) -> HttpSystem:
    """The system at an address in the form of a known product.

    ``collection`` is the id of its knowledge base, data set or vector store; ``key`` is the
    environment variable of its key, TOUCHSTONE_TOOL_NAME. Raises InvalidInput, BlockedAddress.
    """
    if form not in SYSTEM_FORMS:
        raise InvalidInput(
            f"No form of systems is called {form!r}.", f"Use {', '.join(SYSTEM_FORMS)}."
        )
    checked_url(address)
    fields = SYSTEM_FORMS[form](address.rstrip("/"), collection, depth)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    definition = {**fields, "body": json.dumps(fields["body"]), "headers": headers, "most": depth}
    return HttpSystem.parse({"name": name, "method": "POST", "form": form, **definition})


def mcp_system(
    name: str,
    *,
    address: str = "",
    command: str = "",
    tool: str = "search",
    arguments: Mapping[str, Any] = MappingProxyType({"query": "{question}"}),
    fetch: str = "",
    env: Mapping[str, str] = MappingProxyType({}),
    paths: Mapping[str, str] = MappingProxyType({}),
    depth: int = 10,
    key: str = "",
) -> HttpSystem:
    """A tool of an MCP server at an address, or of one that is a command, as a system.

    ``arguments`` are those of the tool, with {question} in one of them. ``paths`` are JMESPath
    expressions of its results (``results``, ``text``, ``id``, ``title``, ``score``); without any,
    results are recognised. ``fetch`` is TOOL or TOOL:ARGUMENT, which takes the id of a result
    without a text. Raises InvalidInput, BlockedAddress.
    """
    fetch_tool, _, argument = fetch.partition(":")
    return HttpSystem.parse(
        {
            "name": name,
            "form": "mcp",
            "protocol": "mcp",
            "method": "POST",
            "url": address,
            "command": command,
            "env": dict(env),
            "tool": tool,
            "body": json.dumps(dict(arguments)),
            "fetch": fetch_tool,
            "fetch_argument": argument or "id",
            "recognised": not paths,
            "headers": {"Authorization": f"Bearer {key}"} if key else {},
            "most": depth,
            **paths,
        }
    )


def local_system(name: str, form: str, depth: int = 10) -> HttpSystem:
    """A search of the knowledge base itself in one of ``LOCAL_FORMS``. Raises InvalidInput."""
    body = json.dumps({"query": "{question}"})
    fields = {"protocol": "local", "form": form, "method": "POST", "body": body, "most": depth}
    return HttpSystem.parse({"name": name, **fields})
