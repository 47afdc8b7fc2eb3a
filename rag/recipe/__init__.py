"""The unit of experiment: a frozen, validated, hashable description of one way to answer.

A recipe has three parts, split by what a change costs: ``index`` needs re-indexing, ``search`` is
free, ``answer`` costs a model call. Fields are addressed by dotted names (``search.top_k``) on the
command line, in grids and in URLs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import Field, ValidationError, model_validator

from rag.errors import InvalidRecipe, validation_words
from rag.recipe.parts import (
    FORMAT,
    REMOVED,
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

log = logging.getLogger(__name__)


class Recipe(RecipePart):
    """One way to answer, whole."""

    format: int = Field(
        FORMAT,
        ge=FORMAT,
        le=FORMAT,
        description="the version of this form; data with it is a whole recipe",
    )
    index: IndexRecipe = IndexRecipe()
    search: SearchRecipe = SearchRecipe()
    answer: AnswerRecipe = AnswerRecipe()

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        stored_format = _format_of(data)
        parts = {name: data[name] for name in _PARTS if isinstance(data.get(name), Mapping)}
        fields = {
            name: _PARTS[name].upgraded(part, stored_format)[0] for name, part in parts.items()
        }
        return {**data, **fields, "format": FORMAT}

    @property
    def left_out(self) -> set[str]:
        """The fields that a hash does not cover."""
        return {"format"}

    def with_fields(self, changes: Mapping[str, Any]) -> Recipe:
        """A copy with fields replaced by dotted name. Raises InvalidRecipe, naming the field."""
        data = self.model_dump()
        for name, value in changes.items():
            part, _, key = name.partition(".")
            if part not in _PARTS or key not in data[part]:
                raise _unknown(name)
            data[part][key] = value
        return _validated(data)

    def merged(self, data: Any) -> Recipe:
        """A copy with the fields that plain data names, by part.

        Data with a format is a whole recipe, which replaces this one. Fields that were removed are
        ignored, with a warning in the log. Raises InvalidRecipe, naming the field.
        """
        if not isinstance(data, Mapping):
            raise InvalidRecipe("A recipe is a JSON object.", _known_fields_hint())
        whole = "format" in data
        stored_format = _format_of(data)
        fields = (Recipe() if whole else self).model_dump()
        for part, named in data.items():
            if part == "format":
                continue
            if part not in _PARTS:
                raise _unknown(str(part))
            if isinstance(named, RecipePart):
                fields[part] = named
                continue
            if not isinstance(named, Mapping):
                raise InvalidRecipe(f"Recipe field {part}: it is no JSON object.")
            current, removed = _PARTS[part].upgraded(named, stored_format)
            for name in current:
                if name not in _PARTS[part].model_fields:
                    raise _unknown(f"{part}.{name}")
            for name in removed:
                log.warning("Ignored in a recipe: %s", _gone(f"{part}.{name}"))
            fields[part] |= current
        return _validated(fields)

    @classmethod
    def parse(cls, data: Any) -> Recipe:
        """A recipe from plain data; absent fields take their defaults. Raises InvalidRecipe."""
        return cls().merged(data)

    @classmethod
    def restore(cls, stored: Mapping[str, Any], stored_format: int = 0) -> Recipe:
        """A recipe from what was stored: a field that is out of bounds takes its default.

        It keeps its hash, whatever was added and removed since. Raises InvalidRecipe for what never
        was a recipe.
        """
        stored_format = _format_of({"format": stored_format, **stored})
        parts = {
            name: _restored(part, stored.get(name, {}), stored_format)
            for name, part in _PARTS.items()
        }
        return cls.parse({**stored, **parts, "format": FORMAT})

    def stored(self) -> dict[str, Any]:
        """Return the form from which ``restore`` makes this recipe again, with its hash."""
        data = self.model_dump(mode="json")
        for part in (self.index, self.search, self.answer):
            data[part.part] |= part.removed
        return data

    def current(self) -> Recipe:
        """The recipe without the fields that were removed: what a search by it does now."""
        return _validated(self.model_dump()) if self.removed else self

    @property
    def removed(self) -> Mapping[str, Any]:
        """The values of its stored form in removed fields, and removed choices, by dotted name."""
        parts = (self.index, self.search, self.answer)
        return {
            f"{part.part}.{name}": value for part in parts for name, value in part.removed.items()
        }

    def fields(self) -> dict[str, Any]:
        """All fields by dotted name, in schema order."""
        return {
            f"{part}.{key}": value
            for part, values in self.model_dump(mode="json", include={*_PARTS}).items()
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
_FIELDS = [f"{part}.{field}" for part, model in _PARTS.items() for field in model.model_fields]
_NAMES = {*_PARTS, *(field for part in _PARTS.values() for field in part.model_fields)}


def _validated(data: Any) -> Recipe:
    try:
        return Recipe.model_validate(data)
    except ValidationError as error:
        raise _refused(error.errors()[0]) from error


def _format_of(data: Mapping[str, Any]) -> int:
    """The format of plain data; that of this version where it names none."""
    stored_format = data.get("format", FORMAT)
    if not isinstance(stored_format, int) or not 0 <= stored_format <= FORMAT:
        raise InvalidRecipe(
            f"The recipe has the format {str(stored_format)[:20]}, and this version reads formats "
            f"up to {FORMAT}.",
            "A newer version of Touchstone wrote it: use that version.",
        )
    return stored_format


def _restored(part: type[RecipePart], stored: Any, stored_format: int) -> RecipePart:
    try:
        return part.restore(stored, stored_format)
    except ValidationError as error:
        problem = error.errors()[0]
        raise _refused({**problem, "loc": (part.part, *problem["loc"])}) from error


def _refused(problem: Any) -> InvalidRecipe:
    """Return the error for a validation problem, with the field's meaning or the known fields."""
    path = [str(part) for part in problem["loc"] if part in _NAMES]
    where, reason = ".".join(path) or "recipe", validation_words(problem)
    message = f"Recipe field {where}: {reason}."
    if problem["type"] == "extra_forbidden":
        return _unknown(".".join(map(str, problem["loc"])))
    if len(path) != 2:
        return InvalidRecipe(message, _known_fields_hint())
    if problem["type"] == "string_pattern_mismatch":  # whose words say too little
        message = f"Recipe field {where} cannot be {problem['input'][:100]!r}."
    meant = _PARTS[path[0]].model_fields[path[1]].description
    return InvalidRecipe(message, f"The field means: {meant}.")


def _unknown(name: str) -> InvalidRecipe:
    """Return the error for a field that there is not, with the name that may be meant."""
    if name in REMOVED:
        return InvalidRecipe(_gone(name), _known_fields_hint())
    message = f"No recipe field is called {name[:100]!r}."
    near = get_close_matches(name[:100], [*_FIELDS, *_PARTS], 1, 0.7)
    return InvalidRecipe(message, f"Did you mean {near[0]}?" if near else _known_fields_hint())


def _gone(name: str) -> str:
    """The sentences about a field that was removed."""
    return f"{name} was removed. {REMOVED[name].instead}".strip()


def _known_fields_hint() -> str:
    return "Fields are: " + ", ".join(_FIELDS)
