"""Attributes of spans: names and values, without user text unless it is enabled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.providers.http_tools import ToolOutcome
from rag.providers.spanned import ModelCall
from rag.recipe import Recipe
from rag.telemetry import Span
from rag.types import Answer, Hit, Stage, Trace
from rag.workspace.tracing import names

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
    name, attributes = _ATTRIBUTES[span.kind](span, content)
    if span.kind in KINDS:
        attributes[names.KIND] = KINDS[span.kind]
    return name, attributes


def of_step(stage: Stage, search: Span, content: Content) -> tuple[str, Attributes]:
    """The same of a step of ``search`` that is a span of its own."""
    recipe: Recipe = search.labels["recipe"]
    question: str = search.labels["question"]
    attributes: Attributes = {names.KIND: STEPS[stage.name]}
    if stage.name == "question":
        model = recipe.index.embedder
        attributes |= {names.EMBEDDING_MODEL: model, names.OPERATION: "embeddings"}
        attributes |= _of_recipe_model(model)
        if content.inputs:
            attributes[f"{names.EMBEDDINGS}.0.{names.EMBEDDING_TEXT}"] = question
        return f"embeddings {model}", attributes
    model = recipe.search.rerank or ""
    attributes |= {names.RERANKER_MODEL: model, names.RERANKER_TOP_K: recipe.search.rerank_depth}
    if content.inputs:
        attributes |= {names.RERANKER_QUERY: question} | _in(question)
    if isinstance(search.about, Trace):
        read = [hit for hit in search.about.hits if "rerank" in hit.parts]
        read.sort(key=lambda hit: -hit.parts["rerank"])
        scores = [hit.parts["rerank"] for hit in read]
        attributes |= _documents(names.RERANKER_OUTPUT, read, scores, content)
    return f"rerank {model}", attributes


def of_event(stage: Stage, content: Content) -> Attributes:
    """The attributes of a step of a retrieval that is no span. What it notes may quote a user."""
    attributes: Attributes = {
        names.TAKEN: stage.taken,
        names.GIVEN: stage.given,
        names.SECONDS: stage.seconds,
    }
    return attributes | ({names.NOTE: stage.note} if content.inputs and stage.note else {})


def _of_request(span: Span, _: Content) -> tuple[str, Attributes]:
    method = span.labels["method"]
    route = span.labels.get("route", "unknown")
    attributes: Attributes = {names.METHOD: method, names.ROUTE: route}
    if "status" in span.labels:
        attributes[names.STATUS_CODE] = int(span.labels["status"])
    return f"{method} {route}", attributes


def _of_turn(span: Span, content: Content) -> tuple[str, Attributes]:
    attributes = _of_question(span.labels, content)
    for name, label in ((names.SESSION, "session"), (names.CONVERSATION, "session")):
        if label in span.labels:
            attributes[name] = str(span.labels[label])
    if "turn" in span.labels:
        attributes[names.TURN] = span.labels["turn"]
    return NAMES["turn"], attributes | _of_outcome(span.about, content)


def _of_answer(span: Span, content: Content) -> tuple[str, Attributes]:
    attributes: Attributes = {}
    if isinstance(span.about, Answer) and content.inputs:
        attributes = _in(span.about.trace.question)
    return NAMES["answer"], attributes | _of_outcome(span.about, content)


def _of_outcome(answer: Answer | None, content: Content) -> Attributes:
    if answer is None:
        return {}
    attributes: Attributes = {
        names.MODE: answer.mode,
        names.OUTCOME: answer.status,
        names.DECISIONS: [decision.step for decision in answer.decisions],
        names.CITATIONS: len(answer.citations),
        names.UNSUPPORTED: len(answer.unsupported),
    }
    if answer.cost is not None:
        attributes |= {names.COST: answer.cost.amount, names.CURRENCY: answer.cost.currency}
    return attributes | (_out(answer.text) if content.outputs else {})


def _of_search(span: Span, content: Content) -> tuple[str, Attributes]:
    attributes = _of_question(span.labels, content) | {names.OPERATION: "retrieval"}
    if content.inputs:
        attributes[names.QUERY_TEXT] = span.labels["question"]
    trace = span.about
    if isinstance(trace, Trace):
        question_stage = trace.stage("question")
        attributes[names.FROM_CACHE] = bool(
            question_stage and question_stage.figures.get("from_cache")
        )
        attributes[names.PASSAGES] = trace.passages
        if trace.threshold is not None:
            attributes[names.THRESHOLD] = trace.threshold
        scores = [hit.score for hit in trace.hits]
        attributes |= _documents(names.DOCUMENTS, trace.hits, scores, content)
    return NAMES["search"], attributes


def _of_chat(span: Span, content: Content) -> tuple[str, Attributes]:
    call: ModelCall = span.about
    parameters = {"temperature": call.temperature, "max_tokens": call.max_tokens}
    attributes: Attributes = {
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
        spent, completion = call.usage.prompt_tokens, call.usage.completion_tokens
        attributes |= {names.TOKENS_PROMPT: spent, names.TOKENS_COMPLETION: completion}
        attributes |= {names.TOKENS_TOTAL: spent + completion}
        attributes |= {names.INPUT_TOKENS: spent, names.OUTPUT_TOKENS: completion}
    if call.finish:
        attributes |= {names.LLM_FINISH: call.finish, names.FINISH_REASONS: [call.finish]}
    if call.first_token is not None:
        attributes[names.FIRST_CHUNK] = call.first_token
    messages = [(message.role, message.content) for message in call.messages]
    if content.inputs:
        attributes |= _messages(names.LLM_INPUT, names.INPUT_MESSAGES, messages)
        attributes |= _in(messages[-1][1]) if messages else {}
    if content.outputs and call.text:
        attributes |= _messages(names.LLM_OUTPUT, names.OUTPUT_MESSAGES, [("assistant", call.text)])
        attributes |= _out(call.text)
    return f"chat {call.model}", attributes


def _of_embeddings(span: Span, content: Content) -> tuple[str, Attributes]:
    """A request to a service that embeds: a question, or a part of the documents."""
    model, texts = span.labels["model"], span.labels["texts"]
    attributes = _of_service(span.labels["provider"], model)
    attributes |= {
        names.EMBEDDING_MODEL: model,
        names.OPERATION: "embeddings",
        names.TEXTS: len(texts),
    }
    if span.about is not None:
        attributes[names.DIMENSION] = int(span.about.shape[1])
    if content.inputs:
        for number, text in enumerate(texts[:MOST_DOCUMENTS]):
            attributes[f"{names.EMBEDDINGS}.{number}.{names.EMBEDDING_TEXT}"] = text
    return f"embeddings {model}", attributes


def _of_rerank(span: Span, content: Content) -> tuple[str, Attributes]:
    """A request to a service that reranks. Its scores stand in the order of the passages sent."""
    model, texts = span.labels["model"], span.labels["texts"]
    attributes = _of_service(span.labels["provider"], model)
    attributes |= {names.RERANKER_MODEL: model, names.RERANKER_TOP_K: len(texts)}
    attributes |= {names.OPERATION: "rerank", names.TEXTS: len(texts)}
    if content.inputs:
        attributes |= {names.RERANKER_QUERY: span.labels["question"]} | _in(span.labels["question"])
        for number, text in enumerate(texts[:MOST_DOCUMENTS]):
            attributes[f"{names.RERANKER_INPUT}.{number}.{names.DOCUMENT_CONTENT}"] = text
    if span.about is not None:
        for number, score in enumerate(span.about[:MOST_DOCUMENTS]):
            attributes[f"{names.RERANKER_OUTPUT}.{number}.{names.DOCUMENT_SCORE}"] = float(score)
    return f"rerank {model}", attributes


def _of_tool(span: Span, content: Content) -> tuple[str, Attributes]:
    name, question = span.labels["tool"], span.labels["question"]
    attributes: Attributes = {
        names.TOOL_NAME: name,
        names.OPERATION: "execute_tool",
        names.AI_TOOL_NAME: name,
        names.AI_TOOL_TYPE: "extension",
    }
    if description := span.labels["description"]:
        attributes |= {names.TOOL_DESCRIPTION: description, names.AI_TOOL_DESCRIPTION: description}
    if content.inputs:
        attributes |= _in(question) | {names.TOOL_ARGUMENTS: json.dumps({"question": question})}
    if isinstance(span.about, ToolOutcome) and content.outputs:
        results = [{"title": result.title, "text": result.text} for result in span.about.results]
        output = json.dumps(results, ensure_ascii=False)
        attributes |= {names.OUTPUT: output, names.OUTPUT_TYPE: "application/json"}
        attributes |= {names.TOOL_RESULT: output}
    return f"execute_tool {name}", attributes


def _of_job(span: Span, _: Content) -> tuple[str, Attributes]:
    labels = span.labels
    attributes: Attributes = {names.JOB: labels["job"]}
    if "kind" in labels:
        attributes |= {
            names.KNOWLEDGE_BASE: labels["base"],
            names.JOB_KIND: labels["kind"],
            names.JOB_STATUS: labels["status"],
            names.JOB_DONE: labels["done"],
            names.JOB_TOTAL: labels["total"],
        }
        attributes |= {f"{names.JOB_ITEMS}.{status}": n for status, n in labels["items"].items()}
    return f"job {labels.get('kind', '')}".strip(), attributes


_ATTRIBUTES = {
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
    attributes: Attributes = {}
    if "base" in labels:
        attributes |= {names.KNOWLEDGE_BASE: labels["base"], names.DATA_SOURCE: str(labels["base"])}
    if "recipe" in labels:
        attributes[names.RECIPE] = labels["recipe"].hash
    return attributes | (_in(labels["question"]) if content.inputs else {})


def _documents(
    prefix: str, hits: Sequence[Hit], scores: Sequence[float], content: Content
) -> Attributes:
    attributes: Attributes = {}
    for number, (hit, score) in enumerate(zip(hits, scores, strict=True)):
        if number == MOST_DOCUMENTS:
            break
        attributes[f"{prefix}.{number}.{names.DOCUMENT_ID}"] = hit.chunk.id
        attributes[f"{prefix}.{number}.{names.DOCUMENT_SCORE}"] = score
        if content.outputs:
            attributes[f"{prefix}.{number}.{names.DOCUMENT_CONTENT}"] = hit.chunk.text
            attributes[f"{prefix}.{number}.{names.DOCUMENT_NAME}"] = hit.document
    return attributes


def _messages(flat: str, whole: str, messages: Sequence[tuple[str, str]]) -> Attributes:
    """Messages as both conventions have them: one attribute each, and all as JSON."""
    attributes: Attributes = {}
    for number, (role, text) in enumerate(messages):
        attributes[f"{flat}.{number}.{names.MESSAGE_ROLE}"] = role
        attributes[f"{flat}.{number}.{names.MESSAGE_CONTENT}"] = text
    parts = [
        {"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages
    ]
    return attributes | {whole: json.dumps(parts, ensure_ascii=False)}


def _in(text: str) -> Attributes:
    return {names.INPUT: text, names.INPUT_TYPE: "text/plain"}


def _out(text: str) -> Attributes:
    return {names.OUTPUT: text, names.OUTPUT_TYPE: "text/plain"}


def _of_service(provider: str, model: str) -> Attributes:
    named = _provider(provider)
    return {names.PROVIDER: named, names.SYSTEM: named, names.MODEL: model}


def _of_recipe_model(model: str) -> Attributes:
    """The model of a recipe, ``PROVIDER[:MODEL]``."""
    provider, _, name = model.partition(":")
    return _of_service(provider, name or model)


def _provider(name: str) -> str:
    return names.AI_PROVIDERS.get(name, name)
