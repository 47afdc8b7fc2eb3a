"""Clients of the packages that speak to providers: one for each endpoint, closed together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar, cast

from rag.providers.endpoint import Endpoint


class Client(Protocol):
    """A client with open connections to a server."""

    def close(self) -> None:
        """Ends them."""


Made = TypeVar("Made", bound=Client)


class Clients:
    """Made when first needed and shared by all models of an endpoint. Safe to share."""

    def __init__(self) -> None:
        self._made: dict[Endpoint, Client] = {}
        self._lock = threading.Lock()

    def of(self, endpoint: Endpoint, make: Callable[[Endpoint], Made]) -> Made:
        """The client of an endpoint; ``make`` is the same for all calls with that endpoint."""
        with self._lock:
            if endpoint not in self._made:
                self._made[endpoint] = make(endpoint)
            return cast("Made", self._made[endpoint])

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            for client in self._made.values():
                client.close()
            self._made.clear()
