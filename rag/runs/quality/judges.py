"""Judges by name, a chat model as "provider:model", and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rag.errors import InvalidInput
from rag.evaluation.judges import RUBRICS, Judgement, ask
from rag.protocols import ChatModel
from rag.services import Services
from rag.types import Cost, Usage


@dataclass(frozen=True, slots=True)
class NamedJudge:
    """A chat model that judges."""

    name: str
    chat: ChatModel
    _services: Services

    def grade(self, rubric: str, parts: Mapping[str, str]) -> Judgement:
        """Raise as ``ask`` does."""
        return ask(RUBRICS[rubric], self.chat, parts)

    def cost(self, usage: Usage) -> Cost | None:
        """Return the cost of the judge's tokens; None if the price is unknown."""
        provider, _, model = self.name.partition(":")
        price = self._services.models.price(provider, model or None)
        return price.of(usage) if price else None


def judge_named(services: Services, name: str) -> NamedJudge:
    """The chat model that "provider:model" names. Raises InvalidInput, ProviderError."""
    provider, _, model = name.partition(":")
    chat = services.models.chat(provider, model or None)
    if chat is None:
        raise InvalidInput(
            f"{name!r} is not a language model, so it cannot judge.",
            "Name a chat provider and its model, such as ollama:llama3.2.",
        )
    return NamedJudge(name, chat, services)
