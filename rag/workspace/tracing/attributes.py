"""Attributes of spans: names and values, without user text unless it is enabled.

Names of OpenInference are those of https://arize-ai.github.io/openinference/spec, those of
OpenTelemetry begin with ``gen_ai.`` and are those of its semantic conventions for generative AI.
Our own begin with ``touchstone.``.
"""

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
        attributes[KIND] = KINDS[span.kind]
    return name, attributes


def of_step(stage: Stage, search: Span, content: Content) -> tuple[str, Attributes]:
    """The same of a step of ``search`` that is a span of its own."""
    recipe: Recipe = search.labels["recipe"]
    question: str = search.labels["question"]
    attributes: Attributes = {KIND: STEPS[stage.name]}
    if stage.name == "question":
        model = recipe.index.embedder
        attributes |= {EMBEDDING_MODEL: model, OPERATION: "embeddings"}
        attributes |= _of_recipe_model(model)
        if content.inputs:
            attributes[f"{EMBEDDINGS}.0.{EMBEDDING_TEXT}"] = question
        return f"embeddings {model}", attributes
    model = recipe.search.rerank or ""
    attributes |= {RERANKER_MODEL: model, RERANKER_TOP_K: recipe.search.rerank_depth}
    if content.inputs:
        attributes |= {RERANKER_QUERY: question} | _in(question)
    if isinstance(search.about, Trace):
        read = [hit for hit in search.about.hits if "rerank" in hit.parts]
        read.sort(key=lambda hit: -hit.parts["rerank"])
        scores = [hit.parts["rerank"] for hit in read]
        attributes |= _documents(RERANKER_OUTPUT, read, scores, content)
    return f"rerank {model}", attributes


def of_event(stage: Stage, content: Content) -> Attributes:
    """The attributes of a step of a retrieval that is no span. What it notes may quote a user."""
    attributes: Attributes = {
        TAKEN: stage.taken,
        GIVEN: stage.given,
        SECONDS: stage.seconds,
    }
    return attributes | ({NOTE: stage.note} if content.inputs and stage.note else {})


def _of_request(span: Span, _: Content) -> tuple[str, Attributes]:
    method = span.labels["method"]
    route = span.labels.get("route", "unknown")
    attributes: Attributes = {METHOD: method, ROUTE: route}
    if "status" in span.labels:
        attributes[STATUS_CODE] = int(span.labels["status"])
    return f"{method} {route}", attributes


def _of_turn(span: Span, content: Content) -> tuple[str, Attributes]:
    attributes = _of_question(span.labels, content)
    for name, label in ((SESSION, "session"), (CONVERSATION, "session")):
        if label in span.labels:
            attributes[name] = str(span.labels[label])
    if "turn" in span.labels:
        attributes[TURN] = span.labels["turn"]
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
        MODE: answer.mode,
        OUTCOME: answer.status,
        DECISIONS: [decision.step for decision in answer.decisions],
        CITATIONS: len(answer.citations),
        UNSUPPORTED: len(answer.unsupported),
    }
    if answer.cost is not None:
        attributes |= {COST: answer.cost.amount, CURRENCY: answer.cost.currency}
    return attributes | (_out(answer.text) if content.outputs else {})


def _of_search(span: Span, content: Content) -> tuple[str, Attributes]:
    attributes = _of_question(span.labels, content) | {OPERATION: "retrieval"}
    if content.inputs:
        attributes[QUERY_TEXT] = span.labels["question"]
    trace = span.about
    if isinstance(trace, Trace):
        question_stage = trace.stage("question")
        attributes[FROM_CACHE] = bool(question_stage and question_stage.figures.get("from_cache"))
        attributes[PASSAGES] = trace.passages
        if trace.threshold is not None:
            attributes[THRESHOLD] = trace.threshold
        scores = [hit.score for hit in trace.hits]
        attributes |= _documents(DOCUMENTS, trace.hits, scores, content)
    return NAMES["search"], attributes


