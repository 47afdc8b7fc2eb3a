"""An existing store as a user names it: where it is, and which of its fields are read.

Over HTTP, only requests that read are sent.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self, get_args
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rag.errors import (
    InvalidInput,
    ProviderMisbehaved,
    ProviderRejected,
    ProviderUnavailable,
    TouchstoneError,
    validation_words,
)
from rag.input_rules import storable
from rag.network import TooLarge, body_of, checked_client, checked_url, failures

if TYPE_CHECKING:
    import httpx

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


PAGE = 200
"""Rows in one answer."""
MOST_BYTES = 200_000_000
_SECONDS = 60.0
_NOT_FOUND = 404


class StoreNotFound(Exception):
    """The store answers that there is nothing at a path."""


class HttpStore:
    """An existing store behind HTTP. Every request has a connection of its own."""

    def __init__(
        self, store: ExistingStore, headers: Mapping[str, str], *, allow_private: bool
    ) -> None:
        self.store = store
        self._address = checked_url(store.address).rstrip("/")
        self._headers = {"Accept": "application/json", **headers}
        self._allow_private = allow_private

    @property
    def place(self) -> str:
        """The name of the collection or index, as a piece of a path."""
        return quote(self.store.name, safe="")

    def get(self, path: str) -> Any:
        """Read a resource. Raises StoreNotFound, BlockedAddress, ProviderError."""
        return self._answer("GET", path, None)

    def search(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send a query in a body. Raises as ``get``."""
        return self._answer("POST", path, json.dumps(body).encode())

    def _answer(self, method: str, path: str, content: bytes | None) -> Any:
        headers = dict(self._headers)
        if content is not None:
            headers["Content-Type"] = "application/json"
        with (
            self._translated(),
            checked_client(
                headers,
                allow_private=self._allow_private,
                deadline=time.monotonic() + _SECONDS,
                timeout=_SECONDS,
            ) as client,
            client.stream(method, self._address + path, content=content) as response,
        ):
            return self._content(response)

    def _content(self, response: httpx.Response) -> Any:
        store, status = self.store, response.status_code
        if status == _NOT_FOUND:
            raise StoreNotFound
        try:
            body = body_of(response, MOST_BYTES)
        except TooLarge as error:
            raise ProviderMisbehaved(
                f"An answer of the {store.label} is larger than {MOST_BYTES / 1e6:.0f} MB.",
                "Its rows are too large to be read here.",
            ) from error
        if status in (401, 403):
            raise ProviderRejected(
                f"The {store.label} does not let its rows be read (status {status}{_why(body)}).",
                "Name the environment variable of a key that may read, and check its value.",
            )
        if not response.is_success:
            message = f"The {store.label} answers with status {status}{_why(body)}."
            if status >= 500 or status == 429:
                raise ProviderUnavailable(message, "Try again later.")
            raise ProviderRejected(message, "Check the address, and that its kind is right.")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ProviderMisbehaved(
                f"The {store.label} did not answer with JSON.", "Check its address."
            ) from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except failures() as error:
            raise ProviderUnavailable(
                f"The {self.store.label} cannot be reached ({type(error).__name__}).",
                "Check its address, and whether it runs. Nothing was imported.",
            ) from error


def malformed(store: ExistingStore) -> ProviderMisbehaved:
    """The error for an answer of another form."""
    return ProviderMisbehaved(
        f"The answer of the {store.label} has another form than {store.kind} gives.",
        "Check the address, and that its kind is right.",
    )


def _why(body: bytes) -> str:
    """The reason that an answer states, after a comma."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error: Any = answer.get("error", answer.get("status")) if isinstance(answer, dict) else None
    if isinstance(error, dict):
        error = error.get("reason", error.get("error"))
    return f", {storable(error)[:200].rstrip(' .')}" if isinstance(error, str) else ""
