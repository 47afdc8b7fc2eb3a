"""The Inspector page: the results of one retrieval and their explanation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components.inspector import retrieval
from pages.components.inspector.candidates import (
    STEP,
    Candidate,
    at_step,
    candidate_chart,
    candidates,
    clicked,
    funnel,
)
from pages.components.inspector.explanations import explainer, outlook, quotes_explanation
from pages.components.inspector.hit_cards import CardContext, hit_cards, origin_badge
from pages.components.inspector.lost_labels import lost_labels_of_question
from pages.components.inspector.retrieval import HitSources, result_view, search_notes
from pages.components.inspector.trace_details import trace_details
from pages.components.inspector.what_if import (
    PASSAGE,
    expected,
    expected_fields,
    forget_expected,
    open_passage,
)
from pages.components.labels.grading import Grading, evidence_button, grading_bar
from pages.components.metrics import readings
from pages.components.recipe.federation import scope_picker
from pages.components.recipe.panel import recipe_panel, what_it_means
from pages.components.recipe.working_recipe import for_question
from pages.components.runs.next_step import labelling_line, page_title, suggested_questions
from pages.components.shell.guard import guard
from pages.components.shell.session import chosen_base, question_sets, show
from pages.components.shell.text import plain
from pages.components.source.places import place, tables_of
from pages.components.source.view import LEAF, WALK, SourceSpan, source_view
from pages.components.tours import tour_button
from rag import (
    Hit,
    KnowledgeBase,
    QuoteFate,
    Recipe,
    TouchstoneError,
    TourStop,
    Trace,
    explanation_stop,
)

QUESTION = "q"  # the URL's parameter, and the key of the field
_OF_A_QUESTION = {QUESTION, PASSAGE, STEP, WALK, LEAF}
PASSAGE_ID = re.compile(r"[0-7][0-9a-f]{15}")
HEIGHT = 600


def main() -> None:
    """The page."""
    base = chosen_base()
    page_title("Inspector", "inspector")
    question = _question(base)
    headline, labelling = st.container(), st.container()

    @cache
    def search(recipe: Recipe) -> Trace:
        return retrieval.search(base, question, for_question(base, question, recipe), also)

    with st.sidebar:
        slot = st.container()
        also = scope_picker(base)
        with slot:
            recipe = recipe_panel(
                base, explain=lambda recipe: _meaning(question, lambda: search(recipe))
            )
    if not question.strip():
        _welcome(base)
        return
    with guard():
        trace = search(recipe)
        question_recipe = for_question(base, question, recipe)
        if question_recipe != recipe:
            st.caption(":material/info: Off-topic refusal is turned off for this question.")
        if trace.candidates or not retrieval.is_empty(base):
            words, document = expected_fields(base)
            with guard():
                expected(base, trace, question_recipe, words, document)
        origins = HitSources(base, question_recipe, trace, also)
        grading = _evidence(origins, trace, question_recipe, headline)
        if grading is not None:
            with labelling:
                labelling_line(grading, _ask)


def _meaning(question: str, search: Callable[[], Trace]) -> str:
    """The threshold in terms of this question; a search that fails says so further down."""
    try:
        return what_it_means(search()) if question.strip() else ""
    except TouchstoneError:
        return ""


def _question(base: KnowledgeBase) -> str:
    # Not bound to the address, which would replace the former question in the browser's history.
    show(QUESTION, st.query_params.get(QUESTION, ""))
    text = st.text_input(
        "Question",
        key=QUESTION,
        on_change=_typed,
        placeholder="Ask a question about your documents",
        icon=":material/search:",
    )
    if text and text.strip():
        return text
    unlabelled = suggested_questions(base, retrieval.SUGGESTIONS)
    suggested = unlabelled or retrieval.suggestions(base)
    if suggested:
        st.pills(
            "Suggestions",
            suggested,
            key="inspector_suggestion",
            format_func=plain,
            on_change=_suggest,
            label_visibility="collapsed",
        )
    return text or ""


def _typed() -> None:
    _ask(st.session_state[QUESTION])


def _suggest() -> None:
    text = st.session_state["inspector_suggestion"]
    if text:
        _ask(text)


def _ask(text: str) -> None:
    """Another question: what was open of the former one stays with that one's address.

    All in one step, as each is an entry of the browser's history.
    """
    parameters: dict[str, str | list[str]] = {name: [] for name in _OF_A_QUESTION}
    st.query_params.update(parameters | ({QUESTION: text} if text else {}))
    forget_expected()


def _welcome(base: KnowledgeBase) -> None:
    if not retrieval.is_empty(base):
        st.markdown(
            "Ask a question and follow every passage from candidate to answer: which "
            "retriever found it, its scores, and the stage that dropped it."
        )
    else:
        st.markdown("No documents to search yet.")
        st.page_link("documents.py", label="Add documents", icon=":material/library_books:")


def _evidence(
    origins: HitSources, trace: Trace, recipe: Recipe, headline: DeltaGenerator
) -> Grading | None:
    """Draw the results; return the question in the set that its labels go to."""
    base = origins.own.base
    all_candidates = candidates(trace)
    if not all_candidates and retrieval.is_empty(base):
        _welcome(base)
        return None
    selected = _selected(base, trace, recipe, all_candidates)
    parameter = st.query_params.get(PASSAGE, "")
    if parameter and (selected is None or selected.chunk.id != parameter):
        st.warning(
            "The passage of this address is not in this index. The document was changed, "
            "deleted or chunked differently, or the link belongs to another knowledge base.",
            icon=":material/location_off:",
        )
    fates: Mapping[int, QuoteFate] = {}
    with guard():
        explanation = quotes_explanation(base, trace, recipe)
        fates = explanation.fates if explanation else {}
    step = funnel(trace, fates)
    search_notes(trace)
    picture = st.container()
    grading = grading_bar(base, trace.question, recipe)
    _lost_labels(grading)
    if origins.own.trace is trace:  # nothing else is searched, which may have the words
        with headline, guard():
            outlook(base, trace, recipe, grading.labels)
    with picture:
        candidate_chart(
            trace, all_candidates, selected.chunk.key if selected else None, grading.labels.grades
        )
    if not all_candidates:
        st.info("No candidates: no passage has these words.")
    else:
        listed = at_step(all_candidates, step)
        _cards_and_source(origins, grading, trace, listed, selected, fates)
    trace_details(origins, trace, recipe, selected, grading.labels.grades, fates, open_passage)
    return grading


def _lost_labels(grading: Grading) -> None:
    base, labels = grading.base, grading.labels
    own = next((item for item in question_sets(base) if item.name == grading.set_name), None)
    if own is not None and labels.question_id is not None:
        lost = readings.lost_labels(base, own.name, readings.version_of(own))
        mine = [label for question_id, label in lost if question_id == labels.question_id]
        lost_labels_of_question(base, own.name, grading.question, mine)


def _cards_and_source(
    origins: HitSources,
    grading: Grading,
    trace: Trace,
    listed: Sequence[Candidate],
    selected: Hit | None,
    fates: Mapping[int, QuoteFate],
) -> None:
    base = grading.base
    evidence = CardContext(
        trace=trace,
        shares=origins.shares(),
        spans=origins.spans(),
        around=origins.spans(context=True),
        selected=selected.chunk.key if selected else None,
        grade=grading.buttons,
        grades=grading.labels.grades,
        place=lambda hit: place(base, hit.chunk, hit.base, _quote(hit, fates)),
        labelled=base.name,
        tables=lambda hit: tables_of(base, hit.chunk, hit.base),
        fates=fates,
    )
    cards, source = st.columns([3, 2], gap="medium")
    with cards.container(height=HEIGHT, border=True):
        hit_cards(listed, evidence)
    if selected is not None:
        with source, guard():
            _source(origins, grading, selected, _quote(selected, fates))


def _quote(hit: Hit, fates: Mapping[int, QuoteFate]) -> str:
    """The words of a passage that the answer quotes, "" for none."""
    fate = fates.get(hit.chunk.key)
    return fate.quote if fate else ""


def _source(origins: HitSources, grading: Grading, selected: Hit, quote: str) -> None:
    """The selected passage in its document, or the result of a tool as it came."""
    chunk, origin = selected.chunk, origins.of(selected)
    if origin is None:
        result_view(selected.base, selected.document, chunk.text, selected.url, HEIGHT - 160)
        return
    quote = quote or _matched_row(chunk.text, origins.spans()(selected))
    span = SourceSpan(chunk.document_id, chunk.start, chunk.end, quote)
    source_view(origin.base, origin.recipe, span, HEIGHT - 110)
    if origin is origins.own:
        with st.container(horizontal=True):
            evidence_button(grading, selected)
            tour_button(origin.base, f"why_{chunk.id}", partial(_stops, origins, chunk.key))
    else:
        st.caption(
            f"{origin_badge(selected)} Labels of this page are those of "
            f"{plain(grading.base.name)}. Choose the other knowledge base to label its passages."
        )


def _matched_row(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The row of a table with most of the question's words, by letters; "" where several do."""
    at, counts = 0, list[tuple[int, str]]()
    for line in text.split("\n"):
        matched = {text[start:end].lower() for start, end in spans if at <= start < at + len(line)}
        counts.append((len("".join(matched)) if "\t" in line else 0, line))
        at += len(line) + 1
    (most, row), *others = sorted(counts, reverse=True)
    return row if most > max((count for count, _ in others), default=0) else ""


