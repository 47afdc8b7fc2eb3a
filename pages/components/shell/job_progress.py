"""Jobs as people follow them: progress, time left, cancel, and what became of each file."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import wraps
from typing import ParamSpec

import streamlit as st

from pages.components.shell.buttons import redraw
from pages.components.shell.guard import guard, show_error
from pages.components.shell.session import (
    QUESTION,
    bases,
    cached_per_run,
    chosen_base,
    look_up,
    offered,
    workspace,
)
from pages.components.shell.text import FITS, duration, plain, short_name
from rag import JobItem, JobRow, KnowledgeBaseData, counted, percent, visible

POLL_SECONDS = 1.0
POPOVER_HEIGHT = 320  # of one with a job that is read once it is open
PATIENCE_SECONDS = 15.0  # that the worker of a server that was just started may take
_UNATTENDED = "jobs_unattended"
_ACTIVE = "active jobs"
_DRAWN_AT = "jobs_drawn_at"  # page, and when it last drew which jobs
_STILL_DRAWN_SECONDS = 5 * POLL_SECONDS
_OUTCOMES = {"added": "done", "replaced": "replaced the earlier version"}


Arguments = ParamSpec("Arguments")


def active(base_id: int | None = None) -> list[JobRow]:
    """Jobs that wait or work, oldest first, of one knowledge base or of all."""
    return workspace().jobs.active(base_id)


def polled(draw: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Make a part of the page draw itself again each second, but not while a question is answered.

    The browser unlocks the chat input when it sees the end of the run that answers. A poll that
    waits for that end is over a moment later. A busy browser sees both as one, and as the end of
    the poll alone: the input would stay locked. A page that polled nothing runs once more.
    """

    @wraps(draw)
    def drawn(*args: Arguments.args, **named: Arguments.kwargs) -> None:
        every = None if _is_sent() else POLL_SECONDS
        st.fragment(draw, run_every=every)(*args, **named)

    return drawn


def has_to_resume() -> bool:
    """Whether this run answers a question and drew jobs that ``polled`` did not follow."""
    return _is_sent() and bool(cached_per_run(_ACTIVE, active))


def _is_sent() -> bool:
    return bool((st.session_state.get(QUESTION) or "").strip())


def running_jobs(page: str) -> None:
    """The jobs of all knowledge bases; asks for their progress only while there are any."""
    if st.session_state.get(_DRAWN_AT, ("", {}))[0] != page:
        st.session_state[_DRAWN_AT] = page, {}
    if cached_per_run(_ACTIVE, active):
        _running_jobs(chosen_base().id, empty=not _documents(bases(), chosen_base().id))


@polled
def _running_jobs(base_id: int, *, empty: bool) -> None:
    jobs: list[JobRow] = []
    with guard():
        jobs = active()
        _unattended_note(jobs)
        drawn_at = st.session_state[_DRAWN_AT][1]
        for job in jobs:
            if time.monotonic() - drawn_at.get(job.id, -math.inf) < _STILL_DRAWN_SECONDS:
                continue  # the page draws it, a moment earlier or later: with another percentage
            if job.base_id == base_id:
                card(job, before=ahead_of(job, jobs))
            else:  # a line: whoever looks at this knowledge base did not start it here
                st.caption(f"{plain(job.base)}: {plain(job.title)}, {plain(state(job))}")
    if not _is_sent() and (not jobs or (empty and _documents(look_up(), base_id))):
        redraw()  # what the jobs changed, or the first document, shows on the whole page


def _documents(infos: Sequence[KnowledgeBaseData], base_id: int) -> int:
    return next((info.documents for info in infos if info.id == base_id), 0)


def _unattended_note(jobs: Sequence[JobRow]) -> None:
    """Say when jobs wait and there is nobody to do them."""
    if all(job.status != "queued" for job in jobs) or workspace().jobs.attended():
        st.session_state.pop(_UNATTENDED, None)
        return
    since = st.session_state.setdefault(_UNATTENDED, time.monotonic())
    if time.monotonic() - since >= PATIENCE_SECONDS:
        st.warning(
            "No worker is running. Jobs continue when the server is started again.",
            icon=":material/hourglass_disabled:",
        )


_SIDEBAR = "sidebar"
_STOPS = "Stops this job. Finished work is kept."


def card(job: JobRow, place: str = _SIDEBAR, before: JobRow | None = None) -> None:
    """One job: what it does now, how far it is, and a button that stops it; ``place`` is unique.

    ``before`` is the job that it waits for.
    """
    if place != _SIDEBAR:
        st.session_state.setdefault(_DRAWN_AT, ("", {}))[1][job.id] = time.monotonic()
    with st.container(gap=None):
        st.progress(progress(job), text=f"**{plain(job.title)}**")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(plain(state(job, before)), width="stretch")
            st.button(
                "Cancel",
                key=f"jobs_cancel_{place}_{job.id}",
                icon=":material/close:",
                type="tertiary",
                on_click=cancel,
                args=(job.id,),
                **offered(job.base_id, "cancel", disabled=job.cancel, help=_STOPS),
            )


@st.fragment(run_every=POLL_SECONDS)
def follow(job_id: int, place: str) -> None:
    """A job where it was started, until it is over; then the page is drawn with what it made."""
    goes_on = False
    with guard():
        job = workspace().jobs.get(job_id)
        goes_on = job.active
        card(job, place, ahead_of(job, active()))
    if not goes_on:
        redraw()


def failure(job: JobRow | None, after: datetime | None = None) -> None:
    """Draw the error of a failed job, unless ``after`` is later than the failure."""
    if job is None or job.status != "failed" or job.finished is None:
        return
    if after is None or after < job.finished:
        show_error(f"{job.title} failed.", job.message)


