"""The better of two runs by few labels: the meter, the hits to judge, earlier decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.components.labels.grading import GRADES
from pages.components.labels.judging import hit_form, undo_button
from pages.components.runs.agreement import cutoff
from pages.components.shell.buttons import action_button, switch
from pages.components.shell.charts import (
    Figure,
    Palette,
    chart_text,
    draw_chart,
    empty_figure,
    palette,
)
from pages.components.shell.guard import guard, later, notices
from pages.components.shell.session import cache_data, offered, refusal
from pages.components.shell.text import clipped, plain
from rag import (
    EQUAL_MARGIN,
    DecisionEntry,
    HitToJudge,
    KnowledgeBase,
    NotFound,
    RunComparison,
    RunDecision,
)

_HEIGHT = 250
_LONGEST = 26
_FEWEST = 10  # labels on the axis at least
_SHOWN_FROM = 4  # the axis fits the interval after a quarter of the labels: it starts very wide
_FORECAST = 2  # a forecast further away than this many times the labels is not drawn


def verdict_line(decision: RunDecision, run: str, other: str) -> None:
    """Draw the verdict in words; ``run`` and ``other`` are names of the runs."""
    icon = ":material/balance:" if decision.state.verdict == "open" else ":material/task_alt:"
    st.markdown(f"{icon} **{plain(decision.headline(run, other))}**")


def verdict_meter(decision: RunDecision, run: str, other: str, key: str) -> None:
    """Draw the chart, and the table behind it."""
    sentence = decision.headline(run, other)
    draw_chart(
        figure(decision, run, other, palette()),
        f"{key}_meter",
        f"The interval of the difference after each label, with the zone of equality. {sentence}",
    )
    with st.expander("Interval after each label", icon=":material/table_rows:"):
        st.dataframe(
            meter_rows(decision),
            key=f"{key}_table",
            hide_index=True,
            height=260 if len(decision.state.steps) > 6 else "auto",
            column_config={
                name: st.column_config.NumberColumn(format="%+.3f")
                for name in ("Difference", "Low", "High")
            },
            alt="The estimate of the difference and its 95% interval after each label.",
        )


def meter_rows(decision: RunDecision) -> list[dict[str, float]]:
    """The rows of the table behind the chart, the latest label first."""
    return [
        {
            "Labels": step.labels,
            "Difference": step.difference,
            "Low": step.low,
            "High": step.high,
        }
        for step in reversed(decision.state.steps)
    ]


def figure(decision: RunDecision, run: str, other: str, colours: Palette) -> Figure:
    """The chart as a plotly figure."""
    state = decision.state
    labels = [step.labels for step in state.steps]
    chart = empty_figure(colours, height=_HEIGHT, showlegend=False, dragmode=False)
    line = {"color": colours.accent, "width": 1, "shape": "hv"}
    for name, ends in (
        ("high", [s.high for s in state.steps]),
        ("low", [s.low for s in state.steps]),
    ):
        chart.add_scatter(
            x=labels,
            y=ends,
            mode="lines",
            line=line,
            fill="tonexty" if name == "low" else None,
            fillcolor=_translucent(colours.accent, 0.22),
            name=name,
            hovertemplate=f"after %{{x}} labels<br>{name} %{{y:+.3f}}<extra></extra>",
        )
    chart.add_scatter(
        x=labels,
        y=[step.difference for step in state.steps],
        mode="lines+markers" if len(labels) == 1 else "lines",
        line={"color": colours.text, "width": 2, "shape": "hv"},
        name="difference",
        hovertemplate="after %{x} labels<br>difference %{y:+.3f}<extra></extra>",
    )
    _zone(chart, decision, colours)
    _sides(chart, run, other, colours)
    end = _forecast(chart, decision, colours)
    limit = _limit(decision)
    chart.update_layout(
        xaxis={"title": "labels", "range": [0, end], "showgrid": False},
        yaxis={
            "title": f"difference in {decision.measure}",
            "range": [-limit, limit],
            "tickformat": "+.2~f",
            "zeroline": True,
            "zerolinecolor": colours.muted,
        },
    )
    return chart


def _zone(chart: Figure, decision: RunDecision, colours: Palette) -> None:
    """Draw the zone in which the runs are equal."""
    margin = decision.state.margin
    chart.add_hrect(
        y0=-margin,
        y1=margin,
        fillcolor=_translucent(colours.threshold, 0.14),
        line={"color": colours.muted, "width": 1, "dash": "dot"},
        layer="below",
    )


def _sides(chart: Figure, run: str, other: str, colours: Palette) -> None:
    for y, anchor, name in ((1.0, "top", run), (0.0, "bottom", other)):
        chart.add_annotation(
            x=1,
            y=y,
            xref="paper",
            yref="paper",
            xanchor="right",
            yanchor=anchor,
            showarrow=False,
            text=f"{chart_text(clipped(name, _LONGEST))} is better",
            font={"size": 12, "color": colours.muted},
        )


def _forecast(chart: Figure, decision: RunDecision, colours: Palette) -> int:
    """Draw where the verdict is expected, if that is near; returns the end of the axis."""
    state = decision.state
    end = max(state.labels + 1, _FEWEST)
    if state.more is None or state.more > _FORECAST * state.labels:
        return end
    expected = state.labels + state.more
    chart.add_vline(x=expected, line={"color": colours.muted, "width": 1, "dash": "dash"})
    chart.add_annotation(
        x=expected,
        y=0,
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        yshift=18,
        showarrow=False,
        text="decided, about",
        font={"size": 12, "color": colours.muted},
    )
    return max(end, round(expected * 1.04) + 1)


def _limit(decision: RunDecision) -> float:
    steps, state = decision.state.steps, decision.state
    step = steps[len(steps) // _SHOWN_FROM]
    return max(abs(step.low), abs(step.high), 2.0 * state.margin) * 1.3


def _translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


_MOST_K = 100
_RANKED = ("ndcg", "mrr", "map")
_KEPT = "Somebody graded this passage meanwhile. That grade stays."


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs with their names, and the metric that decides between them."""

    base: KnowledgeBase
    run: str
    other: str
    names: tuple[str, str]
    question_set: str
    metric: str
    margin: float

    @property
    def key(self) -> str:
        """The beginning of keys of this pair's widgets and state."""
        return f"deciding_{self.run}_{self.other}_{self.metric}"


