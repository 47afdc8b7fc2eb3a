"""Spans of OpenTelemetry are read as retrievals."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf.internal.encoder import _VarintBytes
from google.protobuf.json_format import ParseDict
from openinference.semconv.trace import DocumentAttributes, SpanAttributes
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rag.errors import InvalidInput
from rag.systems.returned import Returned, ReturnedText
from rag.systems.traces import ReceivedSpan, received_spans
from rag.tracing.received import PROTOBUF, export_request, unpacked_body

PREFIX = f"{SpanAttributes.RETRIEVAL_DOCUMENTS}"
OPENINFERENCE: Mapping[str, Any] = {
    SpanAttributes.OPENINFERENCE_SPAN_KIND: "RETRIEVER",
    SpanAttributes.INPUT_VALUE: "Why?",
    SpanAttributes.USER_ID: "ann",
    f"{PREFIX}.10.{DocumentAttributes.DOCUMENT_CONTENT}": "third",
    f"{PREFIX}.10.{DocumentAttributes.DOCUMENT_NAME}": "c.pdf",
    f"{PREFIX}.0.{DocumentAttributes.DOCUMENT_CONTENT}": "first",
    f"{PREFIX}.0.{DocumentAttributes.DOCUMENT_ID}": "d1",
    f"{PREFIX}.0.{DocumentAttributes.DOCUMENT_SCORE}": 0.5,
    f"{PREFIX}.2.{DocumentAttributes.DOCUMENT_CONTENT}": "second",
    f"{PREFIX}.2.{DocumentAttributes.DOCUMENT_METADATA}": '{"source": "b.pdf"}',
}
GENAI: Mapping[str, Any] = {
    "gen_ai.operation.name": "retrieval",
    "gen_ai.retrieval.query.text": "Why?",
    "gen_ai.retrieval.documents": '[{"id": "d1", "score": 0.5, "content": "first"}]',
}
TRACE = "0123456789abcdef0123456789abcdef"
SPAN = "0123456789abcdef"


def value(plain: Any) -> dict[str, Any]:
    return {"doubleValue": plain} if isinstance(plain, float) else {"stringValue": plain}


def request(*spans: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of an export request of the service "shop"."""
    service = [{"key": "service.name", "value": {"stringValue": "shop"}}]
    rows = [
        {
            "traceId": TRACE,
            "spanId": SPAN,
            "parentSpanId": SPAN,
            "startTimeUnixNano": "1700000000000000007",
            "attributes": [{"key": key, "value": value(plain)} for key, plain in span.items()],
        }
        for span in spans
    ]
    scope = {"scope": {"name": "retriever"}, "spans": rows}
    return {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [scope]}]}


def test_a_span_of_openinference_has_its_documents_in_order() -> None:
    (span,) = received_spans(request(OPENINFERENCE)).spans
    texts = (
        ReturnedText("first", 0.5, "d1"),
        ReturnedText("second", title="b.pdf", metadata={"source": "b.pdf"}),
        ReturnedText("third", title="c.pdf"),
    )
    retrieval = Returned("Why?", texts, user="ann", trace=TRACE)
    assert span == ReceivedSpan("shop", SPAN, 1_700_000_000_000_000_007, retrieval)


def test_a_span_of_genai_may_state_documents_as_text_or_as_a_structure() -> None:
    structured = request(GENAI)
    (attributes,) = structured["resourceSpans"][0]["scopeSpans"][0]["spans"]
    document = {
        "kvlistValue": {
            "values": [
                {"key": "id", "value": {"stringValue": "d1"}},
                {"key": "score", "value": {"doubleValue": 0.5}},
                {"key": "content", "value": {"stringValue": "first"}},
            ]
        }
    }
    attributes["attributes"][2]["value"] = {"arrayValue": {"values": [document]}}
    for sent in (request(GENAI), structured):
        (span,) = received_spans(sent).spans
        assert span.retrieval.texts == (ReturnedText("first", 0.5, "d1"),)


def test_other_spans_are_ignored_and_those_without_a_question_counted() -> None:
    llm = {SpanAttributes.OPENINFERENCE_SPAN_KIND: "LLM", SpanAttributes.INPUT_VALUE: "Why?"}
    kind = {SpanAttributes.OPENINFERENCE_SPAN_KIND: "RETRIEVER"}
    mute = {name: value for name, value in OPENINFERENCE.items() if "input" not in name}
    received = received_spans(request(llm, kind, mute, OPENINFERENCE, GENAI), most=1)
    assert (len(received.spans), received.rejected, received.left_out) == (1, 1, 1)


