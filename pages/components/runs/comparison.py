"""Runs against one of them: who is ahead, whether that is chance, and on which questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from pages.components.labels.judging import judge_button
from pages.components.metrics.cards import same_search
from pages.components.recipe.working_recipe import saved
from pages.components.runs.actions import downloads, use_button
from pages.components.runs.agreement import agreement, failure_map
from pages.components.runs.deciding import decided, deciding
from pages.components.runs.questions import difference_chart, questions_table, select, traces
from pages.components.runs.table import run_name, run_names
from pages.components.shell.buttons import action_button, switch
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import POPOVER_HEIGHT, failure, follow
from pages.components.shell.session import cache_data, guest, offered, show, to_url
from pages.components.shell.tables import PINNED_WIDTH
from pages.components.shell.text import VERDICT_BADGES, difference, plain
from pages.components.tours import tour_button
from rag import (
    ANSWER_TITLES,
    EQUIVALENT,
    Comparison,
    KnowledgeBase,
    LeaderboardRow,
    NotFound,
    PooledDifference,
    Posterior,
    Recipe,
    RunComparison,
    TouchstoneError,
    as_percent,
    comparison_stop,
    counted,
    metric_title,
    plain_run_name,
    posterior,
    refusals_beside,
    signed,
)

AGAINST, SHOWN = "against", "run"  # the URL's parameters: the reference, and the run in detail
MATTERS = "equal"  # the URL's parameter: how close two means are that nobody would tell apart
HELD_OUT = "Held-out only"
BY_QUESTION, SAME, BETTER = "Gains and losses", "Same results?", "Which is better?"
WHERE = "Where?"
VIEW = "pair"  # the URL's parameter
LEANING = "The test decides nothing, so no probability is shown: one would read like a verdict."


def comparison(
    base: KnowledgeBase,
    chosen: Sequence[LeaderboardRow],
    leaderboard: Sequence[LeaderboardRow],
    metric: str,
) -> None:
    """The section below the table. ``chosen`` are the ticked runs, ``leaderboard`` is the table."""
    names = run_names(leaderboard)
    st.header("Comparison", divider="gray")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        against = _reference(chosen, leaderboard, names, saved(base))
        only = _held_out(base, chosen[0].run.question_set)
    measured = _measured(chosen, leaderboard, against, names, metric)
    others = [run_id for run_id in measured if run_id != against]
    if against not in measured or not others:
        return
    table = _compared(base, others, against, metric, only)
    if len(table) > 1:
        _table(table, names)
    compared = _one(table, names)
    pooled = _open_hits(base, compared, only)
    _verdict(base, compared, names, pooled)
    row = st.container(horizontal=True, gap="small")
    views = [BY_QUESTION, SAME] if guest() else [BY_QUESTION, WHERE, SAME, BETTER]
    view = switch("Two runs", views, VIEW, label_visibility="collapsed")
    with row:
        is_better, two = compared.figures.verdict == "better", len(chosen) > 1
        if two and is_better:  # for a single run they stand above
            use_button(base, compared.run, one_of_two=True)
        if two:
            downloads(base, compared.run, compared.baseline)
        if view != BETTER and not guest():  # where hits are judged in place, by the same keys
            judge_button(base, compared.run, compared.baseline)
        if not guest():  # they may not ask a model
            preferred(base, compared)
        stops = [comparison_stop(compared, _plain_names(compared, leaderboard), base.recipe())]
        key = f"{compared.run.id}_{compared.baseline.id}"
        tour_button(base, f"compared_{key}", lambda: stops)
        if two and not is_better:
            use_button(base, compared.run, one_of_two=True)
    scope = f"{compared.run.id}_{against}_{metric}_{only is not None}"
    if view == BETTER:
        deciding(base, compared, names, metric)
        return
    if view == SAME:
        picked = agreement(base, compared, metric, select)
    else:
        if view == WHERE:
            failure_map(base, compared, f"runs_map_{scope}", select)
        else:
            difference_chart(compared, select, f"runs_chart_{scope}")
        picked = questions_table(compared, scope)
    if picked:
        traces(base, compared, names, picked)


def _plain_names(
    compared: RunComparison, leaderboard: Sequence[LeaderboardRow]
) -> Mapping[str, str]:
    """The names of two runs for readers who set no recipe."""
    pair = compared.run.id, compared.baseline.id
    return {
        row.run.id: run_name(replace(row, name=plain_run_name(row.run, row.name)))
        for row in leaderboard
        if row.run.id in pair
    }


def _reference(
    chosen: Sequence[LeaderboardRow],
    board: Sequence[LeaderboardRow],
    names: Mapping[str, str],
    recipe: Recipe,
) -> str:
    """The run that the others are compared with: as the URL says, else as it makes most sense."""
    pinned = [row for row in board if row.is_baseline]
    rows = {row.run.id: row for row in (*(chosen if len(chosen) > 1 else ()), *pinned)}
    parameter = st.query_params.get(AGAINST, "")
    default = default_reference(chosen, rows, recipe)
    show("runs_against", parameter if parameter in rows else default)
    return str(
        st.selectbox(
            "Compare with",
            list(rows),
            key="runs_against",
            format_func=lambda run_id: names[run_id],
            on_change=lambda: to_url(AGAINST, st.session_state["runs_against"]),
            width=380,
        )
    )


def default_reference(
    chosen: Sequence[LeaderboardRow], rows: Mapping[str, LeaderboardRow], recipe: Recipe
) -> str:
    """The baseline where it is ticked or only one run is, else the oldest of the ticked ones.

    If runs of the saved ``recipe`` are ticked, it is the oldest of these.
    """
    baseline = next((name for name, row in rows.items() if row.is_baseline), None)
    ticked = [row.run.id for row in chosen]
    if baseline is not None and (baseline in ticked or len(ticked) == 1):
        return baseline
    of_saved = [row for row in chosen if same_search(row.run.recipe, recipe)]
    return min(of_saved or chosen, key=lambda row: row.run.created).run.id


def _measured(
    chosen: Sequence[LeaderboardRow],
    board: Sequence[LeaderboardRow],
    against: str,
    names: Mapping[str, str],
    metric: str,
) -> list[str]:
    """The ids of the compared runs that measured the metric; name the others."""
    ids = {row.run.id for row in chosen} | {against}
    runs = [row.run for row in board if row.run.id in ids]
    lacking = [names[run.id] for run in runs if metric not in run.metrics]
    if lacking:
        how = " with *Also score answers*" if metric in ANSWER_TITLES else ""
        which = "it" if len(lacking) == 1 else "them"
        st.info(
            f"{plain(' and '.join(lacking))} did not measure *{plain(metric_title(metric))}*. To "
            f"compare {which}, evaluate the same recipe again{how} on *Metrics*, or choose another "
            "metric.",
            icon=":material/rule:",
        )
    return [run.id for run in runs if metric in run.metrics]


def _held_out(base: KnowledgeBase, set_name: str) -> tuple[str, ...] | None:
    """Ids of the questions that count, None for all."""
    try:
        ids = base.questions.split(set_name).held_out
    except TouchstoneError:
        return None  # the set is gone, or too small to be split
    explained = "Report on questions that you did not tune on: the held-out ones."
    choice = switch("Questions", ["All questions", HELD_OUT], "on", help=explained)
    return ids if choice == HELD_OUT else None


@cache_data(32)
def _compared(
    base: KnowledgeBase,
    others: Sequence[str],
    against: str,
    metric: str,
    only: tuple[str, ...] | None,
) -> list[RunComparison]:
    return base.runs.compare(others, against, metric, only)


def _table(table: Sequence[RunComparison], names: Mapping[str, str]) -> None:
    label = metric_title(table[0].figures.metric)
    st.dataframe(
        [_row(compared.figures, names[compared.run.id], label) for compared in table],
        hide_index=True,
        column_config={
            "Run": st.column_config.TextColumn(pinned=True, width=PINNED_WIDTH),
            label: st.column_config.NumberColumn(format="%.3f"),
            "Difference": st.column_config.NumberColumn(format="%+.3f"),
            "Interval": st.column_config.TextColumn(
                help="Of the difference, at the level of the test: it leaves 0 out exactly where "
                "the test decides. The level grows with the number of runs that are compared. The "
                "table of runs has 95% intervals of single means. The test is stricter, so that "
                "few verdicts are wrong."
            ),
            "p": st.column_config.NumberColumn(
                format="%.4f",
                help="How often chance alone would show such a difference, corrected after Holm "
                "for all runs of this set that compare with the reference, shown or not.",
            ),
            "p alone": st.column_config.NumberColumn(format="%.4f", help="Without correction."),
        },
        alt="Each run against the reference, with interval, counts and corrected p-value.",
    )


def _row(figures: Comparison, name: str, label: str) -> dict[str, object]:
    return {
        "Run": name,
        "Verdict": VERDICT_BADGES[figures.verdict][0].lower(),
        label: figures.mean,
        "Difference": None if figures.obstacle else difference(figures.difference),
        "Interval": None
        if figures.obstacle or figures.all_tied
        else f"{signed(figures.interval.low)} to {signed(figures.interval.high)} "
        f"({as_percent(figures.confidence)})",
        "Won": figures.won,
        "Lost": figures.lost,
        "Tied": figures.tied,
        "p": None if figures.obstacle else figures.p,
        "p alone": None if figures.obstacle else figures.raw_p,
    }


def _one(table: Sequence[RunComparison], names: Mapping[str, str]) -> RunComparison:
    """The comparison that is shown in detail."""
    if len(table) == 1:
        return table[0]
    by_id = {compared.run.id: compared for compared in table}
    parameter = st.query_params.get(SHOWN, "")
    show("runs_shown", parameter if parameter in by_id else table[0].run.id)
    picked = st.pills(
        "In detail",
        list(by_id),
        key="runs_shown",
        format_func=lambda run_id: plain(names[run_id]),
        required=True,
        on_change=lambda: to_url(SHOWN, st.session_state["runs_shown"]),
    )
    return by_id[str(picked)]


def _open_hits(
    base: KnowledgeBase, compared: RunComparison, only: tuple[str, ...] | None
) -> PooledDifference | None:
    """The share of unjudged passages, and how much it could change the difference.

    None if the question set no longer exists.
    """
    try:
        version = base.questions.named(compared.run.question_set).version
        pair = compared.run.id, compared.baseline.id
        return _pooled(base, version, *pair, compared.figures.metric, compared.untouched or only)
    except NotFound:
        return None


@cache_data(32)
def _pooled(
    base: KnowledgeBase,
    version: int,
    run: str,
    other: str,
    metric: str,
    only: tuple[str, ...] | None,
) -> PooledDifference | None:
    return base.runs.pooled_difference(run, other, metric, only)


def _verdict(
    base: KnowledgeBase,
    compared: RunComparison,
    names: Mapping[str, str],
    pooled: PooledDifference | None,
) -> None:
    label, colour, icon = VERDICT_BADGES[compared.figures.verdict]
    pair = compared.run, compared.baseline
    identical = bool(pooled and pooled.identical) and compared.figures.verdict == "undecided"
    if identical or compared.figures.all_tied:
        label = "Identical" if identical else "No difference"
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if compared.figures.verdict != "incomparable":
                st.badge(label, color=colour, icon=icon)
            st.markdown(
                f"**{plain(names[compared.run.id])}** against "
                f"**{plain(names[compared.baseline.id])}**"
            )
        figures = compared.figures
        if identical and pooled:
            questions = counted(pooled.questions, "question")
            depths = [run.recipe.search.top_k for run in pair if run.recipe]
            shown = f" The first run returns {depths[0]} of them, the other {depths[-1]}."
            st.markdown(
                f"**Identical ranking: both runs rank the same passages for all {questions}.**"
                f"{shown if len(set(depths)) > 1 else ''}"
            )
        else:
            step = compared.recommendation(names, base.recipe())
            st.markdown(f"**{plain(figures.headline)}** {plain(step)}")
        decided(base, compared, names)
        changed = ", ".join(compared.chips) or "nothing, both search alike"
        recipes = compared.run.recipe and compared.baseline.recipe
        what = "What the recipe changes" if recipes else "What was measured"
        st.caption(f"{what}: {plain(changed)}.")
        for beside in (refusals_beside(*pair), compared.run.tokens_beside(compared.baseline)):
            if beside:
                st.caption(plain(beside))
        for caveat in compared.caveats:
            st.caption(f":material/warning: {plain(caveat)}")
        with st.expander("How it was tested", icon=":material/science:"):
            st.markdown(plain(f"{figures.evidence} {compared.attempt.sentence}".strip()))
            tested = figures.differences and not figures.all_tied
            if tested and as_percent(figures.confidence) != "95%":
                st.caption(
                    f"The interval of the difference is that of the test: {figures.level}, so that "
                    "few verdicts are wrong. Single means have 95% intervals, as in the table."
                )
            if pooled and pooled.sentence:
                st.caption(plain(pooled.sentence))
            _matters(compared)


def _matters(compared: RunComparison) -> None:
    """Draw the probability that the difference matters.

    Draw nothing for too few questions, or if the runs are not comparable or the comparison is in
    doubt.
    """
    figures = compared.figures
    settled = figures.verdict != "incomparable" and not figures.doubt
    if not settled or posterior(figures.gains, clusters=compared.groups) is None:
        return
    text, field = st.columns([4, 1], vertical_alignment="center")
    equivalent = field.number_input(
        "Ignore differences below",
        min_value=0.0,
        max_value=0.5,
        value=EQUIVALENT,
        step=0.005,
        format="%.3f",
        key=MATTERS,
        bind="query-params",
        help="Differences of the mean up to this value count as equal. The probabilities are of a "
        "Bayesian bootstrap of the questions.",
    )
    chances = posterior(figures.gains, equivalent, compared.groups)
    if chances is not None:
        text.caption(_chances(figures, chances))


def _chances(figures: Comparison, chances: Posterior) -> str:
    """Probabilities, named for what they are, where they do not read like another verdict."""
    if figures.verdict != "undecided":
        return chances.sentence
    return LEANING if chances.reads_as_verdict else f"On these questions alone: {chances.sentence}"


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
    content = opened.container(height=POPOVER_HEIGHT, border=False)
    if opened.open:
        with content, guard():
            _preferred(base, compared.run.id, compared.baseline.id)


def _preferred(base: KnowledgeBase, run: str, other: str) -> None:
    st.caption(
        "A model reads both answers to each question in both orders. One that goes by the order "
        "contradicts itself, which counts as a tie."
    )
    judge = st.text_input("Judge", key=_JUDGE, placeholder="provider:model").strip()
    job = base.runs.latest_preferences(run, other, judge) if judge else None
    if job is not None and job.active:
        follow(job.id, "prefer")
        return
    failure(job)
    action_button(
        "Compare",
        "runs_prefer_start",
        "play_arrow",
        base.runs.start_preferences,
        run,
        other,
        judge,
        **offered(base, "runs.start_preferences", disabled=not judge),
    )
    if judge:
        preference = base.runs.preferences(run, other, judge)
        if preference.questions:
            st.markdown(plain(preference.sentence))
            st.caption(plain(f"{preference.tokens:,} tokens, {preference.cost or 'nothing asked'}"))
