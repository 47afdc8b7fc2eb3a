"""Learned fusion: learn one from labels, read its two passports, and use it in the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button, switch
from pages.components.shell.permission import offered
from pages.components.shell.text import plain
from pages.components.shell.wording import VERDICT_BADGES
from pages.components.tuning.bench import Bench
from rag import (
    FEWEST_QUESTIONS,
    LearnedFusion,
    LearnedOutcome,
    Passport,
    counted,
    signed,
)

Kind = Literal["linear", "trees"]
_KINDS: Mapping[str, Kind] = {"Linear": "linear", "Trees": "trees"}


def learned_fusion(bench: Bench) -> None:
    """The section of the page."""
    st.header("Learned fusion", divider="gray")
    store, recipe = bench.base.tuning.learned_fusions, bench.recipe
    kind = _KINDS[switch("Kind of model", list(_KINDS), "learn", label_visibility="collapsed")]
    job = store.latest(bench.set_name, recipe, kind)
    if job is not None and job.active:
        job_progress.follow(job.id, "learned_fusion")
        return
    outcome = store.result(bench.set_name, recipe, kind)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        start = partial(store.start, bench.set_name, recipe, kind)
        few = len(bench.tuner.labelled(recipe.index)) < FEWEST_QUESTIONS[kind]
        options = offered(bench.base, "tuning.learned_fusions.start", disabled=few)
        if outcome is None:
            action_button("Learn", "tuning_learn", "school", start, **options)
        st.caption(
            f"Learns from labels how to combine words and meaning; needs {FEWEST_QUESTIONS[kind]} "
            "labelled questions. It is stored only with a gain on unseen questions or documents."
        )
    job_progress.failure(job)
    if outcome is not None:
        _outcome(bench, outcome)
    _stored(bench, store.list_all())


def _outcome(bench: Bench, outcome: LearnedOutcome) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(outcome.headline)}**")
        for passport in outcome.passports:
            _passport(passport)
        if outcome.hash:
            _use(bench, outcome.hash, "outcome")


def _passport(passport: Passport) -> None:
    comparison = passport.comparison
    label, colour, icon = VERDICT_BADGES[comparison.verdict]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(label, color=colour, icon=icon)
        st.markdown(f"Unseen {passport.unit}, {passport.folds} folds: {plain(comparison.evidence)}")


def _use(bench: Bench, name: str, place: str) -> None:
    if bench.recipe.search.learned_fusion == name:
        st.caption(":material/check: The recipe uses it.")
        return
    use = partial(working_recipe.change, bench.base, {"search.learned_fusion": name})
    help_text = working_recipe.UNTIL_SAVED
    action_button("Use", f"tuning_learned_{place}", "check", use, help=help_text)


def _stored(bench: Bench, stored: list[LearnedFusion]) -> None:
    if not stored:
        return
    with st.expander(f"{counted(len(stored), 'stored fusion')}", icon=":material/history:"):
        for item in stored:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(
                    f"`{item.hash}` version {item.version}, {item.kind}, "
                    f"{counted(item.questions, 'question')} of {plain(item.question_set)}: "
                    + "; ".join(map(_figure, item.passports))
                )
                _use(bench, item.hash, item.hash)


def _figure(passport: Passport) -> str:
    comparison = passport.comparison
    return f"unseen {passport.unit} {signed(comparison.difference)} (p = {comparison.p:.2g})"
