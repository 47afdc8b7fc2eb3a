"""Recipes to choose from: the working one, the saved one, and those that were saved before."""

from __future__ import annotations

from pages.components.recipe.working_recipe import saved, working
from pages.components.shell.permission import refusal
from pages.components.shell.session import workspace
from rag import KnowledgeBase, Recipe

_MOST = 30


def recipe_choices(base: KnowledgeBase) -> dict[str, Recipe]:
    """Recipes by what a reader calls them, each once: the working one is first."""
    choices: dict[str, Recipe] = {}
    seen: set[str] = set()
    lists = not refusal(base, "saved_recipes")  # whoever has a link sees the saved one alone
    earlier = [recipe for _saved, recipe in base.saved_recipes()] if lists else []
    for sign, recipe in [
        ("as it is now: ", working(base)),
        ("saved: ", saved(base)),
        *(("", earlier_recipe) for earlier_recipe in earlier[:_MOST]),
    ]:
        if recipe.hash not in seen and usable(base, recipe) and not workspace().costs(base, recipe):
            seen.add(recipe.hash)
            choices[f"{sign}{base.runs.recipe_name(recipe)} · {recipe.hash[:6]}"] = recipe
    return choices


def usable(base: KnowledgeBase, recipe: Recipe) -> bool:
    """Whether the index that it searches is there."""
    return recipe.index == working(base).index or not base.documents.missing(recipe.index)
