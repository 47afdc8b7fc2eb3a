"""The way of a question through the stages, as a row of numbers that filter the cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import streamlit as st

from pages.components.shell.wording import unlimited
from rag import QuoteFate, Trace, stage_row

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


def steps(trace: Trace) -> list[Step]:
    """The numbers, from all passages to those for the answer."""
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
        row = stage_row(stage.name)
        if row.label:
            filters = bool(stage.dropped or (row.retriever and stage.given))
            label, help_text = row.label, row.help
            if stage.name == "threshold" and trace.threshold is None:
                label, help_text = "without a threshold", unlimited(trace)
            yield Step(stage.name, label, stage.given, stage.seconds, filters, help_text)


def chosen(trace: Trace) -> str:
    """The step that the URL names, "" for none."""
    name = st.query_params.get(STEP, "")
    return name if any(step.name == name and step.filters for step in steps(trace)) else ""


def funnel(trace: Trace, fates: Mapping[int, QuoteFate]) -> str:
    """Draw the row; return the chosen step, "" for none.

    ``fates`` says which passages an answer of quotes quotes; it is empty for other answers.
    """
    selected = chosen(trace)
    row = st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom")
    quoted = [_quoted(fates)] if fates else []
    for step in [*steps(trace), *quoted]:
        row.button(
            f"{_counted(step)}  \n:small[:gray[{_milliseconds(step.seconds)}]]",
            key=f"inspector_step_{step.name}",
            help=step.help,
            type="secondary",
            icon=":material/filter_alt:" if step.name == selected else None,
            disabled=not step.filters,
            on_click=choose,
            args=("" if step.name == selected else step.name,),
        )
    return selected


def _quoted(fates: Mapping[int, QuoteFate]) -> Step:
    return Step(
        "quoted",
        "quoted",
        sum(fate.number > 0 for fate in fates.values()),
        None,
        filters=False,
        help="The answer without a language model quotes these. The cards say why not the others.",
    )


def _counted(step: Step) -> str:
    """The number and its name; Streamlit greys a button that is off too far to be read."""
    words = f"**{step.count:,}** {step.label}"
    return words if step.filters else f":gray[{words}]"


def choose(step: str) -> None:
    """Make a step the chosen one, "" for none."""
    if step:
        st.query_params[STEP] = step
    else:
        st.query_params.pop(STEP, None)


def _milliseconds(seconds: float | None) -> str:
    if not seconds:
        return "–"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