def _of_chat(span: Span, content: Content) -> tuple[str, Attributes]:
    call: ModelCall = span.about
    parameters = {"temperature": call.temperature, "max_tokens": call.max_tokens}
    attributes: Attributes = {
        LLM_MODEL: call.model,
        LLM_PROVIDER: LLM_PROVIDERS.get(call.provider, call.provider),
        LLM_PARAMETERS: json.dumps(parameters),
        OPERATION: "chat",
        PROVIDER: _provider(call.provider),
        SYSTEM: _provider(call.provider),
        MODEL: call.model,
        TEMPERATURE: call.temperature,
        MAX_TOKENS: call.max_tokens,
    }
    if call.usage.tokens:
        spent, completion = call.usage.prompt_tokens, call.usage.completion_tokens
        attributes |= {TOKENS_PROMPT: spent, TOKENS_COMPLETION: completion}
        attributes |= {TOKENS_TOTAL: spent + completion}
        attributes |= {INPUT_TOKENS: spent, OUTPUT_TOKENS: completion}
    if call.finish:
        attributes |= {LLM_FINISH: call.finish, FINISH_REASONS: [call.finish]}
    if call.first_token is not None:
        attributes[FIRST_CHUNK] = call.first_token
    messages = [(message.role, message.content) for message in call.messages]
    if content.inputs:
        attributes |= _messages(LLM_INPUT, INPUT_MESSAGES, messages)
        attributes |= _in(messages[-1][1]) if messages else {}
    if content.outputs and call.text:
        attributes |= _messages(LLM_OUTPUT, OUTPUT_MESSAGES, [("assistant", call.text)])
        attributes |= _out(call.text)
    return f"chat {call.model}", attributes


def _of_embeddings(span: Span, content: Content) -> tuple[str, Attributes]:
    """A request to a service that embeds: a question, or a part of the documents."""
    model, texts = span.labels["model"], span.labels["texts"]
    attributes = _of_service(span.labels["provider"], model)
    attributes |= {
        EMBEDDING_MODEL: model,
        OPERATION: "embeddings",
        TEXTS: len(texts),
    }
    if span.about is not None:
        attributes[DIMENSION] = int(span.about.shape[1])
    if content.inputs:
        for number, text in enumerate(texts[:MOST_DOCUMENTS]):
            attributes[f"{EMBEDDINGS}.{number}.{EMBEDDING_TEXT}"] = text
    return f"embeddings {model}", attributes


def _of_rerank(span: Span, content: Content) -> tuple[str, Attributes]:
    """A request to a service that reranks. Its scores stand in the order of the passages sent."""
    model, texts = span.labels["model"], span.labels["texts"]
    attributes = _of_service(span.labels["provider"], model)
    attributes |= {RERANKER_MODEL: model, RERANKER_TOP_K: len(texts)}
    attributes |= {OPERATION: "rerank", TEXTS: len(texts)}
    if content.inputs:
        attributes |= {RERANKER_QUERY: span.labels["question"]} | _in(span.labels["question"])
        for number, text in enumerate(texts[:MOST_DOCUMENTS]):
            attributes[f"{RERANKER_INPUT}.{number}.{DOCUMENT_CONTENT}"] = text
    if span.about is not None:
        for number, score in enumerate(span.about[:MOST_DOCUMENTS]):
            attributes[f"{RERANKER_OUTPUT}.{number}.{DOCUMENT_SCORE}"] = float(score)
    return f"rerank {model}", attributes


