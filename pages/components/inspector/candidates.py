"""Candidates of a retrieval: their outcomes, their picture, and the funnel that filters them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from pages.components.shell.charts import (
    Figure,
    Palette,
    chart_text,
    clicked_point,
    draw_chart,
    palette,
    unchecked_figure,
)
from pages.components.shell.text import relevance, unlimited
from rag import Hit, QuoteFate, StageName, Trace, counted, page_name, stage_row, stage_rows

FoundBy = Literal["dense", "lexical", "both", "tool"]
Group = StageName | Literal["prompt"]
FOUND_BY: dict[FoundBy, str] = {
    "dense": "dense only",
    "lexical": "lexical only",
    "both": "both",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage with its fate: ``prompt`` came through, else the stage that dropped it."""

    hit: Hit
    group: Group
    reason: str = ""

    @property
    def origin(self) -> FoundBy:
        """The retriever that found the passage."""
        if self.hit.from_tool:
            return "tool"
        parts = self.hit.parts
        if "dense_rank" in parts and "bm25_rank" in parts:
            return "both"
        return "dense" if "dense_rank" in parts else "lexical"


def candidates(trace: Trace) -> list[Candidate]:
    """All candidates: first what is in the prompt, then what each later cut dropped."""
    in_prompt = [Candidate(hit, "prompt") for hit in trace.in_prompt]
    dropped = [
        Candidate(drop.hit, stage.name, drop.reason)
        for name in cuts()
        if (stage := trace.stage(name))
        for drop in stage.dropped
    ]
    return in_prompt + dropped


def cuts() -> list[StageName]:
    """The stages that drop passages, the last one first."""
    return [row.name for row in reversed(stage_rows()) if row.dropped]


def at_step(listed: Sequence[Candidate], step: str) -> list[Candidate]:
    """The candidates that a step of the funnel points at; all of them for no step."""
    if step == "tool":
        return [candidate for candidate in listed if candidate.origin == step]
    if step in ("dense", "lexical"):
        return [candidate for candidate in listed if candidate.origin in (step, "both")]
    if step in cuts():
        return [candidate for candidate in listed if candidate.group == step]
    return list(listed)


CHART = "inspector_picture"
HEIGHT = 250
_LABEL = 0.32, 0.15  # the width and height of a label, as shares of the chart on a telephone
_SIDES = (1, "right"), (0, "left")
_SYMBOLS = {"dense": "circle", "lexical": "diamond", "both": "square", "tool": "star"}


def candidate_chart(
    trace: Trace, listed: Sequence[Candidate], selected: int | None, grades: Mapping[int, int]
) -> None:
    """Draw the picture; a click on a point selects its passage (see ``clicked``).

    Points of passages with a grade above 0 (by key) are filled.
    """
    draw_chart(
        figure(trace, listed, selected, palette(), grades),
        CHART,
        f"{takeaway(trace, listed)} Each point is a candidate: rank against relevance.",
        on_select="rerun",
        selection_mode="points",
    )
    st.caption(f"{takeaway(trace, listed)} {labelled(listed, grades)}")


def clicked() -> int | None:
    """The passage of the point that was clicked before this run, if one was."""
    point = clicked_point(CHART)
    return int(str(point["customdata"][0]), 16) if point else None


def takeaway(trace: Trace, listed: Sequence[Candidate]) -> str:
    """The picture in one sentence."""
    if not listed:
        return "No candidates."
    best = max(candidate.hit.relevance for candidate in listed)
    returned = len(trace.hits)
    if all(candidate.group == "refuse" for candidate in listed):
        none = f"None of {counted(len(listed), 'candidate')} comes back"
        return f"{none}: the question is off-topic (the best has {best:.2f})."
    if trace.threshold is None:
        return f"{returned} of {counted(len(listed), 'candidate')} come back. {unlimited(trace)}"
    passing = [candidate.hit for candidate in listed if candidate.group != "threshold"]
    below = sum(hit.relevance < trace.threshold for hit in passing)
    also = f" {below} below it {'pass' if below > 1 else 'passes'} by words." if below else ""
    return (
        f"{len(passing) - below} of {counted(len(listed), 'candidate')} reach {relevance(trace)} "
        f"{trace.threshold:.2f} (the best has {best:.2f}).{also} {returned} come back."
    )


def labelled(listed: Sequence[Candidate], grades: Mapping[int, int]) -> str:
    """The number of candidates that are labelled relevant, in words; empty without labels."""
    keys = {candidate.hit.chunk.key for candidate in listed}
    listed_grades = [grade for key, grade in grades.items() if key in keys]
    if not listed_grades:
        return ""
    return f"Filled: {sum(grade > 0 for grade in listed_grades)} labelled relevant."


def figure(
    trace: Trace,
    listed: Sequence[Candidate],
    selected: int | None,
    colours: Palette,
    grades: Mapping[int, int],
) -> Figure:
    """The chart as a plotly figure."""
    tones = (colours.dense, colours.lexical, colours.fused, colours.rerank)
    return unchecked_figure(
        colours,
        [
            *(
                _points(points, origin, label, tone, grades)
                for (origin, label), tone in zip(FOUND_BY.items(), tones, strict=True)
                if (points := [point for point in listed if point.origin == origin])
            ),
            *(_ring(point, colours) for point in listed if point.hit.chunk.key == selected),
        ],
        height=HEIGHT,
        clickmode="event+select",
        dragmode=False,
        xaxis={"title": {"text": "rank"}, "range": _ranks(listed), "zeroline": False},
        yaxis={"title": {"text": f"relevance ({trace.relevance})"}, "zeroline": False},
        **_cuts(trace, listed, colours),
    )


