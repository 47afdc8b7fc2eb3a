"""The better of two runs by few labels: the verdict meter, and the hits to judge in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.components.labels.grading import GRADES
from pages.components.labels.judging import hit_form, undo_button
from pages.components.runs.agreement import cutoff
from pages.components.runs.verdict_meter import verdict_line, verdict_meter
from pages.components.shell.buttons import action_button, switch
from pages.components.shell.guard import guard
from pages.components.shell.notices import later, notices
from pages.components.shell.permission import offered, refusal
from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from rag import (
    EQUAL_MARGIN,
    DecisionEntry,
    HitToJudge,
    KnowledgeBase,
    NotFound,
    RunComparison,
    RunDecision,
)

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