def _stops(origins: HitSources, key: int) -> list[TourStop]:
    """Return the way of a passage through the retrieval as a stop of a tour."""
    own = origins.own
    standing = explainer(own.base, own.trace, own.recipe).standing(key)
    document = own.base.documents.document(standing.chunk.document_id)
    return [explanation_stop(own.trace.question, standing, document)]


def _selected(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, all_candidates: Sequence[Candidate]
) -> Hit | None:
    """The passage of the point that was clicked last, else the one in the URL, else the best."""
    _follow_click()
    parameter = st.query_params.get(PASSAGE, "")
    for candidate in all_candidates:
        if candidate.hit.chunk.id == parameter:
            return candidate.hit
    return _beyond(base, trace, recipe, parameter) or (
        all_candidates[0].hit if all_candidates else None
    )


def _beyond(base: KnowledgeBase, trace: Trace, recipe: Recipe, parameter: str) -> Hit | None:
    """A passage that was no candidate; None where the address names none at all."""
    if not PASSAGE_ID.fullmatch(parameter):
        return None
    try:
        return base.explanations.unranked(int(parameter, 16), trace.question, recipe)
    except TouchstoneError:
        return None


def _follow_click() -> None:
    key = clicked()
    if key is not None and st.session_state.get("inspector_clicked") != key:
        open_passage(f"{key:016x}")
    st.session_state["inspector_clicked"] = key


with guard():
    main()
