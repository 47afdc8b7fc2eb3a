"""One stop of a tour, drawn for a reader."""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st

from pages.components.shell.text import lines, marked, plain
from rag import TourQuote, TourStop

_MID_SENTENCE = re.compile(r"(?<=[^\W\d_]|,)\n(?=[^\W\d_A-Z])")
_ICONS: Mapping[str, str] = {
    "answer": "forum",
    "page": "description",
    "why": "troubleshoot",
    "metrics": "monitoring",
    "comparison": "balance",
}


def stop_view(stop: TourStop) -> None:
    """Draw a stop: title, the owner's words, text, quotes, values and points."""
    stop = stop.without_marks()
    st.subheader(f":material/{_ICONS[stop.kind]}: {plain(stop.title)}")
    if stop.note:
        st.info(lines(stop.note), icon=":material/campaign:")
    if stop.kind == "answer":
        _points(stop)
    if stop.text:
        st.markdown(lines(stop.text))
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
        before, words, after = map(_flowing, (quote.before, quote.text, quote.after))
        spans = [(len(before), len(before) + len(words))] if before or after else []
        st.markdown(marked(before + words + after, spans))


def _flowing(text: str) -> str:
    """A text without the line breaks of a printed page amid a sentence."""
    return _MID_SENTENCE.sub(" ", text)


def _points(stop: TourStop) -> None:
    """Draw the points as a list, a single one as a paragraph."""
    if stop.points:
        mark = "- " if len(stop.points) > 1 else ""
        st.markdown("\n".join(f"{mark}{plain(point)}" for point in stop.points))
