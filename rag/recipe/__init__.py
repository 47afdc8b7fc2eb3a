"""The unit of experiment: a frozen, validated, hashable description of one way to answer.

A recipe has three parts, split by what a change costs: ``index`` needs re-indexing, ``search`` is
free, ``answer`` costs a model call. Fields are addressed by dotted names (``search.top_k``) on the
command line, in grids and in URLs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from rag.errors import InvalidRecipe, validation_words
from rag.recipe.parts import (
    AnswerMode,
    AnswerRecipe,
    Chunker,
    ChunkUnit,
    ContextLevel,
    IndexRecipe,
    Mode,
    RecipePart,
    Refuse,
    Relevance,
    SearchRecipe,
)

__all__ = [
    "AnswerMode",
    "AnswerRecipe",
    "ChunkUnit",
    "Chunker",
    "ContextLevel",
    "IndexRecipe",
    "Mode",
    "Recipe",
    "Refuse",
    "Relevance",
    "SearchRecipe",
]


class Recipe(RecipePart):
    """One way to answer, whole."""

    index: IndexRecipe = IndexRecipe(
        chunker="markdown",
        analyzer="auto",
        chunk_unit="auto",
        vector_index="auto",
        context="table",
    )
    search: SearchRecipe = SearchRecipe(
        exact_codes=True,
        matched_words=True,
        refuse="auto",
        other_languages="words",
        spelling="question",
        abbreviations=True,
        synonyms=True,
    )
    answer: AnswerRecipe = AnswerRecipe(mode="strict", tools=())

    def with_fields(self, changes: Mapping[str, Any]) -> Recipe:
        """A copy with fields replaced by dotted name. Raises InvalidRecipe, naming the field."""
        data = self.model_dump()
        for name, value in changes.items():
            part, _, key = name.partition(".")
            if key not in data.get(part, {}):
                raise InvalidRecipe(
                    f"No recipe field is called {name[:100]!r}.", _known_fields_hint()
                )
            data[part][key] = value
        return Recipe.parse(data)

    @classmethod
    def parse(cls, data: Any) -> Recipe:
        """A recipe from plain data; absent fields take their defaults. Raises InvalidRecipe."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise _refused(error.errors()[0]) from error

    @classmethod
    def restore(cls, stored: Mapping[str, Any]) -> Recipe:
        """A recipe from what was stored: a field that is out of bounds takes its default.

        Raises InvalidRecipe for what never was a recipe.
        """
        try:
            return cls.parse(stored)
        except InvalidRecipe:
            parts = _PARTS.keys() & stored.keys()
            return cls.parse({**stored, **{part: _restored(part, stored) for part in parts}})

    def fields(self) -> dict[str, Any]:
        """All fields by dotted name, in schema order."""
        return {
            f"{part}.{key}": value
            for part, values in self.model_dump(mode="json").items()
            for key, value in values.items()
        }

    def differences(self, other: Recipe) -> dict[str, tuple[Any, Any]]:
        """Fields in which ``other`` differs, by dotted name: (mine, theirs)."""
        if self == other:
            return {}
        theirs = other.fields()
        return {
            name: (value, theirs[name])
            for name, value in self.fields().items()
            if value != theirs[name]
        }


_PARTS: dict[str, type[RecipePart]]
_PARTS = {"index": IndexRecipe, "search": SearchRecipe, "answer": AnswerRecipe}
_NAMES = {*_PARTS, *(field for part in _PARTS.values() for field in part.model_fields)}


def _restored(part: str, stored: Mapping[str, Any]) -> RecipePart:
    try:
        return _PARTS[part].restore(stored[part])
    except ValidationError as error:
        problem = error.errors()[0]
        raise _refused({**problem, "loc": (part, *problem["loc"])}) from error


def _refused(problem: Any) -> InvalidRecipe:
    """Return the error for a validation problem, with the field's meaning or the known fields."""
    path = [str(part) for part in problem["loc"] if part in _NAMES]
    where, reason = ".".join(path) or "recipe", validation_words(problem)
    message = f"Recipe field {where}: {reason}."
    if len(path) != 2:
        return InvalidRecipe(message, _known_fields_hint())
    if problem["type"] == "string_pattern_mismatch":  # whose words say too little
        message = f"Recipe field {where} cannot be {problem['input'][:100]!r}."
    meant = _PARTS[path[0]].model_fields[path[1]].description
    return InvalidRecipe(message, f"The field means: {meant}.")


def _known_fields_hint() -> str:
    names = [f"{part}.{field}" for part, model in _PARTS.items() for field in model.model_fields]
    return "Fields are: " + ", ".join(names)
