"""Ways into a knowledge base: files, folders, web addresses, pasted text, the sample.

Encrypted PDFs wait in a row of their own for their password.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from pages.components.documents.existing_store import store_area
from pages.components.documents.first_upload import decided, language_note
from pages.components.shell import door, job_progress
from pages.components.shell.buttons import action_button, redraw
from pages.components.shell.guard import guard, show_error
from pages.components.shell.session import (
    allowed,
    bases,
    draft_key,
    draft_stored,
    offered,
    workspace,
)
from pages.components.shell.text import plain
from rag import (
    SAMPLE,
    SUPPORTED,
    TEXT_EXTENSIONS,
    KnowledgeBase,
    LockedFile,
    Omission,
    Receipt,
    TouchstoneError,
    Upload,
    counted,
)

_DRAFTS = "documents"
_FILES = "documents_files"
_FOLLOWED = ("ingest", "import-store")
_LISTED = 416  # pixels, with half a row at the end; more files scroll
_FEW = 5  # notes that are not folded
_MOST_SHORT = 10  # rows that need no scrolling

Follow = Callable[[int], None]
"""Shows how far a job is."""


def add_area(base: KnowledgeBase) -> None:
    """Tabs to add documents. What is handed over becomes a job at once."""
    if not allowed(base, "documents.add_files"):
        return
    files, addresses, text, store = st.tabs(
        [
            ":material/upload_file: Files",
            ":material/language: Web addresses",
            ":material/notes: Text",
            ":material/database: From a store",
        ],
        key="documents_add",
    )
    with files, guard():
        _files(base)
    with addresses, guard():
        _addresses(base)
    with text, guard():
        _text(base)
    with store, guard():
        store_area(base, partial(_follow, base.id))


def sample_button() -> None:
    """Open the sample, or load its documents and questions first."""
    if any(info.name == SAMPLE and info.documents for info in bases()):
        action_button("Open the sample", "documents_sample", "dataset", door.choose, SAMPLE)
    elif st.button(
        "Load the sample",
        key="documents_sample",
        icon=":material/dataset:",
        help="Documents of a made-up company, with labelled questions to measure with.",
    ):
        base, job_id = workspace().start_demo()
        door.choose(SAMPLE)
        _follow(base.id, job_id)


def _files(base: KnowledgeBase) -> None:
    folder = st.toggle("Whole folder", key="documents_folder", help=_FOLDER_HELP)
    files = st.file_uploader(
        "Folder to add" if folder else "Files to add",
        # Single files are not sorted out by the browser: each of them gets its reason instead.
        type=[*SUPPORTED, *TEXT_EXTENSIONS] if folder else None,
        accept_multiple_files="directory" if folder else True,
        max_upload_size=workspace().settings.max_upload_mb,
        key=_named(_FILES),
        label_visibility="collapsed",
    )
    st.caption(_TYPES)
    if files:
        uploads = [Upload(_name(file.name), file) for file in files]
        if decided(base, uploads):
            _follow(base.id, base.documents.add_files(uploads))


def _name(sent: str) -> str:
    """A file's name as it is on disk: browsers send a quotation mark in it as ``%22``."""
    return sent.replace("%22", '"')


_BETWEEN_ADDRESSES = re.compile(r"\n|\s(?=https?://)")
_FOLDER_HELP = "With all folders inside it. Files of other types are left out."
_TYPES = (
    "PDF, Office, OpenDocument, EPUB, HTML, Markdown, mail, notebooks, CSV, JSON, pictures, ZIP, "
    "text and code"
)


def _addresses(base: KnowledgeBase) -> None:
    with st.form("documents_addresses", border=False):
        addresses = st.text_area(
            "Web addresses, one per line",
            key=_named("documents_urls"),
            placeholder="https://example.org/handbook.html",
            height=100,
        )
        submitted = st.form_submit_button("Fetch", icon=":material/download:")
    if submitted:
        lines = _BETWEEN_ADDRESSES.split(addresses)
        _follow(base.id, base.documents.add_urls([line.strip() for line in lines if line.strip()]))


