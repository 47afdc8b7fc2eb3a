"""The arena: two recipes answer a question side by side, and votes say which is preferred."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.components.chat.answer_text import answer_text
from pages.components.inspector import retrieval
from pages.components.recipe.working_recipe import recipe_choices
from pages.components.shell.buttons import action_button
from pages.components.shell.guard import show_error
from pages.components.shell.text import lines, plain, short_name
from rag import (
    Answer,
    ArenaComparison,
    ArenaSummary,
    KnowledgeBase,
    Recipe,
    Side,
    TouchstoneError,
    Trace,
    counted,
    searches,
    unsearched,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_VOTES = (
    ("left", "A is better", "arrow_back"),
    ("tie", "Tie", "balance"),
    ("both bad", "Both bad", "thumb_down"),
    ("right", "B is better", "arrow_forward"),
)
_QUOTES = "quotes"
_SHOWN = "arena_shown"  # ids of the comparisons on show, by knowledge base
_FIRST, _SECOND, _BLIND = "arena_first", "arena_second", "arena_blind"


def arena(base: KnowledgeBase) -> None:
    """Draw two recipes to compare, the question for both, the vote, and the result of all votes."""
    st.caption(
        "Two recipes answer the same question side by side. Vote for the answer that you prefer."
    )
    if retrieval.is_empty(base):
        st.page_link("documents.py", label="Add documents", icon=":material/library_books:")
        return
    pair, blind = _pair(base)
    question = st.chat_input("Ask both", key="arena_question", disabled=pair is None)
    slot = st.container()
    comparison_ids: dict[int, int] = st.session_state.setdefault(_SHOWN, {})
    if question and question.strip() and pair:
        comparison_ids[base.id] = _answered(base, question.strip(), pair, slot)
    arena = base.conversations.arena
    shown = arena.find(comparison_ids[base.id]) if base.id in comparison_ids else None
    if shown is not None:
        with slot:
            _comparison(base, shown, blind=blind)
    _summary(base)


def _pair(base: KnowledgeBase) -> tuple[tuple[Recipe, Recipe] | None, bool]:
    """The recipes that answer, and whether their names stay hidden until there is a vote."""
    recipes = recipe_choices(base)
    names = list(recipes)
    one, other, how = st.columns([3, 3, 2], vertical_alignment="bottom")
    first = one.selectbox("One recipe", names, key=_FIRST)
    rest = [name for name in names if name != first]
    second = other.selectbox("The other", rest, key=_SECOND, placeholder="no other recipe yet")
    blind = how.toggle(
        "Blind",
        value=True,
        key=_BLIND,
        help="The answers are in random order. You see which recipe gave which after you vote.",
    )
    if second is None:
        st.info(
            "There is only one recipe. Change it under *Change the recipe* of another page, and "
            "you can compare the working recipe with the saved one.",
            icon=":material/tune:",
        )
        return None, blind
    return (recipes[first], recipes[second]), blind


def _answered(
    base: KnowledgeBase, question: str, pair: tuple[Recipe, Recipe], slot: DeltaGenerator
) -> int:
    """Answer with both recipes; return the id of the comparison."""
    answers = []
    with slot, st.status(":shimmer[Both answer]", type="compact") as status:
        for number, recipe in enumerate(pair, start=1):
            status.update(label=f":shimmer[Answer {number} of 2]")
            answers.append((recipe, _answer_with(base, question, recipe)))
    return base.conversations.arena.add(question, *answers)


def _answer_with(base: KnowledgeBase, question: str, recipe: Recipe) -> Answer:
    """Return the answer of one recipe; a failed one has the reason as its note."""
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


def _comparison(base: KnowledgeBase, comparison: ArenaComparison, *, blind: bool) -> None:
    """Two answers side by side; after the vote, which recipe gave which."""
    st.markdown(f"**{lines(comparison.question)}**")
    revealed = bool(comparison.vote) or not blind
    for column, letter, side, name in zip(
        st.columns(2), "AB", (comparison.left, comparison.right), ("left", "right"), strict=True
    ):
        with column.container(border=True, height="stretch"):
            won = " :green-badge[:material/check: preferred]" if comparison.vote == name else ""
            recipe_name = f" · {plain(base.runs.recipe_name(side.recipe))}" if revealed else ""
            st.markdown(f"**{letter}**{recipe_name}{won}")
            _answer(side, timed=revealed)
    if comparison.vote:
        vote = {name: label for name, label, _ in _VOTES}[comparison.vote]
        st.caption(f":material/how_to_vote: Your vote: {vote}. Ask the next question below.")
        return
    with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
        for name, label, icon in _VOTES:
            key = f"arena_vote_{name.replace(' ', '_')}"
            action_button(label, key, icon, base.conversations.arena.vote, comparison.id, name)


def _answer(side: Side, *, timed: bool) -> None:
    answer = side.answer
    if answer["status"] == "failed":
        show_error(answer["note"] or "There is no answer.")
        return
    st.markdown(answer_text(answer["text"], quoted=answer["mode"] == _QUOTES))
    sources = [
        f"**{citation['n']}** {plain(short_name(citation['document'], 40))}"
        + (f" · p. {citation['page']}" if citation["page"] is not None else "")
        for citation in answer["citations"]
    ]
    if sources:
        st.caption("  \n".join(sources))
    if timed:
        st.caption(f"retrieved in {answer['seconds'] * 1000:.0f} ms")


def _summary(base: KnowledgeBase) -> None:
    """Draw the result of the votes for each pair of recipes."""
    summaries = base.conversations.arena.summaries()
    if not summaries:
        return
    st.subheader("What the votes say")
    for row in (summary.leader_first() for summary in summaries):
        with st.container(border=True):
            first, second = (base.runs.recipe_name(side) for side in (row.first, row.second))
            st.markdown(_verdict(row, plain(first), plain(second)))
            st.caption(_counts(row))
    st.caption(
        "The interval is valid after every vote. A question counts once, regardless of the "
        "number of votes. A tie, or two bad answers, counts half for each recipe."
    )


def _verdict(row: ArenaSummary, first: str, second: str) -> str:
    """The sentence that may be quoted. The rate is that of the recipe that is ahead."""
    if row.decided:
        badge = ":green-badge[:material/check: decided]"
        return f"{badge} **{first}** is preferred to {second}: {row.share}"
    return f":gray-badge[not decided] {first} against {second}: {row.share}"


def _counts(row: ArenaSummary) -> str:
    votes, questions = counted(row.votes, "vote"), counted(row.questions, "question")
    return f"{votes} on {questions}: {row.tally}"
