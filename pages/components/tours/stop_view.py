"""One stop of a tour, drawn for a reader."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.shell.text import lines, marked, plain
from rag import CodeBlock, TourQuote, TourStop

_ICONS: Mapping[str, str] = {
    "answer": "forum",
    "page": "description",
    "why": "troubleshoot",
    "metrics": "monitoring",
    "comparison": "balance",
}


def stop_view(stop: TourStop) -> None:
    """Draw a stop: title, the owner's words, text, quotes, values and points."""
    st.subheader(f":material/{_ICONS[stop.kind]}: {plain(stop.title)}")
    if stop.note:
        st.info(lines(stop.note), icon=":material/campaign:")
    if stop.kind == "answer":
        _points(stop)
    if stop.text:
        st.markdown(lines(stop.shown_text()))
    _values(stop)
    for quote in stop.quotes:
        _quote(quote)
    if stop.kind != "answer":
        _points(stop)


def _values(stop: TourStop) -> None:
    if stop.values:
        with st.grid(len(stop.values), min_column_width=170):
            for row in stop.values:
                with st.container(border=True, height="stretch", gap="xsmall"):
                    # Above the metric, whose own label is cut where it does not fit on a phone.
                    st.caption(plain(row.label))
                    st.metric(plain(row.label), row.value, label_visibility="collapsed")
                    st.caption(plain(row.detail))


def _quote(quote: TourQuote) -> None:
    with st.container(border=True, gap="xsmall"):
        st.caption(plain(quote.source))
        for part in quote.parts():
            if isinstance(part, CodeBlock):
                st.code(part.code, part.language or None, wrap_lines=True)
                continue
            start, end = len(part.before), len(part.before) + len(part.text)
            spans = [(start, end)] if quote.before or quote.after else []
            st.markdown(marked(f"{part.before}{part.text}{part.after}", spans))


def _points(stop: TourStop) -> None:
    """Draw the points as a list, a single one as a paragraph."""
    if stop.points:
        mark = "- " if len(stop.points) > 1 else ""
        st.markdown("\n".join(f"{mark}{plain(point)}" for point in stop.points))