def _text(base: KnowledgeBase) -> None:
    with st.form("documents_text", border=False):
        title = st.text_input("Title", key=_named("documents_title"), max_chars=200)
        text = st.text_area(
            "Text", key=_named("documents_pasted"), height=160, help="Markdown is fine."
        )
        submitted = st.form_submit_button("Add text", icon=":material/add:")
    if submitted:
        _follow(base.id, base.documents.add_text(title, text))


def _named(key: str) -> str:
    return draft_key(_DRAFTS, key)


def _follow(base_id: int, job_id: int) -> None:
    draft_stored(_DRAFTS)
    followed()[base_id] = job_id
    st.rerun()


def upload_status(base: KnowledgeBase) -> None:
    """The upload that runs, or the one that this visitor started last, until it is dismissed.

    Below it, whatever waits for a password.
    """
    running = [job.id for job in job_progress.active(base.id) if job.kind in _FOLLOWED]
    started = followed().get(base.id)
    if running:
        _running_upload(base, started if started in running else running[0])
    elif (finished := started or _with_missing_files(base)) is not None:
        _finished_upload(base, finished)
    follow = partial(followed().__setitem__, base.id)
    if not running:
        reading_again(base, follow)
    locked_rows(base, follow)


@st.fragment(run_every=job_progress.POLL_SECONDS)
def _running_upload(base: KnowledgeBase, job_id: int) -> None:
    goes_on = False
    with guard(), st.container(border=True):
        job, items = workspace().jobs.get(job_id), workspace().jobs.items(job_id)
        goes_on = job.active
        job_progress.card(job, "upload", job_progress.ahead_of(job, job_progress.active()))
        by_words = base.documents.by_words(base.recipe().index)
        with st.container(key="documents_reading"):  # by which the style sheet knows the table
            _list_files(job_progress.file_rows(job, items, by_words))
    if not goes_on:
        followed()[base.id] = job_id
        redraw()


def _list_files(rows: list[dict[str, object]]) -> None:
    st.dataframe(
        rows,
        height=_LISTED if len(rows) > _MOST_SHORT else "content",
        column_config={
            "File": st.column_config.TextColumn(width="medium"),
            "Stage": st.column_config.TextColumn(width="large"),
            "Passages": st.column_config.NumberColumn(width="small", format="localized"),
        },
        hide_index=True,
        placeholder="",
        alt="The files of this upload with the stage that each is in.",
    )


def _with_missing_files(base: KnowledgeBase) -> int | None:
    """Return the newest upload if a file of it could not be read and is still not a document.

    Whoever started it may have been on another page when it ended.
    """
    jobs = workspace().jobs
    uploads = (job for job in jobs.recent(base.id) if job.kind in _FOLLOWED)
    newest = next(uploads, None)
    if newest is None or newest.id in _dismissed():
        return None
    failed = {item.name for item in jobs.items(newest.id) if item.status == "failed"}
    failed -= {file.name for file in base.documents.locked_files()}
    if failed:
        failed -= {row.name for row in base.documents.documents(base.recipe().index)}
    return newest.id if failed else None


def _finished_upload(base: KnowledgeBase, job_id: int) -> None:
    job, items = workspace().jobs.get(job_id), workspace().jobs.items(job_id)
    failed = [item for item in items if item.status == "failed"]
    good = job.status == "done" and not failed
    with st.container(border=True):
        icon = ":green[:material/check_circle:]" if good else ":orange[:material/warning:]"
        st.markdown(f"{icon} **{plain(job_progress.summary(job, items))}**")
        waiting = {(file.job_id, file.position) for file in base.documents.locked_files()}
        for item in failed:
            if (item.job_id, item.position) in waiting:
                continue  # has a row of its own below
            st.markdown(f"- {plain(item.name)}: {plain(item.reason)} :gray[{plain(item.hint)}]")
        notes = [
            f"- {plain(item.name)}: {plain(item.reason)}"
            for item in items
            if item.reason and item.status in ("added", "replaced", "unpacked")
        ]
        names = {item.name for item in items if item.status in ("added", "replaced")}
        infos = base.documents.documents(base.recipe().index) if names else []
        receipts = [info.receipt for info in infos if info.name in names and info.receipt]
        if len(notes) > _FEW:
            _unread_note(receipts)
            with st.expander(counted(len(notes), "note")):
                st.markdown("\n".join(notes))
        elif notes:
            st.markdown("\n".join(notes))
        language_note(base, receipts)
        with st.container(horizontal=True, vertical_alignment="center"):
            if job.status == "done" and len(failed) < len(items):
                st.page_link("chat.py", label="Ask these documents", icon=":material/forum:")
            dismiss = partial(_dismiss, base, job_id)
            action_button("Dismiss", "documents_dismiss", "", dismiss, type="tertiary")


