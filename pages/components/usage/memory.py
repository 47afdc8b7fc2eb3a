"""Past interactions and their effect on answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from pages.components.chat import turn_view
from pages.components.recipe import working_recipe
from pages.components.shell.buttons import confirm_button, dialog
from pages.components.shell.text import ago, clipped, lines, plain
from rag import LONGEST_QUESTION, KnowledgeBase, Remembered, counted

SEARCH = "about"  # the URL's parameter
PAGE = 20
_MORE = "memory_more"

LONGEST = 160
LONGEST_ANSWER = 1200

_STANDINGS: Mapping[str, str] = {
    "usable": ":green-badge[:material/check: usable]",
    "not answered": ":gray-badge[not answered]",
    "thumb down": ":orange-badge[:material/thumb_down: thumb down]",
    "no source": ":gray-badge[cites nothing]",
    "stale": ":orange-badge[:material/history_toggle_off: stale]",
}


def memory(base: KnowledgeBase) -> None:
    """Draw the past interactions, a search for them, and what the recipe makes of them."""
    total = base.conversations.memory.count()
    if not total:
        st.markdown(
            "This tab lists every question with its answer. A language model can get the most "
            "similar ones as examples. You have not asked anything yet."
        )
        st.page_link("chat.py", label="Ask something", icon=":material/forum:")
        return
    _use(base)
    text = st.text_input(
        "Search by meaning",
        key=SEARCH,
        bind="query-params",
        placeholder="A question, or what it was about",
        icon=":material/search:",
    )
    if text.strip():
        recipe = working_recipe.working(base)
        interactions(base, base.conversations.memory.search(text, recipe, limit=PAGE))
        return
    most = st.session_state.get(_MORE, PAGE)
    st.caption(f"{counted(total, 'interaction')}, the newest first")
    interactions(base, base.conversations.memory.list_all(limit=most))
    if total > most and st.button(
        "Show more", key="memory_show_more", icon=":material/expand_more:"
    ):
        st.session_state[_MORE] = most + PAGE
        st.rerun()


def _use(base: KnowledgeBase) -> None:
    """Whether the recipe uses any of it, and where that is changed."""
    answer = working_recipe.working(base).answer
    if not answer.memory:
        note = (
            "The recipe gives none of these to the model. Set *Past interactions as examples* "
            "on Chat, under *Change the recipe* and *Answers*."
        )
    else:
        note = (
            f"The recipe gives the model up to {counted(answer.memory, 'interaction')} that "
            "have an answer, are similar enough, and whose sources are unchanged."
        )
    st.caption(f":material/psychology: {note}")


def interactions(base: KnowledgeBase, entries: Sequence[Remembered]) -> None:
    """A card for each."""
    for entry in entries:
        with st.container(border=True, gap="xsmall"):
            _card(base, entry)


def _card(base: KnowledgeBase, entry: Remembered) -> None:
    interaction = entry.interaction
    st.markdown(f"**{plain(clipped(interaction.question, LONGEST))}**")
    st.markdown(" ".join(_badges(entry)))
    if entry.gone:
        names = ", ".join(map(plain, entry.gone))
        st.caption(f"Changed or deleted since: {names}. It is not used.")
    with st.expander(
        "Answer", key=f"memory_answer_{interaction.turn}", on_change="rerun"
    ) as answer:
        if answer.open:
            st.markdown(lines(clipped(interaction.answer, LONGEST_ANSWER)) or "*No words came.*")
            sources = dict.fromkeys(source.document for source in interaction.sources)
            if sources:
                st.caption(f"Cites {', '.join(map(plain, sources))}")
    with st.container(horizontal=True, gap="small"):
        act = partial(_button, interaction.turn)
        if act("Inspect this", "inspect", "troubleshoot"):
            turns = base.conversations.turns(interaction.conversation, interaction.turn)
            if turns:
                turn_view.inspect(base, turns[-1])
        if act("Correct", "correct", "edit"):
            _correct(base, entry)
        if act("Forget", "forget", "delete"):
            _forget(base, entry)


def _badges(entry: Remembered) -> list[str]:
    interaction = entry.interaction
    badges = [_STANDINGS[entry.standing]]
    if entry.cosine is not None:
        badges.append(f":blue-badge[cosine {entry.cosine:.2f}]")
    if entry.standing == "not answered":
        badges.append(f":gray-badge[{interaction.outcome}]")
    if interaction.follow_up:
        badges.append(":gray-badge[follow-up]")
    if interaction.thumb > 0:
        badges.append(":green-badge[:material/thumb_up: thumb up]")
    if interaction.corrected:
        badges.append(":blue-badge[corrected]")
    return [*badges, f":gray[{ago(interaction.asked)}]"]


def _button(turn: int, label: str, name: str, icon: str) -> bool:
    return st.button(label, key=f"memory_{name}_{turn}", icon=f":material/{icon}:", type="tertiary")


@dialog("Correct this interaction", icon=":material/edit:", width="large")
def _correct(base: KnowledgeBase, entry: Remembered) -> None:
    interaction = entry.interaction
    st.caption("The conversation stays as it was. A corrected interaction counts as answered.")
    question, answer = f"memory_question_{interaction.turn}", f"memory_words_{interaction.turn}"
    st.text_area(
        "Question",
        interaction.question,
        key=question,
        max_chars=LONGEST_QUESTION,
        height=80,
        persist_state="page",
    )
    st.text_area(
        "Answer",
        interaction.answer,
        key=answer,
        max_chars=20_000,
        height=240,
        persist_state="page",
    )
    key = f"memory_keep_{interaction.turn}"
    confirm_button("Save", key, _keep, base, interaction.turn, question, answer)


def _keep(base: KnowledgeBase, turn: int, question: str, answer: str) -> None:
    words = {"question": str(st.session_state[question]), "answer": str(st.session_state[answer])}
    base.conversations.memory.correct(turn, **words)


@dialog("Forget this interaction?", icon=":material/delete:")
def _forget(base: KnowledgeBase, entry: Remembered) -> None:
    st.markdown(f"**{plain(clipped(entry.interaction.question, LONGEST))}**")
    st.caption("It is no longer used as an example. Its turn stays in the conversation.")
    turn = entry.interaction.turn
    confirm_button("Forget", f"memory_forgotten_{turn}", base.conversations.memory.delete, turn)
