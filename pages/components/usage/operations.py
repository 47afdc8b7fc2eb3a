"""Usage, refusals, times and ratings of a knowledge base: totals, charts, turns to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import streamlit as st

from pages.components.chat import turn_view
from pages.components.shell.buttons import switch
from pages.components.shell.charts import Figure, draw_chart, empty_figure, palette
from pages.components.shell.text import ago, capitalised, clipped, plain, seconds
from rag import (
    Cost,
    KnowledgeBase,
    OperationFigures,
    OperationPeriod,
    TurnRow,
    cost_of,
    cost_text,
    counted,
    money,
    operation_figures,
    operation_periods,
    percent,
    slowest_turns,
    total_seconds,
    unsupported_sentences,
    worst_turns,
)

_HEIGHT = 260
_WHOLE = 5  # to which every whole number is a tick: there is no half of a question

Values = Sequence[float | None]


def charts(periods: Sequence[OperationPeriod]) -> None:
    """Draw five figures over time, each below its sentence; the cards say what one moment has."""
    if len(periods) < 2:
        return
    colours = palette()
    moments = [period.start for period in periods]
    figures = [period.figures for period in periods]
    by = unit(periods)
    answered = [point.questions - point.refused - point.failed for point in figures]
    pictures = {
        "questions": (
            questions,
            _bars(
                moments,
                {
                    "answered": (answered, colours.accent),
                    "refused": ([point.refused for point in figures], colours.not_relevant),
                    "failed": ([point.failed for point in figures], colours.lexical),
                },
                f"questions per {by}",
            ),
        ),
        "refused": (
            refusals,
            _lines(
                moments,
                {"refused": ([point.refused_share for point in figures], colours.not_relevant)},
                "share of the questions",
                ".0%",
            ),
        ),
        "times": (
            times,
            _lines(
                moments,
                {
                    "median": ([point.p50 for point in figures], colours.dense),
                    "95%": ([point.p95 for point in figures], colours.fused),
                },
                "seconds per answer",
            ),
        ),
        "tokens": (
            tokens,
            _bars(
                moments,
                {
                    "prompts": ([point.prompt_tokens for point in figures], colours.dense),
                    "answers": ([point.completion_tokens for point in figures], colours.lexical),
                },
                f"tokens per {by}",
            ),
        ),
        "thumbs": (
            thumbs,
            _bars(
                moments,
                {
                    "up": ([point.thumbs_up for point in figures], colours.relevant),
                    "down": ([point.thumbs_down for point in figures], colours.lexical),
                },
                f"thumbs per {by}",
            ),
        ),
    }
    with st.grid(2, min_column_width=340, gap="medium"):
        for name, (summarize, figure) in pictures.items():
            if figure.data:
                summary = summarize(periods)
                with st.container(border=True, height="stretch", gap="small"):
                    st.markdown(f"**{summary}**")
                    draw_chart(figure, f"operations_{name}", f"Over time. {summary}")


def _bars(
    moments: Sequence[datetime], series: Mapping[str, tuple[Values, str]], title: str
) -> Figure:
    figure = _over_time(moments, title, barmode="stack", bargap=0.15)
    columns = [values for values, _ in series.values()]
    for name, (values, ink) in series.items():
        if any(values):
            figure.add_bar(x=moments, y=values, name=name, marker_color=ink, hovertemplate=_HOVER)
    most = max((sum(filter(None, column)) for column in zip(*columns, strict=True)), default=0)
    axis = {"rangemode": "tozero", "dtick": 1 if most <= _WHOLE else None}
    figure.update_layout(yaxis=axis, showlegend=len(figure.data) > 1)
    return figure


def _lines(
    moments: Sequence[datetime],
    series: Mapping[str, tuple[Values, str]],
    title: str,
    form: str = "",
) -> Figure:
    figure = _over_time(moments, title)
    non_empty = {name: line for name, line in series.items() if any(line[0])}
    for name, (values, ink) in non_empty.items():
        figure.add_scatter(
            x=moments,
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": ink, "width": 2},
            hovertemplate=_HOVER,
        )
    figure.update_layout(
        yaxis={"rangemode": "tozero", "tickformat": form}, showlegend=len(non_empty) > 1
    )
    return figure


_HOVER = "%{y} · %{x|%Y-%m-%d %H:%M}<extra>%{fullData.name}</extra>"


def _over_time(moments: Sequence[datetime], title: str, **layout: object) -> Figure:
    step = moments[1] - moments[0]
    return empty_figure(
        palette(),
        height=_HEIGHT,
        xaxis={
            "title": "time (UTC)",
            "range": [moments[0] - step / 2, moments[-1] + step / 2],
            "nticks": 6,
            "ticks": "outside",
            "tickcolor": "rgba(0,0,0,0)",  # room below the lowest label of the other axis
            "ticklen": 8,
        },
        yaxis={"title": title},
        **layout,
    )


def unit(periods: Sequence[OperationPeriod]) -> str:
    """The length of a period: hour or day."""
    return "hour" if (periods[1].start - periods[0].start).days < 1 else "day"


def questions(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the number of questions, with the busiest period."""
    most = max(periods, key=lambda period: period.figures.questions)
    total = sum(period.figures.questions for period in periods)
    return f"{counted(total, 'question')}; most, {most.figures.questions:,}, {_when(most, periods)}"