def deciding(
    base: KnowledgeBase, compared: RunComparison, names: Mapping[str, str], metric: str
) -> None:
    """Draw the decision between two runs, or the offer to start it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = _metric(metric)
        margin = st.number_input(
            "Equal within",
            min_value=0.001,
            max_value=0.9,
            value=EQUAL_MARGIN,
            step=0.01,
            format="%.3f",
            key="decide_margin",
            width=140,
            help="The runs are equal if the whole interval of the difference is within this.",
        )
    ids = compared.run.id, compared.baseline.id
    both = names[ids[0]], names[ids[1]]
    pair = Pair(base, *ids, both, compared.run.question_set, chosen, margin)
    try:
        base.runs.decision(*ids, chosen, margin, most=0)
    except NotFound:
        _offer(pair)
        return
    _decision(pair)


def decided(base: KnowledgeBase, compared: RunComparison, names: Mapping[str, str]) -> None:
    """Draw a line for each finished decision between two runs."""
    if refusal(base, "runs.decisions"):
        return
    runs = compared.run.id, compared.baseline.id
    for entry in entries(base, compared.run.question_set, *runs):
        if entry.decision is not None and entry.finished:
            sentence = entry.decision.headline(names[entry.run], names[entry.other])
            st.markdown(f":material/task_alt: {plain(f'By few labels: {sentence}')}")


def entries(base: KnowledgeBase, set_name: str, *run_ids: str) -> list[DecisionEntry]:
    """Decisions of a question set, or between two of its runs; none if the set is gone."""
    try:
        labels = base.questions.named(set_name)
    except NotFound:
        return []
    started = base.runs.started_decisions(set_name)
    state = labels.id, labels.version, started
    listed: list[DecisionEntry] = _entries(base, set_name, state, *run_ids) if started else []
    return listed


@cache_data(32)
def _entries(
    base: KnowledgeBase, set_name: str, state: tuple[object, ...], *run_ids: str
) -> list[DecisionEntry]:
    """Decisions by the labels of a ``state``, which also names the decisions that there are."""
    return base.runs.decisions(*run_ids, question_set=set_name)


def _metric(metric: str) -> str:
    k = min(cutoff(metric), _MOST_K)
    choices = {f"DCG@{k}": f"dcg@{k}", f"Precision@{k}": f"precision@{k}"}
    first = list(choices)[0 if metric.partition("@")[0] in _RANKED else 1]
    chosen = switch(
        "Decide by",
        list(choices),
        "decide",
        default=first,
        help="DCG counts a relevant passage more the higher it stands, precision at every rank "
        "alike.",
    )
    return choices.get(chosen, choices[first])


def _offer(pair: Pair) -> None:
    st.markdown(
        "Judge only passages that the two runs rank differently. After each grade you see "
        "whether the difference is decided, and you stop when it is."
    )
    action_button(
        "Start judging",
        f"{pair.key}_start",
        "balance",
        _start,
        pair,
        **offered(pair.base, "runs.start_decision"),
    )


def _start(pair: Pair) -> None:
    pair.base.runs.start_decision(pair.run, pair.other, pair.metric)


@st.fragment
def _decision(pair: Pair) -> None:
    """Draw the meter and the hit to judge, and after a grade only these again."""
    notices()
    with guard():
        skipped = st.session_state.setdefault(f"{pair.key}_skipped", [])
        state = pair.base.runs.decision(
            pair.run, pair.other, pair.metric, pair.margin, most=len(skipped) + 1
        )
        _page_again(pair, state)
        verdict_line(state, *pair.names)
        if not state.next_hits:
            _finished(pair, state)
            verdict_meter(state, *pair.names, pair.key)
            return
        left, right = st.columns([3, 2], gap="medium")
        with left:
            _hit(pair, state, next_hit(state.next_hits, skipped))
        with right:
            verdict_meter(state, *pair.names, pair.key)


def next_hit(hits: tuple[HitToJudge, ...], skipped: list[tuple[str, str]]) -> HitToJudge:
    """The first hit that was not skipped. Once all were, the first: the verdict needs it."""
    return next((hit for hit in hits if (hit.question_id, hit.item) not in skipped), hits[0])


def _page_again(pair: Pair, state: RunDecision) -> None:
    """Draw the whole page when there is a verdict or none any more: its top shows verdicts."""
    key, verdict = f"{pair.key}_verdict", state.state.verdict
    if st.session_state.get(key, verdict) != verdict:
        st.session_state[key] = verdict
        st.rerun()
    st.session_state[key] = verdict


def _hit(pair: Pair, state: RunDecision, hit: HitToJudge) -> None:
    hit_form(
        pair.base,
        hit,
        pair.key,
        GRADES,
        partial(_grade, pair),
        skip=partial(_skip, pair, hit),
        undo=partial(_undo_button, pair),
        skip_help="Shows another passage. The verdict waits for this one.",
    )
    if st.session_state[f"{pair.key}_skipped"]:
        st.button(
            "Show skipped",
            key=f"{pair.key}_skipped_again",
            type="tertiary",
            help="Grades count in the order of the draw: later ones wait for skipped ones.",
            on_click=st.session_state[f"{pair.key}_skipped"].clear,
        )
    st.caption(
        f"{state.state.labels:,} of {state.state.pool:,} passages judged. The keys 0 to 3 grade, "
        "S skips, U undoes. Other people can judge at the same time."
    )


def _finished(pair: Pair, state: RunDecision) -> None:
    st.caption(f"You can stop judging. {state.reach}")
    _undo_button(pair)


def _undo_button(pair: Pair) -> None:
    if st.session_state.get(f"{pair.key}_done"):
        undo_button(pair.key, _undo, pair)


def _grade(pair: Pair, hit: HitToJudge, grade: int) -> None:
    with guard(in_dialog=True):
        (label,) = pair.base.runs.judge_decision(
            pair.run,
            pair.other,
            pair.metric,
            [(hit.question_id, hit.item, grade)],
            replace_labels=False,
        )
        if label is None:
            later(partial(st.toast, _KEPT, icon=":material/group:"))
        else:
            st.session_state.setdefault(f"{pair.key}_done", []).append((label, grade))


def _skip(pair: Pair, hit: HitToJudge) -> None:
    st.session_state.setdefault(f"{pair.key}_skipped", []).append((hit.question_id, hit.item))


def _undo(pair: Pair) -> None:
    label, grade = st.session_state[f"{pair.key}_done"].pop()
    with guard(in_dialog=True):
        pair.base.questions.remove_label(pair.question_set, label, grade)


def decisions_table(base: KnowledgeBase, set_name: str, names: Mapping[str, str]) -> None:
    """Draw a folded table; nothing without a decision. ``names`` are those of the runs."""
    if refusal(base, "runs.decisions"):
        return
    mine = [entry for entry in entries(base, set_name) if {entry.run, entry.other} <= names.keys()]
    if not mine:
        return
    with st.expander("Decisions by few labels", icon=":material/balance:"):
        st.dataframe(
            [_decision_row(entry, names) for entry in mine],
            hide_index=True,
            column_config={
                "Started": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
                "Verdict": st.column_config.TextColumn(width="large"),
            },
            alt="Open and finished decisions between runs of this question set, newest first.",
        )
        st.caption("To go on with one, tick its two runs and open *Which is better?*.")


def _decision_row(entry: DecisionEntry, names: Mapping[str, str]) -> dict[str, object]:
    """A decision as a row of the table."""
    run, other = names[entry.run], names[entry.other]
    decision = entry.decision
    return {
        "Started": entry.started,
        "State": "finished" if entry.finished else "open" if decision else "lost",
        "Run": run,
        "Against": other,
        "Verdict": decision.headline(run, other) if decision else entry.obstacle,
    }
