"""Retrievals for the pages; hits of several bases are explained by the one they are from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.components.shell.session import bases, guest, question_sets, shared_cache, workspace
from pages.components.shell.text import capitalised, lines, plain
from rag import (
    FurtherBase,
    Hit,
    KnowledgeBase,
    Message,
    Question,
    Recipe,
    ScoreContribution,
    Trace,
    failure_words,
    score_contributions,
)

SUGGESTED = "suggested"
SUGGESTIONS = 4
_FAILED = "retrieval_failed"
PATIENCE = 30  # seconds until a step that failed is tried again


def search(
    base: KnowledgeBase,
    question: str,
    recipe: Recipe,
    also: Sequence[FurtherBase] = (),
    history: Sequence[Message] = (),
    *,
    anew: bool = False,
) -> Trace:
    """The trace of a question. Raises TouchstoneError.

    ``history`` is the conversation before it. A trace in which a step failed is kept for a moment,
    or every touch of a page would wait for a server that is down; ``anew`` tries again at once.
    """
    beside = workspace().beside(base.name, also)
    history = tuple(history)
    request = base.state(recipe, beside), question, history
    # The last search in which a step failed, kept until a moment of the monotonic clock.
    failed_request, until, trace = st.session_state.get(_FAILED, (None, 0.0, None))
    if trace is not None and not anew and failed_request == request and time.monotonic() < until:
        return trace
    trace = base.search(question, recipe, beside, history)
    if trace.failures:
        st.session_state[_FAILED] = request, time.monotonic() + PATIENCE, trace
    return trace


def is_empty(base: KnowledgeBase) -> bool:
    """Whether there is nothing to ask about yet."""
    return not any(info.documents for info in bases() if info.name == base.name)


def suggestions(base: KnowledgeBase) -> list[str]:
    """A few questions worth asking: those tagged so, else the first of any set.

    Those are left out that the newest run of their set fails, or the newest one that scored
    answers, and those that this visitor got a doubtful or refused answer to; unless that leaves
    none. A guest gets only those that are tagged or that a run passes: the others are tests.
    """
    newest = base.runs.newest_runs()
    sets = tuple(
        (item.name, str(item.changed), newest.get(item.name, ())) for item in question_sets(base)
    )
    return _suggestions(base, sets, tuple(base.conversations.unsure()), guest())


@shared_cache(16)
def _suggestions(
    base: KnowledgeBase,
    sets: tuple[tuple[str, str, tuple[str, ...]], ...],
    unsure: tuple[str, ...],
    for_guest: bool,
) -> list[str]:
    questions, passing = list[Question](), list[Question]()
    for name, _changed, run_ids in sets:
        of_set = base.questions.usable(name)
        if for_guest and not run_ids:
            of_set = [item for item in of_set if SUGGESTED in item.tags]
        fails = base.runs.failing_questions(run_ids)
        questions += of_set
        passing += [item for item in of_set if item.id not in fails and item.text not in unsure]
    chosen = _chosen(passing) or ([] if for_guest else _chosen(questions))
    return [item.text for item in chosen[:SUGGESTIONS]]


def _chosen(questions: list[Question]) -> list[Question]:
    tagged = [item for item in questions if SUGGESTED in item.tags]
    return tagged or [item for item in questions if item.answerable]


@dataclass(frozen=True, slots=True)
class HitSource:
    """One knowledge base with what it alone found."""

    base: KnowledgeBase
    recipe: Recipe
    trace: Trace

    def hit(self, key: int) -> Hit | None:
        """A passage as this base found it, with its own score and rank."""
        return next((hit for hit in self.trace.candidates if hit.chunk.key == key), None)


class HitSources:
    """The sources of a merged retrieval by name; of a plain one, its knowledge base."""

    def __init__(
        self, base: KnowledgeBase, recipe: Recipe, trace: Trace, also: Sequence[FurtherBase]
    ) -> None:
        self.own = HitSource(base, recipe, trace)
        self._others: dict[str, HitSource] = {}
        if also or recipe.search.tools:
            alone = recipe.with_fields({"search.tools": ()})
            self.own = HitSource(base, alone, search(base, trace.question, alone))
        answered = {hit.base for hit in trace.candidates}
        for other in workspace().beside(base.name, also):
            if other.base.name in answered:
                its_trace = search(other.base, trace.question, other.recipe)
                self._others[other.base.name] = HitSource(other.base, other.recipe, its_trace)

    def of(self, hit: Hit) -> HitSource | None:
        """The knowledge base of a hit; None for the result of a tool."""
        if hit.from_tool:
            return None
        return self._others.get(hit.base, self.own)

    def shares(self) -> Mapping[int, ScoreContribution]:
        """The dense and lexical score contributions by passage, from the ranking of each base."""
        contributions: dict[int, ScoreContribution] = {}
        for source in (*self._others.values(), self.own):
            contributions.update(score_contributions(source.trace, source.recipe.search))
        return contributions

    def spans(self, *, context: bool = False) -> Callable[[Hit], Sequence[tuple[int, int]]]:
        """The matched words of a hit, or of its ``context``, by the index of its base."""
        finders = {}
        for source in (self.own, *self._others.values()):
            finder = source.base.explanations.word_finder
            finders[id(source)] = finder(source.trace, source.recipe, context=context)
        return lambda hit: finders[id(self.of(hit) or self.own)](hit)


def result_view(name: str, title: str, text: str, url: str, height: int = 520) -> None:
    """The result of a tool, whole: there is no document that it could be opened in."""
    st.markdown(f"**{plain(title)}** :gray-badge[:material/api: {plain(name)}]")
    if url:
        st.link_button("Open at its source", url, icon=":material/open_in_new:")
    with st.container(height=height, border=True):
        st.markdown(lines(text))


def search_notes(trace: Trace) -> None:
    """Draw how the search changed the question, and the steps that failed.

    Draw one line for corrected words, one for a language that the embedder doesn't know, and one
    for each failed step.
    """
    if trace.read_as:
        st.caption(f":material/spellcheck: {plain(trace.read_as)}")
    if (language := trace.stage("language")) is not None:
        hint = "" if guest() else plain(language.hint)
        note = plain(capitalised(language.note))
        st.caption(f":material/translate: {note} {hint}".rstrip())
    for stage in trace.failures:
        name, note = plain(failure_words(stage)), plain(stage.note)
        st.caption(f":material/warning: **{name}:** {note}")
