"""The steps of a search that are off by default: question, ranking, filter, context."""

from __future__ import annotations

import streamlit as st

from pages.components.recipe.widgets import Widgets
from pages.components.recipe.working_recipe import FIELDS, OFF, names
from pages.components.shell.session import just_opened
from rag import URL_PARAMETERS, KnowledgeBase

_RERANKERS = [OFF, "service", "chat"]
_COPIES = [OFF, "0.99", "0.95", "0.9", "0.8"]
_DIVERSITY = [OFF, "0.9", "0.7", "0.5", "0.3"]


def steps_panel(base: KnowledgeBase) -> None:
    """Draw the four groups, each opening over the page."""
    steps = _Steps(base)
    for title, icon, says, draw in (
        ("Question", "edit", "Additions to the question.", steps.question),
        ("Ranking", "sort", "Ranks the first results again.", steps.ranking),
        (
            "Filter",
            "filter_alt",
            ("Restricts the search. A passage needs one of several values."),
            steps.filter,
        ),
        ("Context", "article", "The text of a result in the prompt.", steps.context),
    ):
        key = f"recipe_{title.lower()}"
        sign = f":material/{icon}:"
        group = st.popover(title, icon=sign, width="stretch", key=key, on_change="rerun")
        steps.just_opened = just_opened(key, is_open=bool(group.open))
        with group:
            st.caption(says)
            draw()


_SPELLING = {"question": "Correct the question", "true": "Correct for BM25 alone", "false": "Off"}


class _Steps(Widgets):
    """One method for each group."""

    def question(self) -> None:
        """Wordings of the question: by the documents, the first passages, or a language model."""
        search = self.recipe.search
        self.pick(
            "spelling",
            list(_SPELLING),
            lambda value: str(value).lower(),
            lambda value: value if value == "question" else value == "true",
            format_func=_SPELLING.__getitem__,
            help="Corrected by the words of your documents. What everyday English has, codes and "
            "quotations stay as they are, and the answer says which words it read differently.",
        )
        self.draw(
            "synonyms",
            st.toggle,
            help="An English word that none of your documents has is searched with synonyms that "
            "one has: “bike” with “bicycle”. German, Dutch and Scandinavian compounds are searched "
            "with their parts. The answer says which words have synonyms.",
        )
        self.number(
            "feedback",
            help=(
                "The number of first passages whose content is added to the search. 0 turns "
                "this off."
            ),
        )
        if search.feedback and search.mode != "lexical":
            self.slider("feedback_weight", step=0.05, help="Of the question's.")
        if search.feedback and search.mode != "dense":
            self.number(
                "feedback_terms",
                help="The most typical words of these passages.",
            )
        self.draw(
            "rewrite",
            st.toggle,
            help="In a chat, the language model completes every question, and not only those that "
            "lean on the one before.",
        )
        self.number(
            "expansions",
            help="The language model rephrases the question. All wordings are searched.",
        )
        if search.mode != "lexical":
            self.draw(
                "hyde",
                st.toggle,
                help=(
                    "The language model writes a hypothetical answer (HyDE). Passages near "
                    "it are retrieved."
                ),
            )
        if search.rewrite or search.expansions or search.hyde:
            self._needs_a_model()

    def ranking(self) -> None:
        """Draw the fields of reranking, near-duplicate removal and diversity."""
        self.pick(
            "rerank",
            _RERANKERS,
            _or_off,
            lambda name: None if name in (OFF, None) else name,
            accept_new_options=True,
            help="service is the one in TOUCHSTONE_RERANK_URL (service:MODEL names its model), "
            "chat the language model. Others: type cohere, jina, voyage or bedrock (also "
            "NAME:MODEL), or for a model on this machine onnx:FOLDER or cross-encoder:FOLDER.",
        )
        if self.recipe.search.rerank:
            if self.recipe.search.rerank == "chat":
                self._needs_a_model()
            depth, batch = st.columns(2)
            with depth:
                self.number("depth")
            with batch:
                self.number("batch")
        self.pick("copies", _COPIES, _or_off, _optional)
        self.pick("mmr", _DIVERSITY, _or_off, _optional)

    def _needs_a_model(self) -> None:
        if self.recipe.answer.provider == "extractive":
            st.caption(
                ":material/info: Answers are quotes: without a language model, this step is "
                "skipped."
            )

    def filter(self) -> None:
        """Documents and places in them."""
        self._text("in_documents", "handbook.pdf, law/*")
        self._text("in_types", "pdf, md")
        self._text("in_tags", "contract")
        self._text("in_pages", "3-9, 12")
        self._text("in_heading", "Termination")
        after, before = st.columns(2)
        with after:
            self._text("in_after", "2024-01-31")
        with before:
            self._text("in_before", "2024-12-31")

    def context(self) -> None:
        """Draw the context size and the order of the passages."""
        self.choice("show", help="The hit itself, or what is around it.")
        if self.recipe.search.context == "neighbours":
            self.slider("around")
        self.draw("join", st.toggle)
        self.choice("order", help="Best first, or as the documents have them.")

    def _text(self, key: str, example: str) -> None:
        listed = FIELDS[URL_PARAMETERS[key]]["type"] == "array"
        show, read = (", ".join, names) if listed else (str, str.strip)
        self.draw(key, st.text_input, show, lambda text: read(text or ""), placeholder=example)


def _or_off(value: float | str | None) -> str:
    """A number as it is written, or a name; ``Off`` for None."""
    if value is None:
        return OFF
    return value if isinstance(value, str) else f"{value:g}"


def _optional(text: str) -> float | None:
    """A number, or None for ``Off``."""
    return None if text == OFF else float(text)
