"""Spans of OpenTelemetry as retrievals, by the conventions of OpenInference and of GenAI.

Sources: OpenInference's semantic conventions, https://github.com/Arize-ai/openinference, and those
of OpenTelemetry for generative AI, https://github.com/open-telemetry/semantic-conventions-genai.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.errors import InvalidFile, InvalidInput
from rag.systems.formats import shapes
from rag.systems.formats.tables import Row
from rag.systems.returned import Returned

_DOCUMENT = re.compile(r"retrieval\.documents\.(\d{1,4})\.(document\.[a-z_.]{1,100})")
_DEEPEST = 16  # values within values
_LONGEST_SERVICE = 200
_HINT = "Send the JSON or protobuf of an OTLP trace export request."


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """A retrieval of a service. ``started`` counts nanoseconds since 1970; 0 where not stated."""

    service: str
    started: int
    retrieval: Returned


@dataclass(frozen=True, slots=True)
class ReceivedSpans:
    """The retrievals of a request, and the number of its spans that have no question or texts."""

    spans: tuple[ReceivedSpan, ...]
    rejected: int


def received_spans(request: Mapping[str, Any], most: int = 10_000) -> ReceivedSpans:
    """Read the retrievals among the spans of an OTLP export request, in the form of its JSON.

    Spans of other kinds are ignored; so are those after the first ``most``. Raises InvalidInput for
    another shape.
    """
    spans, rejected = list[ReceivedSpan](), 0
    for number, (service, span) in enumerate(_spans(request)):
        if number >= most:
            break
        attributes = _attributes(span.get("attributes"))
        try:
            retrieval = _retrieval(span, attributes)
        except InvalidFile:
            rejected += 1
            continue
        if retrieval is not None:
            spans.append(ReceivedSpan(service, _nanoseconds(span), retrieval))
    return ReceivedSpans(tuple(spans), rejected)


def _spans(request: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Generate the spans of a request, with the name of their service."""
    for resource in _objects(request, "resourceSpans"):
        described = resource.get("resource")
        attributes = _attributes(
            described.get("attributes") if isinstance(described, Mapping) else None
        )
        service = str(attributes.get("service.name") or "unknown_service")[:_LONGEST_SERVICE]
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
    user = attributes.get("user.id")
    return shapes.retrieval(
        Row("A span", {}),
        question,
        documents,
        trace=str(span.get("traceId", ""))[:64],
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
    return int(text) if text.isdecimal() and len(text) <= 19 else 0
