"""A part of a recipe: its stored form, its marks, and its hash."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from rag.recipe.formats import REMOVED, fields_of

log = logging.getLogger(__name__)

Mark = TypeVar("Mark")

# What a value beyond its bounds is called in a ValidationError.
_BEYOND = frozenset({"string_too_long", "too_long", "string_pattern_mismatch", "finite_number"})


@dataclass(frozen=True, slots=True)
class Asks:
    """Marks a field by which a provider is called, which may cost money.

    The only declaration of it: the stages that ask a model, the steps that call a chat model, and
    the limits of principals who may not spend are derived from it. ``amounts`` are attributes of
    the part that the cost grows with, besides a number in the field. With ``only``, the field costs
    more at this value than at others.
    """

    whom: Literal["embedder", "chat", "reranker", "decider", "tool"]
    amounts: tuple[str, ...] = ()
    only: str | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """Marks a field with the format that added it, and the value that older recipes mean.

    Additional steps of a search have no mark: their default is off, which older recipes mean.
    """

    format: int
    before: Any


@dataclass(frozen=True, slots=True)
class Url:
    """Marks a field with its parameter in the address of a page."""

    parameter: str


class RecipePart(BaseModel):
    """Fields that cannot change, and a hash of them."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    part: ClassVar[str] = ""
    """The first half of the dotted names of its fields."""
    _removed: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def restore(cls, stored: Mapping[str, Any], stored_format: int = 0) -> Self:
        """Make a part of its stored form.

        A field beyond the bounds of today takes its default. Fields and choices that were removed
        stay in the hash. Raises ValidationError for what never was a part.
        """
        fields, removed = cls.upgraded(stored, stored_format)
        try:
            return cls._marked(fields, removed)
        except ValidationError as error:
            problems = {problem["loc"][0]: problem["type"] for problem in error.errors()}
            chosen = {str(name) for name, kind in problems.items() if kind == "literal_error"}
            beyond = {name for name, kind in problems.items() if kind in _BEYOND} | chosen
            if not beyond:
                raise
        log.warning("Out of bounds in a stored recipe: %s.", ", ".join(map(str, beyond)))
        removed |= {name: fields[name] for name in chosen}
        return cls._marked({name: fields[name] for name in fields.keys() - beyond}, removed)

    @classmethod
    def upgraded(
        cls, stored: Mapping[str, Any], stored_format: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read the fields of an older format as this format has them.

        Returns the fields, and those that were removed and are not off, both by name.
        """
        gone = fields_of(cls.part, REMOVED)
        added = {
            name: mark.before
            for name, mark in cls.marks(Since).items()
            if mark.format > stored_format
        }
        known = {name: value for name, value in stored.items() if name not in gone}
        removed = {
            name: stored[name]
            for name, field in gone.items()
            if name in stored and stored[name] != field.off
        }
        return {**added, **known}, removed

    @classmethod
    def _marked(cls, fields: Mapping[str, Any], removed: Mapping[str, Any]) -> Self:
        part = cls.model_validate(fields)
        part._removed = dict(removed)
        return part

    @property
    def removed(self) -> Mapping[str, Any]:
        """The values of its stored form in removed fields, and removed choices, by name."""
        return self._removed

    @classmethod
    def asking(cls, *whom: str) -> tuple[str, ...]:
        """Name the fields by which somebody of ``whom`` is asked, in their order."""
        return tuple(name for name, mark in cls.asks().items() if mark.whom in whom)

    @classmethod
    def asks(cls) -> Mapping[str, Asks]:
        """Return the marks of the fields by which a provider is called, by name."""
        return cls.marks(Asks)

    @classmethod
    @cache
    def marks(cls, kind: type[Mark]) -> Mapping[str, Mark]:
        """Return the marks of one kind by the name of their field, in the order of the fields."""
        return {
            name: mark
            for name, field in cls.model_fields.items()
            for mark in field.metadata
            if isinstance(mark, kind)
        }

    @classmethod
    def plain(cls) -> dict[str, Any]:
        """Return each field at the value that recipes without it mean, which is off; else at its
        default."""
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        return defaults | {name: mark.before for name, mark in cls.marks(Since).items()}

    @property
    def left_out(self) -> set[str]:
        """The fields that a hash does not cover: those that were added, where they are off."""
        added = self.marks(Since).items()
        return {name for name, mark in added if getattr(self, name) == mark.before}

    @property
    def hash(self) -> str:
        """Twelve hex digits over the canonical JSON of what decides the result."""
        return _hash(self)


@lru_cache(maxsize=4096)
def _hash(part: RecipePart) -> str:
    canonical = json.dumps(_deciding(part), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _deciding(part: RecipePart) -> dict[str, Any]:
    """The fields that a hash covers.

    Steps at their defaults are left out: the default of such a field means that the step is not
    there, now and in every later version. So a recipe keeps its hash when new steps come to be
    known, and runs before and after are of one recipe. So are fields of the other parts that came
    later. All other fields count, at defaults too: those defaults may change, and the recipe would
    then be another one. What a stored recipe says in a field that was removed counts as before.
    """
    content = part.model_dump(mode="json", exclude=part.left_out)
    content |= {name: _deciding(value) for name, value in part if isinstance(value, RecipePart)}
    removed = fields_of(part.part, REMOVED)
    always = {name: field.off for name, field in removed.items() if field.hashed}
    return content | always | part._removed
