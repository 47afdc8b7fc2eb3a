"""The questions that a run won and lost: bars, a table, and their passages side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.buttons import switch
from pages.components.shell.charts import (
    Figure,
    Palette,
    chart_text,
    draw_chart,
    empty_figure,
    palette,
    select_clicked,
)
from pages.components.shell.guard import guard
from pages.components.shell.session import offered, to_url
from pages.components.shell.tables import PINNED_WIDTH, pick_rows, picked_rows, row_height
from pages.components.shell.text import clipped, difference, plain
from pages.components.source.places import snippet
from rag import (
    METRIC_TITLES,
    KnowledgeBase,
    QuestionDifference,
    RankedPassage,
    Run,
    RunComparison,
    counted,
    lower_is_better,
    metric_title,
    page_name,
    unmarked,
)

_LENGTH = 150


def traces(
    base: KnowledgeBase, compared: RunComparison, names: Mapping[str, str], question_id: str
) -> None:
    """Two columns of passages: the reference left, the run right."""
    sides = base.runs.side_by_side(compared.run.id, compared.baseline.id, question_id)
    st.markdown(f"### {plain(sides.question)}")
    left, right = st.columns(2, gap="medium")
    with left:
        _side(base, compared.baseline, names, sides.question, sides.before, is_after=False)
    with right:
        _side(base, compared.run, names, sides.question, sides.after, is_after=True)


def _side(
    base: KnowledgeBase,
    run: Run,
    names: Mapping[str, str],
    question: str,
    passages: Sequence[RankedPassage],
    *,
    is_after: bool,
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{plain(names[run.id])}**", width="stretch")
        if run.recipe and st.button(
            "Inspect",
            key=f"runs_inspect_{run.id}",
            icon=":material/troubleshoot:",
            type="tertiary",
            **offered(base, "explanations.explain", help="Opens it with this run's recipe."),
        ):
            with guard():
                working_recipe.replace(base, run.recipe)
                st.switch_page("inspector.py", query_params={"q": question})
    ranking(passages, is_after=is_after)


def ranking(passages: Sequence[RankedPassage], *, is_after: bool) -> None:
    """Draw the passages of one ranking as cards."""
    if not passages:
        st.info("Nothing came back.", icon=":material/block:")
        return
    with st.container(border=True, gap="small"):
        for passage in passages:
            st.markdown(card(passage, is_after=is_after))


def card(passage: RankedPassage, *, is_after: bool) -> str:
    """A passage of a ranking as markdown: rank, document, what moved, whether it is relevant."""
    chunk = passage.chunk
    page = page_name(passage.document, chunk.page, chunk.heading, "· ") if chunk else ""
    gone = "a deleted document" if passage.foreign is None else "in no document"
    document = plain(passage.document) if passage.document else f":gray[{gone}]"
    mark = moved_to(passage) if is_after else moved_from(passage)
    grade = f" :green-badge[relevant {passage.grade}]" if passage.grade else ""
    where = f"{document} {plain(page)}".strip()
    head = f"**{passage.rank}** · {where} {mark}{grade}"
    text = chunk.text if chunk else passage.foreign
    return f"{head}  \n:small[:gray[{snippet(unmarked(text), (), _LENGTH)}]]" if text else head


def moved_to(passage: RankedPassage) -> str:
    """A badge with the move of a passage of the later ranking."""
    if passage.other is None:
        return ":blue-badge[new]"
    if passage.other == passage.rank:
        return ""
    up = passage.other - passage.rank
    return f":green[▲ {up}]" if up > 0 else f":orange[▼ {-up}]"


def moved_from(passage: RankedPassage) -> str:
    """A badge with the move of a passage of the earlier ranking."""
    if passage.other is None:
        return ":orange-badge[gone]"
    return "" if passage.other == passage.rank else f":gray[→ {passage.other}]"


_HEIGHT = 260
_LONGEST = 70
_FEWEST = 12  # places on the axis, or a few bars would be walls


def difference_chart(compared: RunComparison, select: Callable[[str], None], key: str) -> None:
    """Draw the bars; a click on one selects its question. Without a difference, there is none."""
    st.caption(takeaway(compared))
    if all(row.outcome == "tied" for row in compared.rows):
        return
    draw_chart(
        figure(compared, palette()),
        key,
        f"Bars: difference in {metric_title(compared.figures.metric)} on every question. "
        f"{takeaway(compared)}",
        on_select=lambda: select_clicked(key, select),
        selection_mode="points",
    )


def takeaway(compared: RunComparison) -> str:
    """The bars in one sentence."""
    figures = compared.figures
    better, worse = outcome_words(compared)[:2]
    return (
        f"{better.capitalize()} on {counted(figures.won, 'question')}, {worse} on "
        f"{figures.lost:,}, the same on {figures.tied:,}."
    )


def outcome_words(compared: RunComparison) -> tuple[str, str, str]:
    """The words for what was won, lost and tied; neutral if the runs aren't comparable."""
    if not compared.figures.obstacle:
        return "better", "worse", "the same"
    if lower_is_better(compared.figures.metric):
        return "lower", "higher", "the same"
    return "higher", "lower", "the same"


