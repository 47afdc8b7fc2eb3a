"""Whether memory helps: a question set answered with and without it."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import failure, follow
from pages.components.shell.permission import offered
from pages.components.shell.session import question_sets
from pages.components.shell.text import plain
from rag import KnowledgeBase, MemoryEffect, Recipe, counted

_SET = "memory_set"
_ICONS = {"better": "thumb_up", "worse": "thumb_down"}


def benefit(base: KnowledgeBase, recipe: Recipe) -> None:
    """An expander with the last result and a button; nothing is read before it is opened."""
    opened = st.expander(
        "Does it help?", icon=":material/experiment:", key="memory_benefit", on_change="rerun"
    )
    if opened.open:
        with opened, guard():
            _benefit(base, recipe)


def _benefit(base: KnowledgeBase, recipe: Recipe) -> None:
    sets = {question_set.name: question_set for question_set in question_sets(base)}
    if not sets:
        st.caption("That is measured with a question set, and there is none yet.")
        return
    field, action = st.columns([3, 2], vertical_alignment="bottom")
    name = field.selectbox("Question set", list(sets), key=_SET)
    jobs = base.memory_trials.jobs(name, recipe)
    with action:
        action_button(
            "Measure",
            "memory_measure",
            "play_arrow",
            base.memory_trials.start,
            name,
            recipe,
            width="stretch",
            **offered(base, "memory_trials.start", disabled=any(job.active for job in jobs)),
        )
    st.caption(
        f"Answers every question twice, without past interactions and with them: up to "
        f"{counted(2 * sets[name].questions, 'call')} of {plain(recipe.answer.provider)}. Your own "
        "memory counts; what was asked in the very same words is left out."
    )
    for job in jobs:
        if job.active:
            follow(job.id, f"memory_{job.id}")
            return
        failure(job)
    effect = base.memory_trials.effect(name, recipe)
    if effect is not None:
        _told(effect)
    elif len(jobs) > 1:  # one of them paused
        st.caption(f":material/pause_circle: {plain(jobs[-1].message)}")


def _told(effect: MemoryEffect) -> None:
    icon = _ICONS.get(effect.figures.verdict, "drag_handle")
    st.markdown(f":material/{icon}: **{plain(effect.sentence)}**")
    for other in effect.others.values():
        st.caption(plain(other.sentence))
