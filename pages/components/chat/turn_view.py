"""One question with its answer: text, sources, and what can be done with it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from pages.components.chat import feedback, follow_up
from pages.components.chat.answer_text import (
    answer_text,
    how_answered,
    is_doubtful_quote,
    quotes_beside,
    sentence_notes,
    state_heading,
)
from pages.components.chat.conversations import CONVERSATION, OPEN, shows_sources
from pages.components.chat.feedback import collect_button
from pages.components.inspector import retrieval
from pages.components.inspector.explanations import cause_line, first_cause, remember
from pages.components.inspector.retrieval import result_view, search_notes
from pages.components.recipe import federation, working_recipe
from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard, show_error
from pages.components.shell.session import (
    BASE,
    guest,
    offered,
    shared_cache,
    show,
    to_url,
    workspace,
)
from pages.components.shell.text import (
    clipped,
    lines,
    plain,
    relevance,
    seconds,
    short_name,
    short_page,
)
from pages.components.source.places import cited_page, is_here, recognised
from pages.components.source.view import SourceSpan, forget_walk, source_view
from pages.components.tours import tour_button, turn_stops
from rag import (
    Dropped,
    Hit,
    KnowledgeBase,
    Recipe,
    Stage,
    StoredCitation,
    Trace,
    Turn,
    also_quoted,
    answer_and_more,
    counted,
    page_name,
    searches,
    surroundings,
    unmarked,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

QUOTES = "quotes"
CLICKED = "chat_clicked"  # whether this run was started by a click on a citation
_TOUR_HINT = "The second stop shows the source that is open beside the answer."
_OUTDATED = ":material/update: Answered before the documents changed. To update it, ask again."
NEAREST = 3
_MODES = {
    "quotes": "quotes, no language model",
    "grounded": "language model, passages only",
    "strict": "language model, passages only",
    "balanced": "language model, passages and general knowledge",
    "general": "language model, general knowledge, no passages",
    "tool": "language model, result of a tool",
    "sentence": "quotes, worded by a language model",
}
_THIS_ONE = "For this question only. The recipe does not change."
_BESIDE_PASSAGES = ("tool", "general")  # modes whose answers are of no passages


def question(text: str) -> None:
    """Draw the question of the user."""
    with st.chat_message("user", avatar=":material/person:"):
        st.markdown(lines(text))


def stored_turn(base: KnowledgeBase, turn: Turn) -> None:
    """A turn as it was stored; the source that is open stands beside it."""
    answer_column, beside = st.columns([3, 2], gap="medium")
    with answer_column:
        question(turn.question)
        with st.chat_message("assistant", avatar=":material/menu_book:"):
            follow_up.understood(turn)
            _answer(base, turn)
            _after_answer(base, turn)
    opened = _opened(turn)
    if opened is not None:
        with beside.container(key="chat_source"):
            action_button("Close", "chat_source_close", "close", open_source, "", type="tertiary")
            _source(base, turn, opened)


def finished_turn(
    base: KnowledgeBase, turn: Turn, above: DeltaGenerator, text: DeltaGenerator
) -> bool:
    """Draw an answer to its end where it was streamed, just as ``stored_turn`` draws it.

    False, and nothing is drawn, where it is not complete or not what was streamed.
    """
    if turn.status != "complete" or turn.rewritten or not (turn.passages and turn.answer):
        return False
    with above.container(gap="xsmall"):
        follow_up.understood(turn)
        _above(base, turn)
    text.markdown(_text(base, turn))
    _after_answer(base, turn)
    return True


def _answer(base: KnowledgeBase, turn: Turn) -> None:
    _above(base, turn)
    if turn.answer and turn.status != "refused":
        st.markdown(_text(base, turn))


def _above(base: KnowledgeBase, turn: Turn) -> None:
    """Draw the state of an answer, what it was looked for in, and whether that is out of date."""
    if heading := state_heading(turn):
        st.markdown(heading)
    if turn.passages:
        st.caption(_looked_at(turn))
    known = turn.details.documents_hash
    if known and known != _documents_hash(base):
        st.caption(_OUTDATED)
    if is_doubtful_quote(turn):
        st.markdown(":gray[Nearest passages:]")


@shared_cache(16)
def _documents_hash(base: KnowledgeBase) -> str:
    return base.documents.hash()


def _looked_at(turn: Turn) -> str:
    kind = "quoted" if turn.mode == QUOTES else "cited"
    return (
        f":material/manage_search: looked at {counted(turn.passages, 'passage')}, "
        f"{len(turn.citations)} {kind}, {seconds(turn.seconds)}"
    )


def _text(base: KnowledgeBase, turn: Turn) -> str:
    """The answer; of quotes only the one that answers, where there is one."""
    quoted, (answer, more) = turn.mode == QUOTES, split(turn)
    checks = () if more else turn.sentences
    return answer_text(answer, _address(base, turn), quoted=quoted, checks=checks)


def split(turn: Turn) -> tuple[str, str]:
    """The answer as it is set apart, and the quotes that are folded below it."""
    return answer_and_more(turn.answer, [one.n for one in turn.citations if one.answers])


def _more(base: KnowledgeBase, turn: Turn) -> None:
    """Draw the quotes beside the one that answers, folded."""
    if more := split(turn)[1]:
        with st.expander("More from the documents", icon=":material/format_quote:"):
            st.markdown(answer_text(more, _address(base, turn), quoted=True))


def _around(turn: Turn) -> None:
    """Draw what stands around the first quote: often the sentence beside it answers."""
    if turn.mode != QUOTES or turn.state == "conflicting" or not turn.citations:
        return
    first = turn.citations[0]
    before, after = map(plain, surroundings(first.text, first.quote, turn.answer))
    if before or after:
        number = plain(f"[{first.n}]")
        st.markdown(f":small[:gray[In its passage: {before} **{number}** {after}]]")


def _address(base: KnowledgeBase, turn: Turn) -> Callable[[int], str]:
    """Return a function from a citation number to the URL that opens its source.

    The URL is that of the current page, with the source next to the answer. It is empty for a
    number without a citation.
    """
    cited = {citation.n for citation in turn.citations}
    parameters = {BASE: base.name, CONVERSATION: st.query_params.get(CONVERSATION, "")}

    def address(number: int) -> str:
        if number not in cited:
            return ""
        return f"?{urlencode({**parameters, OPEN: f'{turn.id}.{number}'})}"

    return address


def _after_answer(base: KnowledgeBase, turn: Turn) -> None:
    """Draw the parts below an answer: notes, sources, links."""
    if turn.status == "refused":
        _refused(base, turn)
    elif turn.status in ("failed", "asked"):
        show_error(turn.note or "There is no answer: it was stopped before it began.")
    else:
        _around(turn)
        _more(base, turn)
        if turn.state == "doubtful":
            _why(base, turn)
        _notes(turn)
        sentence_notes(turn)
        quotes_beside(turn)
        _chips(base, turn)
    how_answered(turn)
    _links(base, turn)


def _notes(turn: Turn) -> None:
    """Draw the mode of an answer, and the warnings that a reader needs before trusting it."""
    label = QUOTES if turn.details.written else _MODES.get(turn.mode, plain(turn.mode))
    notes = [turn.note] if turn.note else []
    if turn.answer and not turn.citations and turn.status != "complete":
        notes.append("No passage is cited.")
    if turn.uncited:
        icon = ":orange-badge[:material/warning: Cites nothing]"
    elif turn.status == "complete" and turn.mode == "general":
        icon = ":violet-badge[:material/public: General knowledge]"
    elif turn.status != "complete" or not turn.citations:
        icon = ":orange[:material/warning:]"
    else:
        icon = ":material/format_quote:"
    st.caption(" · ".join([f"{icon} {label}", *(plain(note) for note in notes)]))


def _refused(base: KnowledgeBase, turn: Turn) -> None:
    """Say that nothing relevant was found, what came nearest, and what would let it in."""
    if turn.mode in _BESIDE_PASSAGES or not searches(turn.recipe.answer):
        st.markdown(lines(turn.answer))
        return
    with guard():
        also = federation.existing_bases(turn.also)
        trace = retrieval.search(base, turn.complete, _usable(base, turn.recipe), also)
        search_notes(trace)
        if (refusal := trace.stage("refuse")) is not None and refusal.dropped and not trace.hits:
            _of_another_topic(base, turn, trace, refusal)
            return
        stage = trace.stage("threshold")
        misses = sorted(stage.dropped if stage else (), key=lambda drop: -drop.hit.relevance)
        if trace.hits or not misses:
            st.markdown(lines(turn.answer))
            return
        limit = f"{trace.threshold or 0:.2f}"
        st.markdown(
            f"**Nothing relevant was found.** No passage reaches the threshold of {limit}. Nearest:"
        )
        st.markdown("\n".join(_miss(drop, relevance(trace)) for drop in misses[:NEAREST]))
        _why(base, turn)
        if guest():
            return
        least = misses[:NEAREST][-1].hit.relevance
        enough = max(int(least * 100) / 100, 0.0)
        label, key = f"Ask again with threshold {enough:.2f}", f"chat_lower_{turn.id}"
        changes = {"search.threshold": enough}
        action_button(label, key, "vertical_align_bottom", _ask_with, base, turn.complete, changes)


def _of_another_topic(base: KnowledgeBase, turn: Turn, trace: Trace, stage: Stage) -> None:
    """Say that the documents do not speak of the question, why, and let the reader insist."""
    heading = "" if turn.state else "**Nothing in these documents answers this.**"
    st.markdown(" ".join(filter(None, (heading, _unused_words(base, turn, trace), "Nearest:"))))
    nearest = dict[str, str]()  # of two passages of one page the better one
    for drop in sorted(stage.dropped, key=lambda drop: drop.hit.rank):
        nearest.setdefault(_place(drop), _words(drop))
    rows = (place + words for place, words in nearest.items())
    st.markdown("\n".join(itertools.islice(rows, NEAREST)))
    _why(base, turn)
    key, text = f"chat_insist_{turn.id}", turn.complete
    action_button("Search anyway", key, "search", _insist, base, text, help=_THIS_ONE)


def _unused_words(base: KnowledgeBase, turn: Turn, trace: Trace) -> str:
    """Say which key words of the question no document uses, as Markdown; "" for none."""
    unknown = base.explanations.unknown_words(trace, _usable(base, turn.recipe))
    words = [f"*{plain(word)}*" for word in unknown]
    if not words:
        return ""
    *others, last = words
    named = f"{', '.join(others)} or {last}" if others else last
    return f"None of your documents uses {named}."


def _why(base: KnowledgeBase, turn: Turn) -> None:
    """Draw the first cause by which a question fails, with its figures and its fix, folded."""
    if guest():
        return
    key = f"chat_cause_{turn.id}"
    why = st.expander("Why?", icon=":material/help:", key=key, on_change="rerun")
    if why.open:
        with why, guard():
            recipe, also = _usable(base, turn.recipe), federation.existing_bases(turn.also)
            trace = retrieval.search(base, turn.complete, recipe, also)
            cause = first_cause(base, trace, recipe, turn.details.assessment)
            st.markdown(cause_line(cause) if cause else "The search does not fail now.")


def _place(drop: Dropped) -> str:
    hit = drop.hit
    page = page_name(hit.document, hit.chunk.page, hit.chunk.heading, ", ")
    return f"- {plain(short_name(hit.document, 60))}{plain(page)}"


def _words(drop: Dropped) -> str:
    """The beginning of a passage: what was refused may well answer."""
    return f"  \n  :small[:gray[{plain(clipped(unmarked(drop.hit.chunk.text), 200))}]]"


def _miss(drop: Dropped, name: str) -> str:
    rounded = math.floor(drop.hit.relevance * 1000) / 1000  # never up to the threshold
    return f"{_place(drop)} :gray[· {name} {rounded:.3f}]{_words(drop)}"


def _ask_with(base: KnowledgeBase, text: str, changes: Mapping[str, Any]) -> None:
    working_recipe.change(base, changes)
    st.session_state[follow_up.RETRY] = text


def _insist(base: KnowledgeBase, text: str) -> None:
    working_recipe.insist(base, text)
    st.session_state[follow_up.RETRY] = text


def _chips(base: KnowledgeBase, turn: Turn) -> None:
    if not turn.citations or not shows_sources():
        return
    key = f"chat_sources_{turn.id}"
    opened = _opened(turn)
    show(key, opened and opened.n)
    labels = {citation.n: _chip(base, citation) for citation in turn.citations}
    st.pills(
        "Sources",
        list(labels),
        format_func=lambda number: labels[number],
        key=key,
        on_change=_open,
        args=(base, turn.id, key),
        label_visibility="collapsed",
    )


def _chip(base: KnowledgeBase, citation: StoredCitation) -> str:
    page = plain(short_page(cited_page(base, citation)))
    page = f" · {page}" if page else ""
    seen = recognised(base, citation.document_id, citation.page, citation.base)
    scan = " :material/document_scanner:" if seen else ""
    full = round(min(max(citation.relevance, 0.0), 1.0) * 5)
    bar = f":primary[{'▰' * full}]:gray[{'▱' * (5 - full)}]"
    source = f"{plain(citation.base)} · " if citation.base not in ("", base.name) else ""
    gone = " :orange[:material/delete: deleted]" if _gone(base, citation) else ""
    # A phone shows some 50 characters, and cuts the end.
    name = f"{source}{plain(short_name(citation.document, 28))}"
    return f"**{citation.n}** {name}{page}{scan} {bar}{gone}"


def _gone(base: KnowledgeBase, citation: StoredCitation) -> bool:
    """Whether what is cited was deleted or replaced since."""
    if citation.from_tool:
        return False
    return not is_here(base, citation.document_id, citation.base)


def _open(base: KnowledgeBase, turn_id: int, key: str) -> None:
    number = st.session_state[key]
    follow(base, "" if number is None else f"{turn_id}.{number}")


@guard()
def follow(base: KnowledgeBase, source: str) -> None:
    """Open a citation that was clicked, and count that; "" closes what is open."""
    open_source(source)
    turn_id = source.partition(".")[0]
    if turn_id.isdecimal():
        st.session_state[CLICKED] = True
        base.conversations.count_opened(int(turn_id))


def open_source(source: str) -> None:
    """Open a citation, by turn and number, beside its answer; "" closes what is open."""
    forget_walk()
    to_url(OPEN, source)


def _opened(turn: Turn) -> StoredCitation | None:
    """The citation that is open, if it is one of this turn."""
    parameter = st.query_params.get(OPEN, "")
    return next((cited for cited in turn.citations if f"{turn.id}.{cited.n}" == parameter), None)


@guard()
def _source(base: KnowledgeBase, turn: Turn, citation: StoredCitation) -> None:
    """The passage in the knowledge base that it is from, or the result of a tool as it came."""
    if citation.from_tool:
        result_view(citation.base, citation.document, citation.text, citation.url)
        return
    if _gone(base, citation):
        st.warning(
            f"{plain(citation.document)} has been deleted or replaced. The answer cited this:",
            icon=":material/delete:",
        )
        with st.container(border=True):
            st.markdown(lines(citation.text))
        return
    also = also_quoted(turn, citation)
    span = SourceSpan(citation.document_id, citation.start, citation.end, citation.quote, also)
    if citation.base in ("", base.name):
        source_view(base, _usable(base, turn.recipe), span)
        return
    other = workspace().base(citation.base)
    st.caption(f":blue-badge[:material/database: {plain(other.name)}]")
    source_view(other, other.recipe(), span)


def _links(base: KnowledgeBase, turn: Turn) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        follow_up.version_switch(base, turn)
        follow_up.continue_button(base, turn)
        if turn.status in ("failed", "asked", "interrupted"):
            again = partial(st.session_state.update, {follow_up.RETRY: turn.question})
            action_button("Try again", f"chat_retry_{turn.id}", "refresh", again)
        if not guest():
            inspect_button(base, turn)
        if turn.status in ("complete", "interrupted", "refused"):
            follow_up.again_button(base, turn)
            if not guest():
                collect_button(base, turn, lambda: retrieved(base, turn))
            opened = _opened(turn)
            stops = partial(turn_stops, base, turn, opened.n if opened else 0)
            tour_button(base, f"turn_{turn.id}", stops, _TOUR_HINT if opened else "")
            feedback.thumbs(base, turn)


def inspect_button(base: KnowledgeBase, turn: Turn) -> None:
    """A button that opens the retrieval behind an answer in the inspector."""
    if st.button(
        "Inspect this",
        key=f"chat_inspect_{turn.id}",
        icon=":material/troubleshoot:",
        type="tertiary",
        **offered(base, "explanations.explain", help="Opens its retrieval in the inspector."),
    ):
        inspect(base, turn)


def retrieved(base: KnowledgeBase, turn: Turn) -> Sequence[Hit]:
    """Return the hits of a turn, or its nearest candidates; nothing if the search now fails."""
    with guard():
        trace = retrieval.search(
            base, turn.complete, _usable(base, turn.recipe), federation.existing_bases(turn.also)
        )
        return trace.hits or trace.candidates[:NEAREST]
    return ()


def inspect(base: KnowledgeBase, turn: Turn) -> None:
    """The inspector shows the retrieval behind this very answer, so it takes its recipe too.

    That refusing was off stays with the question, as it was searched all the same.
    """
    recipe, refuse = _usable(base, turn.recipe), working_recipe.working(base).search.refuse
    insisted = recipe.search.refuse == "off" != refuse
    working_recipe.replace(
        base, recipe.with_fields({"search.refuse": refuse}) if insisted else recipe
    )
    if insisted:
        working_recipe.insist(base, turn.complete)
    federation.bring_back(base, turn.also)
    remember(base, turn, recipe)
    parameters = {"q": turn.complete}
    if turn.citations:
        parameters["passage"] = turn.citations[0].chunk_id
    st.switch_page("inspector.py", query_params=parameters)


def _usable(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    """A recipe of the past; where its build is gone, with the build that is in use now."""
    built: Sequence[str] = [build.hash for build in base.documents.builds()]
    if recipe.index.hash in built:
        return recipe
    return recipe.model_copy(update={"index": working_recipe.working(base).index})
