"""Attributes of spans: names and values, without user text unless it is enabled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.http_tools import ToolOutcome
from rag.providers.spanned import ModelCall
from rag.recipe import Recipe
from rag.telemetry import Span
from rag.tracing import names
from rag.types import Answer, Hit, Stage, Trace

MOST_DOCUMENTS = 100
"""Passages that a span tells of."""

Value = str | bool | int | float | Sequence[str]
Attributes = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Content:
    """The text of users and documents that spans may contain: inputs and outputs."""

    inputs: bool = False
    outputs: bool = False


NAMES = {"turn": "ask", "search": "retrieve", "answer": "answer"}
KINDS = {
    "turn": "CHAIN",
    "answer": "CHAIN",
    "job": "CHAIN",
    "search": "RETRIEVER",
    "chat": "LLM",
    "embeddings": "EMBEDDING",
    "rerank": "RERANKER",
    "tool": "TOOL",
}
STEPS = {"question": "EMBEDDING", "rerank": "RERANKER"}
"""Steps of a retrieval that are spans of their own, by the kind of these."""


def of_span(span: Span, content: Content) -> tuple[str, Attributes]:
    """The name and the attributes of a span that has ended."""
    name, told = _TOLD[span.kind](span, content)
    if span.kind in KINDS:
        told[names.KIND] = KINDS[span.kind]
    return name, told


def of_step(stage: Stage, search: Span, content: Content) -> tuple[str, Attributes]:
    """The same of a step of ``search`` that is a span of its own."""
    recipe: Recipe = search.labels["recipe"]
    question: str = search.labels["question"]
    told: Attributes = {names.KIND: STEPS[stage.name]}
    if stage.name == "question":
        model = recipe.index.embedder
        told |= {names.EMBEDDING_MODEL: model, names.OPERATION: "embeddings"}
        told |= _asked_of(model)
        if content.inputs:
            told[f"{names.EMBEDDINGS}.0.{names.EMBEDDING_TEXT}"] = question
        return f"embeddings {model}", told
    model = recipe.search.rerank or ""
    told |= {names.RERANKER_MODEL: model, names.RERANKER_TOP_K: recipe.search.rerank_depth}
    if content.inputs:
        told |= {names.RERANKER_QUERY: question} | _in(question)
    if isinstance(search.about, Trace):
        read = [hit for hit in search.about.hits if "rerank" in hit.parts]
        read.sort(key=lambda hit: -hit.parts["rerank"])
        scores = [hit.parts["rerank"] for hit in read]
        told |= _documents(names.RERANKER_OUTPUT, read, scores, content)
    return f"rerank {model}", told


def of_event(stage: Stage, content: Content) -> Attributes:
    """The attributes of a step of a retrieval that is no span. What it notes may quote a user."""
    told: Attributes = {
        names.TAKEN: stage.taken,
        names.GIVEN: stage.given,
        names.SECONDS: stage.seconds,
    }
    return told | ({names.NOTE: stage.note} if content.inputs and stage.note else {})


def _of_request(span: Span, _: Content) -> tuple[str, Attributes]:
    method = span.labels["method"]
    route = span.labels.get("route", "unknown")
    told: Attributes = {names.METHOD: method, names.ROUTE: route}
    if "status" in span.labels:
        told[names.STATUS_CODE] = int(span.labels["status"])
    return f"{method} {route}", told


def _of_turn(span: Span, content: Content) -> tuple[str, Attributes]:
    told = _of_question(span.labels, content)
    for name, label in ((names.SESSION, "session"), (names.CONVERSATION, "session")):
        if label in span.labels:
            told[name] = str(span.labels[label])
    if "turn" in span.labels:
        told[names.TURN] = span.labels["turn"]
    return NAMES["turn"], told | _of_outcome(span.about, content)


def _of_answer(span: Span, content: Content) -> tuple[str, Attributes]:
    told: Attributes = {}
    if isinstance(span.about, Answer) and content.inputs:
        told = _in(span.about.trace.question)
    return NAMES["answer"], told | _of_outcome(span.about, content)


def _of_outcome(answer: Answer | None, content: Content) -> Attributes:
    if answer is None:
        return {}
    told: Attributes = {
        names.MODE: answer.mode,
        names.OUTCOME: answer.status,
        names.DECISIONS: [each.step for each in answer.decisions],
        names.CITATIONS: len(answer.citations),
        names.UNSUPPORTED: len(answer.unsupported),
    }
    if answer.cost is not None:
        told |= {names.COST: answer.cost.amount, names.CURRENCY: answer.cost.currency}
    return told | (_out(answer.text) if content.outputs else {})


def _of_search(span: Span, content: Content) -> tuple[str, Attributes]:
    told = _of_question(span.labels, content) | {names.OPERATION: "retrieval"}
    if content.inputs:
        told[names.QUERY_TEXT] = span.labels["question"]
    trace = span.about
    if isinstance(trace, Trace):
        asked = trace.stage("question")
        told[names.FROM_CACHE] = bool(asked and asked.figures.get("from_cache"))
        told[names.PASSAGES] = trace.passages
        if trace.threshold is not None:
            told[names.THRESHOLD] = trace.threshold
        scores = [hit.score for hit in trace.hits]
        told |= _documents(names.DOCUMENTS, trace.hits, scores, content)
    return NAMES["search"], told


def _of_chat(span: Span, content: Content) -> tuple[str, Attributes]:
    call: ModelCall = span.about
    parameters = {"temperature": call.temperature, "max_tokens": call.max_tokens}
    told: Attributes = {
        names.LLM_MODEL: call.model,
        names.LLM_PROVIDER: names.LLM_PROVIDERS.get(call.provider, call.provider),
        names.LLM_PARAMETERS: json.dumps(parameters),
        names.OPERATION: "chat",
        names.PROVIDER: _provider(call.provider),
        names.SYSTEM: _provider(call.provider),
        names.MODEL: call.model,
        names.TEMPERATURE: call.temperature,
        names.MAX_TOKENS: call.max_tokens,
    }
    if call.usage.tokens:
        spent, said = call.usage.prompt_tokens, call.usage.completion_tokens
        told |= {names.TOKENS_PROMPT: spent, names.TOKENS_COMPLETION: said}
        told |= {names.TOKENS_TOTAL: spent + said}
        told |= {names.INPUT_TOKENS: spent, names.OUTPUT_TOKENS: said}
    if call.finish:
        told |= {names.LLM_FINISH: call.finish, names.FINISH_REASONS: [call.finish]}
    if call.first_token is not None:
        told[names.FIRST_CHUNK] = call.first_token
    asked = [(message.role, message.content) for message in call.messages]
    if content.inputs:
        told |= _messages(names.LLM_INPUT, names.INPUT_MESSAGES, asked)
        told |= _in(asked[-1][1]) if asked else {}
    if content.outputs and call.text:
        told |= _messages(names.LLM_OUTPUT, names.OUTPUT_MESSAGES, [("assistant", call.text)])
        told |= _out(call.text)
    return f"chat {call.model}", told


def _of_embeddings(span: Span, content: Content) -> tuple[str, Attributes]:
    """A request to a service that embeds: a question, or a part of the documents."""
    model, texts = span.labels["model"], span.labels["texts"]
    told = _of_service(span.labels["provider"], model)
    told |= {names.EMBEDDING_MODEL: model, names.OPERATION: "embeddings", names.TEXTS: len(texts)}
    if span.about is not None:
        told[names.DIMENSION] = int(span.about.shape[1])
    if content.inputs:
        for number, text in enumerate(texts[:MOST_DOCUMENTS]):
            told[f"{names.EMBEDDINGS}.{number}.{names.EMBEDDING_TEXT}"] = text
    return f"embeddings {model}", told


def _of_rerank(span: Span, content: Content) -> tuple[str, Attributes]:
    """A request to a service that reranks. Its scores stand in the order of the passages sent."""
    model, texts = span.labels["model"], span.labels["texts"]
    told = _of_service(span.labels["provider"], model)
    told |= {names.RERANKER_MODEL: model, names.RERANKER_TOP_K: len(texts)}
    told |= {names.OPERATION: "rerank", names.TEXTS: len(texts)}
    if content.inputs:
        told |= {names.RERANKER_QUERY: span.labels["question"]} | _in(span.labels["question"])
        for number, text in enumerate(texts[:MOST_DOCUMENTS]):
            told[f"{names.RERANKER_INPUT}.{number}.{names.DOCUMENT_CONTENT}"] = text
    if span.about is not None:
        for number, score in enumerate(span.about[:MOST_DOCUMENTS]):
            told[f"{names.RERANKER_OUTPUT}.{number}.{names.DOCUMENT_SCORE}"] = float(score)
    return f"rerank {model}", told


def _of_tool(span: Span, content: Content) -> tuple[str, Attributes]:
    name, question = span.labels["tool"], span.labels["question"]
    told: Attributes = {
        names.TOOL_NAME: name,
        names.OPERATION: "execute_tool",
        names.AI_TOOL_NAME: name,
        names.AI_TOOL_TYPE: "extension",
    }
    if description := span.labels["description"]:
        told |= {names.TOOL_DESCRIPTION: description, names.AI_TOOL_DESCRIPTION: description}
    if content.inputs:
        told |= _in(question) | {names.TOOL_ARGUMENTS: json.dumps({"question": question})}
    if isinstance(span.about, ToolOutcome) and content.outputs:
        results = [{"title": each.title, "text": each.text} for each in span.about.results]
        said = json.dumps(results, ensure_ascii=False)
        told |= {names.OUTPUT: said, names.OUTPUT_TYPE: "application/json"}
        told |= {names.TOOL_RESULT: said}
    return f"execute_tool {name}", told


def _of_job(span: Span, _: Content) -> tuple[str, Attributes]:
    labels = span.labels
    told: Attributes = {names.JOB: labels["job"]}
    if "kind" in labels:
        told |= {
            names.KNOWLEDGE_BASE: labels["base"],
            names.JOB_KIND: labels["kind"],
            names.JOB_STATUS: labels["status"],
            names.JOB_DONE: labels["done"],
            names.JOB_TOTAL: labels["total"],
        }
        told |= {f"{names.JOB_ITEMS}.{status}": n for status, n in labels["items"].items()}
    return f"job {labels.get('kind', '')}".strip(), told


_TOLD = {
    "request": _of_request,
    "turn": _of_turn,
    "answer": _of_answer,
    "search": _of_search,
    "chat": _of_chat,
    "embeddings": _of_embeddings,
    "rerank": _of_rerank,
    "tool": _of_tool,
    "job": _of_job,
}


def _of_question(labels: Mapping[str, Any], content: Content) -> Attributes:
    told: Attributes = {}
    if "base" in labels:
        told |= {names.KNOWLEDGE_BASE: labels["base"], names.DATA_SOURCE: str(labels["base"])}
    if "recipe" in labels:
        told[names.RECIPE] = labels["recipe"].hash
    return told | (_in(labels["question"]) if content.inputs else {})


def _documents(
    prefix: str, hits: Sequence[Hit], scores: Sequence[float], content: Content
) -> Attributes:
    told: Attributes = {}
    for number, (hit, score) in enumerate(zip(hits, scores, strict=True)):
        if number == MOST_DOCUMENTS:
            break
        told[f"{prefix}.{number}.{names.DOCUMENT_ID}"] = hit.chunk.id
        told[f"{prefix}.{number}.{names.DOCUMENT_SCORE}"] = score
        if content.outputs:
            told[f"{prefix}.{number}.{names.DOCUMENT_CONTENT}"] = hit.chunk.text
            told[f"{prefix}.{number}.{names.DOCUMENT_NAME}"] = hit.document
    return told


def _messages(flat: str, whole: str, messages: Sequence[tuple[str, str]]) -> Attributes:
    """Messages as both conventions have them: one attribute each, and all as JSON."""
    told: Attributes = {}
    for number, (role, text) in enumerate(messages):
        told[f"{flat}.{number}.{names.MESSAGE_ROLE}"] = role
        told[f"{flat}.{number}.{names.MESSAGE_CONTENT}"] = text
    parts = [
        {"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages
    ]
    return told | {whole: json.dumps(parts, ensure_ascii=False)}


def _in(text: str) -> Attributes:
    return {names.INPUT: text, names.INPUT_TYPE: "text/plain"}


def _out(text: str) -> Attributes:
    return {names.OUTPUT: text, names.OUTPUT_TYPE: "text/plain"}


def _of_service(provider: str, model: str) -> Attributes:
    named = _provider(provider)
    return {names.PROVIDER: named, names.SYSTEM: named, names.MODEL: model}


def _asked_of(model: str) -> Attributes:
    """The model of a recipe, ``PROVIDER[:MODEL]``."""
    provider, _, name = model.partition(":")
    return _of_service(provider, name or model)


def _provider(name: str) -> str:
    return names.AI_PROVIDERS.get(name, name)
