"""Judging the open hits of a run: the highest, a sample, or all by a model that people check."""

from __future__ import annotations

import streamlit as st

from pages.components.labels.judging import judge_button
from pages.components.shell.buttons import action_button
from pages.components.shell.charts import draw_chart, reliability_diagram
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import POPOVER_HEIGHT, failure, follow
from pages.components.shell.permission import offered
from pages.components.shell.text import plain
from rag import KnowledgeBase, Recipe, Run, UnjudgedShare

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
