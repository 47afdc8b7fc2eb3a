"""Can the answer be trusted?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from pages.components import chat_turn, follow_up, retrieval
from pages.components.guard import guard
from pages.components.jobs_view import loading_note
from pages.components.recipe_panel import recipe_panel
from pages.components.scope_picker import scope_picker
from pages.components.search_notes import left_out
from pages.components.session import base as chosen_base
from pages.components.text import plain
from rag import Also, Answer, KnowledgeBase, Message, Recipe, TouchstoneError, Trace

CONVERSATION = "talk"  # the URL's parameter
SUGGESTION = "chat_suggestion"


def main() -> None:
    """The page."""
    base = chosen_base()
    _heading()
    loading_note(base.id)
    with st.sidebar:
        slot = st.container()
        also = scope_picker(base)
        with slot:
            recipe = recipe_panel(base, answers=True)
    talk = _conversation(base)
    turns = base.conversations.turns(talk) if talk is not None else []
    for turn in turns:
        with st.container():
            chat_turn.stored_turn(base, turn)
    new = st.container()  # where the next run has it as a stored one: nothing is drawn twice
    welcome = st.empty()
    asked = st.chat_input("Ask your documents", key="chat_question", submit_mode="stop")
    asked = st.session_state.pop(follow_up.RETRY, None) or asked
    if not turns and not asked:
        with welcome.container():
            asked = _welcome(base)
        if asked:
            welcome.empty()
    if asked and asked.strip():
        with new:
            _answer(base, talk, asked.strip(), recipe, also)


def _heading() -> None:
    title, action = st.columns([4, 1], vertical_alignment="center")
    title.title("Chat")
    with action.container(horizontal=True, horizontal_alignment="right"):
        st.button(
            "New conversation",
            key="chat_new",
            icon=":material/add_comment:",
            on_click=_start_anew,
        )


def _start_anew() -> None:
    for name in (CONVERSATION, chat_turn.OPEN):
        st.query_params.pop(name, None)


def _conversation(base: KnowledgeBase) -> int | None:
    """The conversation that the URL names, if this knowledge base has it."""
    text = st.query_params.get(CONVERSATION, "")
    if text.isdecimal() and base.conversations.exists(int(text)):
        return int(text)
    return None


def _welcome(base: KnowledgeBase) -> str | None:
    """What stands where no question has been asked: something to ask, or what to do first."""
    if retrieval.is_empty(base):
        st.markdown("Answers come from your documents and cite them. There are none here yet.")
        st.page_link("upload.py", label="Add documents", icon=":material/library_books:")
        return None
    st.markdown("Every answer cites its passages; a citation opens in its document.")
    found = retrieval.suggestions(base)
    if not found:
        st.caption("Ask in plain words. Questions of a question set appear here as suggestions.")
        return None
    return st.pills("Try one of these", found, key=SUGGESTION, format_func=plain)


def _answer(
    base: KnowledgeBase, talk: int | None, question: str, recipe: Recipe, also: Sequence[Also]
) -> None:
    """Stores the question, answers it, stores the answer as far as it came."""
    said = follow_up.history(base, talk)
    talk = base.conversations.open(talk)
    st.query_params[CONVERSATION] = str(talk)
    turn = base.conversations.ask(talk, question, recipe, [str(each) for each in also])
    column, _beside = st.columns([3, 2], gap="medium")
    with column:
        chat_turn.question(question)
        with st.chat_message("assistant", avatar=":material/menu_book:"):
            slot = st.container()
            _generate(base, turn, question, recipe, also, said)
            for stored in base.conversations.turns(talk):
                if stored.id == turn:
                    with slot:
                        follow_up.understood(stored)
                    chat_turn.after_answer(base, stored)


def _generate(
    base: KnowledgeBase,
    turn: int,
    question: str,
    recipe: Recipe,
    also: Sequence[Also],
    said: Sequence[Message],
) -> None:
    """Streams the answer; whatever ends it, what was said is stored."""
    trace = Trace(question, recipe.hash, 0, None, (), (), 0.0)
    try:
        with st.status(":shimmer[Searching]", type="compact") as status:
            trace = retrieval.search(base, question, recipe, also, said, anew=True)
            status.update(label=":shimmer[Answering]")
        stream = base.answer(trace, recipe)
    except TouchstoneError as error:
        note = f"{error.message} {error.hint}".strip()
        failed = Answer("", (), trace, recipe.answer.mode, "failed", note=note)
        base.conversations.conclude(turn, failed)
        return
    try:
        _show(stream, shown=bool(trace.context))
    finally:
        stream.close()
        base.conversations.conclude(turn, stream.answer)
    used = len(stream.answer.citations)
    line = chat_turn.status_line(trace.passages, used, trace.seconds)
    status.update(label=line + left_out(trace))


def _show(stream: Iterable[str], *, shown: bool) -> None:
    """Draws the text while it comes. A refusal is drawn from its retrieval instead."""
    place, text = st.empty(), ""
    for piece in stream:
        text += piece
        if shown:
            place.markdown(chat_turn.answer_text(text))


with guard():
    main()
