"""Bodies of OTLP requests as plain data."""

from __future__ import annotations

import importlib.util
import json
import zlib
from collections.abc import Mapping
from typing import Any

from rag.errors import InvalidInput
from rag.evaluation.formats.fields import json_value
from rag.systems.traces import TraceFilter
from rag.tracing.sizes import check_json

PROTOBUF = "application/x-protobuf"
_MOST_MEMBERS = 100  # of a body: each copies what is left of it
_HINT = "Send an OTLP trace export request, as JSON or protobuf."


def reads_protobuf() -> bool:
    """Whether the package that reads protobuf is installed: ``requirements-otel.txt``."""
    return importlib.util.find_spec("opentelemetry.proto") is not None


def unpacked_body(body: bytes, most: int) -> bytes:
    """Unpack a body compressed by gzip. Raises InvalidInput beyond ``most`` bytes."""
    content, rest = bytearray(), body
    for _ in range(_MOST_MEMBERS):
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            content += stream.decompress(rest, most + 1 - len(content))
        except zlib.error as error:
            raise InvalidInput("The body is not gzip.", _HINT) from error
        if len(content) > most:
            raise InvalidInput(
                f"The body unpacks to more than {most:,} bytes.", "Send fewer spans."
            )
        if not stream.eof:
            raise InvalidInput("The body of gzip ends early.", "Send it again, as a whole.")
        rest = stream.unused_data
        if not rest:
            return bytes(content)
    raise InvalidInput(
        f"The body of gzip has more than {_MOST_MEMBERS} members.", "Compress it as one."
    )


def export_request(
    body: bytes, media_type: str, passes: TraceFilter = lambda _trace: True
) -> Mapping[str, Any]:
    """Read an export request in the form of its JSON.

    Of protobuf, spans of traces that don't pass are left empty. Raises InvalidInput, also where the
    package that reads protobuf isn't installed.
    """
    check_json(body)  # of protobuf too: texts of a span are JSON
    if media_type == PROTOBUF:
        if not reads_protobuf():
            raise InvalidInput(
                "This server reads OTLP as JSON only.",
                "Set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, or run: "
                "pip install -r requirements-otel.txt.",
            )
        from rag.tracing.export import request_of_protobuf

        return request_of_protobuf(body, passes)
    try:
        request = json_value(body)
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The body is not JSON: {error}.", _HINT) from error
    if not isinstance(request, dict):
        raise InvalidInput("The body is not a JSON object.", _HINT)
    return request


def export_response(media_type: str, rejected: int, message: str) -> bytes:
    """The body of an export response, in the encoding of its request.

    ``rejected`` counts the spans that aren't stored, and ``message`` says why; 0 and "" for a
    request without any.
    """
    if media_type == PROTOBUF:
        from rag.tracing.export import response_in_protobuf

        return response_in_protobuf(rejected, message)
    partial = {"rejectedSpans": str(rejected), "errorMessage": message}
    return json.dumps({"partialSuccess": partial} if rejected or message else {}).encode()
