"""Recipes: the saved one of a knowledge base, its versions, and the schema."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import Field

from rag import (
    ExportTarget,
    KnowledgeBase,
    NotFound,
    Recipe,
    RecipeExportData,
    SavedRecipe,
    Schema,
    Timestamp,
    changed_recipe,
)
from rag.api.resource import (
    Base,
    Body,
    IfMatch,
    Page,
    Part,
    Resource,
    check_match,
    entity_tag,
    needs,
)

recipes = Resource("recipes")


class RecipeData(Schema):
    """A recipe; ``saved`` is null for the default, which nobody saved."""

    hash: str
    saved: Timestamp | None
    recipe: Recipe


class SavedRecipeData(RecipeData):
    """A recipe that was just saved; ``job`` builds its index, if that is not complete."""

    job: int | None


class RecipeRequest(Body):
    """The recipe of a request: the saved one, or a new one, with changes."""

    recipe: dict[str, Any] | None = Field(
        None, description="fields that differ, by part: {search: {top_k: 8}}"
    )
    fields: dict[str, Any] = Field({}, description="fields that differ, by dotted name")
    new: bool = Field(False, description="start from a new recipe, not from the saved one")

    def recipe_of(self, base: KnowledgeBase) -> Recipe:
        """The recipe that is meant. Raises InvalidRecipe."""
        start = Recipe() if self.new else base.recipe()
        return changed_recipe(start, self.recipe, self.fields)


class NewRecipe(Body):
    """A recipe by part; fields that are absent stay as they are saved, or as in a new recipe."""

    recipe: dict[str, Any]
    new: bool = Field(False, description="start from a new recipe, not from the saved one")


class RecipeFields(Body):
    """Some fields of the saved recipe by dotted name, and what they become."""

    fields: dict[str, Any] = Field(min_length=1)


@recipes.get("/recipe-schema", **needs("read"))
def get_recipe_schema() -> dict[str, Any]:
    """The JSON Schema of a recipe."""
    return Recipe.model_json_schema()


@recipes.get("/knowledge-bases/{kb}/recipe", **needs("read", 404))
def get_recipe(base: Base, response: Response) -> RecipeData:
    """The saved recipe, which answers unless a request says otherwise. Its ETag is its hash."""
    recipe = base.recipe()
    response.headers["ETag"] = entity_tag(recipe.hash)
    return _dated(base, recipe)


@recipes.get("/knowledge-bases/{kb}/recipe-export", **needs("read", 404, 502))
def export_recipe(
    base: Base, target: Annotated[ExportTarget, Query(description="the engine")]
) -> RecipeExportData:
    """The saved recipe for another engine, with the fidelity of each field."""
    return RecipeExportData.of(base.recipe_exports.export(base.recipe(), target))


@recipes.put("/knowledge-bases/{kb}/recipe", **needs("write", 400, 404, 412, 415, 502))
def replace_recipe(base: Base, body: NewRecipe, if_match: IfMatch = None) -> SavedRecipeData:
    """Save a recipe; the one before stays among the versions. ``job`` builds its index."""
    while True:  # who changes another field at the same time loses nothing
        before = base.recipe()
        check_match(if_match, before.hash)
        recipe = (Recipe() if body.new else before).merged(body.recipe)
        outcome = base.save_and_build(recipe, instead_of=before)
        if outcome.saved:
            return _saved(base, recipe, outcome)


@recipes.patch("/knowledge-bases/{kb}/recipe", **needs("write", 400, 404, 412, 415, 502))
def change_recipe_fields(
    base: Base, body: RecipeFields, if_match: IfMatch = None
) -> SavedRecipeData:
    """Save the recipe with some fields changed. ``job`` builds its index, if it needs another."""
    while True:  # who changes another field at the same time loses nothing
        before = base.recipe()
        check_match(if_match, before.hash)
        recipe = before.with_fields(body.fields)
        outcome = base.save_and_build(recipe, instead_of=before)
        if outcome.saved:
            return _saved(base, recipe, outcome)


@recipes.get("/knowledge-bases/{kb}/recipes", **needs("read", 404))
def list_recipe_versions(request: Request, base: Base, part: Part) -> Page[RecipeData]:
    """All recipes that were saved, newest first."""
    return part.of(request, base.saved_recipes(), lambda saved: recipe_data(*saved))


@recipes.get("/knowledge-bases/{kb}/recipes/{version}", **needs("read", 404))
def get_recipe_version(
    base: Base, version: Annotated[str, Path(description="the hash of a recipe")]
) -> RecipeData:
    """One recipe that was saved, by its hash."""
    for saved_at, recipe in base.saved_recipes():
        if recipe.hash == version:
            return recipe_data(saved_at, recipe)
    raise NotFound(f"No recipe with the hash {version!r} was saved.")


def recipe_data(saved: datetime | None, recipe: Recipe) -> RecipeData:
    """Describe a recipe with the time when it was saved."""
    return RecipeData(hash=recipe.hash, saved=saved, recipe=recipe)


def _saved(base: Base, recipe: Recipe, outcome: SavedRecipe) -> SavedRecipeData:
    """Return the saved recipe, also if another one replaced it since."""
    return SavedRecipeData(**dict(_dated(base, recipe)), job=outcome.job)


def _dated(base: Base, recipe: Recipe) -> RecipeData:
    moments = {recipe_version.hash: saved_at for saved_at, recipe_version in base.saved_recipes()}
    return recipe_data(moments.get(recipe.hash), recipe)
