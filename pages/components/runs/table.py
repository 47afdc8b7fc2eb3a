"""The runs of a question set as a table, what agents did, and which recipes were tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from pages.components.shell.session import cache_data, guest, to_url
from pages.components.shell.tables import pick_rows, row_height
from pages.components.shell.text import clipped, plain
from rag import (
    ANSWER_TITLES,
    LEFT_OUT,
    METRIC_TITLES,
    AgentCall,
    Interval,
    KnowledgeBase,
    LeaderboardRow,
    Run,
    Trial,
    as_shown,
    counted,
    metric_title,
    plain_run_name,
)

SELECTED = "runs"  # the URL's parameter: ids of the ticked runs
_TALLEST = 446  # pixels: half a row at the end says that there are more
_LONGEST_NAME = 60
_APART = "⚠"  # in place of the place of a run that was measured on other data
_NAME_WIDTH, _CHANGES_WIDTH = 200, 210  # pixels: all columns of most sets fit a screen of 1440


def rows(
    base: KnowledgeBase, set_name: str, metric: str, runs: Sequence[Run]
) -> list[LeaderboardRow]:
    """The leaderboard of a set with its baseline first."""
    baseline = base.runs.baseline(set_name)
    depends = (
        [(run.id, run.note, run.tags) for run in runs],
        baseline and baseline.id,
        base.runs.recipe_names(),
    )
    ranked = _leaderboard(base, set_name, metric, depends)
    if guest():
        ranked = [replace(row, name=plain_run_name(row.run, row.name)) for row in ranked]
    return sorted(ranked, key=lambda row: not row.is_baseline)


@cache_data(32)
def _leaderboard(
    base: KnowledgeBase, set_name: str, metric: str, depends: object
) -> list[LeaderboardRow]:
    return base.runs.leaderboard(set_name, metric)


def run_name(row: LeaderboardRow) -> str:
    """The name of a run, shortened for narrow places."""
    return clipped(row.name, _LONGEST_NAME)


def run_names(leaderboard: Sequence[LeaderboardRow]) -> dict[str, str]:
    """Names by id; runs that would be called the same have their time, to the second where needed.

    Two of one second have the beginning of their id instead.
    """
    names = {row.run.id: run_name(row) for row in leaderboard}
    for more in ("{:%Y-%m-%d %H:%M} UTC", "{:%Y-%m-%d %H:%M:%S} UTC", "run {id:.6}"):
        often = Counter(names.values())
        names = {
            row.run.id: names[row.run.id]
            if often[names[row.run.id]] == 1
            else f"{run_name(row)}, {more.format(row.run.created, id=row.run.id)}"
            for row in leaderboard
        }
    return names


def metric_names(runs: Sequence[Run]) -> dict[str, str]:
    """Label to metric, of all that any of the runs measured by question; nDCG@10 first.

    Where only questions without an answer were asked it is the share of them that was refused.
    Measures of answers come last.
    """
    names = {name for run in runs for name in run.metrics if "@" in name}
    order = list(METRIC_TITLES)
    ranked_metrics = [name for name in names if name.partition("@")[0] in order]
    ranked_metrics.sort(
        key=lambda name: (order.index(name.partition("@")[0]), int(name.partition("@")[2]))
    )
    ranked_metrics.sort(key=lambda name: name != "ndcg@10")
    answers = [name for name in ANSWER_TITLES if any(name in run.metrics for run in runs)]
    return {
        metric_title(name): name for name in [*(ranked_metrics or ["correct_refusal"]), *answers]
    }


def leader(leaderboard: Sequence[LeaderboardRow], metric: str) -> str:
    """The first of the runs that compare with each other, as Markdown; "" for fewer than two.

    A lead is clear where the intervals do not overlap; a comparison tests it question by question.
    """
    ranked = sorted(
        (row for row in leaderboard if row.place and row.value is not None),
        key=lambda row: row.place or 0,
    )
    if len(ranked) < 2:
        return ""
    values = [as_shown(metric, row.value or 0.0) for row in ranked]
    best, title = values[0], metric_title(metric)
    tied = values.count(best)
    said = (
        f"First in {title}: {plain(run_names(leaderboard)[ranked[0].run.id])}, {best}."
        if tied == 1
        else f"{counted(tied, 'run')} are first in {title}, with {best} each."
    )
    if tied == len(ranked):
        return said
    first, second = ranked[0].interval, ranked[tied].interval
    is_clear = first and second and (first.low > second.high or first.high < second.low)
    badge = ":green-badge[Clear lead]" if is_clear else ":orange-badge[Lead may be noise]"
    test = "" if is_clear or guest() else " Tick two to test their difference."
    return f"{badge} {said} The next run has {values[tied]}.{test}"


def table(
    base: KnowledgeBase, leaderboard: Sequence[LeaderboardRow], metric: str
) -> list[LeaderboardRow]:
    """Draw the table; return the ticked runs in its order. The URL remembers them."""
    order = tuple(row.run.id for row in leaderboard)
    named = st.query_params.get(SELECTED, "").split(",")
    spent = base.runs.spent(leaderboard[0].run.question_set) if leaderboard else {}
    heights = (
        row_height((row.name for row in leaderboard), _NAME_WIDTH),
        row_height(map(_changes, leaderboard), _CHANGES_WIDTH),
    )
    wrapped = max((height for height in heights if height), default=None)
    numbers = pick_rows(
        _cells(leaderboard, metric, spent),
        f"runs_table_{base.id}_{hash((metric, order))}",
        [number for number, run_id in enumerate(order) if run_id in named],
        height=_TALLEST if len(leaderboard) > (5 if wrapped else 11) else "auto",
        row_height=wrapped,
        column_config=_columns(metric),
        alt=f"Runs by {metric_title(metric)}, with dates, intervals, recipe differences and notes.",
    )
    chosen = [leaderboard[number] for number in sorted(numbers) if number < len(leaderboard)]
    to_url(SELECTED, ",".join(row.run.id for row in chosen))
    _strangers(leaderboard)
    return chosen


def _cells(
    leaderboard: Sequence[LeaderboardRow], metric: str, spent: Mapping[str, tuple[int, str]]
) -> list[dict[str, object]]:
    label = metric_title(metric)
    apart = any(row.differs for row in leaderboard)
    noted = any(row.run.note not in ("", row.name) for row in leaderboard)
    purposes = any(row.run.purpose for row in leaderboard)
    tagged = any(row.run.tags for row in leaderboard)
    worded = any(row.run.prompts for row in leaderboard)
    sized = any(row.run.context_tokens is not None for row in leaderboard)
    return [
        {
            "Place": _place(row),
            label: row.value,
            "Run": row.name,
            "Recipe changes": _changes(row) or None,
            "95% interval": _ends(row.interval),
            "When": row.run.created,
            **({"Context tokens": _whole(row.run.context_tokens)} if sized else {}),
            **({"Made for": row.run.purpose or None} if purposes else {}),
            **(_spent(spent.get(row.run.id)) if spent else {}),
            **({"Note": row.run.note or None} if noted else {}),
            **({"Tags": list(row.run.tags) or None} if tagged else {}),
            **({"Prompts": row.run.prompts or None} if worded else {}),
        }
        | ({"Other data": list(row.differs) or None} if apart else {})
        for row in leaderboard
    ]


def _changes(row: LeaderboardRow) -> str:
    """The changes as text, which wraps: a chip that is wider than its column is cut."""
    return ", ".join(row.chips)


def _ends(interval: Interval | None) -> str | None:
    return None if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"


def _spent(paid: tuple[int, str] | None) -> dict[str, object]:
    tokens, cost = paid or (None, None)
    return {"Tokens": tokens, "Cost": cost}


def _whole(tokens: float | None) -> int | None:
    """Round as the comparison does: a browser rounds a half up."""
    return None if tokens is None else round(tokens)


def _place(row: LeaderboardRow) -> str:
    if row.is_baseline:
        return "baseline"
    return str(row.place or ("–" if row.comparable else _APART))


def _columns(metric: str) -> dict[str, object]:
    return {
        "Place": st.column_config.TextColumn(width=76),
        "Run": st.column_config.TextColumn(
            width=_NAME_WIDTH,
            help="The first line of its note, else the name of its recipe or system.",
        ),
        metric_title(metric): st.column_config.NumberColumn(format="%.3f", width=78),
        "95% interval": st.column_config.TextColumn(
            width=114,
            help="What the mean over all questions of this kind may be, given how few were asked.",
        ),
        "Context tokens": st.column_config.NumberColumn(
            width=122,
            help="About how many tokens the results of a question take in a prompt.",
        ),
        "Other data": st.column_config.ListColumn(
            width=120,
            help="What the run measured on that the baseline did not (or the newest run of a "
            "recipe, without a baseline). Such runs have no place, because their metrics are "
            "not comparable.",
        ),
        "Recipe changes": st.column_config.TextColumn(
            width=_CHANGES_WIDTH,
            help="How the recipe differs from the baseline's; without a baseline, from that of "
            "the first run.",
        ),
        "Note": st.column_config.TextColumn(width="medium"),
        "Tags": st.column_config.ListColumn(width="small"),
        "Made for": st.column_config.TextColumn(
            width=130, help="Gates stay out of Metrics. CI: the branch and commit that it checked."
        ),
        "When": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss", width=150),
        "Tokens": st.column_config.NumberColumn(
            format="localized",
            width=90,
            help="What the answers took, and their judge, as reported.",
        ),
        "Cost": st.column_config.TextColumn(width=110, help="By the table of prices at the time."),
    }


def _strangers(leaderboard: Sequence[LeaderboardRow]) -> None:
    others = sum(not row.comparable for row in leaderboard)
    if others:
        verb = "was" if others == 1 else "were"
        names = dict.fromkeys(name for row in leaderboard for name in row.differs)
        elsewhere = {
            LEFT_OUT: " Tick two of them to compare the questions that this does not touch.",
            "labels": " Tick one and a newer run to compare both by the labels of today.",
        }
        st.caption(
            f"{_APART} {counted(others, 'run')} {verb} measured on other "
            f"{' or '.join(names)} than the {reference(leaderboard)}, so they have no "
            f"place.{''.join(elsewhere.get(name, '') for name in names)}"
        )


def reference(leaderboard: Sequence[LeaderboardRow]) -> str:
    """The name of the run that the others are compared with."""
    if any(row.is_baseline for row in leaderboard):
        return "baseline"
    return "newest run of a recipe" if any(row.run.recipe for row in leaderboard) else "newest run"


def agents(base: KnowledgeBase) -> None:
    """A folded table, newest first; nothing where no agent did anything."""
    calls = base.runs.agent_calls()
    if not calls:
        return
    with st.expander("What agents did", icon=":material/smart_toy:"):
        st.caption(
            "Agents see the tuning questions of a set. The held-out questions decide whether a "
            "change is a gain. Labels and questions of agents are in sets of their own."
        )
        st.dataframe(
            [_call_row(call) for call in calls],
            hide_index=True,
            column_config={
                "At": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
                "Seconds": st.column_config.NumberColumn(format="%.1f"),
            },
            alt="Calls of tools by agents: who, what, why and with which outcome, newest first.",
        )


def _call_row(call: AgentCall) -> dict[str, object]:
    return {
        "At": call.at,
        "Who": call.agent,
        "What": call.tool,
        "Why": call.reason,
        "Outcome": call.outcome,
        "With": ", ".join(f"{name}: {value}" for name, value in call.arguments.items()),
        "Seconds": call.seconds,
    }


def ledger(base: KnowledgeBase, set_name: str) -> None:
    """A folded table; nothing where nothing was tried."""
    looks = base.questions.tried(set_name)
    if not looks:
        return
    with st.expander("Recipes tried on this set", icon=":material/history:"):
        st.caption(
            "If you try often enough, chance finds a winner among equal recipes. Therefore, "
            "later searches and comparisons on this set need smaller p-values. Repeating the "
            "same trial counts once."
        )
        st.dataframe(
            [_trial_row(look) for look in looks],
            hide_index=True,
            column_config={
                "First": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
                "Recipes": st.column_config.NumberColumn(
                    help="Different recipes whose metrics were shown. Recipes with the same "
                    "metrics count once."
                ),
            },
            alt="Searches, comparisons, reports and gates on this question set, the first first.",
        )


def _trial_row(look: Trial) -> dict[str, object]:
    held_out = look.split_seed is not None
    return {
        "First": look.first,
        "What": look.kind.capitalize(),
        "Metric": metric_title(look.metric),
        "Recipes": look.alternatives,
        "Questions": f"held out by split {look.split_seed}" if held_out else "all",
        "Recipe": ", ".join(look.recipes),
    }
