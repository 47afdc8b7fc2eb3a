"""Five figures of the recipe as the sliders have it, against the saved one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from pages.components.metrics.cards import (
    CARDS,
    REFUSED,
    Card,
    beyond_top_k,
    same_search,
    shown,
    style,
)
from pages.components.shell.text import plain
from pages.components.tuning.bench import Bench, cached, figures
from rag import (
    TELLS_NOTHING,
    UNCHANGED,
    Comparison,
    Interval,
    QuestionFigures,
    Recipe,
    change_in_words,
    half_up,
    is_share,
    signed,
    signed_points,
)

_DOUBTFUL = (
    "*Rightly unanswered* on Metrics counts doubtful answers, too: no threshold is needed for "
    "those."
)


@dataclass(frozen=True)
class Measured:
    """A mean with its interval, and its change against the saved recipe where that is known."""

    value: float
    interval: Interval
    change: Comparison | None


def cards(bench: Bench) -> None:
    """Each figure with its interval, and its change with the interval of the change."""
    saved = bench.saved
    against = (saved.index.hash, saved.search.hash) if saved else None
    measured = cached(partial(_measured, bench), "changes", (*bench.without(), against))
    with st.grid(len(CARDS), min_column_width=132):
        for card in CARDS:
            if card.metric == REFUSED:
                card = replace(card, help=f"{card.help} {_DOUBTFUL}")
            _card(card, measured.get(card.metric), is_changed=not _is_saved(bench))
    st.caption(f"{_against(bench)} {beyond_top_k(bench.recipe)}")


def _measured(bench: Bench) -> dict[str, Measured]:
    """The figures by metric; those that no question has are left out."""
    now = figures(bench, bench.recipe)
    names = [card.metric for card in CARDS]
    changes = _changes(bench, now, names, bench.saved) if bench.saved else {}
    return {
        name: Measured(float(mean[0]), interval, changes.get(name))
        for name, interval in now.intervals(names).items()
        if (mean := now.means(name)) is not None
    }


def _changes(
    bench: Bench, now: QuestionFigures, names: Sequence[str], saved: Recipe
) -> dict[str, Comparison]:
    changes = now.changes(names, figures(bench, saved))
    return bench.tuner.with_open_hits(changes, bench.recipe, saved)


def _is_saved(bench: Bench) -> bool:
    """Whether the recipe searches as the saved one does; its answers may differ."""
    return same_search(bench.saved, bench.recipe)


def _against(bench: Bench) -> str:
    if bench.saved is None:
        return "The index of the saved recipe is not built, so there is nothing to compare with."
    if _is_saved(bench) and bench.differs:
        return "Without the steps that are left out, this is the saved recipe."
    if _is_saved(bench):
        return "The saved recipe: move a slider."
    return (
        "Change against the saved recipe, with half the width of its interval. A change has a "
        "color if it is significant with all cards tested together; *Runs* tests one metric."
    )


def _card(card: Card, measured: Measured | None, *, is_changed: bool) -> None:
    if measured is None:
        help_text = f"{card.help} This set has no such question."
        st.metric(card.label, "–", help=help_text, border=True, height="stretch")
        return
    change = measured.change
    delta = spread = None
    if change is not None and abs(change.difference) < UNCHANGED:
        change, delta = None, "no change" if is_changed else None
    elif change is not None:
        delta = change_in_words(card.metric, change.difference)
        spread = _spread(change, card)
    st.metric(
        card.label,
        shown(measured.value, card),
        delta=delta,
        **_style(change),
        delta_description=spread,
        help=_help(card, measured.interval, change),
        border=True,
        height="stretch",
    )


def _style(change: Comparison | None) -> dict[str, Any]:
    """An arrow for each change, a colour for what is decided."""
    if change is None:
        return style(0.0)
    decided = change.verdict in ("better", "worse")
    return style(change.difference, change.metric) | ({} if decided else {"delta_color": "off"})


def _spread(change: Comparison, card: Card) -> str:
    half = (change.interval.high - change.interval.low) / 2
    if half >= TELLS_NOTHING:
        return "too few"  # a card has no room for more; its help says it all
    return f"±{half_up(half * 100)}" if is_share(card.metric) else f"±{half:.3f}"


def _help(card: Card, interval: Interval, change: Comparison | None) -> str:
    help_text = f"{card.help} 95% interval of the value: {_ends(interval, card)}."
    if change is None:
        return help_text
    doubt = f" Not decided: {plain(change.doubt)}" if change.doubt else ""
    ends = _ends(change.interval, card, of_change=True)
    return f"{help_text} Interval of the change: {ends} ({change.level}).{doubt}"


def _ends(interval: Interval, card: Card, of_change: bool = False) -> str:
    if of_change:
        return " to ".join(map(signed_points if is_share(card.metric) else signed, interval))
    scale, digits = (100, 0) if is_share(card.metric) else (1, 3)
    return " to ".join(f"{half_up(end * scale, digits)}" for end in interval)
