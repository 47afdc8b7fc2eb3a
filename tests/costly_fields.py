"""Values of all recipe fields that can have a provider asked, and providers that keep who asks."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st

from rag import TouchstoneError, providers

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "index.embedder": st.sampled_from(["fake", "openai", "cohere:large"]),
    "search.rewrite": st.booleans(),
    "search.expansions": st.integers(0, 8),
    "search.hyde": st.booleans(),
    "search.rerank": st.sampled_from([None, "chat", "cohere", "jina:large", "voyage"]),
    "search.tools": st.sampled_from([[], ["wiki"]]),
    "answer.provider": st.sampled_from(["extractive", "openai", "vertex"]),
    "answer.model": st.sampled_from([None, "large"]),
    "answer.mode": st.sampled_from(["strict", "auto", "general"]),
    "answer.decider": st.sampled_from([None, "decisions:m", "systemone"]),
    "answer.max_tokens": st.sampled_from([800, 9000]),
    "answer.context_tokens": st.sampled_from([4000, 90000]),
    "answer.memory": st.integers(0, 10),
    "answer.tool_calls": st.integers(0, 10),
    "answer.tools": st.sampled_from([None, [], ["wiki"]]),
}


class _Embedder:
    """An embedder that may be named, as pages do, and not asked, also for the length of vectors."""

    def __init__(self, name: str, make: Callable[[], Any], sent: list[str]) -> None:
        self._name, self._make, self._sent = name, make, sent

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("embed", "dimension"):
            self._sent.append(self._name)
            raise TouchstoneError("A provider is asked.")
        return getattr(self._make(), attribute)


def spied_providers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of providers that somebody came to ask, but for those of this computer."""
    sent: list[str] = []
    for kind in ("embedder", "chat_model", "reranker", "decision_model"):
        make = getattr(providers, kind)

        def spied(name: str, *rest: Any, kind: str = kind, make: Any = make, **named: Any) -> Any:
            if name in ("fake", "extractive"):
                return make(name, *rest, **named)
            if kind == "embedder":
                return _Embedder(name, partial(make, name, *rest, **named), sent)
            sent.append(name)
            raise TouchstoneError("A provider is asked.")

        monkeypatch.setattr(providers, kind, spied)
    return sent
