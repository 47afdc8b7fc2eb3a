"""Comparison of the answers of two runs, judged by a language model."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import failure, follow
from pages.components.shell.permission import offered
from pages.components.shell.text import plain
from rag import KnowledgeBase, RunComparison

_JUDGE = "runs_judge"


def preferred(base: KnowledgeBase, compared: RunComparison) -> None:
    """A popover where both runs have answers; what is told of them is read when it is opened."""
    if any("answers" not in run.environment for run in (compared.run, compared.baseline)):
        return
    opened = st.popover(
        "Compare answers by a model",
        icon=":material/balance:",
        type="tertiary",
        key=f"runs_prefer_{compared.run.id}_{compared.baseline.id}",
        on_change="rerun",
    )
    if opened.open:
        with opened, guard():
            _preferred(base, compared.run.id, compared.baseline.id)


def _preferred(base: KnowledgeBase, run: str, other: str) -> None:
    st.caption(
        "A model reads both answers to each question in both orders. One that goes by the order "
        "contradicts itself, which counts as a tie."
    )
    judge = st.text_input("Judge", key=_JUDGE, placeholder="provider:model").strip()
    job = base.preferences.latest(run, other, judge) if judge else None
    if job is not None and job.active:
        follow(job.id, "prefer")
        return
    failure(job)
    action_button(
        "Compare",
        "runs_prefer_start",
        "play_arrow",
        base.preferences.start,
        run,
        other,
        judge,
        **offered(base, "preferences.start", disabled=not judge),
    )
    if judge:
        preference = base.preferences.between(run, other, judge)
        if preference.questions:
            st.markdown(plain(preference.sentence))
            st.caption(plain(f"{preference.tokens:,} tokens, {preference.cost or 'nothing asked'}"))
