"""Bodies of OTLP requests as plain data."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Mapping
from typing import Any

from rag.errors import InvalidInput
from rag.evaluation.formats.fields import json_value

PROTOBUF = "application/x-protobuf"
_HINT = "Send an OTLP trace export request, as JSON or protobuf."


def reads_protobuf() -> bool:
    """Whether the package that reads protobuf is installed: ``requirements-otel.txt``."""
    return importlib.util.find_spec("opentelemetry.proto") is not None


def unpacked(body: bytes, most: int) -> bytes:
    """Unpack a body compressed by gzip. Raises InvalidInput beyond ``most`` bytes."""
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = stream.decompress(body, most + 1)
    except zlib.error as error:
        raise InvalidInput("The body is not gzip.", _HINT) from error
    if len(content) > most:
        raise InvalidInput(f"The body unpacks to more than {most:,} bytes.", "Send fewer spans.")
    return content


def request_of(body: bytes, media_type: str) -> Mapping[str, Any]:
    """Read an export request in the form of its JSON. Raises InvalidInput."""
    if media_type == PROTOBUF:
        from rag.tracing.export import request_of_protobuf

        return request_of_protobuf(body)
    try:
        request = json_value(body)
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The body is not JSON: {error}.", _HINT) from error
    if not isinstance(request, dict):
        raise InvalidInput("The body is not a JSON object.", _HINT)
    return request
