"""Moves a knowledge base to another embedding model: its cost, what is won and lost, the switch."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.index_form import EMBEDDER, embedders
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button, switch
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered, refusal
from pages.components.shell.session import cache_data, shared_cache
from pages.components.shell.tables import picked_rows
from pages.components.shell.text import plain
from pages.components.shell.wording import VERDICT_BADGES, difference, duration
from rag import (
    IndexRecipe,
    KnowledgeBase,
    Migration,
    MigrationCost,
    MigrationPlan,
    NotFound,
    Recipe,
    RunComparison,
    metric_title,
)

_START = "tuning.migrations.start"
_CLICKED = "documents_migration_clicked"
_MARKS = {
    "done": ":material/check_circle:",
    "next": ":material/arrow_forward:",
    "later": ":material/radio_button_unchecked:",
}


def migration_view(base: KnowledgeBase, active: IndexRecipe) -> None:
    """Draw a section that measures a move and switches; it is open while a move is not decided."""
    migrations = base.tuning.migrations
    jobs = [job for job in (migrations.latest(), migrations.comparing()) if job is not None]
    running = [job for job in jobs if job.active]
    migration = migrations.result()
    undecided = migration is not None and migration.plan.before.index == active
    key = f"documents_migration_{base.id}"
    # Another default would fold it while somebody reads.
    expanded = st.session_state.setdefault(f"{key}_at_first", bool(running) or undecided)
    more = st.expander(
        "Move to another embedding model",
        expanded=expanded,
        icon=":material/move_down:",
        key=key,
        on_change="rerun",
    )
    if not more.open:
        return
    with more, guard():
        if running:
            job_progress.follow(running[-1].id, "migration")
            return
        _start(base, active)
        for job in jobs:
            job_progress.failure(job)
        if migration is not None:
            _measured(base, migration, active)


def worse_index(base: KnowledgeBase, active: IndexRecipe) -> IndexRecipe | None:
    """Return the index of the last measured move from ``active``, if it is worse."""
    migration = base.tuning.migrations.result()
    if migration is None or migration.plan.before.index != active:
        return None
    return migration.plan.after.index if _is_worse(base, migration.runs) else None


@shared_cache(16)
def _is_worse(base: KnowledgeBase, _runs: tuple[str, str]) -> bool:
    migrations = base.tuning.migrations
    migration = migrations.result()
    try:
        return migration is not None and migrations.effect(migration).figures.verdict == "worse"
    except NotFound:  # a run was deleted
        return False


def _start(base: KnowledgeBase, active: IndexRecipe) -> None:
    """Draw the choice of an embedder and of the questions, and the cost before anything starts."""
    sets = [item.name for item in base.questions.list_all()]
    if not sets:
        st.markdown("A move is measured on questions whose relevant passages are known.")
        st.page_link("metrics.py", label="Get questions", icon=":material/monitoring:")
        return
    left, right = st.columns(2)
    embedder = left.selectbox(
        f"New {EMBEDDER.lower()}",
        [name for name in embedders(active) if name != active.embedder],
        index=None,
        key=f"documents_migration_to_{base.id}",
        accept_new_options=True,
        placeholder="Choose one, or type PROVIDER:MODEL",
    )
    set_name = right.selectbox("Measure on", sets, key=f"documents_migration_set_{base.id}")
    if embedder is None:
        st.caption(
            "Builds an index with the new model beside the present one, measures both on the same "
            "questions, and shows which get better and worse. Answers stay as they are until you "
            "switch."
        )
        return
    with guard():
        recipe = base.tuning.migration.target(embedder) if not refusal(base, _START) else None
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            start = partial(base.tuning.migrations.start, set_name, recipe)
            action_button(
                "Measure the move",
                "documents_migration_start",
                "balance",
                start,
                **offered(base, _START),
            )
            if recipe is not None:
                st.caption(plain(_cost(base, recipe).work))


@cache_data(16, show_spinner="Estimating the cost …")
def _cost(base: KnowledgeBase, recipe: Recipe) -> MigrationCost:
    return base.tuning.migration.cost(recipe)


def _measured(base: KnowledgeBase, migration: Migration, active: IndexRecipe) -> None:
    """Draw the last measured move: verdict, costs, plan, and the questions won and lost."""
    plan, migrations = migration.plan, base.tuning.migrations
    with st.container(border=True):
        st.markdown(
            f"**{plain(plan.after.index.embedder)}** against "
            f"**{plain(plan.before.index.embedder)}** on {plain(migration.question_set)}"
        )
        try:
            effect = migrations.effect(migration)
        except NotFound:
            st.caption("A run of this measurement was deleted. Measure the move again.")
            return
        _verdict(effect)
        if not migrations.is_current(migration):
            st.warning(
                "The questions or documents changed since. Measure the move again.",
                icon=":material/update:",
            )
        _cost_and_check(migration)
        if (parity := migrations.parity(migration)) is not None:
            whole = parity.equal == parity.questions
            icon = ":material/check:" if whole else ":material/warning:"
            st.caption(f"{icon} After the switch: {parity.sentence}")
        advised = plan.advised(effect.figures.verdict)
        steps = [f"{_MARKS[step.state]} {plain(step.title)}" for step in advised.steps]
        st.markdown("  \n".join(steps))
        _switch_button(base, migration, effect, active)
    _questions(migration, effect, active)


def _verdict(effect: RunComparison) -> None:
    figures = effect.figures
    label, colour, icon = VERDICT_BADGES[figures.verdict]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(label, color=colour, icon=icon)
        st.markdown(f"**{plain(figures.headline)}** {plain(figures.recommendation)}")
    st.caption(
        f"{figures.won:,} won, {figures.lost:,} lost, {figures.tied:,} equal. "
        f"What changes: {plain(', '.join(effect.chips))}.",
        help=plain(figures.evidence),
    )
    for caveat in effect.caveats:
        st.caption(f":material/warning: {plain(caveat)}")


def _cost_and_check(migration: Migration) -> None:
    plan = migration.plan
    built = f" Building took {duration(migration.seconds)}." if migration.seconds >= 1 else ""
    st.caption(plain(f"Estimate: {plan.cost.work}{built} {plan.cost.size}"))
    foreign = plan.check.foreign
    if not foreign:
        st.caption(f":material/check: {plain(plan.check_sentence)}")
        return
    st.warning(plain(plan.check_sentence), icon=":material/warning:")
    st.dataframe(
        [{"Document": item.document, "Cosine": item.cosine} for item in foreign],
        key="documents_migration_foreign",
        hide_index=True,
        height=200 if len(foreign) > 4 else "auto",
        column_config={"Cosine": st.column_config.NumberColumn(format="%.3f")},
        alt="Stored vectors that another model made, by document, with their cosine.",
    )


def _switch_button(
    base: KnowledgeBase, migration: Migration, effect: RunComparison, active: IndexRecipe
) -> None:
    plan = migration.plan
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if plan.before.index == active:
            worse = effect.figures.verdict == "worse"
            explained = (
                "The new model is worse here. To switch anyway, choose it in the recipe, and save."
                if worse
                else "Saves the recipe with the new model, then compares its rankings with the "
                "measured ones. The present index stays as a way back."
            )
            action_button(
                f"Switch to {plan.after.index.embedder}",
                "documents_migration_switch",
                "swap_horiz",
                partial(_switch, base, plan),
                **offered(base, "tuning.migrations.switch", disabled=worse, help=explained),
            )
        st.page_link(
            "runs.py",
            label="Compare in Runs",
            icon=":material/compare_arrows:",
            query_params={"runs": ",".join(migration.runs), "against": migration.runs[0]},
        )


def _switch(base: KnowledgeBase, plan: MigrationPlan) -> None:
    """Switch; unsaved changes to other fields stay as they are."""
    changes = {name: after for name, (_, after) in plan.before.differences(plan.after).items()}
    working = working_recipe.working(base).with_fields(changes)
    base.tuning.migrations.switch()
    working_recipe.replace(base, working)
    st.toast("Answers use the new model now.", icon=":material/check:")


def _questions(migration: Migration, effect: RunComparison, active: IndexRecipe) -> None:
    """Draw the questions won or lost; the one that is clicked opens in the inspector."""
    outcome = switch("Questions", ["Lost", "Won"], "moved", label_visibility="collapsed")
    rows = [row for row in effect.rows if row.outcome == outcome.lower()]
    if not rows:
        st.caption(f"No question is {outcome.lower()}.")
        return
    label = metric_title(effect.figures.metric)
    embedder_names = (plan.index.embedder for plan in (migration.plan.before, migration.plan.after))
    before, after = (f"{label}, {name}" for name in embedder_names)
    event = st.dataframe(
        [
            {
                "Question": row.text,
                before: row.before,
                after: row.after,
                "Difference": difference(row.difference),
            }
            for row in rows
        ],
        key=f"documents_migration_{outcome}_{migration.runs[1]}",
        height=320 if len(rows) > 8 else "auto",
        hide_index=True,
        on_select=_click,
        selection_mode=("single-row", "single-cell"),
        column_config={
            "Question": st.column_config.TextColumn(width="large"),
            before: st.column_config.NumberColumn(format="%.3f"),
            after: st.column_config.NumberColumn(format="%.3f"),
            "Difference": st.column_config.NumberColumn(format="%+.3f"),
        },
        alt=f"Questions {outcome.lower()}, the largest difference first.",
    )
    st.caption("Click a question to see both retrievals in the inspector.")
    clicked = st.session_state.pop(_CLICKED, False)
    for number in picked_rows(event)[:1] if clicked else ():
        other = migration.runs[1 if migration.plan.before.index == active else 0]
        address = {"q": rows[number].text, "view": "Compare", "against": "A run's recipe"}
        st.switch_page("inspector.py", query_params=address | {"against_run": other})


def _click() -> None:
    st.session_state[_CLICKED] = True
