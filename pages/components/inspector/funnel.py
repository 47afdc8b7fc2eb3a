"""The way of a question through the stages, as a row of numbers that filter the cards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from rag import Stage, Trace

STEP = "step"  # the URL's parameter: which number is chosen


@dataclass(frozen=True, slots=True)
class Step:
    """A number of the funnel. ``filters`` says whether choosing it changes the cards."""

    name: str
    label: str
    count: int
    seconds: float | None
    filters: bool
    help: str


_WORDS = {
    "filter": ("pass the filter", "Only these were searched."),
    "dense": ("dense", "Nearest passages by meaning. Choose to see only these."),
    "lexical": ("words", "Best passages by BM25. Choose to see only these."),
    "fusion": ("fused", "Both lists in one ranking."),
    "feedback": ("with feedback", "Both lists again, of the question enriched by its first hits."),
    "rerank": ("reranked", "The first of them, read again together with the question."),
    "threshold": ("above threshold", "Choose to see what the threshold dropped."),
    "duplicates": ("without copies", "Choose to see what says the same as a better passage."),
    "tool": ("of tools", "Results of HTTP tools. Choose to see only these."),
    "top_k": ("top-k", "Choose to see what came after top-k."),
    "merge": ("merged", "Lists of several sources as one. Choose to see what came after top-k."),
    "context": ("in the prompt", "Choose to see what did not fit into the prompt."),
}


def steps(trace: Trace) -> list[Step]:
    """The numbers, from all passages to those in the prompt."""
    question = trace.stage("question")
    first = Step(
        "passages",
        "passages",
        trace.passages,
        question.seconds if question else None,
        filters=False,
        help="All that was searched; the time is that of embedding the question.",
    )
    return [first, *_later(trace)]


def _later(trace: Trace) -> Iterator[Step]:
    for stage in trace.stages:
        if stage.name in _WORDS:
            label, words = _WORDS[stage.name]
            yield Step(stage.name, label, stage.given, stage.seconds, _filters(stage), words)


def _filters(stage: Stage) -> bool:
    return bool(stage.dropped) or (stage.name in ("dense", "lexical", "tool") and stage.given > 0)


def chosen(trace: Trace) -> str:
    """The step that the URL names, "" for none."""
    name = st.query_params.get(STEP, "")
    return name if any(step.name == name and step.filters for step in steps(trace)) else ""


def funnel(trace: Trace) -> str:
    """Draws the row; returns the chosen step, "" for none."""
    selected = chosen(trace)
    row = st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom")
    for step in steps(trace):
        row.button(
            f"**{step.count:,}** {step.label}  \n:small[:gray[{_milliseconds(step.seconds)}]]",
            key=f"inspector_step_{step.name}",
            help=step.help,
            type="secondary",
            icon=":material/filter_alt:" if step.name == selected else None,
            disabled=not step.filters,
            on_click=choose,
            args=("" if step.name == selected else step.name,),
        )
    return selected


def choose(step: str) -> None:
    """Makes a step the chosen one, "" for none."""
    if step:
        st.query_params[STEP] = step
    else:
        st.query_params.pop(STEP, None)


def _milliseconds(seconds: float | None) -> str:
    if not seconds:
        return "–"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
