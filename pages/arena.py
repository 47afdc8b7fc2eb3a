"""The Arena page: votes on the answers of two recipes, blind if wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.components.chat import arena
from pages.components.inspector import retrieval
from pages.components.recipe.choices import recipe_choices
from pages.components.shell.guard import guard
from pages.components.shell.session import base as chosen_base
from rag import (
    Answer,
    KnowledgeBase,
    Recipe,
    TouchstoneError,
    Trace,
    searches,
    unsearched,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_BOUT = "arena_bout"  # the session's state: what is voted on, by knowledge base
_FIRST, _SECOND, _BLIND = "arena_first", "arena_second", "arena_blind"


def main() -> None:
    """The page."""
    base = chosen_base()
    st.title("Arena")
    st.markdown(
        "Two recipes answer the same question side by side. Say which answer you prefer: the "
        "votes are counted below."
    )
    if retrieval.is_empty(base):
        st.page_link("upload.py", label="Add documents", icon=":material/library_books:")
        return
    pair, blind = _pair(base)
    slot = st.container()
    question = st.chat_input("Ask both", key="arena_question")
    comparison_ids: dict[int, int] = st.session_state.setdefault(_BOUT, {})
    if question and question.strip() and pair:
        comparison_ids[base.id] = _answered(base, question.strip(), pair, slot)
    bout = base.arena.find(comparison_ids[base.id]) if base.id in comparison_ids else None
    if bout is not None:
        with slot:
            arena.bout(base, bout, blind=blind)
    arena.summary(base)


def _pair(base: KnowledgeBase) -> tuple[tuple[Recipe, Recipe] | None, bool]:
    """The recipes that answer, and whether their names stay hidden until there is a vote."""
    recipes = recipe_choices(base)
    names = list(recipes)
    one, other, how = st.columns([3, 3, 2], vertical_alignment="bottom")
    first = one.selectbox("One recipe", names, key=_FIRST)
    rest = [name for name in names if name != first]
    second = other.selectbox(
        "The other", rest, key=_SECOND, placeholder="there is no other recipe yet"
    )
    blind = how.toggle(
        "Blind",
        value=True,
        key=_BLIND,
        help="Answers stand in random order, and which recipe gave which is told after the vote.",
    )
    if second is None:
        st.info(
            "There is only one recipe. Change something in the recipe panel of another page: the "
            "working recipe is then compared with the saved one.",
            icon=":material/tune:",
        )
        return None, blind
    return (recipes[first], recipes[second]), blind


def _answered(
    base: KnowledgeBase, question: str, pair: tuple[Recipe, Recipe], slot: DeltaGenerator
) -> int:
    """Has both recipes answer; returns the bout."""
    answers = []
    with slot, st.status(":shimmer[Both answer]", type="compact") as status:
        for number, recipe in enumerate(pair, start=1):
            status.update(label=f":shimmer[Answer {number} of 2]")
            answers.append((recipe, _answer(base, question, recipe)))
    return base.arena.add(question, *answers)


def _answer(base: KnowledgeBase, question: str, recipe: Recipe) -> Answer:
    """One answer; what fails is one too, and says why."""
    try:
        needs_search = searches(recipe.answer)
        trace = (
            retrieval.search(base, question, recipe)
            if needs_search
            else unsearched(question, recipe)
        )
        return base.answer(trace, recipe).answer
    except TouchstoneError as error:
        nothing = Trace(question, recipe.hash, 0, None, (), (), 0.0)
        note = f"{error.message} {error.hint}".strip()
        return Answer("", (), nothing, recipe.answer.mode, "failed", note=note)


with guard():
    main()
