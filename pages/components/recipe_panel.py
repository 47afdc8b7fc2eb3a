"""The recipe as widgets: the same ones on every page, bound to the URL, always in step.

The working recipe is the truth. A widget shows its value; a change goes to the recipe first (in
the widget's callback) and comes back from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components.index_panel import index_panel
from pages.components.recipe_state import (
    AUTO,
    CUT,
    OFF,
    PARAMETERS,
    SET,
    THRESHOLD,
    change,
    drawn,
    fresh,
    working,
)
from pages.components.session import workspace
from pages.components.wording import relevance
from rag import InvalidInput, KnowledgeBase, Recipe, Trace

MODES = ["Dense", "Lexical", "Hybrid"]
FUSIONS = ["Weighted", "Rrf"]
MOST_SHOWN = 50
RELEVANCES = ["Cosine", "Probability"]
_THRESHOLD_HELP = {
    "cosine": "Least similarity (cosine of question and passage) of a passage that comes back.",
    "probability": "Least probability of being relevant, as learned from labels.",
}


def recipe_panel(
    base: KnowledgeBase,
    *,
    answers: bool = False,
    explain: Callable[[Recipe], str] | None = None,
) -> Recipe:
    """Draws the panel; returns the working recipe.

    ``answers`` adds who answers; ``explain`` says what the threshold means for what is shown.
    """
    slot = _Panel(base).search()
    with st.expander("Advanced", icon=":material/tune:", key="recipe_advanced"):
        _Panel(base).advanced()
        index_panel(base, working(base))
    if answers:
        with st.expander("Answers", icon=":material/forum:", key="recipe_answers"):
            _Panel(base).answers()
    drawn()
    recipe = working(base)
    if explain is not None:
        slot.caption(explain(recipe))
    return recipe


def what_it_means(trace: Trace) -> str:
    """The threshold in terms of this question."""
    taken = trace.stage("threshold")
    if trace.threshold is None or taken is None:
        return "No threshold: whatever ranks highest comes back."
    return f"{relevance(trace)} ≥ {trace.threshold:.2f}: {taken.given:,} of {taken.taken:,} pass"


class _Panel:
    """The widgets of one knowledge base's working recipe."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._recipe = working(base)
        self._saved = base.recipe()

    def search(self) -> DeltaGenerator:
        """What is used most: mode, weight, threshold, top-k. Returns the threshold's caption."""
        self._choice("mode", "Mode", MODES, help="By meaning, by words, or both.")
        search, index = self._recipe.search, self._recipe.index
        if search.relevance == "probability" or self._base.lab.calibration(index) is not None:
            self._choice(
                "by",
                "Threshold compares",
                RELEVANCES,
                help="The cosine, or the probability that was learned from labels for this index.",
            )
        if search.mode == "hybrid":
            self._slider(
                "w",
                "Dense weight",
                0.05,
                help="Share of the meaning (vectors) in the ranking; the rest is words.",
            )
        self._threshold()
        slot = st.empty()
        most = MOST_SHOWN if max(search.top_k, self._saved.search.top_k) <= MOST_SHOWN else 1000
        self._bound(
            "k",
            st.slider,
            "Top-k",
            min_value=1,
            max_value=most,
            help="Most passages to return.",
        )
        return slot

    def _threshold(self) -> None:
        how = _how(self._recipe)
        level, default = self._level(self._recipe), self._level(self._saved)
        self._draw(
            THRESHOLD,
            lambda **given: st.slider("Threshold", 0.0, 1.0, default, 0.01, **given),
            level,
            lambda value: {"search.threshold": round(float(value), 2)},
            disabled=how == OFF,
            help=_THRESHOLD_HELP[self._recipe.search.relevance],
        )
        self._draw(
            CUT,
            lambda **given: st.segmented_control(
                "How the threshold is set",
                [AUTO, SET, OFF],
                default=_how(self._saved),
                required=True,
                label_visibility="collapsed",
                **given,
            ),
            how,
            lambda value: {"search.threshold": {AUTO: "auto", OFF: None, SET: level}[value]},
        )

    def _level(self, recipe: Recipe) -> float:
        try:
            value = self._base.threshold(recipe)
            if value is None:
                value = self._base.threshold(recipe.with_fields({"search.threshold": "auto"}))
        except InvalidInput:  # no calibration: the search itself says so, beside the slider
            value = None
        return min(max(round(value or 0.0, 2), 0.0), 1.0)

    def advanced(self) -> None:
        """What is rarely touched: depth, fusion, BM25, and the room in the prompt."""
        self._bound(
            "candidates",
            st.number_input,
            "Candidates",
            min_value=1,
            max_value=2000,
            step=10,
            help="Passages taken from each retriever before they are ranked together.",
        )
        self._bound(
            "context",
            st.number_input,
            "Context budget, tokens",
            min_value=1,
            max_value=1_000_000,
            step=500,
            help="Most tokens of passages in the prompt.",
        )
        search = self._recipe.search
        if search.mode == "hybrid":
            self._choice("fusion", "Fusion", FUSIONS, help="Weighted scores, or reciprocal ranks.")
            if search.fusion == "rrf":
                self._bound(
                    "rrf",
                    st.number_input,
                    "Constant of reciprocal ranks",
                    min_value=1,
                    max_value=1000,
                )
        if search.mode != "dense":
            self._slider("k1", "BM25 k1", 0.1, 10.0, help="How soon repeated words stop counting.")
            self._slider("b", "BM25 b", 0.05, help="How much long passages are discounted.")
            self._bound("fuzzy", st.toggle, "Forgive misspellings")
            self._bound("prefix", st.toggle, "Match beginnings of words")

    def answers(self) -> None:
        """Who answers, and at what length."""
        ready = [each.name for each in workspace().statuses() if each.ready and each.chat_model]
        names = list(
            dict.fromkeys([*ready, self._recipe.answer.provider, self._saved.answer.provider])
        )
        saved = names.index(self._saved.answer.provider)
        field = PARAMETERS["provider"]
        self._draw(
            "provider",
            lambda **given: st.selectbox("Provider", names, index=saved, **given),
            self._recipe.answer.provider,
            lambda value: {field: value},
            help="extractive quotes the passages and needs no language model.",
        )
        if self._recipe.answer.provider == "extractive":
            return
        self._draw(
            "model",
            lambda **given: st.text_input("Model", self._saved.answer.model or "", **given),
            self._recipe.answer.model or "",
            lambda value: {"answer.model": value or None},
            placeholder="the provider's default",
        )
        self._slider("temperature", "Temperature", 0.1, 2.0)
        self._bound(
            "length",
            st.number_input,
            "Longest answer, tokens",
            min_value=1,
            max_value=100_000,
            step=100,
        )

    def _choice(self, key: str, label: str, options: list[str], help: str) -> None:
        field = PARAMETERS[key]
        saved = str(self._saved.fields()[field]).capitalize()
        self._draw(
            key,
            lambda **given: st.segmented_control(
                label, options, default=saved, required=True, width="stretch", **given
            ),
            str(self._recipe.fields()[field]).capitalize(),
            lambda value: {field: str(value).lower()},
            help=help,
        )

    def _slider(self, key: str, label: str, step: float, most: float = 1.0, help: str = "") -> None:
        self._bound(
            key, st.slider, label, min_value=0.0, max_value=most, step=step, help=help or None
        )

    def _bound(self, key: str, widget: Callable[..., Any], label: str, **options: Any) -> None:
        field = PARAMETERS[key]
        shown, saved = self._recipe.fields()[field], self._saved.fields()[field]
        if isinstance(saved, float):
            shown, saved = round(shown, 4), round(saved, 4)
        self._draw(
            key,
            lambda **given: widget(label, value=saved, **given),
            shown,
            lambda value: {field: round(value, 4) if isinstance(value, float) else value},
            **options,
        )

    def _draw(
        self,
        key: str,
        widget: Callable[..., Any],
        shown: Any,
        fields: Callable[[Any], dict[str, Any]],
        **options: Any,
    ) -> None:
        """One widget, shown with the recipe's value; its default is the saved one."""
        # A widget that another page had under this key would come up with its default.
        # Otherwise it is left alone: setting it again would pull a slider out of a moving hand.
        if fresh() or not _same(st.session_state.get(key), shown):
            st.session_state[key] = shown
        value = widget(
            key=key,
            bind="query-params",
            on_change=_take,
            args=(self._base, key, fields),
            **options,
        )
        if not _same(
            value, shown
        ):  # the browser's back button changes a widget without its callback
            change(self._base, fields(value))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, abs_tol=1e-6)
    return bool(one == other)


def _take(base: KnowledgeBase, key: str, fields: Callable[[Any], dict[str, Any]]) -> None:
    change(base, fields(st.session_state[key]))


def _how(recipe: Recipe) -> str:
    match recipe.search.threshold:
        case "auto":
            return AUTO
        case None:
            return OFF
    return SET
