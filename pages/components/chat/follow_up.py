"""A question asked once more: as it was understood and corrected, or by another recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.working_recipe import recipe_choices, usable
from pages.components.shell.buttons import action_button, confirm_button, dialog
from pages.components.shell.text import plain
from rag import LONGEST_QUESTION, KnowledgeBase, Message, Recipe, Turn, leans_on_another

RETRY = "chat_retry"  # the session's state: what is asked next
_AS_IT_IS = "chat_as_it_is"


def understood(turn: Turn) -> None:
    """Draw the complete question that was searched, with a form to edit it and ask again.

    A question without an answer that leans on another, where none was asked before, says so.
    """
    if not turn.rewritten:
        is_answered = turn.status != "refused" and turn.state != "doubtful"
        if not is_answered and leans_on_another(turn.question):
            note = "The question refers to something earlier. Name it, and ask again."
            st.caption(f":material/alt_route: {note}")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f":material/alt_route: Understood as: *{plain(turn.rewritten)}*")
        with st.popover("Edit", icon=":material/edit:", type="tertiary"):
            key = f"chat_rewritten_{turn.id}"
            st.text_area(
                "Ask this instead",
                turn.rewritten,
                key=key,
                max_chars=LONGEST_QUESTION,
                help="Searches the question as you typed it, without the conversation.",
            )
            again = f"chat_reask_{turn.id}"
            action_button("Ask again", again, "send", _ask_instead, key, type="primary")


def _ask_instead(key: str) -> None:
    text = str(st.session_state.get(key, "")).strip()
    if text:
        st.session_state[RETRY] = text
        st.session_state[_AS_IT_IS] = True


def history(base: KnowledgeBase, conversation_id: int | None) -> Sequence[Message]:
    """The messages that a new question may refer to; none if the user edited its rewritten form."""
    if st.session_state.pop(_AS_IT_IS, False) or conversation_id is None:
        return ()
    return base.conversations.history(conversation_id)


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
    go_on = {_INSTEAD: Again(turn, recipe, goes_on=True), RETRY: turn.question}
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


@dialog("Answer again", icon=":material/replay:")
def _choose(base: KnowledgeBase, turn: Turn) -> None:
    recipes = recipe_choices(base)
    st.markdown(f"**{plain(turn.question)}**")
    st.selectbox("By the recipe", list(recipes), key=_RECIPE)
    st.caption("This answer is kept as another version. Later questions stay with their version.")
    confirm_button("Answer", "chat_again_really", _ask_again, turn, recipes)


def _ask_again(turn: Turn, recipes: dict[str, Recipe]) -> None:
    st.session_state[_INSTEAD] = Again(turn, recipes[st.session_state[_RECIPE]])
    st.session_state[RETRY] = turn.question
