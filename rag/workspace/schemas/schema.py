"""The base of results as typed JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self, TypeVar, cast

from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

Extended = TypeVar("Extended", bound="Schema")


class Schema(BaseModel):
    """A result as JSON. Fields read the attributes of the same name, or of an ``attribute`` path.

    The names and types of the fields are a contract of the command line and the API.
    """

    model_config = ConfigDict(
        from_attributes=True,
        frozen=True,
        extra="forbid",
        validate_by_alias=False,  # which names attributes of results, not arguments
        validate_by_name=True,
        json_schema_serialization_defaults_required=True,
    )

    @classmethod
    def of(cls, result: Any, **more: Any) -> Self:
        """Read a result, such as a row or a dataclass of the package, with ``more`` attributes."""
        source = _Extended(result, more) if more else result
        return cls.model_validate(source, by_alias=True, by_name=False)

    def dump(self) -> dict[str, Any]:
        """Return the values that a JSON encoder takes."""
        return self.model_dump(mode="json")

    def extend(self, schema: type[Extended], **fields: Any) -> Extended:
        """Return a result of a subclass, with its additional fields, which are not converted."""
        return cast(Extended, schema.model_construct(**dict(self), **fields))


class _Extended:
    """A result with further attributes, or others in the place of its own."""

    def __init__(self, result: Any, more: Mapping[str, Any]) -> None:
        self._result, self._more = result, more

    def __getattr__(self, name: str) -> Any:
        return self._more[name] if name in self._more else getattr(self._result, name)


class VerbData(Schema, defer_build=True):
    """A result that only the command line prints.

    Its validator is built when it is first used: a command starts sooner, and uses few of them.
    """


class DocumentData(VerbData):
    """A JSON document whose fields are described elsewhere, such as an exported conversation."""

    model_config = ConfigDict(extra="allow")


def attribute(*path: str, description: str | None = None) -> Any:
    """Declare a field that reads another attribute of a result, or one of its parts."""
    return Field(validation_alias=AliasPath(*path), description=description)


def optional(*path: str) -> Any:
    """Declare a field that is left out of the JSON where a result has no such attribute."""
    alias = AliasPath(*path) if path else None
    return Field(default=None, validation_alias=alias, exclude_if=lambda value: value is None)


def isoformat(at: datetime) -> str:
    """Return a time in ISO 8601; SQLite returns times without their zone, which is UTC."""
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


Timestamp = Annotated[
    datetime,
    PlainSerializer(isoformat, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
"""A time that is written in ISO 8601 with its zone."""
