"""Versions of a turn: another recipe answers the question again, and both answers stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.components.chat import follow_up
from pages.components.recipe import working_recipe
from pages.components.recipe.choices import recipe_choices, usable
from pages.components.shell.buttons import action_button, confirm_button
from pages.components.shell.text import plain
from rag import KnowledgeBase, Message, Recipe, Turn

_INSTEAD = "chat_instead"  # the session's state: which turn is asked again
_RECIPE = "chat_again_recipe"
_QUOTES = "quotes"


@dataclass(frozen=True, slots=True)
class Again:
    """A turn that is to be answered once more, and by what; or one that ``goes_on``."""

    turn: Turn
    recipe: Recipe
    goes_on: bool = False

    def history(self, base: KnowledgeBase) -> Sequence[Message]:
        """The messages before that turn."""
        if self.turn.parent is None:
            return ()
        return base.conversations.history(self.turn.conversation_id, self.turn.parent)


def requested() -> Again | None:
    """Return the request of the page to answer a turn again, until ``taken`` removes it."""
    again: Again | None = st.session_state.get(_INSTEAD)
    return again


def taken() -> None:
    """Note that it is stored."""
    st.session_state.pop(_INSTEAD, None)


def before(turns: Sequence[Turn], again: Again | None) -> Sequence[Turn]:
    """The turns that stay in sight while one of them is answered anew."""
    if again is None:
        return turns
    ids = [turn.id for turn in turns]
    return turns[: ids.index(again.turn.id)] if again.turn.id in ids else turns


def version_switch(base: KnowledgeBase, turn: Turn) -> None:
    """Draw the position of a turn among its versions, with buttons for the versions next to it."""
    if len(turn.versions) < 2:
        return
    at, most = turn.versions.index(turn.id), len(turn.versions) - 1
    for sign, step, label in (("left", -1, "Previous version"), ("right", 1, "Next version")):
        if step == 1:
            st.markdown(f":gray[{at + 1}/{most + 1}]", width="content")
        action_button(
            label,
            f"chat_version_{step}_{turn.id}",
            f"chevron_{sign}",
            base.conversations.show,
            turn.conversation_id,
            turn.versions[min(max(at + step, 0), most)],
            type="tertiary",
            disabled=not 0 <= at + step <= most,
        )


def continue_button(base: KnowledgeBase, turn: Turn) -> None:
    """A button that has a model go on where its answer broke off; quotes are made anew."""
    if turn.status != "interrupted" or not turn.answer or turn.mode == _QUOTES:
        return
    recipe = turn.recipe if usable(base, turn.recipe) else working_recipe.working(base)
    go_on = {_INSTEAD: Again(turn, recipe, goes_on=True), follow_up.RETRY: turn.question}
    key, update = f"chat_continue_{turn.id}", partial(st.session_state.update, go_on)
    action_button("Continue", key, "play_arrow", update)


def again_button(base: KnowledgeBase, turn: Turn) -> None:
    """A button that opens the choice of the recipe that answers once more."""
    if st.button(
        "Answer again",
        key=f"chat_again_{turn.id}",
        icon=":material/replay:",
        type="tertiary",
        help="Answers again with another recipe. Both answers are kept.",
    ):
        _choose(base, turn)


@st.dialog("Answer again", icon=":material/replay:")
def _choose(base: KnowledgeBase, turn: Turn) -> None:
    recipes = recipe_choices(base)
    st.markdown(f"**{plain(turn.question)}**")
    st.selectbox("By the recipe", list(recipes), key=_RECIPE)
    st.caption("This answer is kept as another version. Later questions stay with their version.")
    confirm_button("Answer", "chat_again_really", _ask_again, turn, recipes)


def _ask_again(turn: Turn, recipes: dict[str, Recipe]) -> None:
    st.session_state[_INSTEAD] = Again(turn, recipes[st.session_state[_RECIPE]])
    st.session_state[follow_up.RETRY] = turn.question
