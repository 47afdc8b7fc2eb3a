"""A language model grades the hits of a run; people's random sample says how far it is right."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import POPOVER_HEIGHT, failure, follow
from pages.components.shell.permission import offered
from pages.components.shell.text import plain
from rag import KnowledgeBase, Recipe, Run

_JUDGE = "metrics_judge"
_QUOTING = "extractive"


def model_judge(base: KnowledgeBase, run: Run, recipe: Recipe) -> None:
    """A popover with what is known of the open hits, and the start of a judge.

    Nothing is read before it is opened.
    """
    opened = st.popover(
        "Judge by a model",
        icon=":material/smart_toy:",
        type="tertiary",
        key=f"metrics_judge_{run.id}",
        on_change="rerun",
    )
    # Drawn before it is opened: a popover is placed where its content fits then.
    content = opened.container(height=POPOVER_HEIGHT, border=False)
    if opened.open:
        with content, guard():
            _judge(base, run, recipe)


def _judge(base: KnowledgeBase, run: Run, recipe: Recipe) -> None:
    st.caption(
        "A model grades the first ten results of every question. Its grades are not labels: "
        "the grades that people give a random sample correct them."
    )
    answer = recipe.answer
    named = "" if answer.provider == _QUOTING else f"{answer.provider}:{answer.model or ''}"
    st.session_state.setdefault(_JUDGE, named.rstrip(":"))
    judge = st.text_input("Judge", key=_JUDGE, placeholder="provider:model").strip()
    job = base.runs.latest_judging(run.id, judge) if judge else None
    if job is not None and job.active:
        follow(job.id, "judge")
    else:
        failure(job)
        action_button(
            "Grade the hits",
            f"metrics_judge_start_{run.id}",
            "play_arrow",
            base.runs.start_judging,
            run.id,
            judge,
            **offered(base, "runs.start_judging", disabled=not judge),
        )
    judgements = base.runs.open_hits(run.id, judge=judge or None)
    for sentence in judgements.sentences:
        st.markdown(plain(sentence))
