"""Live traffic of other systems: receive traces over OTLP, list what they asked, measure it."""

from __future__ import annotations

from typing import Annotated

from fastapi import HTTPException, Query, Request, Response
from pydantic import ConfigDict, Field
from starlette.requests import ClientDisconnect

from rag import (
    KnowledgeBase,
    MeasuredData,
    Schema,
    ScopedWorkspace,
    TrafficQuestionData,
    TrafficSystemData,
    export_request,
    export_response,
    received_spans,
    trace_filter,
    unpacked_body,
)
from rag.api.resource import Base, Body, Page, Part, Resource, Shared, needs
from rag.api.resources.question_sets import set_called
from rag.api.threads import SPANS, dear, in_thread

LARGEST_REQUEST = 8 << 20
"""Bytes of a request with spans, also unpacked."""
_MOST_WAITING = 16  # requests

_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_SYSTEM = {
    "name": "assistant",
    "retrievals": 128,
    "requests": 100,
    "questions": 64,
    "first": "2026-01-02T03:04:05+00:00",
    "last": "2026-01-03T03:04:05+00:00",
    "multi_hop": 20,
    "mean_hops": 2.4,
    "redundant_calls": 3,
    "has_text": True,
}
_QUESTION = {
    "text": "How long may unused leave be carried over?",
    "requests": 3,
    "retrievals": 4,
    "results": 10,
    "last": "2026-01-03T03:04:05+00:00",
}
_RUN = {
    "run": "8c1f",
    "recipe": None,
    "system": {
        "kind": "traces",
        "name": "assistant",
        "version": 0,
        "hash": "5b0d…",
        "located": {"exact": 9, "foreign": 1},
        "errors": {},
        "hops": {},
    },
    "set": "policies",
    "questions": 1,
    "metrics": {"ndcg@10": 0.63},
}

otlp = Resource("traffic")
"""The address of exporters, whose requests are larger than others."""
traffic = Resource("traffic")

System = Annotated[str, Query(description="the name of a service, `service.name`", max_length=200)]


class PartialSuccessData(Schema):
    """The spans that are not stored, and the reason; left out if all are."""

    rejected_spans: str = Field(serialization_alias="rejectedSpans")
    error_message: str = Field(serialization_alias="errorMessage")


class TrafficSet(Body):
    """A system, and a question set."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"system": "assistant", "set": "x"}]})

    system: str = Field(max_length=200)
    set: str = Field(max_length=200)


class AddedQuestionsData(Schema):
    """The number of questions that a set did not have."""

    set: str
    added: int


@otlp.post(
    "/knowledge-bases/{kb}/otlp/v1/traces",
    **needs(
        "traces",
        *(400, 404, 413, 415),
        response_model=dict[str, PartialSuccessData],
        example={"partialSuccess": {"rejectedSpans": "1", "errorMessage": "1 without texts"}},
    ),
)
async def receive_traces(request: Request, workspace: Shared, base: Base) -> Response:
    """Receive spans as an OTLP collector does: an `ExportTraceServiceRequest`, as protobuf or JSON.

    Spans of retrievals are stored, others are ignored.
    """
    headers = request.headers
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if media_type not in (_JSON, _PROTOBUF) or encoding not in ("gzip", "identity", ""):
        raise HTTPException(415, f"Send {_PROTOBUF} or {_JSON}, plain or compressed by gzip.")
    if SPANS.statistics().tasks_waiting >= _MOST_WAITING:  # their bodies are in memory
        raise HTTPException(429, "Too many requests with spans wait.", {"Retry-After": "5"})
    try:
        body = await request.body()
    except ClientDisconnect as error:  # an exporter gives up after a few seconds
        raise HTTPException(400, "The body ended early.") from error
    content = await in_thread(_received, SPANS)(workspace, base, body, media_type, encoding)
    return Response(content, media_type=media_type)


def _received(
    workspace: ScopedWorkspace, base: KnowledgeBase, body: bytes, media_type: str, encoding: str
) -> bytes:
    remaining = base.traffic.remaining()
    if not remaining:  # reading spans would cost as much as storing them
        return export_response(media_type, 0, "The budget of today is spent. Nothing was stored.")
    passes = trace_filter(workspace.settings.traffic_share)
    content = unpacked_body(body, LARGEST_REQUEST) if encoding == "gzip" else body
    reception = base.traffic.receive(
        received_spans(export_request(content, media_type, passes), remaining, passes)
    )
    rejected = reception.rejected + reception.over_budget
    return export_response(media_type, rejected, reception.message)


@traffic.get(
    "/knowledge-bases/{kb}/traffic",
    **needs("read", 404, example={"items": [_SYSTEM], "total": 1, "next": None}),
)
def list_traffic(request: Request, base: Base, part: Part) -> Page[TrafficSystemData]:
    """List the systems that sent traces, by name."""
    return part.of(request, base.traffic.list_all(), TrafficSystemData.of)


@traffic.get(
    "/knowledge-bases/{kb}/traffic/questions",
    **needs("label", 404, example={"items": [_QUESTION], "total": 1, "next": None}),
)
def list_traffic_questions(
    request: Request, base: Base, part: Part, system: System
) -> Page[TrafficQuestionData]:
    """List the questions of a system, the newest first."""
    return part.of(request, base.traffic.questions(system), TrafficQuestionData.of)


@traffic.post(
    "/knowledge-bases/{kb}/traffic/questions",
    **needs("label", 400, 404, 415, example={"set": "live", "added": 12}),
)
def collect_traffic_questions(base: Base, body: TrafficSet) -> AddedQuestionsData:
    """Add the questions of a system to a set, which is created if there is none."""
    return AddedQuestionsData(set=body.set, added=base.traffic.collect(body.system, body.set))


@traffic.post(
    "/knowledge-bases/{kb}/traffic/evaluations",
    **needs("write", 400, 404, 415, example=_RUN),
)
@dear
def evaluate_traffic(base: Base, body: TrafficSet) -> MeasuredData:
    """Measure the traffic of a system by the labels of a set, and store the run."""
    name = set_called(base, body.set).name
    return MeasuredData.of(base.traffic.evaluate(name, body.system).evaluation.run)


@traffic.delete("/knowledge-bases/{kb}/traffic", **needs("write", 404, status_code=204))
def delete_traffic(base: Base, system: System) -> Response:
    """Delete the traffic of a system. Its runs stay."""
    base.traffic.remove(system)
    return Response(status_code=204)
