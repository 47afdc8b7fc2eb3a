"""Steps of a search that ask a model: what they are called, and what they need."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.recipe.widgets import Widgets
from pages.components.recipe.working_recipe import OFF, PARAMETERS

RERANKERS = [OFF, "service", "chat"]
_NO_MODEL = "Answers are made of quotes: without a language model this is left out."


class ModelSteps(Widgets):
    """The widgets of such steps, for the group that each belongs to."""

    def question(self) -> None:
        """A language model words the question."""
        search = self.recipe.search
        self.bound(
            "rewrite",
            st.toggle,
            "Make follow-ups complete",
            help="In a chat, the language model puts in what a follow-up refers to.",
        )
        self.bound(
            "expansions",
            st.number_input,
            "Further wordings",
            min_value=0,
            max_value=8,
            help="The language model words the question anew; all wordings are searched.",
        )
        if search.mode != "lexical":
            self.bound(
                "hyde",
                st.toggle,
                "Search with an imagined answer",
                help="The language model imagines an answer (HyDE); passages near it are found.",
            )
        if search.rewrite or search.expansions or search.hyde:
            self._needs_a_model()

    def ranking(self) -> None:
        """Who reads the first passages again."""
        field = PARAMETERS["rerank"]
        shown, saved = (_name(each.fields()[field]) for each in (self.recipe, self.saved))
        options = list(dict.fromkeys([*RERANKERS, saved, shown]))
        self.draw(
            "rerank",
            lambda **given: st.selectbox(
                "Rerank with",
                options,
                index=options.index(saved),
                accept_new_options=True,
                **given,
            ),
            shown,
            lambda value: {field: None if value in (OFF, None) else value},
            help="service is the one in TOUCHSTONE_RERANK_URL (service:MODEL names its model), "
            "chat the language model. A model on this machine: type onnx:FOLDER or "
            "cross-encoder:FOLDER.",
        )
        if not self.recipe.search.rerank:
            return
        if self.recipe.search.rerank == "chat":
            self._needs_a_model()
        first, second = st.columns(2)
        with first:
            self.bound("depth", st.number_input, "Read the first", min_value=1, max_value=200)
        with second:
            self.bound("batch", st.number_input, "At once", min_value=1, max_value=200)

    def _needs_a_model(self) -> None:
        if self.recipe.answer.provider == "extractive":
            st.caption(f":material/info: {_NO_MODEL}")


def _name(value: Any) -> str:
    return OFF if value is None else str(value)