def test_protobuf_and_json_are_read_alike() -> None:
    sent = request(OPENINFERENCE, GENAI)
    encoded = json.loads(json.dumps(sent))
    for span in encoded["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        del span["traceId"], span["spanId"], span["parentSpanId"]
    message = ParseDict(encoded, ExportTraceServiceRequest())
    for span in message.resource_spans[0].scope_spans[0].spans:
        span.trace_id = bytes.fromhex(TRACE)
        span.span_id = span.parent_span_id = bytes.fromhex(SPAN)
    from_json = received_spans(export_request(json.dumps(sent).encode(), "application/json"))
    from_protobuf = received_spans(export_request(message.SerializeToString(), PROTOBUF))
    assert from_protobuf == from_json
    assert len(from_json.spans) == 2


@pytest.mark.parametrize(
    ("body", "media_type", "message"),
    [
        (b"{", "application/json", "not JSON"),
        (b"\xff", "application/json", "not JSON"),
        (b"[" * 100_000, "application/json", "nested too deep"),
        (b"[]", "application/json", "not a JSON object"),
        (b"\xff\xff\xff", PROTOBUF, "not protobuf"),
    ],
)
def test_bad_bodies_have_an_error_with_a_hint(body: bytes, media_type: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as raised:
        export_request(body, media_type)
    assert raised.value.hint


@pytest.mark.parametrize(
    "sent",
    [
        {"resourceSpans": 7},
        {"resourceSpans": [7]},
        {"resourceSpans": [{"scopeSpans": {}}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]},
    ],
)
def test_requests_of_another_shape_are_refused(sent: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="is not a list of objects"):
        received_spans(sent)


def test_attributes_of_odd_shapes_are_left_out() -> None:
    deep: dict[str, Any] = {"stringValue": "x"}
    for _ in range(100):
        deep = {"arrayValue": {"values": [deep]}}
    odd = request(OPENINFERENCE)
    attributes = odd["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"]
    attributes += [7, {"key": "a"}, {"key": "b", "value": {"arrayValue": 7}}, {"value": 7}]
    attributes += [{"key": "c", "value": deep}, {"key": "d", "value": {"kvlistValue": None}}]
    assert len(received_spans(odd).spans) == 1


def test_a_share_of_retrievals_is_read_whatever_else_starts_a_trace() -> None:
    check = request({SpanAttributes.INPUT_VALUE: "healthy?"})["resourceSpans"][0]
    (top,) = check["scopeSpans"][0]["spans"]
    top["parentSpanId"] = ""
    check["scopeSpans"][0]["spans"] = [top] * 100
    sent = request(OPENINFERENCE, GENAI)
    sent["resourceSpans"].insert(0, check)
    received = received_spans(sent, most=1)
    assert sum(span.retrieves for span in received.spans) == 1
    assert received.left_out == 1


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b'{"resourceSpans":[' + b"{}," * 800_000 + b"{}]}", "application/json"),
        (b"\x12\x00" * 800_000, "spans"),
        (b"\x4a\x00" * 800_000, "attributes of a span"),
        (b"\x0a\x00" * 800_000, "values of an attribute"),
        (b"\x0a\x00" * 800_000, PROTOBUF),
    ],
)
def test_many_small_parts_are_refused_before_they_are_read(body: bytes, media_type: str) -> None:
    paths = {
        "spans": (2, 1),
        "attributes of a span": (2, 2, 1),
        "values of an attribute": (5, 2, 9, 2, 2, 1),
    }
    for number in paths.get(media_type, ()):
        body = bytes([number << 3 | 2]) + _VarintBytes(len(body)) + body
    if media_type in paths:
        media_type = PROTOBUF
        assert ExportTraceServiceRequest.FromString(body)
    with pytest.raises(InvalidInput, match="more than 750,000 objects or fields"):
        export_request(body, media_type)


@pytest.mark.parametrize("body", [b"\x0a\x05\x0a", b"\x0a", b"\xff" * 20, b"\x0b", b"\x0d\x00"])
def test_protobuf_that_ends_early_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="not protobuf"):
        export_request(body, PROTOBUF)


def test_every_member_of_gzip_is_read() -> None:
    packed = gzip.compress(b"[1,") + gzip.compress(b"2]")
    assert unpacked_body(packed, 5) == b"[1,2]"
    with pytest.raises(InvalidInput, match="more than 4 bytes"):
        unpacked_body(packed, 4)
    with pytest.raises(InvalidInput, match="ends early"):
        unpacked_body(packed[:-1], 5)
    with pytest.raises(InvalidInput, match="ends early"):
        unpacked_body(b"", 5)
    with pytest.raises(InvalidInput, match="more than 100 members"):
        unpacked_body(gzip.compress(b"") * 101, 5)


def test_a_bomb_of_gzip_is_refused() -> None:
    assert unpacked_body(gzip.compress(b"{}"), 10) == b"{}"
    with pytest.raises(InvalidInput, match="unpacks to more than 1,000 bytes"):
        unpacked_body(gzip.compress(bytes(1_000_000)), 1000)
    with pytest.raises(InvalidInput, match="not gzip"):
        unpacked_body(b"{}", 10)
