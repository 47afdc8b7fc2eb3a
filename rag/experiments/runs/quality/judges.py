"""Judges by name, a model as "provider:model", and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from rag.answering.asking.wording import Wording
from rag.errors import InvalidInput
from rag.evaluation.judges import RUBRICS, Judgement, Rubric, ask, decide, passage_rubric
from rag.protocols import ChatModel
from rag.services.services import Services
from rag.storage import Connection
from rag.storage.registries import list_prompt_versions
from rag.types import Cost, Usage


@dataclass(frozen=True, slots=True)
class NamedJudge:
    """A chat model that judges answers."""

    name: str
    chat: ChatModel
    _services: Services

    def grade(self, rubric: str, parts: Mapping[str, str]) -> Judgement:
        """Raise as ``ask`` does."""
        return ask(RUBRICS[rubric], self.chat, parts)

    def cost(self, usage: Usage) -> Cost | None:
        """Return the cost of the judge's tokens; None if the price is unknown."""
        return _cost(self._services, self.name, usage)


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


@dataclass(frozen=True, slots=True)
class PassageJudge:
    """A chat model or a decision model that grades passages by a rubric.

    ``grade`` takes the texts ``question`` and ``passage``, and raises as ``ask`` does.
    """

    rubric: Rubric
    grade: Callable[[Mapping[str, str]], Judgement]
    cost: Callable[[Usage], Cost | None]


def passage_judge(services: Services, base_id: int, name: str) -> PassageJudge:
    """The judge that "provider:model" names. Raises InvalidInput, ProviderError."""
    decider = services.models.decider(name)
    with services.database.read() as connection:
        relevance, decision = passage_rubrics(connection, base_id)
    cost = partial(_cost, services, name)
    if decider is not None:
        return PassageJudge(decision, partial(decide, decision, decider), cost)
    return PassageJudge(relevance, partial(ask, relevance, judge_named(services, name).chat), cost)


def passage_rubrics(connection: Connection, base_id: int) -> tuple[Rubric, Rubric]:
    """The rubrics of a knowledge base, in its words: of chat models, and of decision models."""
    texts = {version.name: version.text for version in list_prompt_versions(connection, base_id)}
    wording = Wording({name: text for name, text in texts.items() if text})
    return passage_rubric(wording), passage_rubric(wording, decides=True)


def _cost(services: Services, name: str, usage: Usage) -> Cost | None:
    provider, _, model = name.partition(":")
    price = services.models.price(provider, model or None)
    return price.of(usage) if price else None
