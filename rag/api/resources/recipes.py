"""Recipes: the saved one of a knowledge base, its versions, and the schema."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Request
from pydantic import ConfigDict, Field

from rag import NotFound, Recipe
from rag.api.resource import Base, Body, Part, Resource, moment, needs

_RECIPE = Recipe().model_dump(mode="json")
EXAMPLE = {"hash": Recipe().hash, "saved": "2026-01-02T03:04:05+00:00", "recipe": _RECIPE}
_LIST = {"items": [EXAMPLE], "total": 1, "next": None}

recipes = Resource("recipes")


class NewRecipe(Body):
    """A recipe as a whole; fields that are absent take their defaults."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"recipe": {"search": {"top_k": 8}}}]}
    )

    recipe: dict[str, Any]


class Fields(Body):
    """Some fields of the saved recipe by dotted name, and what they become."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fields": {"search.top_k": 8, "search.mode": "hybrid"}}]}
    )

    fields: dict[str, Any] = Field(min_length=1)


@recipes.get("/recipe-schema", **needs("read", example={"title": "Recipe", "type": "object"}))
def get_recipe_schema() -> Any:
    """The JSON Schema of a recipe."""
    return Recipe.model_json_schema()


@recipes.get("/knowledge-bases/{kb}/recipe", **needs("read", 404, example=EXAMPLE))
def get_recipe(base: Base) -> Any:
    """The saved recipe, which answers unless a request says otherwise."""
    return _dated(base, base.recipe())


@recipes.put("/knowledge-bases/{kb}/recipe", **needs("write", 400, 404, 415, 502, example=EXAMPLE))
def replace_recipe(base: Base, body: NewRecipe) -> Any:
    """Saves a recipe; the one before stays among the versions. ``job`` builds its index."""
    recipe = Recipe.parse(body.recipe)
    base.save_recipe(recipe)
    return _built(base, recipe)


@recipes.patch(
    "/knowledge-bases/{kb}/recipe", **needs("write", 400, 404, 415, 502, example=EXAMPLE)
)
def change_recipe_fields(base: Base, body: Fields) -> Any:
    """Saves the recipe with some fields changed. ``job`` builds its index, if it needs another."""
    while True:  # who changes another field at the same time loses nothing
        before = base.recipe()
        recipe = before.with_fields(body.fields)
        if base.save_recipe(recipe, instead_of=before):
            return _built(base, recipe)


@recipes.get("/knowledge-bases/{kb}/recipes", **needs("read", 404, example=_LIST))
def list_recipe_versions(request: Request, base: Base, part: Part) -> Any:
    """All recipes that were saved, newest first."""
    return part.of(request, base.saved_recipes(), lambda each: recipe_data(*each))


@recipes.get("/knowledge-bases/{kb}/recipes/{version}", **needs("read", 404, example=EXAMPLE))
def get_recipe_version(
    base: Base, version: Annotated[str, Path(description="the hash of a recipe")]
) -> Any:
    """One recipe that was saved, by its hash."""
    for saved_at, recipe in base.saved_recipes():
        if recipe.hash == version:
            return recipe_data(saved_at, recipe)
    raise NotFound(f"No recipe with the hash {version!r} was saved.")


def recipe_data(saved: datetime | None, recipe: Recipe) -> dict[str, Any]:
    """A recipe as plain data; ``saved`` None where it is the default, which nobody saved."""
    return {
        "hash": recipe.hash,
        "saved": moment(saved),
        "recipe": recipe.model_dump(mode="json"),
    }


def _built(base: Base, recipe: Recipe) -> dict[str, Any]:
    """Return the saved recipe, also if another one replaced it since.

    ``job`` builds the recipe's index if it is incomplete.
    """
    base.documents.prepare_build(recipe.index)
    missing = base.documents.missing(recipe.index)
    return _dated(base, recipe) | {"job": base.documents.build(recipe.index) if missing else None}


def _dated(base: Base, recipe: Recipe) -> dict[str, Any]:
    moments = {each.hash: saved_at for saved_at, each in base.saved_recipes()}
    return recipe_data(moments.get(recipe.hash), recipe)
