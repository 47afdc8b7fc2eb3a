"""The questions that a run won and lost, as a table; the picked one is in the URL."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import switch
from pages.components.shell.session import to_url
from pages.components.shell.tables import PINNED_WIDTH, pick_rows, picked_rows, row_height
from pages.components.shell.wording import difference
from rag import METRIC_TITLES, QuestionDifference, RunComparison

QUESTION, OUTCOME = "question", "outcome"  # the URL's parameters
_TABLES = "runs_questions_drawn"  # counts picks from elsewhere, each of which draws the table anew


def select(question_id: str) -> None:
    """Pick a question from outside of the table; call it in a callback."""
    st.query_params[QUESTION] = question_id
    st.session_state[_TABLES] = st.session_state.get(_TABLES, 0) + 1


def questions_table(compared: RunComparison, scope: str) -> str | None:
    """Draw the table; return the id of the picked question."""
    label, outcomes = "Questions by outcome", ["Lost", "Won", "Tied"]
    outcome = switch(label, outcomes, OUTCOME, label_visibility="collapsed").lower()
    rows = [row for row in compared.rows if row.outcome == outcome]
    if not rows:
        st.caption(f"No question is {outcome}.")
        return _existing(compared)
    key = f"runs_questions_{scope}_{outcome}_{st.session_state.get(_TABLES, 0)}"
    parameter = st.query_params.get(QUESTION, "")
    tagged = any(row.tags for row in compared.rows)
    pick_rows(
        [_row(row, tagged) for row in rows],
        key,
        [number for number, row in enumerate(rows) if row.question_id == parameter],
        "single-row",
        lambda: _picked(key, rows),
        height=320 if len(rows) > 8 else "auto",
        row_height=row_height((row.text for row in rows), PINNED_WIDTH),
        column_config=_columns(compared),
        alt=f"Questions {outcome}, the largest difference first.",
    )
    picked = _existing(compared)
    if picked is None:
        st.caption("Click a question, or its bar, to see what both runs retrieved.")
    return picked


def _picked(key: str, rows: list[QuestionDifference]) -> None:
    picked = [rows[number] for number in picked_rows(st.session_state[key]) if number < len(rows)]
    to_url(QUESTION, picked[0].question_id if picked else "")


def _existing(compared: RunComparison) -> str | None:
    parameter = st.query_params.get(QUESTION, "")
    return parameter if any(row.question_id == parameter for row in compared.rows) else None


def _row(row: QuestionDifference, tagged: bool) -> dict[str, object]:
    return {
        "Question": row.text,
        "Difference": difference(row.difference),
        **({"Tags": list(row.tags) or None} if tagged else {}),
        "Before": row.before,
        "After": row.after,
        "First relevant": f"{_rank(row.first_before, row.cut_before)} → "
        f"{_rank(row.first_after, row.cut_after)}",
    }


def _rank(first: int | None, cut: int | None) -> str:
    return str(first) if first else f"{cut} (cut)" if cut else "none"


def _columns(compared: RunComparison) -> dict[str, object]:
    measure = METRIC_TITLES.get(compared.figures.metric.partition("@")[0], "The metric")
    return {
        "Question": st.column_config.TextColumn(width=PINNED_WIDTH),
        "Tags": st.column_config.ListColumn(width="small"),
        "Before": st.column_config.NumberColumn(
            format="%.3f", width="small", help=f"{measure} in the run that is compared with."
        ),
        "After": st.column_config.NumberColumn(format="%.3f", width="small"),
        "Difference": st.column_config.NumberColumn(format="%+.3f", width="small"),
        "First relevant": st.column_config.TextColumn(
            width="small",
            help="Rank of the first relevant passage, before and after. *(cut)*: the threshold cut "
            "it.",
        ),
    }
