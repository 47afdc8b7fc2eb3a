"""Judging one passage after the other, those first that decide most; one key for each grade."""

from __future__ import annotations

import streamlit as st

from pages.components.labels.grading import GRADES
from pages.components.shell.buttons import filled_button
from pages.components.shell.guard import guard
from pages.components.shell.notices import notices
from pages.components.shell.text import lines, plain
from pages.components.shell.wording import counted
from rag import KnowledgeBase, Run, Unjudged

_QUEUE, _DONE = "judging_queue", "judging_done"
_NAMES = ("Not relevant", "Relevant", "Highly relevant", "The answer")
_LONGEST = 1500


def judge_button(base: KnowledgeBase, run: Run, other: Run | None = None) -> None:
    """A button that opens the queue of a run, or of what the difference of two hangs on."""
    if st.button(
        "Judge next",
        key=f"judging_{run.id}",
        icon=":material/gavel:",
        help="Passages among the first ten that nobody has judged yet, "
        + ("those that decide between the two runs first." if other else "the highest first."),
    ):
        with guard():
            st.session_state[_QUEUE] = base.judging_queue.ordered(
                run.id, other.id if other else None
            )
            st.session_state[_DONE] = 0
            _judge(base, run.question_set)


@st.dialog("Is this passage relevant?", width="large", icon=":material/gavel:", on_dismiss="rerun")
def _judge(base: KnowledgeBase, set_name: str) -> None:
    notices()
    queue: list[Unjudged] = st.session_state.get(_QUEUE, [])
    done = int(st.session_state.get(_DONE, 0))
    if not queue:
        st.markdown(
            "Every passage among the first ten is judged."
            if not done
            else f"{counted(done, 'passage')} judged, none is left. Evaluate again to see what "
            "the new labels change."
        )
        if filled_button("Close", key="judging_close"):
            st.rerun()
        return
    hit = queue[0]
    st.markdown(f"### {plain(hit.question)}")
    st.caption(f"{plain(hit.document)} · {where(hit)}")
    with st.container(border=True, height=300):
        st.markdown(lines(hit.text[:_LONGEST]))
    _buttons(base, set_name, hit)
    st.caption(f"{counted(done, 'passage')} judged, {len(queue):,} to go.")


def where(hit: Unjudged) -> str:
    """The ranks of a hit in the runs that retrieved it."""
    first, second = hit.ranks
    if first is None or second is None:
        return f"rank {first or second}"
    return f"rank {first} and rank {second}"


def _buttons(base: KnowledgeBase, set_name: str, hit: Unjudged) -> None:
    with st.container(horizontal=True, gap="small"):
        for grade, name in zip(GRADES, _NAMES, strict=True):
            st.button(
                name,
                key=f"judging_grade_{grade}",
                shortcut=grade,
                on_click=_grade,
                args=(base, set_name, hit, int(grade)),
            )
        st.button("Skip", key="judging_skip", type="tertiary", shortcut="S", on_click=_next)


def _grade(base: KnowledgeBase, set_name: str, hit: Unjudged, grade: int) -> None:
    with guard(in_dialog=True):
        base.labels.label(set_name, hit.question_id, hit.document_id, hit.start, hit.end, grade)
        st.session_state[_DONE] += 1
    _next()


def _next() -> None:
    st.session_state[_QUEUE] = st.session_state[_QUEUE][1:]
