"""The Runs page: compare evaluations, and two recipes by votes."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.components.chat.arena import arena
from pages.components.labels import question_sets
from pages.components.runs.actions import actions, delete_button
from pages.components.runs.comparison import comparison
from pages.components.runs.deciding import decisions_table
from pages.components.runs.next_step import chosen_set, page_title
from pages.components.runs.systems import systems_view
from pages.components.runs.table import (
    SELECTED,
    agents,
    leader,
    ledger,
    metric_names,
    rows,
    run_names,
    table,
)
from pages.components.shell.buttons import tabs
from pages.components.shell.guard import guard
from pages.components.shell.session import chosen_base, guest
from pages.components.shell.session import question_sets as sets_of
from rag import (
    KnowledgeBase,
    LeaderboardRow,
    Run,
    counted,
    metric_meaning,
    metric_title,
)

TAB = "compare"  # the URL's parameter


def main() -> None:
    """The page; guests compare runs only."""
    base = chosen_base()
    runs = base.runs.list_all()
    names = list(dict.fromkeys(run.question_set for run in runs))
    question_sets.settle_set(names)
    if runs and not question_sets.has_choice():
        st.session_state[question_sets.SET] = _first_set(base, runs)
    page_title("Runs", "runs")
    if guest():
        leaderboard(base, runs)
    else:
        views = {
            "Runs": partial(leaderboard, base, runs),
            "Systems": partial(systems_view, base, TAB),
            "Arena": partial(arena, base),
        }
        tabs(views, TAB)


def leaderboard(base: KnowledgeBase, runs: list[Run]) -> None:
    """Draw the runs of a question set, and what the selected ones differ by."""
    _gone_note(base, runs)
    if not runs:
        _no_runs(base)
        return
    names = list(dict.fromkeys(run.question_set for run in runs))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Question set", names, key=question_sets.SET, bind="query-params", width=320
        )
        mine = [run for run in runs if run.question_set == name]
        metric = _metric(mine)
    if guest():
        st.caption(f"**{metric_title(metric)}**: {metric_meaning(metric)}")
    ranked = rows(base, name, metric, mine)
    if said := leader(ranked, metric):
        st.markdown(f"##### {said}")
    chosen = table(base, ranked, metric)
    _below(base, chosen, ranked, metric)
    decisions_table(base, name, run_names(ranked))
    ledger(base, name)
    if not guest():
        agents(base)


def _first_set(base: KnowledgeBase, runs: list[Run]) -> str:
    """The set to begin with: that of a run in the address, else the one of all pages."""
    named = st.query_params.get(SELECTED, "").split(",")
    if picked := next((run.question_set for run in runs if run.id in named), None):
        return picked
    sets = [] if guest() else sets_of(base)
    chosen = chosen_set(base, sets).name if sets else None
    return next(
        (run.question_set for run in runs if run.question_set == chosen), runs[0].question_set
    )


def _gone_note(base: KnowledgeBase, runs: list[Run]) -> None:
    """On the first look only: later, what is not here was deleted by this visitor."""
    first = not st.session_state.get(f"runs_seen_{base.id}")
    st.session_state[f"runs_seen_{base.id}"] = True
    named = set(filter(None, st.query_params.get(SELECTED, "").split(",")))
    gone = named - {run.id for run in runs}
    if first and gone:
        st.warning(
            f"{counted(len(gone), 'run')} of this link {'is' if len(gone) == 1 else 'are'} not in "
            "this knowledge base: deleted, or of another one.",
            icon=":material/scan_delete:",
        )


def _no_runs(base: KnowledgeBase) -> None:
    st.markdown(
        "Every evaluation is saved here as a run, with its metrics, its results for each "
        "question, and its recipe. Compare two or more runs."
    )
    if guest():
        return
    has_questions = bool(base.questions.list_all())
    st.page_link(
        "metrics.py",
        label="Evaluate a recipe" if has_questions else "Get questions, then evaluate",
        icon=":material/monitoring:",
    )


def _metric(runs: list[Run]) -> str:
    names = metric_names(runs)
    label = st.selectbox(
        "Metric",
        list(names),
        key="metric",
        bind="query-params",
        width=200,
        help="Each metric that you compare by makes the next test of this set stricter, because "
        "more comparisons find more differences by chance.",
    )
    return names[label]


def _below(
    base: KnowledgeBase,
    chosen: list[LeaderboardRow],
    leaderboard: list[LeaderboardRow],
    metric: str,
) -> None:
    """Draw the actions and the comparison for the selected runs."""
    has_baseline = any(row.is_baseline for row in leaderboard)
    if not chosen:
        if guest():
            st.caption("Click a run to download it; tick two or more to compare them.")
            return
        if len(leaderboard) == 1:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.caption("There is nothing to compare with yet.", width="content")
                icon = ":material/arrow_forward:"
                st.page_link("metrics.py", label="Evaluate another recipe", icon=icon)
            return
        st.caption(
            "Tick two or more to see whether the difference is more than noise. Click one to use, "
            "describe or download it" + ("." if has_baseline else ", or to pin it as the baseline.")
        )
        return
    if len(chosen) == 1:
        actions(base, chosen[0])
        if not has_baseline or chosen[0].is_baseline:
            st.caption("Tick another run to compare the two.")
            return
    with guard():
        comparison(base, chosen, leaderboard, metric)
    if len(chosen) > 1 and not guest():
        delete_button(base, chosen)


with guard():
    main()
