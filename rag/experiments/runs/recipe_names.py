"""Names of recipes and runs: the name that a user gave, else a summary of the recipe."""

from __future__ import annotations

from collections.abc import Mapping

from rag.errors import InvalidInput
from rag.evaluation.report.words import counted, setting
from rag.experiments.runs.stored import StoredRuns
from rag.operation import operation
from rag.recipe import Recipe
from rag.recipe.parts import chunker_name, model_name
from rag.storage import registries
from rag.types.results import Run

_LONGEST = 80
_MOST_NAMED = 3  # fields beside mode, top-k and embedder
_CUT = ("index.chunker", "index.chunk_size", "index.chunk_overlap")
MODES = {"hybrid": "meaning and words", "dense": "meaning", "lexical": "words"}
_ALWAYS = ("search.mode", "search.top_k", "index.embedder")


class RecipeNames(StoredRuns):
    """Names the recipes of one knowledge base."""

    @operation("guest")
    def recipe_names(self) -> dict[str, str]:
        """The names that people gave, by the hash of the recipe."""
        return self._database.fetch(registries.list_recipe_names, self._base_id)

    @operation("guest", models="none")
    def recipe_name(self, recipe: Recipe) -> str:
        """Return the name of a recipe."""
        return named(recipe, self.recipe_names())

    @operation("editor", audit="recipe")
    def name_recipe(self, recipe: Recipe, name: str) -> None:
        """Name a recipe; "" takes the name away. Raises InvalidInput for one that is too long."""
        name = " ".join(name.split())
        if len(name) > _LONGEST or not name.isprintable():
            raise InvalidInput(f"A recipe's name has at most {_LONGEST} printable characters.")
        self._database.execute(registries.name_recipe, self._base_id, recipe.hash, name)


def named(recipe: Recipe, names: Mapping[str, str]) -> str:
    """The name that was given to a recipe, else a phrase: ``hybrid, top 8, wordllama``."""
    return names.get(recipe.hash) or described(recipe)


def run_name(run: Run, names: Mapping[str, str]) -> str:
    """The first line of a run's note, else the name of its recipe or system."""
    source = named(run.recipe, names) if run.recipe else run.source
    return run.note.partition("\n")[0] or source


def plain_run_name(run: Run, name: str) -> str:
    """The name of a run for readers who set no recipe: without one of its own, how it searches."""
    if run.recipe is None or name != described(run.recipe):
        return name
    search = run.recipe.search
    least = search.threshold
    relevance = f", relevance at least {least:g}" if isinstance(least, float) else ""
    return f"by {MODES[search.mode]}, {counted(search.top_k, 'passage')}{relevance}"


def described(recipe: Recipe) -> str:
    """Mode, top-k and embedding model, and what else is not as by default."""
    index, search = recipe.index, recipe.search
    always = [search.mode, f"top {search.top_k}", index.embedder]
    changed = {
        name: value
        for name, (_, value) in Recipe().differences(recipe).items()
        if name not in _ALWAYS
    }
    named = []
    if any(name in changed for name in _CUT):
        overlap = f"/{index.chunk_overlap}" if index.chunk_overlap else ""
        size = "" if index.chunker == "whole" else f" {index.chunk_size}{overlap}"
        named.append(f"{chunker_name(index.chunker)}{size}")
    named += [_phrase(name, value) for name, value in changed.items() if name not in _CUT]
    more = len(named) - _MOST_NAMED
    return ", ".join([*always, *named[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _phrase(name: str, value: object) -> str:
    field = name.partition(".")[2].replace("_", " ")
    if value is True:
        return field
    if value in (None, False):
        return f"no {field}"
    if name == "answer.model":
        return f"{field} {model_name(str(value))}"
    text = ", ".join(map(str, value)) if isinstance(value, list) else setting(value)
    return f"{field} {text}"
