"""Recipes of a knowledge base, and systems under test, which evaluations measure too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import ConfigDict, Field, StringConstraints

from rag import (
    LONGEST_QUESTION,
    SYSTEM_FORMS,
    ExportTarget,
    HttpSystem,
    InvalidInput,
    KnowledgeBase,
    Made,
    NotFound,
    Recipe,
    RecipeExportData,
    Schema,
    SystemData,
    SystemTrialData,
    Timestamp,
    changed_recipe,
    system_of,
)
from rag.api.resource import (
    Base,
    Body,
    IfMatch,
    Maker,
    Page,
    Part,
    Resource,
    check_match,
    entity_tag,
    needs,
    where,
)
from rag.api.threads import dear

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
    return base.recipes.export(base.recipe(), target)


@recipes.put("/knowledge-bases/{kb}/recipe", **needs("write", 400, 404, 412, 415, 502))
def replace_recipe(base: Base, body: NewRecipe, if_match: IfMatch = None) -> SavedRecipeData:
    """Save a recipe; the one before stays among the versions. ``job`` builds its index."""
    return _saved(
        base, lambda before: (Recipe() if body.new else before).merged(body.recipe), if_match
    )


@recipes.patch("/knowledge-bases/{kb}/recipe", **needs("write", 400, 404, 412, 415, 502))
def change_recipe_fields(
    base: Base, body: RecipeFields, if_match: IfMatch = None
) -> SavedRecipeData:
    """Save the recipe with some fields changed. ``job`` builds its index, if it needs another."""
    return _saved(base, lambda before: before.with_fields(body.fields), if_match)


@recipes.get("/knowledge-bases/{kb}/recipes", **needs("read", 404))
def list_recipe_versions(request: Request, base: Base, part: Part) -> Page[RecipeData]:
    """All recipes that were saved, newest first."""
    return part.of(request, base.recipes.versions(), lambda saved: recipe_data(*saved))


@recipes.get("/knowledge-bases/{kb}/recipes/{version}", **needs("read", 404))
def get_recipe_version(
    base: Base, version: Annotated[str, Path(description="the hash of a recipe")]
) -> RecipeData:
    """One recipe that was saved, by its hash."""
    for saved_at, recipe in base.recipes.versions():
        if recipe.hash == version:
            return recipe_data(saved_at, recipe)
    raise NotFound(f"No recipe with the hash {version!r} was saved.")


def recipe_data(saved: datetime | None, recipe: Recipe) -> RecipeData:
    """Describe a recipe with the time when it was saved."""
    return RecipeData(hash=recipe.hash, saved=saved, recipe=recipe)


def _saved(base: Base, change: Callable[[Recipe], Recipe], if_match: str | None) -> SavedRecipeData:
    """Save a change of the recipe; return what was saved, also if another one replaced it since."""
    while True:  # who changes another field at the same time loses nothing
        before = base.recipe()
        check_match(if_match, before.hash)
        recipe = change(before)
        outcome = base.recipes.save_and_build(recipe, instead_of=before)
        if outcome.saved:
            return SavedRecipeData(**dict(_dated(base, recipe)), job=outcome.job)


def _dated(base: Base, recipe: Recipe) -> RecipeData:
    moments = {version.hash: saved_at for saved_at, version in base.recipes.versions()}
    return recipe_data(moments.get(recipe.hash), recipe)


_EXAMPLE: dict[str, Any] = {
    "name": "production",
    "form": "dify-external",
    "address": "https://search.example/v1",
}

systems = Resource("systems")

Name = Annotated[str, Path(description="the name of a system", max_length=40)]


class NewSystem(Body):
    """A system to add: the form of a known product at an address, or a whole definition."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: str = Field(max_length=40)
    form: str = Field(
        "",
        max_length=40,
        description="dify-external, dify-dataset, openai, ragflow, touchstone, mcp",
    )
    address: str = Field("", max_length=2000, description="where the product runs")
    collection: str = Field("", max_length=200, description="its knowledge base or store, by id")
    key: str = Field(
        "", max_length=100, description="the environment variable of its key: TOUCHSTONE_TOOL_NAME"
    )
    most: int = Field(10, ge=1, le=100, description="results to ask for")
    definition: dict[str, Any] | None = Field(
        None, description="the fields of a request of any other form, as of an HTTP tool"
    )

    def parsed(self) -> HttpSystem:
        """The definition. Raises InvalidInput."""
        if self.definition is not None:
            return HttpSystem.parse({**self.definition, "name": self.name})
        if not (self.form and self.address):
            raise InvalidInput(
                "A system needs a form and an address, or a definition.",
                f"Send form ({', '.join(SYSTEM_FORMS)}) and address, or the fields of a request "
                "as definition.",
            )
        return system_of(self.form, self.name, self.address, self.collection, self.most, self.key)


class SystemQuestion(Body):
    """A question to try a system by."""

    question: Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]


@systems.get("/knowledge-bases/{kb}/systems", **needs("read", 404))
def list_systems(request: Request, base: Base, part: Part) -> Page[SystemData]:
    """List the newest version of each system, by name."""
    return part.of(request, base.systems.list_all(), SystemData.of)


@systems.post(
    "/knowledge-bases/{kb}/systems",
    **needs("write", 400, 404, 409, 415, response_model=SystemData, status_code=201),
)
def add_system(request: Request, base: Base, body: NewSystem, idempotent: Maker) -> Response:
    """Add a system; another definition of a stored one becomes its next version."""

    def make() -> Made:
        stored = base.systems.add(body.parsed())
        place = where(request, "knowledge-bases", base.id, "systems", stored.name)
        return Made(201, stored.dump(), place)

    return idempotent(body, make)


@systems.get("/knowledge-bases/{kb}/systems/{system}", **needs("read", 404))
def get_system(base: Base, system: Name) -> SystemData:
    """Return the newest version of a system."""
    return base.systems.get(system)


@systems.post("/knowledge-bases/{kb}/systems/{system}/test", **needs("write", 400, 404, 415, 502))
@dear
def test_system(base: Base, system: Name, body: SystemQuestion) -> SystemTrialData:
    """Ask a system one question, and locate its results in the documents."""
    return base.systems.test(system, body.question)


@systems.delete("/knowledge-bases/{kb}/systems/{system}", **needs("write", 404, status_code=204))
def delete_system(base: Base, system: Name) -> Response:
    """Delete a system with its versions. Its runs stay."""
    base.systems.remove(system)
    return Response(status_code=204)
