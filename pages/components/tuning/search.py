"""Search all: the best recipe of a grid, and its worth on questions that did not choose it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.chip import recipe_download
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button
from pages.components.shell.session import offered
from pages.components.shell.text import VERDICT_BADGES, apply_button, change_badge, plain
from pages.components.tuning.bench import METRICS, Bench
from rag import (
    CAPTIONS,
    LEADERS,
    Grid,
    SearchRecipe,
    SearchResult,
    Selection,
    SplitSelection,
    TouchstoneError,
    counted,
    metric_title,
    phrase,
)

# A threshold only takes away, so no ranking metric gains from one: it is chosen further down.
GRID: Mapping[str, Sequence[Any]] = {
    "search.mode": ["hybrid"],
    "search.dense_weight": [step / 20 for step in range(21)],
    "search.fusion": ["weighted", "rrf", "saturation"],
    "search.rrf_k": [10, 60],
    "search.k1": [0.9, 1.2, 1.6],
    "search.b": [0.4, 0.75],
}
_ON_SPLIT = "tuning_on_split"
_NOTHING_BETTER = ("Nothing better", "gray", VERDICT_BADGES["undecided"][2])


def search_all(bench: Bench) -> None:
    """The section of the page."""
    st.header("Search all", divider="gray")
    searches = bench.base.tuning.searches
    job = searches.latest(bench.set_name)
    if job is not None and job.active:
        job_progress.follow(job.id, "search")
    else:
        _ask(bench)
    job_progress.failure(job)
    result = searches.result(bench.set_name)
    if result is None or result.state != bench.state:
        if result is not None and not (job is not None and job.active):
            st.info(
                "The last search is discarded: documents, questions or labels changed while it ran "
                "or since then. Search again to measure them as they are now.",
                icon=":material/history:",
            )
        return
    _report(bench, result)


def _plan(bench: Bench) -> str:
    """Say which questions choose the best combination, and which ones compare it."""
    corrected = "The test is corrected for the number of combinations."
    if st.session_state.get(_ON_SPLIT):
        return (
            f"Measures every combination on the {bench.tuner.counted('tuning'):,} tuning "
            "questions, and compares the best one with the saved recipe on the "
            f"{bench.tuner.counted('held-out'):,} held-out ones. {corrected}"
        )
    return (
        f"Measures every combination {_on(bench.tuner.questions)}, for tuning or held out alike. "
        "Compares the best one with the saved recipe by cross-validation: each question counts in "
        f"choices that it had no part in. {corrected}"
    )


def _on(questions: int) -> str:
    return "on the one question" if questions == 1 else f"on all {questions:,} questions"


def _ask(bench: Bench) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Options", icon=":material/tune:", type="tertiary"):
            metric = st.selectbox("Best by", METRICS, format_func=metric_title, key="tuning_by")
            values = _editor()
            held_out = _on_split(bench)
        arguments = (bench.set_name, values, bench.recipe, bench.saved or bench.recipe, metric)
        start = partial(bench.base.tuning.searches.start, *arguments, held_out=held_out)
        options = offered(bench.base, "tuning.searches.start", type="primary", help=_plan(bench))
        action_button("Search all", "tuning_search", "manage_search", start, **options)
        try:
            number = len(Grid.parse(values, bench.recipe))
            st.caption(f"{counted(number, 'combination')} around the present recipe")
        except TouchstoneError as error:
            st.caption(f":material/error: {plain(error.message)} {plain(error.hint)}")


def _on_split(bench: Bench) -> bool:
    """Whether to choose on the tuning questions alone, where these can choose."""
    try:
        bench.tuner.require_parts(bench.recipe.index)
    except TouchstoneError as error:
        st.caption(f"{plain(error.message)} {plain(error.hint)}")
        return False
    return st.toggle(
        "Choose on the tuning questions only",
        key=_ON_SPLIT,
        help=f"Chooses on the {bench.tuner.counted('tuning'):,} tuning questions and compares on "
        f"the {bench.tuner.counted('held-out'):,} held-out ones. Half of the questions decide "
        "less, and another split may decide otherwise.",
    )


def _editor() -> dict[str, list[Any]]:
    st.caption(
        "Every combination is measured. The threshold is not here: it only takes passages away, "
        "so no ranking gains from it."
    )
    fields = [f"search.{name}" for name in SearchRecipe.model_fields]
    rows = [{"Field": name, "Values": _written(values)} for name, values in GRID.items()]
    edited = st.data_editor(
        rows,
        key="tuning_grid",
        num_rows="dynamic",
        hide_index=True,
        column_config={
            "Field": st.column_config.SelectboxColumn(
                options=fields, format_func=CAPTIONS.__getitem__, required=True
            ),
            "Values": st.column_config.TextColumn(required=True, width="large"),
        },
    )
    return {
        str(row["Field"]): working_recipe.read_values(str(row["Values"]))
        for row in edited
        if row.get("Field") and row.get("Values")
    }


def _written(values: Sequence[Any]) -> str:
    return ", ".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def _report(bench: Bench, best: SearchResult) -> None:
    selection, comparison = best.selection, best.selection.comparison
    on_split = isinstance(selection, SplitSelection)
    changed = best.baseline.differences(best.recipe)
    # A verdict that judging or the documents keep open is no reason to stay, nor one to change.
    is_open = bool(changed) and bool(comparison.obstacle or comparison.doubt)
    stays = not is_open and (not changed or comparison.verdict != "better")
    gains = changed and comparison.difference > 0
    label, colour, icon = change_badge(comparison) if gains or not stays else _NOTHING_BETTER
    verdict = plain(selection.headline) if changed else _nothing_better(bench, best)
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.badge(label, color=colour, icon=icon)
            st.markdown(f"**{verdict if stays else _differences(changed)}**")
        if not stays:
            st.markdown(f"**{verdict}**")
        elif changed:
            st.caption(_found(best, changed))
        if tested := list(_tested(bench, best)):
            with st.expander("How it was tested", icon=":material/science:"):
                for sentence in tested:
                    st.markdown(plain(sentence))
        if changed:
            _buttons(bench, best)
    where = "the tuning questions" if on_split else "all questions"
    with st.expander(f"Best {LEADERS} on {where}", icon=":material/leaderboard:"):
        _table(best, where)


def _found(best: SearchResult, changed: Mapping[str, tuple[Any, Any]]) -> str:
    """Describe the best recipe by what was searched, and by what the sidebar had changed before."""
    searched = {f"search.{name}" for name in best.leaders[0].fields}
    found = {name: values for name, values in changed.items() if name in searched}
    before = {name: values for name, values in changed.items() if name not in searched}
    sentence = f"The best recipe found: {_differences(found) or 'the one of the sidebar'}."
    if before:
        sentence += (
            " Not searched, and changed before against the saved recipe that it is compared with: "
            f"{_differences(before)}."
        )
    return sentence


def _differences(changed: Mapping[str, tuple[Any, Any]]) -> str:
    parts = [
        f"{plain(phrase(name))} {plain(_written([a]))} → {plain(_written([b]))}"
        for name, (a, b) in changed.items()
    ]
    return ", ".join(parts)


def _tested(bench: Bench, best: SearchResult) -> Iterator[str]:
    """Yield how the best recipe was chosen and compared."""
    selection, comparison = best.selection, best.selection.comparison
    on_split = isinstance(selection, SplitSelection)
    counted_in = (
        selection.tuning_questions if isinstance(selection, SplitSelection) else selection.questions
    )
    if selection.method:
        yield selection.method
    if best.baseline != best.recipe:
        yield f"{comparison.evidence} {best.attempt.sentence}".strip()
        if best.combinations > selection.tried:
            yield (
                f"Measured: {counted(best.combinations, 'combination')}. Those that rank alike "
                "count as one recipe."
            )
    if counted_in < bench.tuner.counted("tuning" if on_split else "all"):
        yield (
            f"{metric_title(comparison.metric)} is measured on labelled questions only; those "
            "without an answer count in refusals."
        )


def _nothing_better(bench: Bench, best: SearchResult) -> str:
    """Say that no recipe of the grid beats the baseline, and which recipe that is.

    Many of them can rank alike. Both values are of the same questions, unless some are held out.
    """
    tried, comparison = best.selection.tried, best.selection.comparison
    names = (bench.saved, "the saved recipe"), (bench.recipe, "the recipe on this page")
    known = (name for recipe, name in names if recipe == best.baseline)
    baseline = next(known, "the recipe that was saved then")
    number = f"the {best.combinations:,} combinations give only " * (best.combinations > tried)
    if tried == 1:
        sentence = f"{number or 'there is only '}one other result, which does not beat {baseline}"
    elif number:
        sentence = f"{number}{tried:,} different results, and none beats {baseline}"
    else:
        sentence = f"none of {tried:,} different recipes beats {baseline}"
    if isinstance(best.selection, Selection):
        sentence += (
            f". {metric_title(comparison.metric)} is {best.leaders[0].figure:.3f} at best, and "
            f"{comparison.baseline:.3f} with {baseline}"
        )
    return plain(f"No reason to change: {sentence}.")


def _buttons(bench: Bench, best: SearchResult) -> None:
    with st.container(horizontal=True, gap="small"):
        apply = partial(working_recipe.replace, bench.base, best.recipe)
        is_better = best.selection.comparison.verdict == "better"
        label, sign = apply_button(best.selection.comparison)
        action_button(label, "tuning_apply", sign, apply, help=working_recipe.UNTIL_SAVED)
        if is_better:
            hint = "Saves it as the recipe of this knowledge base. Earlier versions are kept."
            options = offered(bench.base, "recipes.save", help=hint)
            action_button("Save", "tuning_save", "save", _save, bench, best, **options)
        recipe_download("Export JSON", best.recipe, "tuning_export")


def _save(bench: Bench, best: SearchResult) -> None:
    drawn = working_recipe.saved(bench.base)
    working_recipe.replace(bench.base, best.recipe)
    working_recipe.save(bench.base, drawn)
    st.toast("Saved. Chat and all pages use it from now on.", icon=":material/check:")


def _table(best: SearchResult, where: str) -> None:
    label = f"{metric_title(best.selection.comparison.metric)} on {where}"
    st.dataframe(
        [{label: leader.figure, **_captioned(leader.fields)} for leader in best.leaders],
        hide_index=True,
        column_config={label: st.column_config.NumberColumn(format="%.3f")},
        placeholder="–",
        alt="The best recipes of the grid on the questions that chose.",
    )
    st.caption("A dash stands for values that rank alike: they count as one recipe.")


def _captioned(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a search by the captions of the recipe panel."""
    return {CAPTIONS[f"search.{name}"]: value for name, value in fields.items()}
