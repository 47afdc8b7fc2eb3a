"""Server-sent events: what happens, as it happens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies pass each on at once
STREAM: dict[str, Any] = {
    "description": "Server-sent events, each with JSON as its data.",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "description": "an event; its data is JSON",
                "properties": {name: {"type": "string"} for name in ("event", "data", "id")},
            }
        }
    },
}
"""The response of an address that streams events, in the OpenAPI document."""
ALIVE = b": waiting\n\n"
"""A comment: keeps a connection open on which nothing happens."""


def event(name: str, data: Any, number: int | None = None) -> bytes:
    """One event, with JSON as its data."""
    identity = None if number is None else str(number)
    return format_sse_event(data_str=json.dumps(data), event=name, id=identity)


def streamed(events: AsyncIterator[bytes]) -> StreamingResponse:
    """An answer that goes on until the events end, or the client leaves."""
    return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)