def sorted_by_gain(rows: Sequence[QuestionDifference]) -> list[QuestionDifference]:
    """The greatest gain first, the greatest loss last."""
    return sorted(rows, key=lambda row: -row.gain)


def figure(compared: RunComparison, colours: Palette) -> Figure:
    """The chart as a plotly figure; a difference of zero is a tick on the line."""
    rows = sorted_by_gain(compared.rows)
    chart = empty_figure(colours, height=_HEIGHT, bargap=0.15)
    inks = {"won": colours.relevant, "lost": colours.lexical, "tied": colours.not_relevant}
    for outcome, name in zip(inks, outcome_words(compared), strict=True):
        points = [(number, row) for number, row in enumerate(rows, 1) if row.outcome == outcome]
        if points:
            chart.add_bar(
                x=[number for number, _ in points],
                y=[row.difference for _, row in points],
                customdata=[[row.question_id, _label(row)] for _, row in points],
                name=f"{name} ({len(points):,})",
                marker={"color": inks[outcome], "line": {"width": 0}},
                hovertemplate="%{customdata[1]}<br>%{y:+.3f}<extra></extra>",
            )
    chart.update_layout(
        clickmode="event+select",
        dragmode=False,
        showlegend=True,
        xaxis={
            "title": "questions, by difference",
            "showgrid": False,
            "showticklabels": False,
            "range": [0.4, max(len(rows), _FEWEST) + 0.6],
        },
        yaxis={
            "title": f"difference in {metric_title(compared.figures.metric)}",
            "zeroline": True,
            "zerolinecolor": colours.muted,
            "tickformat": "+.2f",
        },
    )
    return chart


def _label(row: QuestionDifference) -> str:
    return chart_text(clipped(row.text, _LONGEST))


QUESTION, OUTCOME = "question", "outcome"  # the URL's parameters
_TABLES = "runs_questions_drawn"  # counts picks from elsewhere, each of which draws the table anew


def select(question_id: str) -> None:
    """Pick a question from outside of the table; call it in a callback."""
    st.query_params[QUESTION] = question_id
    st.session_state[_TABLES] = st.session_state.get(_TABLES, 0) + 1


def questions_table(compared: RunComparison, scope: str) -> str | None:
    """Draw the table; return the id of the picked question."""
    label, outcomes = "Questions by outcome", ["Lost", "Won", "Tied"]
    outcome = switch(label, outcomes, OUTCOME, label_visibility="collapsed").lower()
    rows = [row for row in compared.rows if row.outcome == outcome]
    if not rows:
        st.caption(f"No question is {outcome}.")
        return _existing(compared)
    key = f"runs_questions_{scope}_{outcome}_{st.session_state.get(_TABLES, 0)}"
    parameter = st.query_params.get(QUESTION, "")
    tagged = any(row.tags for row in compared.rows)
    pick_rows(
        [_row(row, tagged) for row in rows],
        key,
        [number for number, row in enumerate(rows) if row.question_id == parameter],
        "single-row",
        lambda: _picked(key, rows),
        height=320 if len(rows) > 8 else "auto",
        row_height=row_height((row.text for row in rows), PINNED_WIDTH),
        column_config=_columns(compared),
        alt=f"Questions {outcome}, the largest difference first.",
    )
    picked = _existing(compared)
    if picked is None:
        st.caption("Click a question, or its bar, to see what both runs retrieved.")
    return picked


def _picked(key: str, rows: list[QuestionDifference]) -> None:
    picked = [rows[number] for number in picked_rows(st.session_state[key]) if number < len(rows)]
    to_url(QUESTION, picked[0].question_id if picked else "")


def _existing(compared: RunComparison) -> str | None:
    parameter = st.query_params.get(QUESTION, "")
    return parameter if any(row.question_id == parameter for row in compared.rows) else None


def _row(row: QuestionDifference, tagged: bool) -> dict[str, object]:
    return {
        "Question": row.text,
        "Difference": difference(row.difference),
        **({"Tags": list(row.tags) or None} if tagged else {}),
        "Before": row.before,
        "After": row.after,
        "First relevant": f"{_rank(row.first_before, row.cut_before)} → "
        f"{_rank(row.first_after, row.cut_after)}",
    }


def _rank(first: int | None, cut: int | None) -> str:
    return str(first) if first else f"{cut} (cut)" if cut else "none"


def _columns(compared: RunComparison) -> dict[str, object]:
    measure = METRIC_TITLES.get(compared.figures.metric.partition("@")[0], "The metric")
    return {
        "Question": st.column_config.TextColumn(width=PINNED_WIDTH),
        "Tags": st.column_config.ListColumn(width="small"),
        "Before": st.column_config.NumberColumn(
            format="%.3f", width="small", help=f"{measure} in the run that is compared with."
        ),
        "After": st.column_config.NumberColumn(format="%.3f", width="small"),
        "Difference": st.column_config.NumberColumn(format="%+.3f", width="small"),
        "First relevant": st.column_config.TextColumn(
            width="small",
            help="Rank of the first relevant passage, before and after. *(cut)*: the threshold cut "
            "it.",
        ),
    }
