"""Two runs question by question: a strip by common passages, and a map by gain and loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.components.runs.questions import outcome_words
from pages.components.shell.buttons import switch
from pages.components.shell.charts import (
    Figure,
    Palette,
    accuracy_note,
    chart_text,
    draw_chart,
    empty_figure,
    map_method,
    palette,
    redraw_map,
    select_clicked,
)
from pages.components.shell.session import cache_data
from pages.components.shell.tables import TEXT_WIDTH, pick_rows, picked_rows, row_height
from pages.components.shell.text import clipped, plain
from rag import (
    IndexRecipe,
    KnowledgeBase,
    ParityData,
    PassageMap,
    PlacedQuestions,
    QuestionDifference,
    QuestionParityData,
    RunComparison,
    counted,
    percent,
    signed,
)

_LONGEST = 70
_CELL = 24  # pixels
_NARROW, _WIDE = 24, 48  # cells in a row
_MANY = 240  # questions that take wide rows
_TALLEST = 320
_SCALE = 0.6  # the width of the colour scale, of the chart
_COLOURED = {"Overlap": "overlap", "Rank-biased overlap": "rank_biased_overlap"}


def agreement(
    base: KnowledgeBase, compared: RunComparison, metric: str, select: Callable[[str], None]
) -> str | None:
    """Draw the strip and its table; a click selects a question. Returns the selected one."""
    parity = _parity(base, compared.run.id, compared.baseline.id, cutoff(metric))
    st.markdown(f"**{takeaway(parity)}**")
    name = switch("Colour by", list(_COLOURED), "colour", label_visibility="collapsed")
    key = f"runs_strip_{compared.run.id}_{compared.baseline.id}_{parity.k}_{name}"
    draw_chart(
        figure(parity, _COLOURED[name], palette()),
        key,
        f"A cell for each question, the least agreement first. {takeaway(parity)}",
        on_select=lambda: select_clicked(key, select),
        selection_mode="points",
    )
    return _table(parity, select)


def cutoff(metric: str) -> int:
    """The ranks that a metric looks at, 10 for a metric without a cutoff."""
    _, _, after = metric.partition("@")
    return int(after) if after.isdigit() else 10


@cache_data(32)
def _parity(base: KnowledgeBase, run: str, other: str, k: int) -> ParityData:
    return base.runs.parity(run, other, k)


def takeaway(parity: ParityData) -> str:
    """The strip in one sentence, or two where questions are left out."""
    total = len(parity.questions)
    if parity.equal == total:
        sentence = f"Both runs returned the same {counted(parity.k, 'passage')} on {_all(total)}."
    else:
        sentence = (
            f"The runs share {percent(parity.overlap)} of the first {parity.k} passages, and "
            f"rank {parity.equal:,} of {counted(total, 'question')} alike."
        )
    if not parity.left_out:
        return sentence
    verb = "was" if parity.left_out == 1 else "were"
    return f"{sentence} {counted(parity.left_out, 'question')} {verb} asked by one run only."


def _all(total: int) -> str:
    return "the only question" if total == 1 else f"all {total:,} questions"


def figure(parity: ParityData, field: str, colours: Palette) -> Figure:
    """The strip as a plotly figure, in rows of cells."""
    across = _WIDE if len(parity.questions) > _MANY else _NARROW
    questions = sorted(parity.questions, key=lambda row: getattr(row, field))
    down = -(-len(questions) // across)
    chart = empty_figure(
        colours, height=down * _CELL + 90, dragmode=False, clickmode="event+select", bargap=0.08
    )
    chart.add_bar(
        x=[number % across for number in range(len(questions))],
        y=[0.92] * len(questions),
        base=[-(number // across) - 1 for number in range(len(questions))],
        customdata=[
            [row.id, chart_text(clipped(row.question, _LONGEST)), getattr(row, field)]
            for row in questions
        ],
        marker={
            "color": [getattr(row, field) for row in questions],
            "coloraxis": "coloraxis",
            "line": {"width": 0},
        },
        hovertemplate="%{customdata[1]}<br>%{customdata[2]:.2f}<extra></extra>",
        unselected={"marker": {"opacity": 0.7}},
    )
    chart.update_layout(
        showlegend=False,
        coloraxis={
            "cmin": 0,
            "cmax": 1,
            "colorscale": [[0, colours.lexical], [1, colours.grid]],
            "colorbar": {
                "orientation": "h",
                "thickness": 8,
                "len": _SCALE,
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "showticklabels": False,
                "outlinewidth": 0,
            },
        },
        xaxis={"visible": False, "range": [-0.55, across - 0.45], "fixedrange": True},
        yaxis={"visible": False, "range": [-down, 0], "fixedrange": True},
        margin={"l": 8, "r": 8, "t": 8, "b": 60},
        annotations=[
            _end(0.0, "left", "nothing in common", colours),
            _end(_SCALE, "right", "the same", colours),
        ],
    )
    return chart


def _end(x: float, anchor: str, text: str, colours: Palette) -> Mapping[str, object]:
    """The words under an end of the colour scale."""
    return {
        "x": x,
        "y": 0,
        "xref": "paper",
        "yref": "paper",
        "xanchor": anchor,
        "yanchor": "top",
        "yshift": -26,
        "showarrow": False,
        "text": text,
        "font": {"size": 12, "color": colours.muted},
    }


def _table(parity: ParityData, select: Callable[[str], None]) -> str | None:
    picked = st.query_params.get("question", "")
    rows = parity.questions
    key = f"runs_parity_{parity.run}_{parity.other}_{parity.k}_{picked}"
    pick_rows(
        [_row(row) for row in rows],
        key,
        [number for number, row in enumerate(rows) if row.id == picked],
        "single-row",
        lambda: _picked(key, rows, select),
        height=_TALLEST if len(rows) > 8 else "auto",
        row_height=row_height((row.question for row in rows), TEXT_WIDTH),
        column_config=_columns(parity.k),
        alt=f"Agreement of the first {parity.k} passages of both runs, the least first.",
    )
    if any(row.id == picked for row in rows):
        return picked
    st.caption("Click a cell, or a question, to see what both runs retrieved.")
    return None


def _picked(key: str, rows: Sequence[QuestionParityData], select: Callable[[str], None]) -> None:
    chosen = [rows[number] for number in picked_rows(st.session_state[key]) if number < len(rows)]
    select(chosen[0].id if chosen else "")


def _row(row: QuestionParityData) -> Mapping[str, object]:
    return {
        "Question": row.question,
        "Overlap": row.overlap,
        "Rank-biased overlap": row.rank_biased_overlap,
        "First difference": row.first_difference,
    }


def _columns(k: int) -> dict[str, object]:
    return {
        "Question": st.column_config.TextColumn(width=TEXT_WIDTH),
        "Overlap": st.column_config.NumberColumn(
            format="%.2f", width="small", help=f"The common share of the first {k} passages."
        ),
        "Rank-biased overlap": st.column_config.NumberColumn(
            format="%.2f",
            width="small",
            help="The same with more weight on the first ranks: 1 where both rankings are equal.",
        ),
        "First difference": st.column_config.NumberColumn(
            width="small", help="The first rank at which the two runs differ."
        ),
    }


_MAP_HEIGHT = 520

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
    passages = base.documents.maps.current(index, method)
    if passages is None or not len(passages.keys):
        if base.documents.maps.drawing(index, method) is None:
            st.markdown("Where do the runs differ? The map shows the questions among all passages.")
        redraw_map(base, index, method, "It is drawn once, in the background, and kept.")
        return
    state = (method, len(passages.keys), float(passages.points.sum()))
    rows = compared.rows
    placed = _placed(base, index, passages, tuple(row.text for row in rows), state)
    summary = map_takeaway(compared, passages, placed)
    st.markdown(f"**{summary}**")
    draw_chart(
        map_figure(compared, passages, placed, palette()),
        key,
        f"{summary} Each mark is a question; rings show where passages are.",
        zoom=True,
        on_select=lambda: select_clicked(key, select),
        selection_mode="points",
    )
    st.caption(
        "Rings show how many passages are in a region. A question outside of all rings has "
        f"hardly any passage near it. {accuracy_note(passages)}"
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
    return base.documents.maps.place_questions(index, _passages, questions)


def map_takeaway(compared: RunComparison, passages: PassageMap, placed: PlacedQuestions) -> str:
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


def map_figure(
    compared: RunComparison, passages: PassageMap, placed: PlacedQuestions, colours: Palette
) -> Figure:
    """Return the map as a plotly figure."""
    nothing = {"showticklabels": False, "ticks": "", "zeroline": False, "showgrid": False}
    chart = empty_figure(
        colours,
        height=_MAP_HEIGHT,
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
