"""Names of span attributes.

Names of OpenInference are those of https://arize-ai.github.io/openinference/spec, those of
OpenTelemetry begin with ``gen_ai.`` and are those of its semantic conventions for generative AI.
Our own begin with ``touchstone.``.
"""

from __future__ import annotations

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