def _ranks(listed: Sequence[Candidate]) -> list[float]:
    """The ends of the axis of ranks, with room for the whole of the first and the last point."""
    last = max((candidate.hit.rank for candidate in listed), default=1)
    room = max(0.04 * last, 0.5)
    return [1 - room, last + room]


def _points(
    points: Sequence[Candidate],
    origin: FoundBy,
    label: str,
    tone: str,
    grades: Mapping[int, int],
) -> dict[str, object]:
    return {
        "type": "scatter",
        "x": [point.hit.rank for point in points],
        "y": [point.hit.relevance for point in points],
        "customdata": [[point.hit.chunk.id, _where(point)] for point in points],
        "mode": "markers",
        "name": label,
        "marker": {
            "color": tone,
            "symbol": [_symbol(origin, grades.get(point.hit.chunk.key)) for point in points],
            "size": [9 if point.group in ("prompt", "context") else 7 for point in points],
            "line": {"width": 1.5},
            "opacity": 1.0,  # plotly's own for points of several sizes is 0.7
        },
        "selected": {"marker": {"opacity": 1.0}},
        "unselected": {"marker": {"opacity": 1.0}},
        "hovertemplate": "%{customdata[1]}<br>rank %{x}, relevance %{y:.3f}<extra></extra>",
    }


def _symbol(origin: FoundBy, grade: int | None) -> str:
    """Filled for relevant, crossed for judged and not relevant, else hollow."""
    shape = _SYMBOLS[origin]
    if grade is None:
        return f"{shape}-open"
    return shape if grade > 0 else f"{shape}-x-open"


def _where(candidate: Candidate) -> str:
    source = f"{candidate.hit.base}: " if candidate.hit.base else ""
    name = chart_text(f"{source}{candidate.hit.document}")
    chunk = candidate.hit.chunk
    page = page_name(candidate.hit.document, chunk.page, chunk.heading, ", ")
    return name + chart_text(page)


def _ring(candidate: Candidate, colours: Palette) -> dict[str, object]:
    """The trace of the ring around the point of the selected passage."""
    return {
        "type": "scatter",
        "x": [candidate.hit.rank],
        "y": [candidate.hit.relevance],
        "mode": "markers",
        "marker": {
            "symbol": "circle-open",
            "size": 17,
            "color": colours.text,
            "line": {"width": 2},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _threshold_corner(threshold: float, listed: Sequence[Candidate]) -> tuple[int, str, str]:
    """The end of the line, and the anchors, with which its label covers the fewest points."""
    first, last = _ranks(listed)
    heights = [threshold, *(candidate.hit.relevance for candidate in listed)]
    wide, high = _LABEL[0] * (last - first), _LABEL[1] * (max(heights) - min(heights))

    def covered(corner: tuple[int, str, str]) -> int:
        left = last - wide if corner[0] else first
        low = threshold if corner[2] == "bottom" else threshold - high
        return sum(
            left <= candidate.hit.rank <= left + wide
            and low <= candidate.hit.relevance <= low + high
            for candidate in listed
        )

    return min(((x, side, y) for y in ("bottom", "top") for x, side in _SIDES), key=covered)


def _cuts(
    trace: Trace, listed: Sequence[Candidate], colours: Palette
) -> dict[str, list[dict[str, object]]]:
    """The cuts as lines with their labels; ``add_hline`` took half of the whole picture's time."""
    lines: list[dict[str, object]] = []
    labels: list[dict[str, object]] = []

    def cut(
        at: dict[str, object], along: str, label: str, dash: str, anchor: str, end: int = 1
    ) -> None:
        drawn = {"color": colours.threshold, "width": 1.5, "dash": dash}
        across = "y" if along == "x" else "x"
        axes = {f"{along}ref": f"{along} domain", f"{across}ref": across}
        whole = {f"{along}0": 0, f"{along}1": 1}
        ends = {f"{across}0": at[across], f"{across}1": at[across]}
        lines.append({"type": "line", "line": drawn, **axes, **whole, **ends})
        labels.append(
            {"text": label, "showarrow": False, along: end, "xanchor": anchor, **axes, **at}
        )

    if trace.threshold is not None:
        end, side, height = _threshold_corner(trace.threshold, listed)
        at: dict[str, object] = {"y": trace.threshold, "yanchor": height}
        cut(at, "x", f"threshold {trace.threshold:.2f}", "dash", side, end)
    stage = trace.stage("top_k")
    if stage and stage.dropped and trace.hits:
        between = (trace.hits[-1].rank + stage.dropped[0].hit.rank) / 2
        cut({"x": between, "yanchor": "top"}, "y", f"top-k {len(trace.hits)}", "solid", "left")
    return {"shapes": lines, "annotations": labels}


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
