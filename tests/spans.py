"""Export requests of OTLP in the form of its JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def attribute(key: str, value: str | float) -> dict[str, Any]:
    kind = "stringValue" if isinstance(value, str) else "doubleValue"
    return {"key": key, "value": {kind: value}}


def span(
    trace: int, number: int, question: str, texts: Sequence[str] | None, started: int = 1
) -> dict[str, Any]:
    """A retrieval below another span, or with texts None the request at the top of a trace."""
    attributes = [attribute("input.value", question)]
    if texts is not None:
        attributes.append(attribute("openinference.span.kind", "RETRIEVER"))
        for place, text in enumerate(texts):
            name = f"retrieval.documents.{place}.document"
            attributes += [attribute(f"{name}.content", text), attribute(f"{name}.score", 0.5)]
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": "" if texts is None else f"{trace:016x}",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + started),
        "attributes": attributes,
    }


def request(*spans: Mapping[str, Any], service: str = "shop") -> dict[str, Any]:
    resource = {"attributes": [attribute("service.name", service)]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def encoded(spans: Mapping[str, Any], media_type: str) -> bytes:
    """The body of a request of spans, in JSON or protobuf."""
    if media_type == "application/json":
        return json.dumps(spans).encode()
    copied = json.loads(json.dumps(spans))
    for resource in copied["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for item in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    item[name] = b64encode(bytes.fromhex(item[name])).decode()
    body: bytes = ParseDict(copied, ExportTraceServiceRequest()).SerializeToString()
    return body
