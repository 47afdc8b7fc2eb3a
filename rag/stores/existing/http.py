"""Requests to existing stores over HTTP. Only requests that read are sent."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rag.errors import ProviderMisbehaved, ProviderRejected, ProviderUnavailable
from rag.input_rules import storable
from rag.network.requests import TooLarge, body_of, checked_client, checked_url
from rag.stores.existing.definition import ExistingStore

if TYPE_CHECKING:
    import httpx

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
        import httpcore
        import httpx

        try:
            yield
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            httpx.StreamError,
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
        ) as error:
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
