"""Widgets that show fields of the working recipe, change them, and are bound to the URL.

The steps of a search that are off by default are in four groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.components.recipe import working_recipe
from pages.components.recipe.working_recipe import FIELDS, OFF, change, fresh, names
from pages.components.shell.session import just_opened
from rag import CAPTIONS, URL_PARAMETERS, InvalidRecipe, KnowledgeBase

_REFUSED = "recipe_refused"
_SPELLINGS = {
    "rrf": "RRF",
    "elasticsearch_linear": "Elasticsearch linear",
    "opensearch_min_max": "OpenSearch min-max",
    "weaviate_relative_score": "Weaviate relative score",
    "qdrant_rrf": "Qdrant RRF",
}
_WORDS = {spelling: word for word, spelling in _SPELLINGS.items()}
_NEVER_EMPTY = (st.segmented_control, st.selectbox, st.number_input, st.slider, st.toggle)


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


class Widgets:
    """Widgets for fields of one knowledge base's working recipe, by the URL's name of each."""

    def __init__(self, base: KnowledgeBase) -> None:
        self.base = base
        self.recipe, self.saved = working_recipe.working(base), working_recipe.saved(base)
        self.just_opened = False  # the popover that they are drawn in, if they are in one
        self._displayed, self._saved = self.recipe.fields(), self.saved.fields()

    def choice(self, key: str, help: str) -> None:
        """One of the few words that the field may be; it holds them in small letters."""
        options = [sentence_case(word) for word in FIELDS[URL_PARAMETERS[key]]["enum"]]
        _respell(key, options)
        self.draw(
            key,
            st.segmented_control,
            sentence_case,
            word_of,
            options=options,
            required=True,
            width="stretch",
            help=help,
        )

    def number(
        self, key: str, widget: Callable[..., Any] = st.number_input, **options: Any
    ) -> None:
        """A number within the bounds of the field, unless ``options`` have others."""
        schema = FIELDS[URL_PARAMETERS[key]]
        kind = int if schema["type"] == "integer" else float
        bounds = {"min_value": kind(schema["minimum"]), "max_value": kind(schema["maximum"])}
        self.draw(key, widget, **bounds | options)

    def slider(self, key: str, **options: Any) -> None:
        """The same as a slider."""
        self.number(key, st.slider, **options)

    def pick(
        self,
        key: str,
        usual: Sequence[str],
        show: Callable[[Any], str] = str,
        read: Callable[[str], Any] = str,
        **options: Any,
    ) -> None:
        """One of the usual values, which the saved one and the present one join."""
        _respell(key, usual)
        field = URL_PARAMETERS[key]
        present = (show(values[field]) for values in (self._saved, self._displayed))
        listed = list(dict.fromkeys([*usual, *present]))
        self.draw(key, st.selectbox, show, read, options=listed, **options)

    def draw(
        self,
        key: str,
        widget: Callable[..., Any],
        show: Callable[[Any], Any] = _rounded,
        read: Callable[[Any], Any] = _rounded,
        **options: Any,
    ) -> None:
        """A field's widget: ``show`` turns the field into its value, ``read`` turns it back."""
        field = URL_PARAMETERS[key]
        options.setdefault("help", _sentence(FIELDS[field].get("description", "")))
        displayed, saved = show(self._displayed[field]), show(self._saved[field])
        self.place(
            key,
            widget,
            CAPTIONS[field],
            displayed,
            saved,
            lambda value: {field: read(value)},
            **options,
        )

    def place(
        self,
        key: str,
        widget: Callable[..., Any],
        label: str,
        displayed: Any,
        saved: Any,
        fields: Callable[[Any], dict[str, Any]],
        **options: Any,
    ) -> None:
        """One widget with the recipe's value; its default, which the URL omits, is the saved one.

        ``fields`` turns a value of the widget into changes of the recipe.
        """
        unnamed = widget in _NEVER_EMPTY and st.query_params.get(key) == ""
        if unnamed:  # as if the address did not name it
            with suppress(StreamlitAPIException):  # the widget has it already, and is set instead
                st.query_params.pop(key)
        # A widget that another page had under this key would come up with its default.
        # Otherwise it is left alone: setting it again would pull a slider out of a moving hand.
        is_new = fresh() or self.just_opened
        if unnamed or is_new or not _same(st.session_state.get(key), displayed):
            st.session_state[key] = displayed
        if widget == st.selectbox:
            options["index"] = options["options"].index(saved)
        else:
            options["default" if "options" in options else "value"] = saved
        value = widget(
            label,
            key=key,
            bind="query-params",
            on_change=_take,
            args=(self.base, key, fields),
            **options,
        )
        if unnamed and value is None and key not in st.query_params:
            st.rerun()  # the widget was emptied by the address, which names it no more
        # The browser's back button changes a widget without its callback.
        if value is not None and not _same(value, displayed):
            _change(self.base, fields(value))


def sentence_case(word: Any) -> str:
    """A word of a recipe as the pages spell it."""
    return _SPELLINGS.get(word, str(word).capitalize())


def word_of(spelling: str) -> str:
    """The word of a recipe that the pages spell so."""
    return _WORDS.get(spelling, spelling.lower())


def _sentence(description: str) -> str:
    """The description of a field as a sentence."""
    return f"{description[:1].upper()}{description[1:]}." if description else ""


def _respell(key: str, options: Sequence[str]) -> None:
    """Spell a word in an address that was shared before as the widget spells it now."""
    given = st.query_params.get(key, "")
    now = next((option for option in options if option.lower() == given.lower()), given)
    if now != given:
        with suppress(StreamlitAPIException):  # the widget is drawn and has its value
            st.query_params[key] = now


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, abs_tol=1e-6)
    return bool(one == other)


def _take(base: KnowledgeBase, key: str, fields: Callable[[Any], dict[str, Any]]) -> None:
    value = st.session_state[key]
    if value is not None:  # a slow browser may send an address with an empty parameter once more
        _change(base, fields(value))


def _change(base: KnowledgeBase, changes: dict[str, Any]) -> None:
    """Change the recipe; what it refuses is kept to be told, and the old value stays."""
    st.session_state.pop(_REFUSED, None)
    try:
        change(base, changes)
    except InvalidRecipe as error:
        st.session_state[_REFUSED] = error.message


def refused() -> str:
    """The reason why the last change was rejected; empty if it was accepted."""
    return str(st.session_state.get(_REFUSED, ""))


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
