"""Figures for Prometheus, at ``/prometheus``: ``/metrics`` is a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from anyio import to_thread
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import Request
from starlette.responses import Response

from rag import TouchstoneError, Work, watch_work

if TYPE_CHECKING:
    from rag import Workspace  # which would be loaded before the server answers

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_LABELS: dict[str, tuple[tuple[str, ...], str]] = {
    "search": ((), "Searches."),
    "answer": (("status",), "Answers, by outcome."),
    "provider": (("provider", "service", "outcome"), "Requests to model providers."),
    "request": (("method", "route", "status"), "Requests to the API."),
}


class Figures:
    """Counts and times what the process does from now on, and looks at its jobs when asked."""

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        self._workspace = workspace
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._seconds = {
            kind: Histogram(
                f"touchstone_{kind}_seconds",
                help_,
                names,
                buckets=_BUCKETS,
                registry=self._registry,
            )
            for kind, (names, help_) in _LABELS.items()
        }
        self._registry.register(self)
        watch_work(self.note)

    def note(self, work: Work) -> None:
        """Counts and times an work."""
        seconds, (names, _) = self._seconds[work.kind], _LABELS[work.kind]
        histogram = seconds.labels(*(work.labels[name] for name in names)) if names else seconds
        histogram.observe(work.seconds)

    def collect(self) -> Iterable[Metric]:
        """Whether the database answers, jobs that wait or work, and the memory of indexes."""
        workspace = self._workspace()
        jobs = GaugeMetricFamily(
            "touchstone_jobs", "Waiting and running jobs.", labels=("kind", "state")
        )
        failed = GaugeMetricFamily("touchstone_failed_jobs", "Failed jobs.", labels=("kind",))
        answers = 1
        try:
            for kind, count in workspace.jobs.failed().items():
                failed.add_metric((kind,), count)
            for key, count in Counter(
                (job.kind, job.status) for job in workspace.jobs.active()
            ).items():
                jobs.add_metric(key, count)
        except TouchstoneError:  # the figures of this process are worth having all the more
            answers = 0
        yield from (jobs, failed)
        yield GaugeMetricFamily("touchstone_database_up", "1 if the database responds.", answers)
        description = "Approximate memory of the search indexes of this process."
        yield GaugeMetricFamily("touchstone_index_bytes", description, workspace.index_bytes())

    async def answer(self, _: Request) -> Response:
        """All figures in the text format of Prometheus."""
        text = await to_thread.run_sync(generate_latest, self._registry)
        return Response(text, media_type=CONTENT_TYPE_LATEST)
