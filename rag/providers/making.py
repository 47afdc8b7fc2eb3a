"""From a name in a recipe to a model that can be used. Nothing is loaded or called here.

A local server cuts a prompt that is longer than its window, in front and without a word. Its reply
counts the tokens that are left: a chat model tells when less was read than sent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np

from rag import telemetry
from rag.errors import InvalidRecipe
from rag.protocols import ChatModel, DecisionModel, Embedder, InputType, Reranker, Tokenizer
from rag.providers.cross_encoders import OnnxCrossEncoder, TorchCrossEncoder
from rag.providers.e5 import MultilingualE5
from rag.providers.endpoint import (
    Clients,
    Endpoint,
    RetryPolicy,
    batches,
    model_of,
    require_configured,
    resolve,
)
from rag.providers.minilm import HashingEmbedder, MiniLM, MiniLMFast, WordLlama, unit_rows
from rag.providers.request_limiter import call_with_limits
from rag.providers.spanned import SpannedChat
from rag.providers.table import (
    LOCAL_WIRES,
    ModelTraits,
    Variables,
    chat_row,
    embedding_row,
    reranking_names,
    reranking_row,
    row_named,
    traits,
    vector_space,
)
from rag.providers.tokens import encodable, least_tokens, wordpiece_tokens
from rag.providers.wires.bedrock_wire import BedrockReranker, BedrockWire
from rag.providers.wires.ollama_wire import OllamaWire
from rag.providers.wires.openai_wire import FORMS, OpenAIWire
from rag.providers.wires.rerank_wire import DecisionService, GoogleRanking, RerankService
from rag.types import Delta, Message, Usage, Vectors

BATCH_TEXTS = 64

Call = Callable[[list[str], InputType], Sequence[Sequence[float]]]
"""Asks the server once: texts in, one vector for each out, in order. Raises ProviderError."""


class RemoteEmbedder:
    """An embedding model behind a wire. Checks every answer before it believes it."""

    def __init__(self, endpoint: Endpoint, model: str, traits: ModelTraits, call: Call) -> None:
        self._endpoint = endpoint
        self._model = model
        self._traits = traits
        self._call = call
        self._lock = Lock()
        self._dimension: int | None = None

    @property
    def id(self) -> str:
        """Provider and model; the server too where it is not the provider's own."""
        row = self._endpoint.row
        elsewhere = self._endpoint.base_url != row.base_url
        return f"{row.name}:{self._model}" + (f"@{self._endpoint.origin}" if elsewhere else "")

    @property
    def dimension(self) -> int:
        """Length of a vector; embeds one word to learn it. Raises ProviderError."""
        if self._dimension is None:
            self._ask(["dimension"], "document")
        return self._dimension or 0

    @property
    def tokenizer(self) -> Tokenizer:
        """WordPiece, which stands in for the tokenizer of the remote model."""
        return wordpiece_tokens()

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), dimension). Empty texts are sent as one space.

        Raises ProviderError when the server fails or answers something unfit.
        """
        traits = self._traits
        prefix = traits.query_prefix if input_type == "query" else traits.document_prefix
        sent = [prefix + (encodable(text) or " ") for text in texts]
        parts = [self._ask(batch, input_type) for batch in batches(sent, BATCH_TEXTS)]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def _ask(self, texts: list[str], input_type: InputType) -> Vectors:
        attributes = {"provider": self._endpoint.row.name, "model": self._model, "texts": texts}
        with telemetry.spanning("embeddings", attributes) as span:
            rows = call_with_limits(
                self._endpoint, "embedding", lambda: self._call(texts, input_type)
            )
            span.about = vectors = unit_rows(self._checked(rows, len(texts)))
            return vectors

    def _checked(self, rows: Sequence[Sequence[float]], expected: int) -> Vectors:
        if len(rows) != expected:
            raise self._endpoint.misbehaved(f"{len(rows)} vectors for {expected} texts")
        try:
            vectors = np.array(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._endpoint.misbehaved("vectors of mixed length or content") from error
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise self._endpoint.misbehaved("something that is no list of vectors")
        if not np.isfinite(vectors).all():
            raise self._endpoint.misbehaved("vectors that are not numbers")
        dimension = vectors.shape[1]
        with self._lock:
            known_dimension = self._dimension = self._dimension or dimension
        if dimension != known_dimension:
            raise self._endpoint.misbehaved(
                f"vectors of {dimension} dimensions where it answered {known_dimension} before"
            )
        return vectors


SMALLEST_WINDOW = 256
"""Tokens. No server cuts to fewer: a lower count leaves out what it had in its cache."""

OnCut = Callable[[int, int], None]
"""Takes the tokens that a server read, and the least that the prompt had."""


class CountedChat:
    """A chat model that asks another one, and compares what its server read with what it sent."""

    def __init__(self, chat: ChatModel, on_cut: OnCut) -> None:
        self._chat = chat
        self._on_cut = on_cut

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError, also in the middle."""
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=max_tokens)
        try:
            for delta in stream:
                yield replace(delta, usage=self._compared(messages, delta.usage))
        finally:
            if isinstance(stream, Generator):
                stream.close()

    def _compared(self, messages: Sequence[Message], usage: Usage | None) -> Usage | None:
        """The usage with the tokens that were not read."""
        if usage is None or usage.prompt_tokens < SMALLEST_WINDOW:
            return usage
        sent = sum(least_tokens(message.content) for message in messages)
        if usage.prompt_tokens >= sent:
            return usage
        self._on_cut(usage.prompt_tokens, sent)
        return replace(usage, unread_tokens=sent - usage.prompt_tokens)


class StoredSpace:
    """An embedder with a vector space of its own: its stored vectors are never those of the model.

    New texts, such as those of edited passages, are embedded by the model.
    """

    def __init__(self, model: Embedder, space: str) -> None:
        self._model = model
        self._space = space

    @property
    def id(self) -> str:
        """The id of the model and the space."""
        return f"{self._model.id}#{self._space}"

    @property
    def dimension(self) -> int:
        """Length of a vector. Raises ProviderError."""
        return self._model.dimension

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""
        return self._model.tokenizer

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors of the model, see ``Embedder``."""
        return self._model.embed(texts, input_type)


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
