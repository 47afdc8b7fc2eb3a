"""The pictures of a run against k and by first relevant rank, and its figures by tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components.metrics.cards import DOUBTED, REFUSED, cutoffs
from pages.components.metrics.readings import Version, by_tag
from pages.components.shell.charts import Figure, draw_chart, empty_figure, palette
from rag import METRIC_TITLES, KnowledgeBase, QuestionResult, Run, TagFigures, metric_title, percent

_LINES = {"ndcg": ("solid", "circle"), "recall": ("dash", "square"), "mrr": ("dot", "diamond")}
_LINES |= {"precision": ("dashdot", "triangle-up")}
_HEIGHT = 220
_BANDS = {"1": 1, "2": 2, "3": 3, "4–5": 5, "6–10": 10, "11–20": 20, "21+": 10_000}  # last ranks
NOT_FOUND = "not found"
CUT = "cut by the threshold"
_TICKS = {NOT_FOUND: "not<br>found", CUT: "cut"}  # beside one another on a phone


def against_k(run: Run, unit: str) -> None:
    """Measures by how many passages or documents (``unit``) are looked at."""
    st.markdown("**Metrics by cutoff**")
    summary = depth_takeaway(run, unit)
    alt = f"Lines of nDCG, recall, MRR and precision against k. {summary}"
    draw_chart(_lines(run, unit), "metrics_against_k", alt)


def depth_takeaway(run: Run, unit: str = "passage") -> str:
    """Summarize the chart of metrics by depth in one sentence; ``unit`` is what is labelled."""
    five, ten = run.metrics.get("recall@5"), run.metrics.get("recall@10")
    if five is None or ten is None:
        return "Metrics by the number of results."
    if percent(five) == percent(ten):
        return (
            f"The first 5 results have {percent(five)} of the relevant {unit}s, and so do the "
            "first 10."
        )
    return (
        f"The first 5 results have {percent(five)} of the relevant {unit}s, the first 10 have "
        f"{percent(ten)}."
    )


def _lines(run: Run, unit: str) -> Figure:
    colours = palette()
    inks = (colours.accent, colours.dense, colours.fused, colours.lexical)
    ks = cutoffs(run)
    figure = empty_figure(colours, height=_HEIGHT)
    for (name, (dash, symbol)), ink in zip(_LINES.items(), inks, strict=True):
        figure.add_scatter(
            x=[str(k) for k in ks],
            y=[run.metrics.get(f"{name}@{k}") for k in ks],
            name=METRIC_TITLES[name],
            mode="lines+markers",
            line={"color": ink, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 8},
            hovertemplate="%{y:.3f} at k = %{x}",
        )
    figure.update_layout(
        xaxis={"title": f"k ({unit}s looked at)", "type": "category"},
        yaxis={"title": "score (0 to 1)", "range": [0, 1.03]},
    )
    return figure


def first_ranks(run: Run, results: Sequence[QuestionResult], unit: str) -> None:
    """Draw a histogram of the rank of the first relevant ``unit`` of each question."""
    counts = rank_counts(results)
    st.markdown(f"**Rank of the first relevant {unit}**")
    summary = rank_takeaway(counts, max(cutoffs(run)), unit)
    alt = f"Histogram of the rank of the first relevant {unit}. {summary}"
    draw_chart(_bars(counts, unit), "metrics_first_ranks", alt)


def rank_counts(results: Sequence[QuestionResult]) -> dict[str, int]:
    """Questions by the rank of their first relevant passage, in bands; labelled ones only."""
    counts = dict.fromkeys([*_BANDS, CUT, NOT_FOUND], 0)
    for result in results:
        if result.relevant:
            rank = result.first_relevant
            band = (name for name, last in _BANDS.items() if rank and rank <= last)
            counts[next(band, NOT_FOUND if result.cut_rank is None else CUT)] += 1
    return counts


def rank_takeaway(counts: Mapping[str, int], depth: int, unit: str = "passage") -> str:
    """Summarize the histogram of first ranks, of which a run counts ``depth``, in words."""
    total = sum(counts.values())
    if not total:
        return f"No question of this set has a labelled {unit}."
    have = "question has" if total == 1 else "questions have"
    has = "has" if counts[NOT_FOUND] < 2 else "have"
    return (
        f"{counts['1']:,} of {total:,} {have} a relevant {unit} at rank 1; "
        + (f"{counts[NOT_FOUND]:,} {has} none" if counts[NOT_FOUND] else "all have one")
        + f" among the first {depth:,}."
        + (f" The threshold cuts it for {counts[CUT]:,}." if counts[CUT] else "")
    )


def _bars(counts: Mapping[str, int], unit: str) -> Figure:
    colours = palette()
    missed = {"6–10", "11–20", "21+", NOT_FOUND, CUT}
    if not counts.get(CUT):
        counts = {name: number for name, number in counts.items() if name != CUT}
    inks = [colours.not_relevant if name in missed else colours.relevant for name in counts]
    figure = empty_figure(colours, height=_HEIGHT, bargap=0.25)
    figure.add_bar(
        x=list(counts),
        y=list(counts.values()),
        text=[f"{number:,}" if number else "" for number in counts.values()],
        textposition="outside",
        cliponaxis=False,
        marker={"color": inks},
        hovertemplate="rank %{x}: %{y} questions<extra></extra>",
    )
    # Whole numbers only: few questions have no halves.
    ticks = {"dtick": 1} if max(counts.values()) < 6 else {"nticks": 6}
    figure.update_layout(
        xaxis={
            "title": f"rank of the first relevant {unit}"
            + " (cut: by the threshold)" * (CUT in counts),
            "type": "category",
            "tickvals": list(counts),
            "ticktext": [_TICKS.get(name, name) for name in counts],
            "tickangle": 0,
        },
        yaxis={"title": "questions", "tickformat": ",d", **ticks},
    )
    return figure


_MEASURES = ("ndcg", "recall", "mrr")
_PREFERRED = 10
_HELP = {
    DOUBTED: "Unanswerable questions that were not answered.",
    REFUSED: "Unanswerable questions for which nothing came back.",
}


def tag_table(base: KnowledgeBase, run: Run, version: Version) -> None:
    """A row for each tag; nothing where no question has one."""
    k = _PREFERRED if _PREFERRED in cutoffs(run) else cutoffs(run)[-1]
    names = {f"{measure}@{k}": metric_title(f"{measure}@{k}") for measure in _MEASURES}
    leading = next(iter(names))
    refused = DOUBTED if DOUBTED in run.metrics else REFUSED
    rows = by_tag(base, run.id, (*names, refused), version)
    if rows:
        st.caption(f"The interval is that of {names[leading]}: a tag of few questions says little.")
        st.dataframe(
            [_row(row, names, leading, refused) for row in rows],
            key="metrics_by_tag",
            hide_index=True,
            column_config={
                label: st.column_config.NumberColumn(format="%.3f") for label in names.values()
            }
            | {
                metric_title(refused): st.column_config.NumberColumn(
                    format="percent", help=_HELP[refused]
                )
            },
            placeholder="–",
            alt=f"Tags with their questions, {', '.join(names.values())} and refusals.",
        )


def _row(row: TagFigures, names: dict[str, str], leading: str, refused: str) -> dict[str, object]:
    low, high = row.intervals.get(leading, (None, None))
    return {
        "Tag": row.tag,
        "Questions": row.questions,
        **{label: row.means.get(name) for name, label in names.items()},
        "95% interval": "–" if low is None else f"{low:.3f} to {high:.3f}",
        metric_title(refused): row.means.get(refused),
    }
