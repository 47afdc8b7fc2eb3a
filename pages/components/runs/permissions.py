"""The tab Permissions: results that come back to users who must not see them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button, download_button
from pages.components.shell.permission import offered, refusal
from pages.components.shell.text import plain
from rag import (
    AccessMatrix,
    InvalidInput,
    JobRow,
    KnowledgeBase,
    PermissionReport,
)

_RECIPE = "The saved recipe"
_NO_SET = "None"
_SOURCE, _SET, _FILE = "permissions_source", "permissions_set", "permissions_file"
_VERDICTS = {
    "leaks": (st.error, ":material/lock_open:"),
    "incomplete": (st.warning, ":material/error:"),
    "untested": (st.warning, ":material/help:"),
    "passed": (st.success, ":material/lock:"),
}


def permissions_view(base: KnowledgeBase) -> None:
    """A form that starts an audit, and the last one of what is chosen in it."""
    if reason := refusal(base, "permission_audits.result"):
        st.caption(reason)
        return
    st.caption(
        "An audit asks questions as each user, and shows each passage that comes back to a user "
        "who must not see it."
    )
    with st.grid(2, min_column_width=240):
        names = [_RECIPE, *(item.name for item in base.systems.list_all())]
        source = st.selectbox("Audit", names, key=_SOURCE)
        sets = [_NO_SET, *(item.name for item in base.questions.list_all())]
        st.selectbox(
            "Question set",
            sets,
            key=_SET,
            help="Sentences of restricted documents and canary passages are asked in any case.",
        )
    system = "" if source == _RECIPE else source
    job = base.permission_audits.latest(system)
    if job is not None and job.active:
        job_progress.follow(job.id, "permissions")
        return
    _start(base, system, job)
    job_progress.failure(job)
    report = base.permission_audits.result(system)
    if report is not None:
        _report(base, report)


def _start(base: KnowledgeBase, system: str, job: JobRow | None) -> None:
    file = st.file_uploader(
        "Access matrix",
        ["csv", "json"],
        key=_FILE,
        help="A row for each document and a column for each user, or JSON with a rule.",
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        options = offered(base, "permission_audits.start")
        if file is not None:
            options = options | {"type": "primary"}
            action_button("Audit", "permissions_start", "policy", _audit, base, system, **options)
        elif job is not None:
            key, matrix = "permissions_again", job.payload["matrix"]
            again = (base, system, matrix)
            action_button("Audit again", key, "policy", _audit_again, *again, **options)
            st.caption("Uses the access matrix of the last audit.")
        if file is None:
            template = base.permission_audits.template
            download_button("Matrix to fill in", template, "matrix.csv", "permissions_template")


def _audit(base: KnowledgeBase, system: str) -> None:
    file = st.session_state[_FILE]
    try:
        text = file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file.name} is not UTF-8 text.", "Save it as UTF-8.") from error
    _queue(base, system, AccessMatrix.read(text))


def _audit_again(base: KnowledgeBase, system: str, matrix: Any) -> None:
    _queue(base, system, AccessMatrix.parse(matrix))


def _queue(base: KnowledgeBase, system: str, matrix: AccessMatrix) -> None:
    name = st.session_state[_SET]
    set_name = "" if name == _NO_SET else name
    recipe = None if system else base.recipe()
    base.permission_audits.start(matrix, recipe, system, set_name)


def _report(base: KnowledgeBase, report: PermissionReport) -> None:
    if not base.permission_audits.is_current(report):
        st.warning(
            "The documents or their tags changed since this audit. Audit again to update it.",
            icon=":material/update:",
        )
    draw, icon = _VERDICTS[report.outcome]
    draw(f"**{plain(report.headline)}**", icon=icon)
    question_set = f" and {plain(report.question_set)}" if report.question_set else ""
    st.caption(f"{plain(report.source.capitalize())}{question_set}. {plain(report.reach)}")
    if report.listed:
        _leaks(report)
    st.dataframe(
        [
            {
                "User": user.user,
                "Leaks": user.leaks,
                "Results": user.results,
                "Failed questions": user.errors,
                "Error": user.error,
            }
            for user in report.users
        ],
        key="permissions_users",
        hide_index=True,
        column_config={"Error": st.column_config.TextColumn(width="large")},
        alt="Users with the number of results, of leaks and of failed questions.",
    )


def _leaks(report: PermissionReport) -> None:
    st.dataframe(
        [
            {
                "User": leak.user,
                "Rank": leak.rank,
                "Document": leak.document or "in no document",
                "Page": leak.page,
                "Question": leak.question,
                "Text": leak.text,
                "Hidden": "whole document" if leak.kind == "document" else "canary passage",
            }
            for leak in report.listed
        ],
        key="permissions_leaks",
        hide_index=True,
        column_config={
            "Rank": st.column_config.NumberColumn(width="small"),
            "Page": st.column_config.NumberColumn(width="small"),
            "Question": st.column_config.TextColumn(width="large"),
            "Text": st.column_config.TextColumn(width="large"),
        },
        alt="Results that came back to users who must not see them, with question and rank.",
    )
    if report.leaks > len(report.listed):
        st.caption(f"The table has the first {len(report.listed):,} of {report.leaks:,} leaks.")