def _of_tool(span: Span, content: Content) -> tuple[str, Attributes]:
    name, question = span.labels["tool"], span.labels["question"]
    attributes: Attributes = {
        TOOL_NAME: name,
        OPERATION: "execute_tool",
        AI_TOOL_NAME: name,
        AI_TOOL_TYPE: "extension",
    }
    if description := span.labels["description"]:
        attributes |= {TOOL_DESCRIPTION: description, AI_TOOL_DESCRIPTION: description}
    if content.inputs:
        attributes |= _in(question) | {TOOL_ARGUMENTS: json.dumps({"question": question})}
    if isinstance(span.about, ToolOutcome) and content.outputs:
        results = [{"title": result.title, "text": result.text} for result in span.about.results]
        output = json.dumps(results, ensure_ascii=False)
        attributes |= {OUTPUT: output, OUTPUT_TYPE: "application/json"}
        attributes |= {TOOL_RESULT: output}
    return f"execute_tool {name}", attributes


def _of_job(span: Span, _: Content) -> tuple[str, Attributes]:
    labels = span.labels
    attributes: Attributes = {JOB: labels["job"]}
    if "kind" in labels:
        attributes |= {
            KNOWLEDGE_BASE: labels["base"],
            JOB_KIND: labels["kind"],
            JOB_STATUS: labels["status"],
            JOB_DONE: labels["done"],
            JOB_TOTAL: labels["total"],
        }
        attributes |= {f"{JOB_ITEMS}.{status}": n for status, n in labels["items"].items()}
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
        attributes |= {KNOWLEDGE_BASE: labels["base"], DATA_SOURCE: str(labels["base"])}
    if "recipe" in labels:
        attributes[RECIPE] = labels["recipe"].hash
    return attributes | (_in(labels["question"]) if content.inputs else {})


def _documents(
    prefix: str, hits: Sequence[Hit], scores: Sequence[float], content: Content
) -> Attributes:
    attributes: Attributes = {}
    for number, (hit, score) in enumerate(zip(hits, scores, strict=True)):
        if number == MOST_DOCUMENTS:
            break
        attributes[f"{prefix}.{number}.{DOCUMENT_ID}"] = hit.chunk.id
        attributes[f"{prefix}.{number}.{DOCUMENT_SCORE}"] = score
        if content.outputs:
            attributes[f"{prefix}.{number}.{DOCUMENT_CONTENT}"] = hit.chunk.text
            attributes[f"{prefix}.{number}.{DOCUMENT_NAME}"] = hit.document
    return attributes


