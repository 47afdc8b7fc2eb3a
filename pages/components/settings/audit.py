"""The audit log: a filtered table of its entries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import streamlit as st

from pages.components.shell.buttons import download_button
from pages.components.shell.session import bases, workspace
from rag import AUDIT_KINDS, AuditLine, audit_actor, audit_csv

_PERIODS = {"24 hours": 1, "7 days": 7, "30 days": 30, "all time": None}
_MOST = 1000


def _filtered() -> list[AuditLine]:
    """The entries that the fields of the page ask for."""
    with st.container(horizontal=True):
        person = st.text_input("Person", key="audit_person", placeholder="part of an address")
        names = ["", *(info.name for info in bases())]
        base = st.selectbox("In", names, key="audit_base", format_func=lambda name: name or "all")
        kinds = ["", *AUDIT_KINDS]
        kind = st.selectbox(
            "Kind",
            kinds,
            key="audit_kind",
            format_func=lambda kind: f"{kind}: {AUDIT_KINDS[kind]}" if kind else "all",
        )
        days = _PERIODS[st.selectbox("Last", list(_PERIODS), index=1, key="audit_days")]
    since = None if days is None else datetime.now(UTC) - timedelta(days=days)
    return workspace().audit(person=person.strip(), base=base, kind=kind, since=since, limit=_MOST)


def _table(lines: list[AuditLine]) -> None:
    st.dataframe(
        [
            {
                "When": line.entry.at,
                "Who": audit_actor(line),
                "Via": line.entry.via,
                "Knowledge base": line.entry.base,
                "Kind": line.entry.kind,
                "What": _words(line.entry.action),
                "Detail": line.entry.detail,
            }
            for line in lines
        ],
        key="audit_table",
        hide_index=True,
        column_config={
            "When": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss", width=150),
            "Via": st.column_config.TextColumn(width=60),
            "Knowledge base": st.column_config.TextColumn(width=120),
            "Kind": st.column_config.TextColumn(width=90),
            "What": st.column_config.TextColumn(
                width=180, help="The operation. The CSV file has the names that programs use."
            ),
            "Detail": st.column_config.TextColumn(width=240),
        },
    )


def _words(action: str) -> str:
    """The path of an operation in words: ``question edits: create set``."""
    return action.replace(".", ": ").replace("_", " ")


def audit_log() -> None:
    """Draw the entries of the audit log that the visitor may read, filtered, with a download."""
    everything = workspace().principal.administrator
    scope = "all knowledge bases" if everything else "the knowledge bases that you own"
    st.caption(f"Who changed or read what in {scope}. Questions are logged without their text.")
    lines = _filtered()
    if not lines:
        st.info("No entry matches these filters.", icon=":material/history_edu:")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        most = f", the newest {_MOST:,}" if len(lines) == _MOST else ""
        number = "1 entry" if len(lines) == 1 else f"{len(lines):,} entries"
        st.caption(f"{number}{most}", width="stretch")
        download_button("Download CSV", audit_csv(lines), "audit.csv", "audit_csv")
    _table(lines)
