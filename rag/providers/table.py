"""Every provider as data: what it is called, how it is spoken to, which key it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, Protocol

from rag.errors import InvalidRecipe

Wire = Literal["onnx", "static", "hash", "extractive", "openai", "azure", "ollama", "rerank"]
LOCAL_WIRES: tuple[Wire, ...] = ("onnx", "static", "hash", "extractive")


class Variables(Protocol):
    """What providers ask the settings for."""

    def variable(self, name: str) -> str | None:
        """The value of an environment variable, or None when it is not set."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """One provider. A default model of "" says that it does not offer that service.

    ``key_variable`` "" says that no key is needed; ``base_url_variable`` overrides ``base_url``.
    """

    name: str
    label: str
    wire: Wire
    embedding_model: str = ""
    chat_model: str = ""
    key_variable: str = ""
    base_url: str = ""
    base_url_variable: str = ""
    model_variable: str = ""
    key_optional: bool = False
    threshold: float = 0.3
    note: str = ""

    @property
    def embeds(self) -> bool:
        """Whether it can embed."""
        return bool(self.embedding_model or self.model_variable)

    @property
    def reranks(self) -> bool:
        """Whether it can put passages in order."""
        return self.wire == "rerank"

    @property
    def chats(self) -> bool:
        """Whether it can answer."""
        return bool(self.chat_model or self.model_variable)


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """What has to be known about an embedding model: prefixes for its input, usual cosines.

    ``pattern`` is matched against the lower-case model name (shell wildcards).
    """

    pattern: str
    query_prefix: str = ""
    document_prefix: str = ""
    threshold: float = 0.3


ROWS = (
    ProviderRow(
        "minilm",
        "all-MiniLM-L6-v2, on this machine",
        "onnx",
        embedding_model="all-MiniLM-L6-v2",
        threshold=0.2,
        note="English, 384 dimensions. Apache-2.0. No key, no network.",
    ),
    ProviderRow(
        "wordllama",
        "WordLlama, on this machine",
        "static",
        embedding_model="l2_supercat_256",
        threshold=0.2,
        note="English, 256 dimensions; far faster than MiniLM and clearly weaker. MIT.",
    ),
    ProviderRow(
        "fake",
        "Hashed words, for trials",
        "hash",
        embedding_model="hash-64",
        threshold=0.1,
        note="Counts words, knows no meaning. For tests and for trying things out.",
    ),
    ProviderRow(
        "extractive",
        "Quotes, without a language model",
        "extractive",
        chat_model="quotes",
        note="Answers with sentences of the passages. No key, no network.",
    ),
    ProviderRow(
        "openai",
        "OpenAI",
        "openai",
        embedding_model="text-embedding-3-small",
        chat_model="gpt-4o-mini",
        key_variable="OPENAI_API_KEY",
        base_url="https://api.openai.com/v1",
        base_url_variable="OPENAI_BASE_URL",
    ),
    ProviderRow(
        "azure",
        "Azure OpenAI",
        "azure",
        embedding_model="text-embedding-3-small",
        chat_model="gpt-4o-mini",
        key_variable="AZURE_OPENAI_API_KEY",
        base_url_variable="AZURE_OPENAI_ENDPOINT",
        note="A model is the name of a deployment.",
    ),
    ProviderRow(
        "ollama",
        "Ollama",
        "ollama",
        embedding_model="nomic-embed-text",
        chat_model="llama3.2",
        base_url="http://127.0.0.1:11434",
        base_url_variable="OLLAMA_HOST",
        note="Models on your own machine. No key.",
    ),
    ProviderRow(
        "mistral",
        "Mistral",
        "openai",
        embedding_model="mistral-embed",
        chat_model="mistral-small-latest",
        key_variable="MISTRAL_API_KEY",
        base_url="https://api.mistral.ai/v1",
    ),
    ProviderRow(
        "groq",
        "Groq",
        "openai",
        chat_model="llama-3.3-70b-versatile",
        key_variable="GROQ_API_KEY",
        base_url="https://api.groq.com/openai/v1",
    ),
    ProviderRow(
        "openrouter",
        "OpenRouter",
        "openai",
        embedding_model="openai/text-embedding-3-small",
        chat_model="openai/gpt-4o-mini",
        key_variable="OPENROUTER_API_KEY",
        base_url="https://openrouter.ai/api/v1",
    ),
    ProviderRow(
        "together",
        "Together",
        "openai",
        embedding_model="intfloat/multilingual-e5-large-instruct",
        chat_model="meta-llama/Llama-3.3-70B-Instruct-Turbo",
        key_variable="TOGETHER_API_KEY",
        base_url="https://api.together.xyz/v1",
    ),
    ProviderRow(
        "deepseek",
        "DeepSeek",
        "openai",
        chat_model="deepseek-chat",
        key_variable="DEEPSEEK_API_KEY",
        base_url="https://api.deepseek.com/v1",
    ),
    ProviderRow(
        "compatible",
        "Any OpenAI-compatible server",
        "openai",
        key_variable="TOUCHSTONE_OPENAI_COMPATIBLE_API_KEY",
        base_url_variable="TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL",
        model_variable="TOUCHSTONE_OPENAI_COMPATIBLE_MODEL",
        key_optional=True,
        note="vLLM, llama.cpp, LM Studio and others. The key is optional.",
    ),
    ProviderRow(
        "service",
        "Reranking service",
        "rerank",
        key_variable="TOUCHSTONE_RERANK_API_KEY",
        base_url_variable="TOUCHSTONE_RERANK_URL",
        key_optional=True,
        note="Any server with /rerank: Cohere, Jina, vLLM, llama.cpp, Text Embeddings Inference.",
    ),
)

_E5_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)
TRAITS = (
    ModelTraits("*nomic-embed-text*", "search_query: ", "search_document: ", threshold=0.5),
    ModelTraits("*e5*instruct*", _E5_INSTRUCT, threshold=0.75),
    ModelTraits("*e5-*", "query: ", "passage: ", threshold=0.75),
    ModelTraits("*bge-m3*", threshold=0.4),
    ModelTraits(
        "*bge-*-en*",
        "Represent this sentence for searching relevant passages: ",
        threshold=0.5,
    ),
    ModelTraits(
        "*mxbai-embed-large*",
        "Represent this sentence for searching relevant passages: ",
        threshold=0.5,
    ),
    ModelTraits("*text-embedding-3-*", threshold=0.3),
    ModelTraits("*text-embedding-ada-002*", threshold=0.75),
    ModelTraits("*mistral-embed*", threshold=0.65),
    ModelTraits("*all-minilm*", threshold=0.2),
)
"""Prefixes are those of the model cards. Thresholds are starting points: calibrate with labels."""


def row_named(name: str) -> ProviderRow:
    """The row of a provider. Raises InvalidRecipe, listing the names."""
    return _named(name, ROWS, "provider")


def embedding_row(name: str) -> tuple[ProviderRow, str]:
    """Row and model of ``NAME`` or ``PROVIDER:MODEL``; the model may be "".

    Raises InvalidRecipe when there is no such embedder.
    """
    provider, _, model = name.partition(":")
    rows = {row.name: row for row in ROWS if row.embeds}
    row = rows.get(provider)
    if row is None or (model and row.wire in LOCAL_WIRES):
        raise InvalidRecipe(
            f"No embedding model is called {name!r}.",
            f"Embedders: {_listed(rows.values())}. Remote ones also as PROVIDER:MODEL.",
        )
    return row, model or row.embedding_model


def chat_row(provider: str) -> ProviderRow:
    """The row of a provider that answers. Raises InvalidRecipe, listing those that do."""
    return _named(provider, [row for row in ROWS if row.chats], "provider of answers")


def _named(name: str, rows: Sequence[ProviderRow], what: str) -> ProviderRow:
    for row in rows:
        if row.name == name:
            return row
    raise InvalidRecipe(f"No {what} is called {name!r}.", f"Providers: {_listed(rows)}")


def reranking_row() -> ProviderRow:
    """The row of the service that reranks."""
    return next(row for row in ROWS if row.reranks)


def traits(row: ProviderRow, model: str) -> ModelTraits:
    """Prefixes and threshold of an embedding model; no prefixes where none are known."""
    if row.wire not in LOCAL_WIRES:
        for entry in TRAITS:
            if fnmatchcase(model.lower(), entry.pattern):
                return entry
    return ModelTraits(model, threshold=row.threshold)


def default_threshold(embedder: str) -> float:
    """The cosine below which passages are rarely relevant, for ``NAME`` or ``PROVIDER:MODEL``.

    Cosines of different models are not comparable, so each has its own. Raises InvalidRecipe.
    """
    return traits(*embedding_row(embedder)).threshold


def _listed(rows: Iterable[ProviderRow]) -> str:
    return ", ".join(row.name for row in rows)
