"""Judging one passage after the other, those first that decide most; one key for each grade."""

from __future__ import annotations

import streamlit as st

from pages.components.labels.grading import ALL_GRADES, MISLEADS, grade_name
from pages.components.shell.buttons import filled_button
from pages.components.shell.guard import guard
from pages.components.shell.notices import notices
from pages.components.shell.permission import offered
from pages.components.shell.text import lines, plain
from pages.components.shell.wording import clipped
from rag import KnowledgeBase, Run, Unjudged, counted, flowing, page_name, place_of, unmarked

_QUEUE, _DONE = "judging_queue", "judging_done"
_LAST = "judging_last"  # what was judged or skipped last, with the label that it got
_LONGEST = 1500


def judge_button(base: KnowledgeBase, run: Run, other: Run | None = None) -> None:
    """Buttons for the queue of a run, or of what two differ by, and for a random sample."""
    first = "those that narrow the difference of the two runs" if other else "the highest"
    open_ = "Grades unjudged passages in the first ten results, "
    if st.button(
        "Judge next",
        key=f"judging_{run.id}",
        icon=":material/gavel:",
        **offered(base, "questions.label", help=f"{open_}{first} first."),
    ):
        _open_queue(base, run, other, sampled=False)
    if st.button(
        "Judge a sample",
        key=f"judging_sample_{run.id}",
        icon=":material/casino:",
        type="tertiary",
        **offered(
            base,
            "questions.label",
            help=f"{open_}in random order, so that their grades are representative.",
        ),
    ):
        _open_queue(base, run, other, sampled=True)


def _open_queue(base: KnowledgeBase, run: Run, other: Run | None, *, sampled: bool) -> None:
    with guard():
        st.session_state[_QUEUE] = base.questions.judging_queue(
            run.id, other.id if other else None, sampled=sampled
        )
        st.session_state[_DONE] = 0
        st.session_state.pop(_LAST, None)
        judge(base, run.question_set)


@st.dialog("Is this relevant?", width="large", icon=":material/gavel:", on_dismiss="rerun")
def judge(base: KnowledgeBase, set_name: str) -> None:
    """The first hit of the queue with its question, and a button for each grade.

    A hit is a passage, or a document where the labels of its question name documents.
    """
    notices()
    queue: list[Unjudged] = st.session_state.get(_QUEUE, [])
    done = int(st.session_state.get(_DONE, 0))
    if not queue:
        st.markdown(
            "All of the first ten results are judged."
            if not done
            else f"{counted(done, 'result')} judged, none is left. Evaluate again to see what "
            "the new labels change."
        )
        _undo_button(base, set_name)
        if filled_button("Close", key="judging_close"):
            st.rerun()
        return
    hit = queue[0]
    st.markdown(f"**{plain(hit.question)}**")  # headings in dialogs are smaller than text
    place = f"{plain(hit.document)}{_page(base, hit)} · {where(hit)}"
    if hit.end is None:
        st.caption(
            f"{place}. The labels of this question name documents: grade the whole document, of "
            "which you see the beginning."
        )
    else:
        st.caption(place)
    with st.container(border=True, height=300):
        st.markdown(lines(unmarked(flowing(clipped(hit.text, _LONGEST)))))
    _buttons(base, set_name, hit)
    st.caption(f"{counted(done, 'result')} judged, {len(queue):,} to go.")


def where(hit: Unjudged) -> str:
    """The ranks of a hit in the runs that retrieved it."""
    first, second = hit.ranks
    if first is None or second is None:
        return f"rank {first or second}"
    return f"rank {first} and rank {second}"


def _buttons(base: KnowledgeBase, set_name: str, hit: Unjudged) -> None:
    with st.container(horizontal=True, gap="small"):
        for grade in ALL_GRADES:
            st.button(
                grade_name(grade),
                key=f"judging_grade_{grade}",
                shortcut="M" if grade == MISLEADS else grade,
                on_click=_grade,
                args=(base, set_name, hit, int(grade)),
            )
        st.button("Skip", key="judging_skip", type="tertiary", shortcut="S", on_click=_next)
        _undo_button(base, set_name)


def _undo_button(base: KnowledgeBase, set_name: str) -> None:
    if _LAST in st.session_state:
        st.button(
            "Undo",
            key="judging_undo",
            icon=":material/undo:",
            type="tertiary",
            shortcut="U",
            help="Removes the last grade and shows what it was for again.",
            on_click=_undo,
            args=(base, set_name),
        )


def _page(base: KnowledgeBase, hit: Unjudged) -> str:
    outline = None if hit.end is None else base.outline(hit.document_id)
    if outline is None:
        return ""
    place = place_of(outline, hit.start, hit.end or 0)
    return page_name(hit.document, place.page, place.heading, " · ", place.label)


def _grade(base: KnowledgeBase, set_name: str, hit: Unjudged, grade: int) -> None:
    with guard(in_dialog=True):
        place = hit.document_id, hit.start, hit.end
        label = base.questions.label(set_name, hit.question_id, *place, grade, hit.origin)
        st.session_state[_DONE] += 1
        _next(label)


def _next(label: int | None = None) -> None:
    first, *rest = st.session_state[_QUEUE]
    st.session_state[_QUEUE] = rest
    st.session_state[_LAST] = first, label


def _undo(base: KnowledgeBase, set_name: str) -> None:
    """Undo the last judgement: remove its label and put the passage back into the queue.

    Passages in the queue had no label before, so there is no earlier label to restore.
    """
    hit, label = st.session_state[_LAST]
    with guard(in_dialog=True):
        if label is not None:
            base.questions.remove_label(set_name, label)
            st.session_state[_DONE] -= 1
        del st.session_state[_LAST]
        st.session_state[_QUEUE] = [hit, *st.session_state[_QUEUE]]
