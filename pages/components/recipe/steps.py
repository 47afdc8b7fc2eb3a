"""The steps of a search that are off by default: question, ranking, filter, context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.components.recipe.model_steps import ModelSteps
from pages.components.recipe.widgets import Widgets
from pages.components.recipe.working_recipe import OFF, PARAMETERS, names, optional
from rag import KnowledgeBase

_COPIES = ["Off", "0.99", "0.95", "0.9", "0.8"]
_DIVERSITY = ["Off", "0.9", "0.7", "0.5", "0.3"]
_SHOWN = ["Passage", "Neighbours", "Section", "Page"]
_ORDERS = ["Rank", "Document"]


def steps_panel(base: KnowledgeBase, group: Callable[..., Any]) -> None:
    """Draws the four groups, each in what ``group`` makes: ``st.popover`` or ``st.expander``."""
    panel, models = _Steps(base), ModelSteps(base)
    asked, ranked = (panel.question, models.question), (models.ranking, panel.ranking)
    for title, icon, says, draw in (
        ("Question", "edit", "What is asked for besides your words.", asked),
        ("Ranking", "sort", "A second look at the first of the list.", ranked),
        (
            "Filter",
            "filter_alt",
            "Where to look; one of several values is enough.",
            (panel.filter,),
        ),
        ("Context", "article", "What of a hit goes into the prompt.", (panel.context,)),
    ):
        with group(
            title, icon=f":material/{icon}:", width="stretch", key=f"recipe_{title.lower()}"
        ):
            st.caption(says)
            for part in draw:
                part()


class _Steps(Widgets):
    """One method for each group."""

    def question(self) -> None:
        """Spelling and feedback."""
        search = self.recipe.search
        if search.mode != "dense":
            self.bound(
                "spelling",
                st.toggle,
                "Correct unknown words",
                help="Words that no passage has give way to near ones that one has (BM25).",
            )
        self.bound(
            "feedback",
            st.number_input,
            "Feedback from the first passages",
            min_value=0,
            max_value=20,
            help="So many of the first passages are believed, and searched for as well. 0 is off.",
        )
        if search.feedback and search.mode != "lexical":
            self.slider(
                "feedback_weight", "Their share in the vector", 0.05, help="Of the question's."
            )
        if search.feedback and search.mode != "dense":
            self.bound(
                "feedback_terms",
                st.number_input,
                "Words added to BM25",
                min_value=0,
                max_value=50,
                help="The likeliest words of the believed passages.",
            )

    def ranking(self) -> None:
        """Copies and diversity."""
        self._optional("copies", "Leave out copies from cosine", _COPIES)
        self._optional("mmr", "Diversity: share of the score", _DIVERSITY)

    def filter(self) -> None:
        """Documents and places in them."""
        self._list("in_documents", "Documents", "handbook.pdf, law/*")
        self._list("in_types", "Types", "pdf, md")
        self._list("in_tags", "Tags", "contract")
        self._text("in_pages", "Pages", "3-9, 12")
        self._text("in_heading", "Heading", "Termination")
        first, second = st.columns(2)
        with first:
            self._text("in_after", "From", "2024-01-31")
        with second:
            self._text("in_before", "Until", "2024-12-31")

    def context(self) -> None:
        """How much is shown, and in which order."""
        self.choice("show", "Show", _SHOWN, help="The hit itself, or what is around it.")
        if self.recipe.search.context == "neighbours":
            self.bound("around", st.slider, "Neighbours", min_value=1, max_value=5)
        self.bound("join", st.toggle, "Join hits that touch")
        self.choice("order", "Order", _ORDERS, help="Best first, or as the documents have them.")

    def _optional(self, key: str, label: str, usual: list[str]) -> None:
        field = PARAMETERS[key]
        shown, saved = (_number(each.fields()[field]) for each in (self.recipe, self.saved))
        options = list(dict.fromkeys([*usual, saved, shown]))
        self.draw(
            key,
            lambda **given: st.selectbox(label, options, index=options.index(saved), **given),
            shown,
            lambda value: {field: optional(value)},
        )

    def _list(self, key: str, label: str, example: str) -> None:
        field = PARAMETERS[key]
        shown, saved = (", ".join(each.fields()[field]) for each in (self.recipe, self.saved))
        self.draw(
            key,
            lambda **given: st.text_input(label, saved, **given),
            shown,
            lambda value: {field: names(value or "")},
            placeholder=example,
        )

    def _text(self, key: str, label: str, example: str) -> None:
        field = PARAMETERS[key]
        self.draw(
            key,
            lambda **given: st.text_input(label, str(self.saved.fields()[field]), **given),
            str(self.recipe.fields()[field]),
            lambda value: {field: (value or "").strip()},
            placeholder=example,
        )


def _number(value: Any) -> str:
    return OFF if value is None else f"{value:g}"
