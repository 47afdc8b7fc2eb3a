"""Judging the hits of a run: one after the other, those first that decide most, or by a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from pages.components.labels.grading import ALL_GRADES, MISLEADS, grade_name
from pages.components.shell.buttons import action_button, dialog, filled_button
from pages.components.shell.charts import draw_chart, reliability_diagram
from pages.components.shell.guard import guard, notices
from pages.components.shell.job_progress import POPOVER_HEIGHT, failure, follow
from pages.components.shell.session import offered
from pages.components.shell.text import marked, plain
from rag import (
    HitToJudge,
    KnowledgeBase,
    Recipe,
    Run,
    UnjudgedShare,
    counted,
    page_name,
    place_of,
    without_markup,
)

_QUEUE, _DONE = "judging_queue", "judging_done"
_LAST = "judging_last"  # what was judged or skipped last, with the label that it got
_LONGEST = 3000  # characters of a hit


def judge_button(
    base: KnowledgeBase, run: Run, other: Run | None = None, popover: str = ""
) -> None:
    """Buttons for the queue of a run, or of what two differ by, and for a random sample.

    ``popover`` is the key of the popover around them, which would lie over the dialog.
    """
    close = partial(_close, popover)
    first = "those that narrow the difference of the two runs" if other else "the highest"
    open_ = "Grades unjudged passages in the first ten results, "
    if st.button(
        "Judge next",
        key=f"judging_{run.id}",
        icon=":material/gavel:",
        on_click=close,
        **offered(base, "questions.label", help=f"{open_}{first} first."),
    ):
        _open_queue(base, run, other, sampled=False)
    if st.button(
        "Judge a sample",
        key=f"judging_sample_{run.id}",
        icon=":material/casino:",
        type="tertiary",
        on_click=close,
        **offered(
            base,
            "questions.label",
            help=f"{open_}in random order, so that their grades are representative.",
        ),
    ):
        _open_queue(base, run, other, sampled=True)


def _close(popover: str) -> None:
    if popover:
        st.session_state[popover] = False


def _open_queue(base: KnowledgeBase, run: Run, other: Run | None, *, sampled: bool) -> None:
    with guard():
        st.session_state[_QUEUE] = base.questions.judging_queue(
            run.id, other.id if other else None, sampled=sampled
        )
        st.session_state[_DONE] = 0
        st.session_state.pop(_LAST, None)
        judge(base, run.question_set)


@dialog("Is this relevant?", width="large", icon=":material/gavel:")
def judge(base: KnowledgeBase, set_name: str) -> None:
    """The first hit of the queue, and what was judged."""
    notices()
    queue: list[HitToJudge] = st.session_state.get(_QUEUE, [])
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
    hit_form(
        base,
        queue[0],
        "judging",
        ALL_GRADES,
        partial(_grade, base, set_name),
        skip=_next,
        undo=partial(_undo_button, base, set_name),
    )
    st.caption(f"{counted(done, 'result')} judged, {len(queue):,} to go.")


def hit_form(
    base: KnowledgeBase,
    hit: HitToJudge,
    key: str,
    grades: Sequence[str],
    grade: Callable[[HitToJudge, int], None],
    *,
    skip: Callable[[], None],
    undo: Callable[[], None],
    skip_help: str | None = None,
) -> None:
    """A hit with its question, and buttons that grade, skip or undo, for whichever purpose.

    A hit is a passage, or a document where the labels of its question name documents. ``key``
    begins the keys of the buttons; ``undo`` draws its own.
    """
    st.markdown(f"**{plain(hit.question)}**")  # headings in dialogs are smaller than text
    place = f"{plain(hit.document)}{_page(base, hit)} · {where(hit)}"
    if hit.end is None:
        place += (
            ". The labels of this question name documents: grade the whole document, of which you "
            "see the beginning."
        )
    st.caption(place)
    with st.container(border=True, height=300):
        text, spans = without_markup(hit.text, hit.matches)
        st.markdown(marked(text[:_LONGEST], [span for span in spans if span[1] <= _LONGEST]))
    with st.container(horizontal=True, gap="small"):
        for name in grades:
            st.button(
                grade_name(name),
                key=f"{key}_grade_{name}",
                shortcut="M" if name == MISLEADS else name,
                on_click=grade,
                args=(hit, int(name)),
                **offered(base, "questions.label"),
            )
        st.button(
            "Skip", key=f"{key}_skip", type="tertiary", shortcut="S", help=skip_help, on_click=skip
        )
        undo()


def where(hit: HitToJudge) -> str:
    """The ranks of a hit in the runs that retrieved it."""
    first, second = hit.ranks
    if first is None or second is None:
        return f"rank {first or second}"
    return f"rank {first} and rank {second}"


def _undo_button(base: KnowledgeBase, set_name: str) -> None:
    if _LAST in st.session_state:
        undo_button("judging", _undo, base, set_name)


def undo_button(key: str, undo: Callable[..., None], *args: object) -> None:
    """A button that takes the last grade back."""
    st.button(
        "Undo",
        key=f"{key}_undo",
        icon=":material/undo:",
        type="tertiary",
        shortcut="U",
        help="Removes the last grade and shows what it was for again.",
        on_click=undo,
        args=args,
    )


def _page(base: KnowledgeBase, hit: HitToJudge) -> str:
    outline = None if hit.end is None else base.documents.outline(hit.document_id)
    if outline is None:
        return ""
    place = place_of(outline, hit.start, hit.end or 0)
    return page_name(hit.document, place.page, place.heading, " · ", place.label)


def _grade(base: KnowledgeBase, set_name: str, hit: HitToJudge, grade: int) -> None:
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


_JUDGE = "metrics_judge"
_QUOTING = "extractive"
_TRIAL = (
    "Compares its grades with those of people, and stores nothing. Change its wording on Settings, "
    "under Prompts."
)


def judge_popover(
    base: KnowledgeBase, run: Run, recipe: Recipe, unjudged: UnjudgedShare | None, unit: str
) -> None:
    """A popover with what is known of the open hits, and the ways to judge them.

    What a model judged is read once it is opened.
    """
    key = f"metrics_judge_{run.id}"
    opened = st.popover(
        "Judge",
        icon=":material/gavel:",
        type="tertiary",
        key=key,
        on_change="rerun",
    )
    # Drawn before it is opened: a popover is placed where its content fits then.
    content = opened.container(height=POPOVER_HEIGHT, border=False)
    with content:
        if unjudged is not None and unjudged.unjudged:
            st.caption(unjudged.sentence(unit))
        with st.container(horizontal=True, gap="small"):
            judge_button(base, run, popover=key)
        if opened.open:
            with guard():
                _judge(base, run, recipe)


def _tried(base: KnowledgeBase, run: Run, judge: str) -> str:
    """Draw the trial of a judge on passages that people graded; return its outcome, if asked."""
    options = offered(base, "runs.try_judge", disabled=not judge, help=_TRIAL)
    key = f"metrics_judge_try_{run.id}"
    if not st.button("Try on 20 passages", key=key, type="tertiary", **options):
        return ""
    with st.spinner(f"Asking {plain(judge)} …"):
        return base.runs.try_judge(run.question_set, judge).sentence


def _judge(base: KnowledgeBase, run: Run, recipe: Recipe) -> None:
    answer = recipe.answer
    named = "" if answer.provider == _QUOTING else f"{answer.provider}:{answer.model or ''}"
    st.session_state.setdefault(_JUDGE, named.rstrip(":"))
    judge = st.text_input(
        "Or by a model",
        key=_JUDGE,
        placeholder="provider:model",
        help="A model grades the first ten results of every question. Its grades are not labels: "
        "the grades that people give a random sample correct them.",
    ).strip()
    job = base.runs.latest_judging(run.id, judge) if judge else None
    if job is not None and job.active:
        follow(job.id, "judge")
    else:
        failure(job)
        with st.container(horizontal=True, gap="small"):
            action_button(
                "Grade the hits",
                f"metrics_judge_start_{run.id}",
                "play_arrow",
                base.runs.start_judging,
                run.id,
                judge,
                **offered(base, "runs.start_judging", disabled=not judge),
            )
            tried = _tried(base, run, judge)
        if tried:
            st.markdown(plain(tried))
    judgements = base.runs.open_hits(run.id, judge=judge or None)
    for sentence in judgements.sentences:
        st.markdown(plain(sentence))
    calibration = base.runs.judge_calibration(run.id, judgements.judge)
    if calibration is not None:
        st.markdown(plain(calibration.sentence))
        draw_chart(reliability_diagram(calibration.bins), "judge_reliability", calibration.sentence)
