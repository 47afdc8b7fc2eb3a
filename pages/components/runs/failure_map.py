"""The failure map: the questions of two runs among the passages, by gain and loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import streamlit as st

from pages.components.runs.difference_chart import outcome_words
from pages.components.shell.charts import (
    Figure,
    chart_text,
    clicked_point,
    draw_chart,
    empty_figure,
)
from pages.components.shell.palette import Palette, palette
from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from pages.components.shell.wording import clipped
from pages.components.source.maps import map_method, note, redraw_map
from rag import (
    IndexRecipe,
    KnowledgeBase,
    PassageMap,
    PlacedQuestions,
    QuestionDifference,
    RunComparison,
    counted,
    percent,
    signed,
)

_HEIGHT = 520
_LONGEST = 70
_SMALLEST, _LARGEST = 7, 20  # pixels
_SYMBOLS = {"won": "triangle-up", "lost": "triangle-down", "tied": "circle"}
_FEWEST, _SHARE = 2, 0.25  # of the questions that a document is named for


def failure_map(
    base: KnowledgeBase, compared: RunComparison, key: str, select: Callable[[str], None]
) -> None:
    """Draw the map, or offer to have it drawn; a click on a question selects it."""
    recipe = compared.run.recipe or compared.baseline.recipe or base.recipe()
    index = recipe.index
    method = map_method(base)
    passages = base.maps.current(index, method)
    if passages is None or not len(passages.keys):
        if base.maps.drawing(index, method) is None:
            st.markdown("Where do the runs differ? The map shows the questions among all passages.")
        redraw_map(base, index, method, "It is drawn once, in the background, and kept.")
        return
    state = (method, len(passages.keys), float(passages.points.sum()))
    rows = compared.rows
    placed = _placed(base, index, passages, tuple(row.text for row in rows), state)
    summary = takeaway(compared, passages, placed)
    st.markdown(f"**{summary}**")
    draw_chart(
        figure(compared, passages, placed, palette()),
        key,
        f"{summary} Each mark is a question; rings show where passages are.",
        zoom=True,
        on_select=lambda: _clicked(key, select),
        selection_mode="points",
    )
    st.caption(
        "Rings show how many passages are in a region. A question outside of all rings has "
        f"hardly any passage near it. {note(passages)}"
    )
    if passages.outdated:
        redraw_map(
            base, index, method, f"{percent(passages.changed)} of the passages changed since."
        )


@cache_data(8)
def _placed(
    base: KnowledgeBase,
    index: IndexRecipe,
    _passages: PassageMap,
    questions: tuple[str, ...],
    state: object,
) -> PlacedQuestions:
    """Return the places of questions on the map, whose version ``state`` identifies."""
    return base.maps.place_questions(index, _passages, questions)


def takeaway(compared: RunComparison, passages: PassageMap, placed: PlacedQuestions) -> str:
    """Return the documents that most lost questions, or else won ones, are nearest to."""
    better, worse, _ = outcome_words(compared)
    for outcome, word in (("lost", worse), ("won", better)):
        names = Counter(
            passages.names[passages.document[passage]]
            for row, passage in zip(compared.rows, placed.nearest.tolist(), strict=True)
            if row.outcome == outcome and passage >= 0
        )
        total = names.total()
        if not total:
            continue
        name, count = names.most_common(1)[0]
        lead = f"{counted(total, 'question')} {'is' if total == 1 else 'are'} {word}"
        if count < _FEWEST or count < _SHARE * total:
            return f"{lead}, near {counted(len(names), 'different document')}."
        return f"{lead}: {count:,} of them near {plain(name)}."
    return f"All {counted(len(compared.rows), 'question')} have the same value in both runs."


def figure(
    compared: RunComparison, passages: PassageMap, placed: PlacedQuestions, colours: Palette
) -> Figure:
    """Return the map as a plotly figure."""
    nothing = {"showticklabels": False, "ticks": "", "zeroline": False, "showgrid": False}
    chart = empty_figure(
        colours,
        height=_HEIGHT,
        legend={"itemsizing": "constant"},
        clickmode="event+select",
        dragmode="pan",
        xaxis=nothing,
        yaxis={**nothing, "scaleanchor": "x"} if passages.method == "pca" else nothing,
    )
    chart.add_histogram2dcontour(
        x=passages.points[:, 0],
        y=passages.points[:, 1],
        ncontours=8,
        colorscale=[[0, colours.page], [1, colours.grid]],
        line={"width": 0.7, "color": colours.not_relevant},
        showscale=False,
        hoverinfo="skip",
        name="passages",
    )
    inks = {"tied": colours.not_relevant, "won": colours.relevant, "lost": colours.lexical}
    words = dict(zip(("won", "lost", "tied"), outcome_words(compared), strict=True))
    greatest = max((abs(row.difference) for row in compared.rows), default=0.0) or 1.0
    for outcome, ink in inks.items():
        places = [at for at, row in enumerate(compared.rows) if row.outcome == outcome]
        if places:
            rows = [compared.rows[at] for at in places]
            chart.add_scatter(
                x=placed.points[places, 0],
                y=placed.points[places, 1],
                mode="markers",
                name=f"{words[outcome]} ({len(rows):,})",
                customdata=[[row.question_id, *_hover(row)] for row in rows],
                marker={
                    "color": ink,
                    "symbol": _SYMBOLS[outcome],
                    "size": _sizes(rows, greatest),
                    "line": {"width": 1, "color": colours.page},
                },
                hovertemplate="%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
            )
    return chart


def _sizes(rows: Sequence[QuestionDifference], greatest: float) -> list[float]:
    room = _LARGEST - _SMALLEST
    return [_SMALLEST + room * abs(row.difference) / greatest for row in rows]


def _hover(row: QuestionDifference) -> tuple[str, str]:
    return chart_text(clipped(row.text, _LONGEST)), signed(row.difference)


def _clicked(key: str, select: Callable[[str], None]) -> None:
    point = clicked_point(key)
    if point and point.get("customdata"):
        select(str(point["customdata"][0]))