def cancel(job_id: int) -> None:
    """Ask a job to stop."""
    with guard(in_dialog=True):
        workspace().jobs.cancel(job_id)


def progress(job: JobRow) -> float:
    """Share of a job that is done, 0 to 1."""
    return min(job.done / job.total, 1.0) if job.total else 0.0


def ahead_of(job: JobRow, jobs: Sequence[JobRow]) -> JobRow | None:
    """Return the job that a queued one waits for, None where that is not certain.

    ``jobs`` are those of all knowledge bases. Where several are at work, any of their workers may
    take the queued one up.
    """
    at_work = [other for other in jobs if other.status == "running"]
    if job.status != "queued" or len(at_work) != 1 or at_work[0].base_id != job.base_id:
        return None
    return at_work[0]


def state(job: JobRow, before: JobRow | None = None) -> str:
    """The state of a job: its progress and the remaining time, or ``before``, that it waits for."""
    if job.cancel:
        return "stopping"
    if job.status == "queued":  # one that gave way to another has come some way
        so_far = f"{percent(progress(job))}, " * bool(job.done)
        if before is None:
            return f"{so_far}waiting for its turn"
        return f"{so_far}begins after {before.title}: {state(before)}"
    remaining = time_left(job)
    now = percent(progress(job)) if job.total else "starting"
    return f"{now}, {remaining}" if remaining else now


def time_left(job: JobRow) -> str:
    """The remaining time that the worker estimates, the same in every tab; empty without one."""
    return "" if job.seconds_left is None else f"about {duration(job.seconds_left)} left"


def file_rows(
    job: JobRow, items: Sequence[JobItem], by_words: Collection[str] = ()
) -> list[dict[str, object]]:
    """A row per file: its name, the stage it is in or what became of it, and its passages.

    The one that is being read comes first, so that it is in sight. ``by_words`` are the names of
    documents whose vectors are not in yet.
    """
    return [
        {
            "File": short_name(visible(item.name), FITS),
            "Stage": _stage(job, item, _at_work(job, item))
            + f"; {answers_by_words(job, 'it')}" * (job.active and item.name in by_words),
            "Passages": item.chunks or None,
        }
        for item in sorted(items, key=lambda item: not _at_work(job, item))
    ]


def answers_by_words(job: JobRow, which: str) -> str:
    """Describe how ``which`` files can be searched while a job computes their vectors."""
    remaining = job.seconds_left
    soon = "later" if remaining is None else f"in about {duration(remaining)}"
    return f"lexical search finds {which} now, dense search {soon}"


def _at_work(job: JobRow, item: JobItem) -> bool:
    waits = job.status == "running" and item.status == "waiting"
    return waits and job.message.startswith(f"{item.name}: ")


def _stage(job: JobRow, item: JobItem, current: bool) -> str:
    if item.status == "failed":
        return f"failed: {item.reason}"
    if item.status == "waiting":
        if current:
            return job.message.removeprefix(f"{item.name}: ") or "starting"
        return "waiting" if job.active else "not read"
    words = _OUTCOMES.get(item.status, item.status)
    return f"{words}, {item.reason}" if item.reason else words


def summary(job: JobRow, items: Sequence[JobItem]) -> str:
    """Summarize the outcome of an upload in one sentence."""
    counts = {status: sum(item.status == status for item in items) for status in _ITEM_WORDS}
    parts = [f"{number:,} {_ITEM_WORDS[status]}" for status, number in counts.items() if number]
    passages = sum(item.chunks for item in items)
    passage_count = f" ({counted(passages, 'passage')})" if passages else ""
    if job.status == "failed" or job.kind == "import-store":
        return job.message
    stopped = "Stopped. " if job.status == "cancelled" else ""
    return (
        f"{stopped}{counted(len(items), 'file')}: {', '.join(parts) or 'none read'}{passage_count}."
    )


_ITEM_WORDS = {
    "added": "added",
    "replaced": "replaced",
    "unchanged": "unchanged",
    "unpacked": "unpacked",
    "failed": "failed",
    "waiting": "not read",
}


_READING = ("ingest", "import-beir", "import-store", "duplicate")


def reading(base_id: int) -> list[JobRow]:
    """The jobs that bring documents into a knowledge base."""
    return [
        job
        for job in cached_per_run(_ACTIVE, active)
        if job.base_id == base_id and job.kind in _READING
    ]


def loading_note(base_id: int, *, empty: bool = False) -> None:
    """While documents are still being read: how far it is, and what can be asked already.

    ``empty``: nothing was in when the page was drawn, so that the first document redraws it.
    """
    if reading(base_id):
        _loading_note(base_id, empty=empty)


@polled
def _loading_note(base_id: int, *, empty: bool) -> None:
    jobs: list[JobRow] = []
    arrived = False
    with guard():
        jobs = reading(base_id)
        if jobs:
            job = jobs[0]
            items = workspace().jobs.items(job.id)
            read = sum(item.status != "waiting" for item in items)
            files = f"{read:,} of {counted(len(items), 'file')} done" if items else state(job)
            if failed := sum(item.status == "failed" for item in items):
                files += f", {failed:,} could not be read"
            if items and read == len(items) > failed:
                all_read = "this file" if read == 1 else "these files"
                files += f"; {answers_by_words(job, 'the rest' if failed else all_read)}"
            search_note = "" if empty else " You can already ask about the finished ones."
            st.caption(f":material/hourglass_top: {plain(job.title)}: {files}.{search_note}")
            arrived = empty and any(item.chunks for item in items)
    if not _is_sent() and (not jobs or arrived):
        redraw()
