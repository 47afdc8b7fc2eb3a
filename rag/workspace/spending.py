"""Checks for requests that can cost more than the saved recipe.

Principals who may spend choose the models and tools themselves. Other principals, such as a program
whose token lacks the scope ``ask`` or the user of a link, get the choice of the knowledge base's
owners: the models and tools of the saved recipe, no others, and none of them more often or at
greater length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rag import providers
from rag.providers import Variables
from rag.recipe import Recipe
from rag.recipe.parts import RecipePart

_BY_PATH = ("onnx", "cross-encoder")  # rerankers in files of the server, which a path opens


def opened(recipe: Recipe) -> str:
    """The reranker of a recipe where it is a file of the server, named by its path; else ""."""
    reranker = recipe.search.rerank or ""
    return reranker if reranker.partition(":")[0] in _BY_PATH else ""


def beyond(
    requested: Recipe, saved: Callable[[], Recipe], variables: Variables, *, answers: bool
) -> str:
    """Return the first field by which ``requested`` would cost more than ``saved``, or "".

    The fields of the answer count only if it ``answers``. Raises InvalidRecipe for an unknown
    provider.
    """
    costs = dict(_costs(requested, variables, answers=answers))
    if not (costs or _tools(requested) or (answers and _calls_tools(requested))):
        return ""
    saved_recipe = saved()
    saved_costs = dict(_costs(saved_recipe, variables, answers=answers))
    for field, (services, amounts) in costs.items():
        allowed_services, allowed = saved_costs.get(field, (None, ()))
        if allowed_services != services:
            return field
        if any(more > most for more, most in zip(amounts, allowed, strict=True)):
            return field
    return _tools_beyond(requested, saved_recipe, answers=answers)


def costs(recipe: Recipe, variables: Variables) -> bool:
    """Whether a search may cost money. Raises as ``beyond``."""
    return bool(_tools(recipe) or [*_costs(recipe, variables, answers=False)])


def embeds_for_money(recipe: Recipe, variables: Variables) -> bool:
    """Whether a text that is embedded may cost money. Raises as ``beyond``."""
    return providers.may_cost(_provider(recipe), variables)


def _provider(recipe: Recipe) -> str:
    return providers.vector_space(recipe.index.embedder)[0].partition(":")[0]


def _costs(
    recipe: Recipe, variables: Variables, *, answers: bool
) -> Iterator[tuple[str, tuple[tuple[str | None, ...], tuple[int, ...]]]]:
    """Yield the fields that can cost money in a search, and in an answer if ``answers``.

    They are those that the parts of the recipe mark with ``Asks``, except tools. Each comes with
    the services that it calls, and the amounts that its cost grows with.
    """
    chat: tuple[str | None, ...] = ()
    if (recipe.search.asks_chat or answers) and providers.may_cost(
        recipe.answer.provider, variables
    ):
        chat = recipe.answer.provider, recipe.answer.model
    embedder = (recipe.index.embedder,) if embeds_for_money(recipe, variables) else ()
    parts: dict[str, RecipePart] = {"index": recipe.index, "search": recipe.search}
    if answers:
        parts["answer"] = recipe.answer
    for part_name, part in parts.items():
        for name, mark in part.asks().items():
            value = getattr(part, name)
            is_number = isinstance(value, int)
            if (is_number and not value) or (mark.only and value != mark.only):
                continue
            services: tuple[str | None, ...] = ()
            if mark.whom == "chat":
                services = chat
            elif mark.whom == "embedder":
                services = embedder
            elif mark.whom == "reranker" and value == "chat":
                services = chat
            elif mark.whom in ("reranker", "decider") and value and _named_costs(value, variables):
                services = (value,)
            if services:
                number = [int(value)] if is_number else []
                amounts = (*number, *(getattr(part, amount) for amount in mark.amounts))
                named = () if is_number else (value,)
                yield f"{part_name}.{name}", ((*services, *named), amounts)


def _named_costs(model: str, variables: Variables) -> bool:
    kind = model.partition(":")[0]
    return kind in _BY_PATH or providers.may_cost(kind, variables)


def _tools(recipe: Recipe) -> set[str]:
    """The tools that every search calls."""
    search = recipe.search
    return {tool for name in search.asking("tool") for tool in getattr(search, name)}


def _calls_tools(recipe: Recipe) -> bool:
    """Whether a model may call tools before it answers."""
    answer = recipe.answer
    named = answer.tools is None or answer.tools or recipe.search.tools
    decides = answer.mode == "auto" and answer.provider != "extractive"
    return bool(decides and named and answer.tool_calls)


def _tools_beyond(requested: Recipe, saved: Recipe, *, answers: bool) -> str:
    """The field by which more tools are called, or more often, than by the saved recipe."""
    for name in requested.search.asking("tool"):
        if not {*getattr(requested.search, name)} <= {*getattr(saved.search, name)}:
            return f"search.{name}"
    if not (answers and _calls_tools(requested)):
        return ""
    for name in requested.answer.asking("tool"):
        value, most = (getattr(recipe.answer, name) for recipe in (requested, saved))
        if isinstance(value, int):
            if saved.answer.mode != "auto" or value > most:
                return f"answer.{name}"
        elif most is not None and (value is None or not {*value} <= {*most, *_tools(saved)}):
            return f"answer.{name}"
    return ""
