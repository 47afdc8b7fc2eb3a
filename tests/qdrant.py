"""Qdrant in this process: its client's local mode, which is made for one thread at a time."""

from collections.abc import Callable
from threading import Lock
from typing import Any, cast

from qdrant_client import QdrantClient


class _OneAtATime:
    def __init__(self) -> None:
        self._client, self._lock = QdrantClient(":memory:"), Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*args: Any, **named: Any) -> Any:
            with self._lock:
                return method(*args, **named)

        return call


def local_qdrant() -> QdrantClient:
    """An empty Qdrant."""
    return cast(QdrantClient, _OneAtATime())
