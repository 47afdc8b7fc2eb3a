"""Spans of OpenTelemetry as retrievals, by the conventions of OpenInference and of GenAI.

Sources: OpenInference's semantic conventions, https://github.com/Arize-ai/openinference, and those
of OpenTelemetry for generative AI, https://github.com/open-telemetry/semantic-conventions-genai.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rag.errors import InvalidFile, InvalidInput
from rag.input_rules import storable
from rag.systems.formats import shapes
from rag.systems.formats.tables import Row
from rag.systems.returned import Returned

_DOCUMENT = re.compile(r"retrieval\.documents\.(\d{1,4})\.(document\.[a-z_.]{1,100})")
_TRACE, _SPAN = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")
_LATEST = (1 << 63) - 1
_DEEPEST = 16  # values within values
_LONGEST_SERVICE = 200
_HINT = "Send the JSON or protobuf of an OTLP trace export request."


RETRIEVALS: Mapping[str, str] = MappingProxyType(
    {"openinference.span.kind": "RETRIEVER", "gen_ai.operation.name": "retrieval"}
)
"""The attributes that mark a span as a retrieval."""
REQUEST = "input.value"
"""The attribute of a span without a parent that has the question of its trace."""

TraceFilter = Callable[[str], bool]
"""Whether the spans of a trace are read, by its id."""


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """A retrieval of a service, or the request above it, which retrieves nothing itself.

    ``started`` counts nanoseconds since 1970; 0 where not stated.
    """

    service: str
    id: str
    started: int
    retrieval: Returned
    retrieves: bool = True


@dataclass(frozen=True, slots=True)
class ReceivedSpans:
    """The retrievals of a request, and the number of its spans that have no question or texts.

    ``left_out`` counts retrievals beyond the number that was to be read. ``read`` counts the spans
    of the request, ignored ones too.
    """

    spans: tuple[ReceivedSpan, ...]
    rejected: int
    left_out: int = 0
    read: int = 0


def trace_filter(share: float) -> TraceFilter:
    """Return a filter that passes a share of all traces, the same ones each time.

    The id is hashed: exporters sample by the id itself, and their traces would all pass or none.
    """
    bound = int(share * (1 << 64))

    def passes(trace: str) -> bool:
        digest = hashlib.sha256(trace.lower().encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8]) < bound

    return passes


def received_spans(
    request: Mapping[str, Any], most: int = 10_000, passes: TraceFilter = lambda _trace: True
) -> ReceivedSpans:
    """Read the retrievals among the spans of an OTLP export request, in the form of its JSON.

    Spans of other kinds and of traces that don't pass are ignored. ``most`` counts retrievals: most
    spans at the top of a trace have none, and aren't stored. Raises InvalidInput for another shape.
    """
    spans, retrievals, rejected, read = list[ReceivedSpan](), 0, 0, 0
    for service, span in _spans(request):
        read += 1
        if not span or not passes(str(span.get("traceId", ""))):
            continue
        try:
            received = _received(service, span)
        except InvalidFile:
            rejected += 1
            continue
        if received is None:
            continue
        retrievals += received.retrieves
        if retrievals <= most or not received.retrieves:
            spans.append(received)
    return ReceivedSpans(tuple(spans), rejected, max(retrievals - most, 0), read)


def _received(service: str, span: Mapping[str, Any]) -> ReceivedSpan | None:
    """Read a retrieval, or the request at the top of a trace. Raises InvalidFile."""
    attributes = _attributes(span.get("attributes"))
    retrieval = _retrieval(span, attributes)
    retrieves = retrieval is not None
    if retrieval is None and not span.get("parentSpanId") and attributes.get(REQUEST):
        try:
            retrieval = _retrieved(span, attributes, attributes[REQUEST], None)
        except InvalidFile:  # what starts a trace may be anything
            return None
    if retrieval is None:
        return None
    name = str(span.get("spanId", "")).lower()
    if not (_TRACE.fullmatch(retrieval.trace) and _SPAN.fullmatch(name)):
        raise InvalidFile("A span has no valid ids.", _HINT)
    return ReceivedSpan(service, name, _nanoseconds(span), retrieval, retrieves)


def _spans(request: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Generate the spans of a request, with the name of their service."""
    for resource in _objects(request, "resourceSpans"):
        described = resource.get("resource")
        attributes = _attributes(
            described.get("attributes") if isinstance(described, Mapping) else None
        )
        name = storable(str(attributes.get("service.name") or "")[:_LONGEST_SERVICE]).strip()
        service = name or "unknown_service"
        for scope in _objects(resource, "scopeSpans"):
            for span in _objects(scope, "spans"):
                yield service, span


def _objects(parent: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    items = parent.get(name, [])
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise InvalidInput(f"“{name}” is not a list of objects.", _HINT)
    return items


def _attributes(items: Any) -> dict[str, Any]:
    """Return attributes by name; items of another shape are left out."""
    return {
        str(item["key"]): _value(item.get("value"))
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, Mapping) and "key" in item
    }


def _value(value: Any, depth: int = 0) -> Any:
    """Return the plain value of an AnyValue."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return None
    for name in ("stringValue", "doubleValue", "boolValue", "intValue"):
        if name in value:
            return value[name]
    for name in ("arrayValue", "kvlistValue"):
        inner = value.get(name)
        items = inner.get("values", []) if isinstance(inner, Mapping) else []
        items = items if isinstance(items, list) else []
        if name == "arrayValue" and name in value:
            return [_value(item, depth + 1) for item in items]
        if name in value:
            return {
                str(item.get("key")): _value(item.get("value"), depth + 1)
                for item in items
                if isinstance(item, Mapping)
            }
    return None


def _retrieval(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Returned | None:
    documents: Any
    if attributes.get("openinference.span.kind") == "RETRIEVER":
        question, documents = attributes.get("input.value"), _flattened(attributes)
    elif attributes.get("gen_ai.operation.name") == "retrieval":
        question = attributes.get("gen_ai.retrieval.query.text")
        documents = attributes.get("gen_ai.retrieval.documents")
    else:
        return None
    if not documents and not shapes.question_of(question):
        return None  # a step within a retrieval: LlamaIndex marks those of its retrievers too
    return _retrieved(span, attributes, question, documents)


def _retrieved(
    span: Mapping[str, Any], attributes: Mapping[str, Any], question: Any, documents: Any
) -> Returned:
    user = attributes.get("user.id")
    return shapes.retrieval(
        Row("A span", {}),
        question,
        documents,
        trace=str(span.get("traceId", ""))[:64].lower(),
        user=user[:_LONGEST_SERVICE] if isinstance(user, str) else "",
    )


def _flattened(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the documents of ``retrieval.documents.N.document.*`` in the order of N."""
    documents: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if match := _DOCUMENT.fullmatch(name):
            documents.setdefault(int(match[1]), {})[match[2]] = value
    return [documents[place] for place in sorted(documents)]


def _nanoseconds(span: Mapping[str, Any]) -> int:
    """Return when a span began; JSON writes 64 bits as text."""
    text = str(span.get("startTimeUnixNano", ""))
    return min(int(text), _LATEST) if text.isdecimal() and len(text) <= 19 else 0
