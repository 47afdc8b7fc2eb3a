"""Services that live as long as the process: database, files, models, indexes, bounded caches.

Caches bounded by the size of their values, and vectors by text.

Vectors are filled in by embedding what is new, or from a file.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from rag import providers
from rag.errors import InvalidInput, InvalidRecipe, StorageError
from rag.lexical import analyzer
from rag.protocols import ChatModel, DecisionModel, Embedder, Reranker
from rag.providers import (
    CHAT_RETRIES,
    STEP_RETRIES,
    Clients,
    LocalServer,
    Price,
    RetryPolicy,
)
from rag.recipe import AnswerRecipe, IndexRecipe, SearchRecipe
from rag.retrieval.caches import Cache, KnownResults, KnownVectors, RememberingEmbedder
from rag.services.indexing.indexes import Background, Indexes
from rag.services.indexing.servers import Servers
from rag.settings import Settings
from rag.storage import Database, registries, vectors
from rag.storage.files import Files
from rag.storage.registries import ModelFacts, ModelName
from rag.storage.shared.deletion import Deletion
from rag.types import Cost, Document, Usage

Value = TypeVar("Value", bound=Sized)


class SizedCache(Generic[Value]):
    """A least-recently-used cache whose values have at most ``most`` entries together.

    Callers must not change a value. The latest value stays whatever its size. Safe to share between
    threads, two of which may read the same value.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Value]) -> Value:
        """Return the value of a key; call ``read`` if it is not cached."""
        with self._lock:
            cached = self._values.get(key)
        value = read() if cached is None else cached
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > 1 and self._size() > self._most:
                self._values.popitem(last=False)
        return value

    def _size(self) -> int:
        return sum(1 + len(value) for value in self._values.values())


def uncached(database: Database, embedder: Embedder, texts: Sequence[str]) -> dict[bytes, str]:
    """Return the texts whose vector is not cached yet, by their hash."""
    by_hash = {vectors.text_hash(text): text for text in texts}
    cached = database.fetch(vectors.find_cached_hashes, embedder.id, list(by_hash))
    return {key: text for key, text in by_hash.items() if key not in cached}


def cache_vectors(database: Database, embedder: Embedder, texts: Sequence[str]) -> None:
    """Embed those texts whose vector is not cached yet."""
    new = uncached(database, embedder, texts)
    if new:
        data = vectors_for(embedder, list(new.values()))
        database.execute(vectors.store, embedder.id, data)


def vectors_for(embedder: Embedder, texts: Sequence[str]) -> dict[bytes, bytes]:
    """The vectors of texts as the cache has them, each text embedded once; nothing is stored."""
    by_hash = {vectors.text_hash(text): text for text in texts}
    if not by_hash:
        return {}
    rows = embedder.embed(list(by_hash.values()), "document")
    return {key: row.tobytes() for key, row in zip(by_hash, rows, strict=True)}


def import_vectors(database: Database, path: Path) -> None:
    """Fill the cache from a file that ``export_vectors`` wrote."""
    with np.load(path) as file:
        embedder, hashes = str(file["embedder"]), file["hashes"]
        rows = {key.tobytes(): row.tobytes() for key, row in zip(hashes, file["rows"], strict=True)}
    database.execute(vectors.store, embedder, rows)


def export_vectors(database: Database, embedder: str, path: Path) -> int:
    """Write the cached vectors of an embedder, as float32, by text hash; return how many."""
    rows = database.fetch(vectors.list_cached_vectors, embedder)
    np.savez_compressed(
        path,
        embedder=embedder,
        hashes=np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1),
        rows=np.frombuffer(b"".join(rows.values()), np.float32).reshape(len(rows), -1),
    )
    return len(rows)


Forget = Callable[[int, str | None], None]
"""Deletes what was derived from a build, or from all builds of a base where there is no hash."""

MOST_CHARACTERS = 20_000_000
"""Of all documents together that are kept for the next answers."""
_MOST_RERANKERS = 4  # each may hold a model in memory
_REMEMBERED_SECONDS = 60.0  # servers of models come and go