def refusals(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the share of refusals, with the period that has most of them."""
    refused = sum(period.figures.refused for period in periods)
    total = sum(period.figures.questions for period in periods)
    worst = max(periods, key=lambda period: period.figures.refused)
    return (
        f"{percent(refused / total)} were refused; most, {worst.figures.refused:,}, "
        f"{_when(worst, periods)}"
    )


def times(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the answer time of the slowest period, as the 95th percentile."""
    slowest = max(periods, key=lambda period: period.figures.p95 or 0.0)
    return (
        f"At the slowest, {_when(slowest, periods)}, 95% of the answers came within "
        f"{seconds(slowest.figures.p95)}"
    )


def tokens(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the tokens of prompts and answers."""
    prompts = sum(period.figures.prompt_tokens for period in periods)
    answers = sum(period.figures.completion_tokens for period in periods)
    return f"{prompts:,} tokens in prompts, {answers:,} in answers"


def thumbs(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the ratings of readers."""
    up = sum(period.figures.thumbs_up for period in periods)
    down = sum(period.figures.thumbs_down for period in periods)
    return f"{counted(up, 'thumb')} up, {down:,} down"


def _when(period: OperationPeriod, periods: Sequence[OperationPeriod]) -> str:
    if unit(periods) == "day":
        return f"on {period.start:%Y-%m-%d}"
    return f"in the hour from {period.start:%H:%M} on {period.start:%Y-%m-%d}"


def totals(figures: OperationFigures) -> None:
    """Eight figures."""
    rated = figures.thumbs_up + figures.thumbs_down
    metrics = (
        ("Questions", f"{figures.questions:,}", "Of all users, including failed ones."),
        (
            "Doubtful, refused",
            f"{_share(figures.doubtful_share)}, {_share(figures.refused_share)}",
            "Shares of the questions whose answer was doubtful, and that were refused.",
        ),
        ("Failed", f"{figures.failed:,}", "Questions without an answer because of an error."),
        (
            "Time, median",
            seconds(figures.p50),
            "The median time from the question to the end of its answer.",
        ),
        ("Time, 95%", seconds(figures.p95), "95% of the answers took no longer."),
        (
            "Tokens",
            f"{figures.tokens:,}" if figures.tokens else "–",
            "Of prompts and answers, as far as providers report them; quotes need none.",
        ),
        _cost(figures.costs),
        (
            "Thumbs up",
            f"{figures.thumbs_up} of {rated}" if rated else "–",
            "Of the answers that somebody rated.",
        ),
    )
    with st.grid(4, min_column_width=150):
        for label, value, explanation in metrics:
            st.metric(label, value, help=explanation, border=True, height="stretch")


def _cost(costs: Sequence[Cost | None]) -> tuple[str, str, str]:
    """The sum, where it is of one currency; a card has no room for more."""
    priced = [cost for cost in costs if cost is not None]
    currencies = {cost.currency for cost in priced}
    source = "By the table of prices at the time."
    if len(currencies) != 1:
        return "Cost", "–", f"{source} {capitalised(cost_text(costs))}." if costs else source
    missing = len(costs) - len(priced)
    left_out = f" Not known of {counted(missing, 'answer')}, left out here." if missing else ""
    total = money(sum(cost.amount for cost in priced), "").strip()
    return f"Cost, {currencies.pop()}", total, source + left_out


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


PERIOD = "period"  # the URL's parameter
DAYS: Mapping[str, float | None] = {"24 hours": 1, "7 days": 7, "30 days": 30, "All": None}

LONGEST = 110
LISTED = 8

_FAULTS: Mapping[str, str] = {
    "thumb down": "thumb down",
    "failed": "failed",
    "interrupted": "interrupted",
    "unsupported": "cites what is not there",
    "unsupported sentence": "not supported",
    "no citation": "cites nothing",
    "cut prompt": "prompt cut",
    "doubtful": "doubtful",
    "refused": "refused",
}


def operations(base: KnowledgeBase) -> None:
    """Draw totals, charts over time, and the turns that need a look."""
    period = switch("Period", list(DAYS), PERIOD, label_visibility="collapsed", default="7 days")
    turns = base.conversations.all_turns(DAYS[period])
    if turns:
        totals(operation_figures(turns))
        charts(operation_periods(turns))
        turn_lists(base, turns)
    else:
        _nothing(period)


def _nothing(period: str) -> None:
    if period == "All":
        st.markdown(
            "This tab counts and times every question: refusals, latency and ratings. "
            "There are no questions yet."
        )
        st.page_link("chat.py", label="Ask something", icon=":material/forum:")
    else:
        st.markdown(f"No questions in the last {period}. Choose a longer period.")


def turn_lists(base: KnowledgeBase, turns: Sequence[TurnRow]) -> None:
    """Two lists side by side."""
    slow, bad = st.columns(2, gap="medium")
    with slow:
        st.subheader("Slowest")
        for turn in slowest_turns(turns, LISTED):
            _row(base, turn, "slow", f":blue-badge[{seconds(total_seconds(turn))}]")
    with bad:
        st.subheader("Worst")
        worst = worst_turns(turns, LISTED)
        if not worst:
            st.caption("No thumb down, no fault, no refusal.")
        for turn, wrong in worst:
            _row(base, turn, "bad", f":orange-badge[{_FAULTS[wrong]}]")


def _row(base: KnowledgeBase, turn: TurnRow, where: str, badge: str) -> None:
    with st.container(border=True, gap="xsmall"):
        when = f":gray[{ago(turn.asked)}]"
        if turn.question is None:
            st.markdown(f"{badge} *asked by another visitor* {when}")
            return
        st.markdown(f"{badge} {plain(clipped(turn.question, LONGEST))} {when}")
        st.caption(_metrics_line(turn))
        if st.button(
            "Inspect this",
            key=f"operations_{where}_{turn.id}",
            icon=":material/troubleshoot:",
            type="tertiary",
            help="Why these passages, and not others?",
        ):
            stored = base.conversations.turns(turn.conversation_id, turn.id)
            if stored:
                turn_view.inspect(base, stored[-1])


def _metrics_line(turn: TurnRow) -> str:
    """The metrics of a turn in one line, without those that are unknown."""
    metrics = turn.metrics
    if not metrics:
        return "From before turns were timed."
    parts = [
        f"search {seconds(metrics.get('retrieval_seconds'))}",
        f"first words {seconds(metrics.get('first_token_seconds'))}",
        f"{metrics.get('retrieved', 0)} found",
        f"{metrics.get('cited', 0)} cited",
    ]
    if wrong := unsupported_sentences(turn):
        parts.append(counted(wrong, "unsupported sentence"))
    share = metrics.get("budget_share")
    if share is not None:
        parts.append(f"{percent(share)} of the budget")
    if metrics.get("from_cache"):
        parts.append("search known before")
    if metrics.get("completion_tokens"):
        parts.append(f"{metrics['prompt_tokens']:,} + {metrics['completion_tokens']:,} tokens")
        if unread := metrics.get("unread_tokens"):
            parts.append(f"{unread:,} or more of the prompt not read")
        cost = cost_of(turn)
        parts.append(money(cost.amount, cost.currency) if cost else "cost unknown")
    return " · ".join(parts)
