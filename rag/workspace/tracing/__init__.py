"""Traces of requests, for a collector: OpenTelemetry over HTTP, as an extra.

Spans carry the names of OpenInference and those of OpenTelemetry's conventions for generative AI.
"""

from __future__ import annotations

import atexit
import threading
from typing import TYPE_CHECKING

from rag import telemetry
from rag.errors import MissingDependency
from rag.settings import Settings

if TYPE_CHECKING:
    from rag.workspace.tracing.export import Tracer

_tracer: Tracer | None = None
_guard = threading.Lock()


def start(settings: Settings) -> None:
    """Follow all work of this process from now on, where the settings say so; once is enough.

    Raises MissingDependency.
    """
    global _tracer
    with _guard:
        if _tracer is None and settings.traces:
            _tracer = _made(settings)
            telemetry.follow(_tracer)
            atexit.register(stop)


def stop() -> None:
    """Follow nothing any more, and send what is left, for as long as ``LONGEST_END``."""
    global _tracer
    with _guard:
        if _tracer is not None:
            telemetry.follow(None)
            _tracer.close()
            _tracer = None


def _made(settings: Settings) -> Tracer:
    try:
        from rag.workspace.tracing.export import Tracer
    except ImportError as error:
        raise MissingDependency(
            f"Traces need the package {error.name}, which is not installed.",
            "Run: pip install -r requirements-otel.txt, or unset OTEL_EXPORTER_OTLP_ENDPOINT.",
        ) from error
    from rag.workspace.tracing.attributes import Content

    return Tracer(Content(settings.trace_inputs, settings.trace_outputs))