class Models:
    """Models by name; embedders and rerankers are loaded once and then shared.

    What is learned of language models by asking them is stored in the database, for all processes
    of a home. Raises InvalidFile for a file of prices that cannot be read.
    """

    def __init__(self, settings: Settings, database: Database | None = None) -> None:
        self._settings = settings
        self._database = database
        self._prices = providers.read_prices(settings.prices) if settings.prices else ()
        self._embedders: dict[str, Embedder] = {}
        self._parameters: dict[tuple[str, str | None], float | None] = {}
        self._rerankers: dict[tuple[str, int], Reranker] = {}
        self._clients = Clients()
        self.background = Background()
        self._lock, self._finding = threading.Lock(), threading.Lock()
        self._local_servers = -math.inf, list[LocalServer]()

    def embedder(self, name: str) -> Embedder:
        """The embedder of a recipe. Raises InvalidRecipe or ProviderError."""
        model, space = providers.vector_space(name)
        with self._lock:
            if model not in self._embedders:
                self._embedders[model] = providers.embedder(
                    model, self._settings, clients=self._clients
                )
            embedder = self._embedders[model]
        return providers.StoredSpace(embedder, space) if space else embedder

    def local_servers(self) -> list[LocalServer]:
        """Return the model servers that run here, found at most a minute ago."""
        if not self._settings.find_models:
            return []
        with self._finding:
            searched, servers = self._local_servers
            if time.monotonic() - searched > _REMEMBERED_SECONDS:
                servers = providers.find_local_servers(self._settings)
                self._local_servers = time.monotonic(), servers
        return servers

    def require(self, recipe: IndexRecipe) -> None:
        """Nothing where a build can be made as far as this computer knows; no server is asked.

        Raises InvalidRecipe for unknown names, ProviderRejected for a key that is not set.
        """
        analyzer(recipe.analyzer)
        providers.require_embedder(recipe.embedder, self._settings)

    def chat(self, provider: str, model: str | None) -> ChatModel | None:
        """The chat model of a recipe; None for answers that need no language model."""
        return self._chat(provider, model, CHAT_RETRIES)

    def parameters(self, provider: str, model: str | None) -> float | None:
        """Return the number of parameters of a chat model; None where its server does not tell it.

        What a server told is kept. Raises InvalidRecipe.
        """
        key = provider, model
        if self._parameters.get(key) is None:
            self._parameters[key] = providers.parameters(provider, model, self._settings)
        return self._parameters[key]

    def price(self, provider: str, model: str | None) -> Price | None:
        """Return the token price of a chat model, None if unknown. Raises InvalidRecipe."""
        return providers.price_of(provider, model, self._settings, self._prices)

    def embedding_cost(self, embedder: str, tokens: int) -> Cost | None:
        """Return the cost of embedding tokens, None where no price is known. Raises InvalidRecipe.

        A model of this computer costs nothing.
        """
        if providers.is_local(embedder):
            return None
        price = providers.embedding_price_of(embedder, self._prices)
        return price.of(Usage(tokens)) if price else None

    def step_chat(self, recipe: AnswerRecipe) -> ChatModel | None:
        """The same model for a step of a search: given up on sooner, because that goes on."""
        return self._chat(recipe.provider, recipe.model, STEP_RETRIES)

    def _chat(
        self, provider: str, model: str | None, retry_policy: RetryPolicy
    ) -> ChatModel | None:
        settings, cut = self._settings, partial(self._note_cut, provider, model)
        return providers.chat_model(provider, model, settings, retry_policy, self._clients, cut)

    def _note_cut(self, provider: str, model: str | None, read: int, sent: int) -> None:
        cut = datetime.now(UTC)
        self.learn(provider, model, read_tokens=read, sent_tokens=sent, cut=cut)

    def name(self, provider: str, model: str | None) -> ModelName | None:
        """Return the full name of a chat model; None where nothing names one: ``chat`` raises."""
        try:
            return ModelName(*providers.model_key(provider, model, self._settings))
        except InvalidRecipe:
            return None

    def learn(self, provider: str, model: str | None, **facts: Any) -> None:
        """Store facts about a chat model; an answer doesn't fail where that can't be stored."""
        name = self.name(provider, model)
        if name is not None and self._database is not None:
            with suppress(StorageError), self._database.write() as connection:
                registries.note_model(connection, name, **facts)

    def facts(self, provider: str, model: str | None) -> ModelFacts | None:
        """Return what was learned of a chat model, or None."""
        name = self.name(provider, model)
        return next((one for one in self.learned() if one.name == name), None)

    def learned(self) -> Sequence[ModelFacts]:
        """Return what was learned of all chat models."""
        return () if self._database is None else self._database.fetch(registries.list_models)

    def forget(self, name: ModelName) -> None:
        """Drop what was learned of a chat model."""
        if self._database is not None:
            self._database.execute(registries.forget_model, name)

    def readable_tokens(self, recipe: AnswerRecipe) -> int:
        """Return the token budget of a prompt: the recipe's, within what its server reads."""
        facts = self.facts(recipe.provider, recipe.model)
        longest = facts.longest_prompt if facts is not None else None
        return min(recipe.context_tokens, longest or recipe.context_tokens)

    def close(self) -> None:
        """Ends all connections to providers."""
        self._clients.close()

    def reranker(self, name: str, batch: int) -> Reranker:
        """The reranker of a recipe, other than ``chat``. Raises InvalidRecipe."""
        with self._lock:
            if (name, batch) not in self._rerankers:
                while len(self._rerankers) >= _MOST_RERANKERS:
                    self._rerankers.pop(next(iter(self._rerankers)))
                reranker = providers.reranker(name, batch, self._settings)
                self._rerankers[name, batch] = reranker
            return self._rerankers[name, batch]

    def decider(self, name: str, *, for_answer: bool = False) -> DecisionModel | None:
        """The decision model of that name, None where its provider is of another kind.

        One for an answer is given up on sooner. Raises InvalidRecipe.
        """
        retry_policy = STEP_RETRIES if for_answer else CHAT_RETRIES
        return providers.decision_model(name, self._settings, retry_policy)

    def can_rerank(self, recipe: AnswerRecipe) -> bool:
        """Whether a step that reranks could work with these settings; nothing is asked."""
        return recipe.provider != "extractive" or providers.reranks_here(self._settings)

    @staticmethod
    def threshold(embedder: str, recipe: SearchRecipe) -> float | None:
        """The threshold that a recipe means.

        ``auto`` is the default of its embedder; in lexical mode it is off, because there the words
        decide, also where the embedder does not know the language.
        """
        if recipe.threshold != "auto":
            return recipe.threshold
        return None if recipe.mode == "lexical" else providers.default_threshold(embedder)


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that live as long as the process."""

    settings: Settings
    database: Database
    files: Files
    models: Models
    indexes: Indexes
    deletion: Deletion
    queries: KnownVectors = field(default_factory=KnownVectors)
    results: KnownResults = field(default_factory=KnownResults)
    documents: Cache[tuple[int, int, str], Document] = field(
        default_factory=partial(Cache, MOST_CHARACTERS, lambda document: len(document.text))
    )
    """Documents that answers were made from, by base, its version and their id."""
    answer_states: Cache[Hashable, str] = field(default_factory=partial(Cache, 10_000))
    """States of answers of quotes, by question and all that decides them."""
    on_forgotten: list[Forget] = field(default_factory=list)

    @classmethod
    def start(cls, settings: Settings, servers: Servers | None = None) -> Services:
        """Open the database (and bring its schema up to date) and the folders of a home.

        ``servers`` keep the indexes; None are those that the settings name. Raises InvalidInput
        for a home that cannot be made or a server of no known kind, StorageError.
        """
        try:
            settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"The folder {settings.home} cannot be made: {error.strerror or error}.",
                "Set TOUCHSTONE_HOME, or --home, to a folder that you may write to.",
            ) from error
        database = Database(settings.database_url, settings.read_url, settings.database_pool)
        models = Models(settings, database)
        indexes = Indexes(
            database,
            settings.home / "indexes",
            models.embedder,
            Servers.of(settings, database) if servers is None else servers,
            settings.max_index_mb << 20,
        )
        files = Files(settings.home / "files", database)
        return cls(
            settings=settings,
            database=database,
            files=files,
            models=models,
            indexes=indexes,
            deletion=Deletion(database, files),
        )

    def remembering(self, embedder: str) -> RememberingEmbedder:
        """An embedder that keeps the vectors of questions and of sentences that may be quoted."""
        return RememberingEmbedder(self.models.embedder(embedder), self.queries)

    def forget_build(self, base_id: int, build_hash: str | None = None) -> None:
        """Drop what was derived from a deleted build, or from a whole deleted base."""
        self.indexes.forget(base_id, build_hash)
        for forget in self.on_forgotten:
            forget(base_id, build_hash)
