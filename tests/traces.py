"""Spans that are kept in memory, as a tree."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rag import telemetry
from rag.workspace.tracing.attributes import Content
from rag.workspace.tracing.export import Tracer

Tree = list[tuple[str, "Tree"]]
EVERYTHING = Content(inputs=True, outputs=True)


class Spans:
    """All spans that ended so far."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()

    def list_all(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def tree(self, parent: ReadableSpan | None = None) -> Tree:
        """Names of spans with what is below them, in the order in which they began."""
        wanted = parent.context.span_id if parent else None
        found = [
            span
            for span in self.list_all()
            if (span.parent.span_id if span.parent else None) == wanted
        ]
        found.sort(key=lambda span: span.start_time or 0)
        return [(span.name, self.tree(span)) for span in found]

    def named(self, name: str) -> ReadableSpan:
        (found,) = (span for span in self.list_all() if span.name == name)
        return found

    def attributes(self, name: str) -> dict[str, Any]:
        return dict(self.named(name).attributes or {})


@contextmanager
def traced(content: Content = Content()) -> Iterator[Spans]:  # noqa: B008, a value
    """Keeps the spans of what is done in the block."""
    spans = Spans()
    telemetry.follow(Tracer(content, SimpleSpanProcessor(spans.exporter)))
    try:
        yield spans
    finally:
        telemetry.follow(None)
