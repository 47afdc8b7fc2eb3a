"""Checks for requests that can cost more than the saved recipe.

Principals who may spend choose the models and tools themselves. Other principals, such as a program
whose token lacks the scope ``ask`` or the user of a link, get the choice of the knowledge base's
owners: the models and tools of the saved recipe, no others, and none of them more often or at
greater length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

from rag import providers
from rag.providers import Variables
from rag.recipe import Recipe

_BY_PATH = ("onnx", "cross-encoder")  # rerankers in files of the server, which a path opens


@dataclass(frozen=True, slots=True)
class _Asked:
    """The services that a field of a recipe calls; the cost grows with each of ``amounts``."""

    field: str
    who: tuple[str | None, ...]
    amounts: tuple[int, ...] = ()


def opened(recipe: Recipe) -> str:
    """The reranker of a recipe where it is a file of the server, named by its path; else ""."""
    reranker = recipe.search.rerank or ""
    return reranker if reranker.partition(":")[0] in _BY_PATH else ""


def beyond(
    requested: Recipe, saved: Callable[[], Recipe], variables: Variables, *, answers: bool
) -> str:
    """The first field by which ``asked`` would cost what ``saved`` does not; "" for none.

    Who answers counts only where it ``answers``. Raises InvalidRecipe for a provider that nobody
    knows.
    """
    costly = list(_costly(requested, variables, answers=answers))
    calls = answers and _calls(requested)
    if not (costly or requested.search.tools or calls):
        return ""
    saved_recipe = saved()
    saved_costs = {cost.field: cost for cost in _costly(saved_recipe, variables, answers=answers)}
    for cost in costly:
        allowed = saved_costs.get(cost.field)
        if allowed is None or allowed.who != cost.who:
            return cost.field
        if any(more > most for more, most in zip(cost.amounts, allowed.amounts, strict=True)):
            return cost.field
    if not set(requested.search.tools) <= set(saved_recipe.search.tools):
        return "search.tools"
    return _calls_beyond(requested, saved_recipe) if calls else ""


def costs(recipe: Recipe, variables: Variables) -> bool:
    """Whether a search may cost money. Raises as ``beyond``."""
    return bool(recipe.search.tools or [*_costly(recipe, variables, answers=False)])


def embeds_for_money(recipe: Recipe, variables: Variables) -> bool:
    """Whether a text that is embedded may cost money. Raises as ``beyond``."""
    return providers.may_cost(recipe.index.embedder.partition(":")[0], variables)


def _costly(recipe: Recipe, variables: Variables, *, answers: bool) -> Iterator[_Asked]:
    """Yield the fields that can cost money in a search, and in an answer if ``answers``."""
    search, answer = recipe.search, recipe.answer
    embedder, reranker = recipe.index.embedder, search.rerank or ""
    chat = answer.provider, answer.model
    if embeds_for_money(recipe, variables):
        yield _Asked("index.embedder", (embedder,))
        if answers and answer.memory:
            yield _Asked("answer.memory", (embedder,), (answer.memory,))
    asks_chat = search.asks_chat or answers
    chat_costs = asks_chat and providers.may_cost(answer.provider, variables)
    if chat_costs:
        steps = search.chat_steps.items()
        yield from (_Asked(f"search.{name}", chat, (n,)) for name, n in steps)
    requests = ceil(search.rerank_depth / search.rerank_batch)
    often = search.rerank_depth, requests
    if reranker == "chat":
        if chat_costs:
            yield _Asked("search.rerank", (reranker, *chat), often)
    elif reranker and _reranker_costs(reranker, variables):
        yield _Asked("search.rerank", (reranker,), often)
    if answers and chat_costs:
        yield _Asked("answer.provider", chat)
        yield _Asked("answer.max_tokens", (), (answer.max_tokens,))
        yield _Asked("answer.context_tokens", (), (answer.context_tokens,))
        if answer.mode == "auto":  # which asks once more, before it answers
            yield _Asked("answer.mode", ())


def _reranker_costs(reranker: str, variables: Variables) -> bool:
    kind = reranker.partition(":")[0]
    return kind in _BY_PATH or providers.may_cost(kind, variables)


def _calls(recipe: Recipe) -> bool:
    """Whether a model may call tools before it answers."""
    answer = recipe.answer
    named = answer.tools is None or answer.tools or recipe.search.tools
    decides = answer.mode == "auto" and answer.provider != "extractive"
    return bool(decides and named and answer.tool_calls)


def _calls_beyond(requested: Recipe, saved: Recipe) -> str:
    """The field by which a model could call tools, or more often, than by the saved recipe."""
    answer, saved_answer = requested.answer, saved.answer
    if saved_answer.mode != "auto" or answer.tool_calls > saved_answer.tool_calls:
        return "answer.tool_calls"
    if saved_answer.tools is None:
        return ""
    allowed = {*saved_answer.tools, *saved.search.tools}
    return "" if answer.tools is not None and set(answer.tools) <= allowed else "answer.tools"
