"""The number of parts of a request, counted before any of them becomes an object."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rag.errors import InvalidInput

MOST_PARTS = 750_000
"""Fields of protobuf, or objects and arrays of JSON, that are read of a request."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # how the value of a field is written
_LONGEST_VARINT = 10


def check_json(body: bytes) -> None:
    """Refuse a text that can have too many objects and arrays. Raises InvalidInput."""
    if body.count(b"{") + body.count(b"[") > MOST_PARTS:
        raise _too_many()


def check_protobuf(body: bytes, descriptor: Any) -> None:
    """Refuse a message that has too many fields, those of its messages too.

    ``descriptor`` describes the type of the message. Raises ValueError for other bytes, and
    InvalidInput.
    """
    fields = 0
    rest = [(0, len(body), descriptor)]
    while rest:
        at, end, described = rest.pop()
        inner = _messages(described)
        while at < end:
            fields += 1
            if fields > MOST_PARTS:
                raise _too_many()
            tag, at = _varint(body, at)
            written = tag & 7
            if written == _VARINT:
                _, at = _varint(body, at)
            elif written == _BYTES:
                length, at = _varint(body, at)
                if tag >> 3 in inner:
                    rest.append((at, at + length, inner[tag >> 3]))
                at += length
            elif written in (_FIXED64, _FIXED32):
                at += 8 if written == _FIXED64 else 4
            else:
                raise ValueError("A field is written in no usual way.")
            if at > end:
                raise ValueError("A field ends after its message.")


@cache
def _messages(descriptor: Any) -> Mapping[int, Any]:
    """Return the types of the fields that are messages, by number."""
    return {field.number: field.message_type for field in descriptor.fields if field.message_type}


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it. Raises ValueError."""
    value = 0
    for place, byte in enumerate(body[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("A number has no end.")


def _too_many() -> InvalidInput:
    return InvalidInput(
        f"The body has more than {MOST_PARTS:,} objects or fields.", "Send fewer spans at a time."
    )