def _messages(flat: str, whole: str, messages: Sequence[tuple[str, str]]) -> Attributes:
    """Messages as both conventions have them: one attribute each, and all as JSON."""
    attributes: Attributes = {}
    for number, (role, text) in enumerate(messages):
        attributes[f"{flat}.{number}.{MESSAGE_ROLE}"] = role
        attributes[f"{flat}.{number}.{MESSAGE_CONTENT}"] = text
    parts = [
        {"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages
    ]
    return attributes | {whole: json.dumps(parts, ensure_ascii=False)}


def _in(text: str) -> Attributes:
    return {INPUT: text, INPUT_TYPE: "text/plain"}


def _out(text: str) -> Attributes:
    return {OUTPUT: text, OUTPUT_TYPE: "text/plain"}


def _of_service(provider: str, model: str) -> Attributes:
    named = _provider(provider)
    return {PROVIDER: named, SYSTEM: named, MODEL: model}


def _of_recipe_model(model: str) -> Attributes:
    """The model of a recipe, ``PROVIDER[:MODEL]``."""
    provider, _, name = model.partition(":")
    return _of_service(provider, name or model)


def _provider(name: str) -> str:
    return AI_PROVIDERS.get(name, name)


# OpenInference
KIND = "openinference.span.kind"
INPUT, INPUT_TYPE = "input.value", "input.mime_type"
OUTPUT, OUTPUT_TYPE = "output.value", "output.mime_type"
SESSION = "session.id"
DOCUMENTS = "retrieval.documents"
DOCUMENT_ID, DOCUMENT_SCORE = "document.id", "document.score"
DOCUMENT_CONTENT, DOCUMENT_NAME = "document.content", "document.name"
EMBEDDING_MODEL = "embedding.model_name"
EMBEDDINGS, EMBEDDING_TEXT = "embedding.embeddings", "embedding.text"
RERANKER_MODEL = "reranker.model_name"
RERANKER_QUERY = "reranker.query"
RERANKER_TOP_K = "reranker.top_k"
RERANKER_INPUT, RERANKER_OUTPUT = "reranker.input_documents", "reranker.output_documents"
LLM_MODEL, LLM_PROVIDER = "llm.model_name", "llm.provider"
LLM_PARAMETERS = "llm.invocation_parameters"
LLM_INPUT, LLM_OUTPUT = "llm.input_messages", "llm.output_messages"
LLM_FINISH = "llm.finish_reason"
MESSAGE_ROLE, MESSAGE_CONTENT = "message.role", "message.content"
TOKENS_PROMPT = "llm.token_count.prompt"
TOKENS_COMPLETION = "llm.token_count.completion"
TOKENS_TOTAL = "llm.token_count.total"
TOOL_NAME, TOOL_DESCRIPTION = "tool.name", "tool.description"

# OpenTelemetry, for generative AI
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
SYSTEM = "gen_ai.system"  # what the provider was called until version 1.36
CONVERSATION = "gen_ai.conversation.id"
DATA_SOURCE = "gen_ai.data_source.id"
MODEL = "gen_ai.request.model"
TEMPERATURE = "gen_ai.request.temperature"
MAX_TOKENS = "gen_ai.request.max_tokens"
DIMENSION = "gen_ai.embeddings.dimension.count"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_MESSAGES, OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
QUERY_TEXT = "gen_ai.retrieval.query.text"
AI_TOOL_NAME, AI_TOOL_TYPE = "gen_ai.tool.name", "gen_ai.tool.type"
AI_TOOL_DESCRIPTION = "gen_ai.tool.description"
TOOL_ARGUMENTS, TOOL_RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"

# OpenTelemetry, in general
ERROR_TYPE = "error.type"
METHOD, ROUTE = "http.request.method", "http.route"
STATUS_CODE = "http.response.status_code"

# our own
KNOWLEDGE_BASE = "touchstone.knowledge_base.id"
RECIPE = "touchstone.recipe"
TURN = "touchstone.turn.id"
MODE, OUTCOME = "touchstone.mode", "touchstone.outcome"
DECISIONS = "touchstone.decisions"
CITATIONS, UNSUPPORTED = "touchstone.citations", "touchstone.citations.unsupported"
COST, CURRENCY = "touchstone.cost", "touchstone.currency"
FROM_CACHE, PASSAGES = "touchstone.from_cache", "touchstone.passages"
THRESHOLD = "touchstone.threshold"
TAKEN, GIVEN = "touchstone.stage.taken", "touchstone.stage.given"
SECONDS, NOTE = "touchstone.stage.seconds", "touchstone.stage.note"
JOB, JOB_KIND, JOB_STATUS = "touchstone.job.id", "touchstone.job.kind", "touchstone.job.status"
JOB_DONE, JOB_TOTAL = "touchstone.job.done", "touchstone.job.total"
JOB_ITEMS = "touchstone.job.items"
TEXTS = "touchstone.texts"

AI_PROVIDERS = {
    "openai": "openai",
    "azure": "azure.ai.openai",
    "mistral": "mistral_ai",
    "cohere": "cohere",
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "groq": "groq",
    "deepseek": "deepseek",
}
"""Providers by what OpenTelemetry calls them; others keep their name."""
LLM_PROVIDERS = {
    "openai": "openai",
    "azure": "azure",
    "mistral": "mistralai",
    "cohere": "cohere",
    "gemini": "google",
    "vertex": "google",
    "bedrock": "aws",
    "groq": "groq",
    "deepseek": "deepseek",
    "together": "together",
    "ollama": "ollama",
}
"""The same for OpenInference."""
