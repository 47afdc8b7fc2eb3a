"""Spans of OpenTelemetry, sent by OTLP over HTTP. The only module that knows it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rag.telemetry import Span
from rag.types import Answer, Stage
from rag.workspace.tracing import attributes as names
from rag.workspace.tracing.attributes import STEPS, Content, of_event, of_span, of_step

LONGEST_END = 3.0
"""Seconds that the end of a process waits for a collector to take what is left."""
_MOST_ATTRIBUTES = 1024  # of a span: passages take up to four each
_KINDS = {
    "request": SpanKind.SERVER,
    **dict.fromkeys(("chat", "embeddings", "rerank", "tool"), SpanKind.CLIENT),
}


@dataclass(slots=True)
class _Kept:
    """A span of OpenTelemetry, and the steps of a search: when each ended, in nanoseconds."""

    span: trace.Span
    steps: list[tuple[int, Stage]] = field(default_factory=list)


class Tracer:
    """A tracer that makes a span of OpenTelemetry of each span of ours.

    What the standard variables say holds: of the resource, the sampler, the queue, the exporter.
    Spans wait in a bounded queue and are sent by a thread of their own; those that find it full,
    or that no collector takes, are lost.
    """

    def __init__(self, content: Content, processor: SpanProcessor | None = None) -> None:
        self._content = content
        limits = SpanLimits(max_span_attributes=_MOST_ATTRIBUTES)
        self._provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
        self._provider.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("touchstone")

    def began(self, span: Span) -> None:
        """Begin a span, as a part of its parent's or of what the caller told."""
        above = TraceContextTextMapPropagator().extract({"traceparent": span.caller})
        if span.parent is not None and span.parent.kept is not None:
            above = trace.set_span_in_context(span.parent.kept.span)
        kind = _KINDS.get(span.kind, SpanKind.INTERNAL)
        otel_span = self._tracer.start_span(span.kind, context=above, kind=kind)
        span.kept = _Kept(otel_span)
        span.trace_id = trace.format_trace_id(otel_span.get_span_context().trace_id)

    def passed(self, span: Span, _seconds: float, about: object) -> None:
        """Keep a step of a search until that ends: only then is known what came of it."""
        if span.kind == "search" and isinstance(about, Stage):
            span.kept.steps.append((time.time_ns(), about))

    def ended(self, span: Span) -> None:
        """End a span, with its steps, and tell what came of it."""
        otel_span: trace.Span = span.kept.span
        if not otel_span.is_recording():
            otel_span.end()
            return
        name, attributes = of_span(span, self._content)
        otel_span.update_name(name)
        otel_span.set_attributes(attributes)
        for end, stage in span.kept.steps:
            self._step(span, stage, end)
        if error := _problem(span):
            otel_span.set_attribute(names.ERROR_TYPE, error)
            otel_span.set_status(Status(StatusCode.ERROR, self._described(span)))
        otel_span.end()

    def close(self) -> None:
        """Send what is left, as far as that takes no longer than ``LONGEST_END``."""
        end = threading.Thread(target=self._provider.shutdown, daemon=True)
        end.start()
        end.join(LONGEST_END)

    def _step(self, search: Span, stage: Stage, end: int) -> None:
        otel_span = search.kept.span
        if stage.name not in STEPS:
            otel_span.add_event(stage.name, of_event(stage, self._content), end)
            return
        name, attributes = of_step(stage, search, self._content)
        step = self._tracer.start_span(
            name,
            context=trace.set_span_in_context(otel_span),
            attributes=attributes,
            start_time=end - int(stage.seconds * 1e9),
        )
        if stage.failed:
            step.set_status(Status(StatusCode.ERROR))
        step.end(end)

    def _described(self, span: Span) -> str | None:
        """Return a span's error message if text, which it can quote, is exported in full."""
        if not (self._content.inputs and self._content.outputs):
            return None
        note = span.about.note if isinstance(span.about, Answer) else ""
        return str(span.error) if span.error is not None else note or None


def _problem(span: Span) -> str:
    """Return the type of a span's error, as a name of low cardinality, or ""."""
    if isinstance(span.error, Exception):
        return type(span.error).__name__
    if isinstance(span.about, Answer) and span.about.status == "failed":
        return "failed"
    if span.kind == "job" and span.labels.get("status") == "failed":
        return "failed"
    status = str(span.labels.get("status", "")) if span.kind == "request" else ""
    return status if status.startswith("5") else ""
