"""Jobs: how far they are, as events too, and their end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import anyio
from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse

from rag import (
    ItemStatus,
    JobStatus,
    Made,
    Schema,
    ScopedWorkspace,
    Timestamp,
    TouchstoneError,
    attribute,
)
from rag.api import problems
from rag.api.resource import Base, Maker, Page, Part, Resource, RowId, Shared, needs, where
from rag.api.threads import ALIVE, STREAM, event, in_thread, streamed

_SHOWN = 500  # jobs of a knowledge base
_POLL_SECONDS = 0.5
_ALIVE_SECONDS = 15.0
_LONGEST_SECONDS = 600.0  # then a client asks again: a server that shuts down waits for the answer

jobs = Resource("jobs")


class JobItemData(Schema):
    """A document or another part of a job, and its outcome."""

    name: str
    status: ItemStatus
    reason: str
    hint: str
    passages: int = attribute("chunks")


class JobData(Schema):
    """A job; ``run`` is the id of the run that an evaluation makes."""

    id: int
    knowledge_base: str = attribute("base")
    kind: str
    title: str
    status: JobStatus
    done: int
    total: int
    message: str
    seconds_left: float | None
    created: Timestamp
    finished: Timestamp | None
    run: str | None
    items: list[JobItemData]


@jobs.get("/knowledge-bases/{kb}/jobs", **needs("read", 404))
def list_jobs(request: Request, workspace: Shared, base: Base, part: Part) -> Page[JobData]:
    """The jobs of a knowledge base, newest first."""
    rows = workspace.jobs.recent(base.id, _SHOWN)
    return part.of(request, rows, lambda job: job_data(workspace, job.id))


@jobs.get("/jobs/{job}", **needs("read", 404))
def get_job(workspace: Shared, job: RowId) -> JobData:
    """Return the progress of a job, and the outcome of each of its items."""
    return job_data(workspace, job)


@jobs.post("/jobs/{job}/cancel", **needs("write", 404))
def cancel_job(workspace: Shared, job: RowId) -> JobData:
    """Ask a job to stop; what it has finished stays."""
    workspace.jobs.get(job)
    workspace.jobs.cancel(job)
    return job_data(workspace, job)


@jobs.get(
    "/jobs/{job}/events",
    **needs("read", 404, content_by_status={200: STREAM}, response_class=StreamingResponse),
)
async def stream_job_events(workspace: Shared, job: RowId) -> Response:
    """Server-sent events: ``progress`` when something changes, then ``end``.

    Or ``problem``, where the token, the role or the job is there no more.
    """
    await in_thread(workspace.jobs.get)(job)  # what is not there is told before the stream begins
    return streamed(_events(workspace, job))


async def _events(workspace: ScopedWorkspace, job: int) -> AsyncIterator[bytes]:
    started = last_sent = time.monotonic()
    last: JobData | None = None
    number = 0
    while time.monotonic() - started < _LONGEST_SECONDS:
        try:  # the token and the role are asked for again each time
            data = await in_thread(job_data)(workspace, job)
        except TouchstoneError as error:
            yield event("problem", problems.of(error))
            return
        over = data.status not in ("queued", "running")
        if data != last or over:
            number += 1
            yield event("end" if over else "progress", data.dump(), number)
            last, last_sent = data, time.monotonic()
        elif time.monotonic() - last_sent > _ALIVE_SECONDS:
            yield ALIVE
            last_sent = time.monotonic()
        if over:
            return
        await anyio.sleep(_POLL_SECONDS)


def job_data(workspace: ScopedWorkspace, job_id: int) -> JobData:
    """Read a job with its items. Raises NotFound."""
    job = workspace.jobs.get(job_id)
    return JobData.of(job, run=job.payload.get("run"), items=workspace.jobs.items(job_id))


async def _queueing(request: Request, workspace: Shared, idempotent: Maker) -> Any:
    def queue(body: Any, start: Callable[[], int]) -> Response:
        def make() -> Made:
            job = start()
            return Made(202, job_data(workspace, job).dump(), where(request, "jobs", job))

        return idempotent(body, make)

    return queue


Queue = Annotated[Callable[[Any, Callable[[], int]], Response], Depends(_queueing)]
"""For addresses that queue a job: answers that it was taken in.

It takes what the request says beside its address, and what queues the job and returns its id.
"""
