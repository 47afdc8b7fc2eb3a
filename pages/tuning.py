"""The Tuning page: the measured effect of changes to the recipe."""

from __future__ import annotations

import streamlit as st

from pages.components.labels import question_sets
from pages.components.metrics import readings
from pages.components.recipe import working_recipe
from pages.components.recipe.index_builds import builds_view
from pages.components.recipe.panel import recipe_panel
from pages.components.runs.next_step import FEW, chosen_set, page_title
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import loading_note
from pages.components.shell.session import chosen_base
from pages.components.tuning.bench import (
    Bench,
    Missing,
    bench,
    follow,
    languages_note,
    left_out_note,
    tuner,
)
from pages.components.tuning.cards import cards
from pages.components.tuning.curves import curves
from pages.components.tuning.indexes import indexes
from pages.components.tuning.search import search_all
from pages.components.tuning.threshold import threshold_panel
from rag import KnowledgeBase, QuestionPart, QuestionSet, Tuner, counted

_MORE = "tuning_more"


def main() -> None:
    """The page."""
    base = chosen_base()
    loading_note(base.id)
    sets = base.questions.list_all()
    question_sets.settle_set([item.name for item in sets])
    if not sets:
        st.markdown("Tuning needs questions whose relevant passages are known.")
        st.page_link("metrics.py", label="Get questions", icon=":material/monitoring:")
        return
    _workbench(base, sets)


def _workbench(base: KnowledgeBase, sets: list[QuestionSet]) -> None:
    """Draw the parts of the page that depend on the recipe in the sidebar."""
    chosen, part = _questions(base, sets)
    place = st.empty()
    with st.sidebar:
        recipe = recipe_panel(base, sliders=True)
    if part is None:
        st.markdown("Tuning compares rankings. No question of this set has a labelled passage yet.")
        return
    with guard():
        opened = bench(base, chosen, recipe, part, place)
        if isinstance(opened, Missing):
            follow(opened)
            return
        moving = opened.by_arithmetic
        left_out_note(opened)
        languages_note(moving)
        headline = st.container()
        with guard():
            cards(moving)
        with guard():
            said, explained = curves(moving)
            headline.markdown(f"##### {said}", help=explained or None)
        with guard():
            search_all(opened)
        _more(opened)


def _more(opened: Bench) -> None:
    """Draw the experiments that few visitors make, once they are unfolded."""
    more = st.expander(
        "More experiments",
        icon=":material/science:",
        key=_MORE,
        expanded=bool({"cuts", "precision"} & set(st.query_params)),
        on_change="rerun",
    )
    if more.open:
        with more:
            with guard():
                indexes(opened)
            with guard():
                builds_view(opened.base)
            with guard():
                threshold_panel(opened.by_arithmetic)


def _questions(
    base: KnowledgeBase, sets: list[QuestionSet]
) -> tuple[QuestionSet, QuestionPart | None]:
    """Draw the selection of a question set and of a part of it; the part is None without labels."""
    by_name = {item.name: item for item in sets}
    if not question_sets.has_choice():
        st.session_state[question_sets.SET] = chosen_set(base, sets).name
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Question set", list(by_name), key=question_sets.SET, bind="query-params", width=320
        )
        chosen = by_name[name]
        if not readings.label_count(base, chosen.name, readings.version_of(chosen)):
            return chosen, None
        measuring = tuner(base, chosen, working_recipe.working(base))
        if measuring.split is None:
            _few(measuring)
            return chosen, "all"
        tuning, held_out = measuring.counted("tuning"), measuring.counted("held-out")
        only_half = st.toggle(
            "Hold out half of the questions",
            key="half",
            bind="query-params",
            help=f"Cards and curves measure all {counted(measuring.questions, 'question')}, or the "
            f"{tuning:,} for tuning: that leaves the {held_out:,} held-out questions unseen until "
            f"Search all or Runs reports on them.{_answerable(measuring)}",
        )
    if measuring.questions < FEW:
        _few(measuring)
    return chosen, "tuning" if only_half else "all"


def _few(measuring: Tuner) -> None:
    """Say that a set decides nothing, before anything of it is drawn."""
    if measuring.questions < FEW:
        st.warning(
            f"{counted(measuring.questions, 'question')}: too few to tell recipes apart. Add more "
            "on Metrics, or choose another set.",
            icon=":material/warning:",
        )
    else:
        st.caption(f"{counted(measuring.questions, 'question')}, too few to be split.")


def _answerable(measuring: Tuner) -> str:
    """Name how many questions metrics of ranking count, where that is not all of them."""
    tuning, held_out = (measuring.counted(part, answerable=True) for part in ("tuning", "held-out"))
    if tuning + held_out == measuring.questions:
        return ""
    return f" Of these, {tuning:,} and {held_out:,} have an answer, which ranking metrics need."


with guard():
    page_title("Tuning", "tuning")
with guard():
    main()
