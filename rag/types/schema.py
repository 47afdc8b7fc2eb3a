"""The base of results as typed JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)


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

    def extend(self, **fields: Any) -> dict[str, Any]:
        """Return the values that a JSON encoder takes, and further ones."""
        return {**self.dump(), **fields}


class _Extended:
    """A result with further attributes, or others in the place of its own."""

    def __init__(self, result: Any, more: Mapping[str, Any]) -> None:
        self._result, self._more = result, more

    def __getattr__(self, name: str) -> Any:
        return self._more[name] if name in self._more else getattr(self._result, name)


def attribute(*path: str, description: str | None = None) -> Any:
    """Declare a field that reads another attribute of a result, or one of its parts."""
    return Field(validation_alias=AliasPath(*path), description=description)


Timestamp = Annotated[
    datetime,
    PlainSerializer(datetime.isoformat, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
"""A time that is written in ISO 8601 with its zone."""
