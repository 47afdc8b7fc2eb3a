"""Can the answer be trusted?"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.components.chat import follow_up, turn_view
from pages.components.chat.answer_text import answer_text, citation_clicks
from pages.components.chat.conversations import (
    CONVERSATION,
    conversations_menu,
    current,
    forget_address,
    keep_settings,
    latest,
    note_settings_of,
    page_settings,
    remember,
    restore_settings,
    settings_note,
    start_anew,
)
from pages.components.chat.follow_up import Again
from pages.components.chat.streaming import scroll_to, unhurried
from pages.components.inspector import retrieval
from pages.components.recipe.federation import scope_picker
from pages.components.recipe.local_models import model_offer
from pages.components.recipe.panel import recipe_panel
from pages.components.recipe.working_recipe import for_question, working
from pages.components.runs.next_step import what_next
from pages.components.shell.buttons import action_button, redraw
from pages.components.shell.guard import guard, later, show_error
from pages.components.shell.job_progress import (
    POLL_SECONDS,
    has_to_resume,
    loading_note,
    reading,
)
from pages.components.shell.session import ASKED_ANEW, KEPT, QUESTION, chosen_base, guest
from pages.components.shell.text import plain
from rag import (
    Answer,
    Conversation,
    FurtherBase,
    KnowledgeBase,
    Message,
    Recipe,
    TouchstoneError,
    Trace,
    Turn,
    in_order,
    searches,
    spanning,
    unsearched,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator
    from streamlit.elements.lib.mutable_status_container import StatusContainer

SUGGESTION = "chat_suggestion"
_OFFER = "chat_offer"  # names the suggestions on show; each offer is taken once
QUOTING = "extractive"  # the provider that needs no model
_BASE = "chat_base"  # the knowledge base that the page was last drawn for
_PATIENCE = 3  # seconds without a word before the wait is counted


def main() -> None:
    """The page."""
    base = chosen_base()
    if asked := st.session_state.pop(ASKED_ANEW, ""):
        start_anew(base)
        st.session_state[follow_up.RETRY] = asked
    talk = _conversation(base)
    conversation_id = talk.id if talk else None
    if talk is not None:
        restore_settings(base, talk)
    _heading(base, talk)
    empty = retrieval.is_empty(base)
    loading_note(base.id, empty=empty)
    recipe, also = _recipe(base)
    if talk is not None:
        keep_settings(base, talk, also)
    scripts = st.container(gap=None)
    turns = base.conversations.turns(conversation_id) if conversation_id is not None else []
    again = follow_up.requested()
    for turn in latest(follow_up.before(turns, again)):
        with st.container():
            turn_view.stored_turn(base, turn)
    offer = st.container()
    new = st.container()  # where the next run has it as a stored one: nothing is drawn twice
    welcome = st.empty()
    if unsent := st.session_state.pop(KEPT, None):
        st.session_state[QUESTION] = unsent  # to be sent again, or not
    question = st.chat_input("Ask your documents", key=QUESTION, submit_mode="stop")
    question = st.session_state.get(follow_up.RETRY) or question
    with scripts:
        citation_clicks(partial(turn_view.follow, base))
        clicked = st.session_state.pop(turn_view.CLICKED, False)
        scroll_to("question" if question and question.strip() else "source" if clicked else "")
    if len(turns) == 1 and not (question or again):
        with offer:
            model_offer(base)
    if not turns and not question:
        with welcome.container():
            _welcome(base, empty=empty)
    if question and question.strip():
        text, is_drawn = question.strip(), False
        resumes = has_to_resume()
        with new, guard(in_dialog=resumes):
            _answer(base, conversation_id, text, again or for_question(base, text, recipe), also)
            is_drawn = True
        if resumes and not is_drawn:  # an error, which the next run shows with the jobs
            st.session_state.pop(follow_up.RETRY, None)
            st.rerun()


def _recipe(base: KnowledgeBase) -> tuple[Recipe, tuple[FurtherBase, ...]]:
    """Draw the recipe panel and the picker of further knowledge bases; guests have neither."""
    if guest():
        return working(base), ()
    with st.sidebar:
        slot = st.container()
        also = scope_picker(base)
        with slot:
            return recipe_panel(base, answers=True), also


def _heading(base: KnowledgeBase, talk: Conversation | None) -> None:
    # Not at the right edge: Streamlit shows its toasts there, over whatever stands below.
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title("Chat", width="content")
        conversations_menu(base, talk)
        action_button("New conversation", "chat_new", "add_comment", start_anew, base)
    what_next("chat")
    settings_note(base, talk)


def _conversation(base: KnowledgeBase) -> Conversation | None:
    """The conversation that the URL names, else the one that this visitor had here last."""
    conversation_parameter = st.query_params.get(CONVERSATION, "")
    talk = current(base, conversation_parameter)
    if talk is None and conversation_parameter and st.session_state.get(_BASE) in (None, base.id):
        st.warning(
            "You have no conversation at this address. Only the person who asked sees a "
            "conversation, and it may have been deleted. To share an answer, that person adds it "
            "to a tour, or downloads the conversation under *Conversations*.",
            icon=":material/speaker_notes_off:",
        )
    st.session_state[_BASE] = base.id
    if talk is None:
        forget_address()
    else:
        st.query_params[CONVERSATION] = str(talk.id)
    return talk


def _welcome(base: KnowledgeBase, *, empty: bool) -> None:
    """Draw the start of an empty conversation: suggested questions, or the first steps."""
    if empty and reading(base.id):
        st.markdown("Answers come from your documents and cite them. The first are being read.")
        return
    if empty:
        st.markdown("Answers come from your documents and cite them. There are none here yet.")
        if not guest():
            st.page_link("documents.py", label="Add documents", icon=":material/library_books:")
        return
    st.markdown("Every answer cites its passages; a citation opens in its document.")
    suggested = retrieval.suggestions(base)
    if not suggested:
        further = "" if guest() else " Questions of a question set appear here as suggestions."
        st.caption(f"Ask in plain words.{further}")
        return
    offer = st.session_state.setdefault(_OFFER, uuid.uuid4().hex)
    st.pills(
        "Try one of these",
        suggested,
        key=f"{SUGGESTION}_{offer}",
        format_func=plain,
        on_change=_ask_suggested,
        args=(offer,),
    )


def _ask_suggested(offer: str) -> None:
    """Keep the choice until it is stored: a second click takes it back in the widget.

    A browser may send the choice again with a later click, when the widget is gone: by then the
    offer is taken, and nothing is asked a second time.
    """
    chosen = st.session_state.get(f"{SUGGESTION}_{offer}")
    if chosen and st.session_state.get(_OFFER) == offer:
        st.session_state[follow_up.RETRY] = chosen
        del st.session_state[_OFFER]


def _answer(
    base: KnowledgeBase,
    conversation_id: int | None,
    question: str,
    by: Recipe | Again,
    also: Sequence[FurtherBase],
) -> None:
    """Store the question, answer it, and store the answer as far as it came.

    What is quick and complete is drawn to its end here, all else from what was stored. ``by`` is
    the recipe, or what is answered again and by which one.
    """
    again = by if isinstance(by, Again) else None
    recipe = by.recipe if isinstance(by, Again) else by
    history = again.history(base) if again else follow_up.history(base, conversation_id)
    conversation_id = base.conversations.open(conversation_id)
    st.query_params[CONVERSATION] = str(remember(base, conversation_id))
    turn_view.open_source("")  # it belongs to an earlier question
    note_settings_of(base, conversation_id)
    goes_on = again.turn if again and again.goes_on else None
    turn = (
        goes_on.id
        if goes_on
        else base.conversations.ask(
            conversation_id,
            question,
            recipe,
            list(map(str, also)),
            instead_of=again.turn.id if again else None,
            settings=page_settings(base, also),
        )
    )
    st.session_state.pop(follow_up.RETRY, None)
    follow_up.taken()
    column, beside = st.columns([3, 2], gap="medium")
    quick = _is_quick(recipe)
    with beside:
        if not quick:
            _until_stored(base, conversation_id, turn, goes_on.answer if goes_on else None)
    with column:
        turn_view.question(question)
        with st.chat_message("assistant", avatar=":material/menu_book:"):
            above, text = st.empty(), st.empty()
            request = {"base": base.id, "question": question, "recipe": recipe}
            with spanning("turn", {**request, "session": conversation_id, "turn": turn}):
                _generate(base, turn, question, recipe, also, history, (above, text), goes_on)
            (stored,) = base.conversations.turns(conversation_id, most=1)
            complete = quick and stored.id == turn and not has_to_resume()
            if complete and turn_view.finished_turn(base, stored, above, text):
                if not history:
                    model_offer(base)
                return
    st.rerun()


def _is_quick(recipe: Recipe) -> bool:
    """Whether nothing outside is asked, so that nobody has the time to stop the answer."""
    search = recipe.search
    outside = search.rewrite or search.expansions or search.hyde or search.rerank or search.tools
    return recipe.answer.provider == QUOTING and not outside


@st.fragment(run_every=POLL_SECONDS)
def _until_stored(base: KnowledgeBase, conversation_id: int, turn: int, before: str | None) -> None:
    """Draw the page again once an answer was stopped: the run that showed it draws no more.

    ``before`` is what one that goes on had said.
    """
    if any(
        stored.id == turn and stored.status != "asked" and stored.answer != before
        for stored in base.conversations.turns(conversation_id)
    ):
        redraw()


def _generate(
    base: KnowledgeBase,
    turn: int,
    question: str,
    recipe: Recipe,
    also: Sequence[FurtherBase],
    history: Sequence[Message],
    slots: tuple[DeltaGenerator, DeltaGenerator],
    goes_on: Turn | None = None,
) -> None:
    """Streams the answer into two slots, its progress and its text.

    Whatever ends it, what was said is stored.
    """
    trace = Trace(question, recipe.hash, 0, None, (), (), 0.0)
    above, text = slots
    status = above.status(":shimmer[Searching]", type="compact")
    try:
        if searches(recipe.answer):
            trace = retrieval.search(base, question, recipe, also, history, anew=True)
        else:
            trace = unsearched(question, recipe)
        examples = base.conversations.memory.examples(trace.question, recipe, turn=turn)
        stream = base.answer(trace, recipe, examples, history, goes_on)
    except TouchstoneError as error:
        if goes_on is not None:  # what it had said stays
            later(partial(show_error, error.message, error.hint))
            return
        note = f"{error.message} {error.hint}".strip()
        failed = Answer("", (), trace, recipe.answer.mode, "failed", note=note)
        base.conversations.conclude(turn, failed)
        return
    try:
        quoted = recipe.answer.provider == QUOTING
        passages = len(trace.context)
        refuses = not passages and (quoted or recipe.answer.mode in ("strict", "grounded"))
        _show(stream, status, None if refuses else text, passages, quoted=quoted)
    finally:
        stream.close()
        answer = stream.answer
        if goes_on is not None and (answer.status == "refused" or not answer.text):
            later(partial(show_error, answer.note))  # what it had said stays
        else:
            base.conversations.conclude(turn, answer)


def _show(
    stream: Iterator[str],
    status: StatusContainer,
    slot: DeltaGenerator | None,
    passages: int,
    *,
    quoted: bool,
) -> None:
    """Draw the text while it comes into ``slot``; a refusal is drawn from its retrieval."""
    text, began = "", time.monotonic()
    for piece in unhurried(stream):
        text += piece
        waited = time.monotonic() - began
        status.update(label=f":shimmer[{_progress(waited, begun=bool(text))}]")
        if slot is not None and text:
            answer = text if quoted else in_order(text, passages)
            slot.markdown(answer_text(answer, quoted=quoted))


def _progress(waited: float, *, begun: bool) -> str:
    if begun or waited < _PATIENCE:
        return "Answering"
    return f"Waiting for the model, {waited:.0f} s"


with guard():
    main()