def _unread_note(receipts: Sequence[Receipt]) -> None:
    """Say in a sentence what was not read of the documents of an upload."""
    counts, partly = Counter[str](), sum(bool(receipt.left_out) for receipt in receipts)
    for receipt in receipts:
        counts.update({omission.kind: omission.count for omission in receipt.left_out})
    if partly:
        parts = ", ".join(Omission(kind, count).words for kind, count in counts.most_common())
        st.markdown(
            f":orange[:material/warning:] {counted(partly, 'document')} "
            f"{'was' if partly == 1 else 'were'} not read whole: {plain(parts)}. "
            "Click a document in the table to see where."
        )


def _dismiss(base: KnowledgeBase, job_id: int) -> None:
    followed().pop(base.id, None)
    _dismissed().add(job_id)


def _dismissed() -> set[int]:
    """The uploads whose outcome this visitor does not look at any more."""
    jobs: set[int] = st.session_state.setdefault("documents_dismissed", set())
    return jobs


def followed() -> dict[int, int]:
    """The upload whose outcome this visitor still looks at, by knowledge base."""
    jobs: dict[int, int] = st.session_state.setdefault("documents_job", {})
    return jobs


def reading_again(base: KnowledgeBase, follow: Follow) -> None:
    """Say which documents an earlier version has read, where there are any."""
    outdated = base.documents.outdated()
    with_file = [document for document in outdated if document.kept]
    if with_file:
        with st.container(border=True):
            st.markdown(
                f":orange[:material/update:] {counted(len(with_file), 'document')} can be read "
                "better now than when they were added, with their tables for example. Labels look "
                "for their words in the new text; those that are lost are listed."
            )
            options = offered(base, "documents.add_files")
            read = partial(_read, base, follow)
            action_button("Read again", "documents_read_again", "refresh", read, **options)
    if len(outdated) > len(with_file):
        st.caption(
            f"{counted(len(outdated) - len(with_file), 'document')} of an earlier version "
            "came without a file: add it again to have it read by the present readers."
        )


def _read(base: KnowledgeBase, follow: Follow) -> None:
    follow(base.documents.read_again())


def locked_rows(base: KnowledgeBase, follow: Follow) -> None:
    """A row for every file that waits, with a field for its password."""
    for locked in base.documents.locked_files():
        with st.container(border=True):
            st.markdown(f":orange[:material/lock:] **{plain(locked.name)}** {plain(locked.reason)}")
            if allowed(base, "documents.open_locked_file"):
                _locked_row(base, locked, follow)


def _locked_row(base: KnowledgeBase, locked: LockedFile, follow: Follow) -> None:
    key = f"{locked.job_id}_{locked.position}"
    with (
        st.form(f"documents_unlock_{key}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(
            "Password",
            key=f"documents_password_{key}",
            type="password",
            autocomplete="off",
            help="Used once, to store a copy without encryption. The password is not kept.",
        )
        st.form_submit_button(
            "Read again",
            icon=":material/lock_open:",
            on_click=_unlock,
            args=(base, locked, key, follow),
        )
    refusal = st.session_state.pop(f"documents_refusal_{key}", None)
    if refusal is not None:
        show_error(*refusal)
    action_button(
        "Leave it out",
        f"documents_leave_out_{key}",
        "close",
        base.documents.leave_out_locked_file,
        locked,
        type="tertiary",
        help="Deletes the file that waits here.",
    )


def _unlock(base: KnowledgeBase, locked: LockedFile, key: str, follow: Follow) -> None:
    """Read a file with the password typed, which the session forgets before anything else."""
    field = f"documents_password_{key}"
    password = st.session_state[field]
    st.session_state[field] = ""
    with guard(in_dialog=True):
        try:
            follow(base.documents.open_locked_file(locked, password))
        except TouchstoneError as error:
            st.session_state[f"documents_refusal_{key}"] = error.message, error.hint
