"""Widgets that show fields of the working recipe, change them, and are bound to the URL."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.components.recipe.working_recipe import PARAMETERS, change, fresh, working
from rag import InvalidRecipe, KnowledgeBase

_REFUSED = "recipe_refused"


class Widgets:
    """Draws fields of one knowledge base's working recipe, by the URL's name of each."""

    def __init__(self, base: KnowledgeBase) -> None:
        self.base = base
        self.recipe = working(base)
        self.saved = base.recipe()

    def choice(self, key: str, label: str, options: list[str], help: str) -> None:
        """One of a few words; the field holds it in small letters."""
        field = PARAMETERS[key]
        saved = str(self.saved.fields()[field]).capitalize()
        self.draw(
            key,
            lambda **given: st.segmented_control(
                label, options, default=saved, required=True, width="stretch", **given
            ),
            str(self.recipe.fields()[field]).capitalize(),
            lambda value: {field: str(value).lower()},
            help=help,
        )

    def slider(self, key: str, label: str, step: float, most: float = 1.0, help: str = "") -> None:
        """A number from 0 to ``most``."""
        self.bound(
            key, st.slider, label, min_value=0.0, max_value=most, step=step, help=help or None
        )

    def bound(self, key: str, widget: Callable[..., Any], label: str, **options: Any) -> None:
        """Any widget that holds the field's value as it is."""
        field = PARAMETERS[key]
        shown, saved = self.recipe.fields()[field], self.saved.fields()[field]
        if isinstance(saved, float):
            shown, saved = round(shown, 4), round(saved, 4)
        self.draw(
            key,
            lambda **given: widget(label, value=saved, **given),
            shown,
            lambda value: {field: round(value, 4) if isinstance(value, float) else value},
            **options,
        )

    def draw(
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
            args=(self.base, key, fields),
            **options,
        )
        if not _same(
            value, shown
        ):  # the browser's back button changes a widget without its callback
            _change(self.base, fields(value))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, abs_tol=1e-6)
    return bool(one == other)


def _take(base: KnowledgeBase, key: str, fields: Callable[[Any], dict[str, Any]]) -> None:
    _change(base, fields(st.session_state[key]))


def _change(base: KnowledgeBase, changes: dict[str, Any]) -> None:
    """Changes the recipe; what it refuses is kept to be told, and the old value stays."""
    st.session_state.pop(_REFUSED, None)
    try:
        change(base, changes)
    except InvalidRecipe as error:
        st.session_state[_REFUSED] = error.message


def refused() -> str:
    """Why the last change was not taken, "" where it was."""
    return str(st.session_state.get(_REFUSED, ""))
