"""From a name in a recipe to a model that can be used. Nothing is loaded or called here."""

from __future__ import annotations

from functools import partial

from rag import telemetry
from rag.errors import InvalidRecipe
from rag.protocols import ChatModel, DecisionModel, Embedder, Reranker
from rag.providers.clients import Clients
from rag.providers.counted import CountedChat, OnCut
from rag.providers.cross_encoders import OnnxCrossEncoder, TorchCrossEncoder
from rag.providers.e5 import MultilingualE5
from rag.providers.endpoint import Endpoint, RetryPolicy, model_of, require_configured, resolve
from rag.providers.hashing import HashingEmbedder
from rag.providers.minilm import MiniLM, MiniLMFast
from rag.providers.remote import RemoteEmbedder
from rag.providers.spanned import SpannedChat
from rag.providers.static import WordLlama
from rag.providers.stored_space import StoredSpace
from rag.providers.table import (
    LOCAL_WIRES,
    Variables,
    chat_row,
    embedding_row,
    reranking_names,
    reranking_row,
    row_named,
    traits,
    vector_space,
)
from rag.providers.wires.bedrock_wire import BedrockReranker, BedrockWire
from rag.providers.wires.decision_wire import DecisionService
from rag.providers.wires.embedding_forms import FORMS
from rag.providers.wires.google_ranking import GoogleRanking
from rag.providers.wires.ollama_wire import OllamaWire
from rag.providers.wires.openai_wire import OpenAIWire
from rag.providers.wires.rerank_wire import RerankService

EMBEDDING_RETRIES = RetryPolicy(timeout=60, tries=4)
CHAT_RETRIES = RetryPolicy(timeout=120, tries=2)
"""Someone waits for the answer: a second try, not a fourth."""
STEP_RETRIES = RetryPolicy(timeout=20, tries=1)
"""A step of a search, which goes on without it."""


def embedder(
    name: str,
    settings: Variables,
    retry_policy: RetryPolicy = EMBEDDING_RETRIES,
    clients: Clients | None = None,
) -> Embedder:
    """The embedding model called ``NAME`` or ``PROVIDER:MODEL`` (``openai:my-model``).

    A remote one connects through ``clients``, which are its own where none are given.
    Raises InvalidRecipe for an unknown name. A key that is not set is reported on first use.
    """
    row, default = embedding_row(name)
    plain, space = vector_space(name)
    if space:
        return StoredSpace(embedder(plain, settings, retry_policy, clients), space)
    match row.wire:
        case "onnx":
            return MiniLM()
        case "onnx-fast":
            return MiniLMFast()
        case "e5":
            return MultilingualE5()
        case "static":
            return WordLlama()
        case "hash":
            return HashingEmbedder()
    endpoint = resolve(row, settings, retry_policy)
    model = model_of(row, default, settings)
    form = FORMS.get(row.embedding_form)
    call = partial(form, endpoint, model) if form else _wire(endpoint, model, clients).embeddings
    return RemoteEmbedder(endpoint, model, traits(row, model), call)


def require_embedder(name: str, settings: Variables) -> None:
    """Nothing where an embedder has all that it needs; no server is asked.

    Raises InvalidRecipe for an unknown name, ProviderRejected for a key that is not set.
    """
    row, default = embedding_row(name)
    if row.wire not in LOCAL_WIRES:
        require_configured(resolve(row, settings, EMBEDDING_RETRIES))
        model_of(row, default, settings)


def chat_model(
    provider: str,
    model: str | None,
    settings: Variables,
    retry_policy: RetryPolicy = CHAT_RETRIES,
    clients: Clients | None = None,
    on_cut: OnCut = lambda *_: None,
) -> ChatModel | None:
    """The language model of a provider; ``model`` None is the provider's default.

    It connects through ``clients``, which are its own where none are given. ``on_cut`` is called
    where the server read less of a prompt than was sent. None for
    ``extractive``, which answers without one. Raises InvalidRecipe for an unknown provider. A key
    that is not set is reported on first use.
    """
    row = chat_row(provider)
    if row.wire == "extractive":
        return None
    name = model_of(row, model or row.chat_model, settings)
    chat = CountedChat(_wire(resolve(row, settings, retry_policy), name, clients), on_cut)
    return SpannedChat(chat, row.name, name) if telemetry.is_followed() else chat


def model_key(provider: str, model: str | None, settings: Variables) -> tuple[str, str, str]:
    """The provider, name and address of a chat model. Raises InvalidRecipe."""
    row = chat_row(provider)
    name = model_of(row, model or row.chat_model, settings)
    return row.name, name, resolve(row, settings, CHAT_RETRIES).origin


def reranker(
    name: str, batch: int, settings: Variables, retry_policy: RetryPolicy = STEP_RETRIES
) -> Reranker:
    """The reranker called ``PROVIDER[:MODEL]``, ``onnx:PATH`` or ``cross-encoder:PATH``.

    ``batch`` is the number of passages in one request, or one run of the model. Nothing is loaded
    here: what is missing is reported on first use. Raises InvalidRecipe for an unknown name.
    """
    kind, _, what = name.partition(":")
    if row := reranking_row(kind):
        endpoint = resolve(row.for_reranking, settings, retry_policy)
        model = what or row.rerank_model
        if row.rerank_url:
            return GoogleRanking(endpoint, model, batch)
        if row.wire == "bedrock":
            return BedrockReranker(endpoint, model, batch)
        return RerankService(endpoint, model, batch)
    match kind:
        case "onnx" if what:
            return OnnxCrossEncoder(what, batch)
        case "cross-encoder" if what:
            return TorchCrossEncoder(what, batch)
    raise InvalidRecipe(
        f"No reranker is called {name!r}.",
        f"Rerankers: {', '.join(reranking_names())} (also as NAME:MODEL), chat, onnx:PATH, "
        "cross-encoder:PATH.",
    )


def decision_model(
    name: str, settings: Variables, retry_policy: RetryPolicy = CHAT_RETRIES
) -> DecisionModel | None:
    """The decision model ``PROVIDER[:MODEL]``; None where the provider is of another kind.

    Raises InvalidRecipe for an unknown provider.
    """
    provider, _, model = name.partition(":")
    row = row_named(provider)
    return DecisionService(resolve(row, settings, retry_policy), model) if row.decides else None


def _wire(
    endpoint: Endpoint, model: str, clients: Clients | None
) -> OpenAIWire | OllamaWire | BedrockWire:
    shared_clients = clients or Clients()
    match endpoint.row.wire:
        case "ollama":
            return OllamaWire(endpoint, model, shared_clients)
        case "bedrock":
            return BedrockWire(endpoint, model, shared_clients)
    return OpenAIWire(endpoint, model, shared_clients)
