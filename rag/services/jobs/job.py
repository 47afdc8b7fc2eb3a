"""Kinds of jobs: the model of a payload, and the type of a result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from rag.recipe import IndexRecipe, Recipe
from rag.storage import Connection
from rag.storage import jobs as rows
from rag.storage.jobs import JobRow

T = TypeVar("T")


def _restored(value: Recipe | Mapping[str, Any]) -> Recipe:
    return value if isinstance(value, Recipe) else Recipe.restore(value)


def _restored_index(value: IndexRecipe | Mapping[str, Any]) -> IndexRecipe:
    return value if isinstance(value, IndexRecipe) else IndexRecipe.restore(value)


StoredRecipe = Annotated[Recipe, BeforeValidator(_restored)]
"""A recipe in a payload: one of an earlier version keeps its hash."""
StoredIndexRecipe = Annotated[IndexRecipe, BeforeValidator(_restored_index)]
"""The same of an index."""


class Job(BaseModel, Generic[T]):
    """A request for work in the background: its fields are the payload of the stored job.

    Each kind of job is a subclass of ``Job[T]``, where a finished job leaves a ``T``, or None.
    Requests with the same ``about`` share one job, and find it again by any part of that.
    """

    model_config = ConfigDict(frozen=True)
    kind: ClassVar[str]
    about: dict[str, str] = Field({}, exclude_if=lambda about: not about)

    @classmethod
    def of(cls, row: JobRow) -> Self:
        """Return the request of a stored job; fields that an earlier version lacks are defaults."""
        return cls.model_validate(row.payload)

    def queue(
        self,
        connection: Connection,
        base_id: int,
        title: str,
        items: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> int:
        """Store the request as a job with items, (name, payload); return its id."""
        payload = self.model_dump(mode="json")
        return rows.create(connection, base_id, self.kind, title, payload, items)

    def with_digest(self) -> Self:
        """Return the request, about ``work`` too: a digest of all that it asks for."""
        fields = self.model_dump(mode="json", exclude={"about"})
        digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
        return self.model_copy(update={"about": {**self.about, "work": digest}})

    @classmethod
    def dump_result(cls, result: T) -> Any:
        """Return a result as the plain data that is stored."""
        return _adapter(cls).dump_python(result, mode="json")

    @classmethod
    def load_result(cls, stored: Any) -> T | None:
        """Return a stored result; None for that of an earlier version that is none any more."""
        try:
            result: T = _adapter(cls).validate_python(stored)
        except ValidationError:
            return None
        return result


@cache
def _adapter(kind: type[Job[Any]]) -> TypeAdapter[Any]:
    (result,) = next(
        arguments
        for parent in kind.__mro__
        if issubclass(parent, BaseModel)
        and (arguments := parent.__pydantic_generic_metadata__["args"])
    )
    return TypeAdapter(result)
