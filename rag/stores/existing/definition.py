"""An existing store as a user names it: where it is, and which of its fields are read."""

from __future__ import annotations

import re
from typing import Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rag.errors import InvalidInput, TouchstoneError, validation_words
from rag.network.requests import checked_url

StoreKind = Literal["pgvector", "qdrant", "elasticsearch", "opensearch"]
STORE_KINDS: tuple[StoreKind, ...] = get_args(StoreKind)

_KEY = re.compile(r"(?:(Bearer|Basic|ApiKey) )?(TOUCHSTONE_TOOL_[A-Z0-9_]+)")
_POSTGRESQL = ("postgresql", "postgres")
_MOST_FIELDS = 50


class ExistingStore(BaseModel):
    """A table, collection or index with texts and vectors, which is only read.

    ``fields`` of a JSON payload are named by their path, like ``metadata.page``. An empty name is
    chosen by what the store has. ``only`` restricts the rows to those with these values.
    ``key`` names the environment variable with the password or key, never its value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: StoreKind
    address: str = Field(min_length=1, max_length=2000)
    name: str = Field(min_length=1, max_length=200, description="table, collection or index")
    key: str = Field("", max_length=120, description="[Bearer ]TOUCHSTONE_TOOL_NAME")
    text: str = Field("", max_length=200, description="the field with the text")
    vector: str = Field("", max_length=200, description="the field with the vector")
    id: str = Field("", max_length=200, description="the field that names a row, else its own key")
    title: str = Field("", max_length=200, description="the field with the title")
    fields: tuple[str, ...] = Field(
        (), max_length=_MOST_FIELDS, description="fields kept as metadata; all if none is named"
    )
    only: dict[str, str] = Field(default_factory=dict, max_length=_MOST_FIELDS)

    @classmethod
    def parse(cls, data: Any) -> Self:
        """Raise InvalidInput that names the field."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "as a whole"
            raise InvalidInput(
                f"The store, {where}: {validation_words(first)}.", "Correct it and try again."
            ) from None

    @field_validator("key")
    @classmethod
    def _names_a_variable(cls, key: str) -> str:
        if key and not _KEY.fullmatch(key):  # it may be a secret: it is not repeated
            raise ValueError(
                "it must be the name of an environment variable that begins with TOUCHSTONE_TOOL_"
            )
        return key

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        try:
            if self.kind != "pgvector":
                checked_url(self.address)
                return self
            parts = urlsplit(self.address.strip())
            _ = parts.port
        except TouchstoneError as error:
            raise ValueError(error.message.rstrip(".")) from error
        if parts.password is not None:
            raise ValueError(
                "an address with a password is not stored; put the password into an environment "
                "variable and name that as the key"
            )
        if parts.scheme.partition("+")[0] not in _POSTGRESQL or not parts.hostname:
            raise ValueError("write the address like postgresql://USER@HOST:PORT/DATABASE")
        return self

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.kind} store {self.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that it names."""
        match = _KEY.fullmatch(self.key)
        return (match.group(2),) if match else ()

    @property
    def scheme(self) -> str:
        """The word before the key in a header, "" for the usual one of the kind."""
        match = _KEY.fullmatch(self.key)
        return (match.group(1) or "") if match else ""
