"""Hits of several sources, each explained by the knowledge base that it is from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.components.inspector import retrieval
from pages.components.shell.permission import guest
from pages.components.shell.session import workspace
from pages.components.shell.text import lines, plain
from pages.components.shell.wording import capitalised
from rag import FurtherBase, Hit, KnowledgeBase, Recipe, ScoreContribution, Trace, failure_words


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
            self.own = HitSource(base, alone, retrieval.search(base, trace.question, alone))
        answered = {hit.base for hit in trace.candidates}
        for other in workspace().beside(base.name, also):
            if other.base.name in answered:
                its_trace = retrieval.search(other.base, trace.question, other.recipe)
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
            contributions.update(source.base.score_contributions(source.trace, source.recipe))
        return contributions

    def spans(self, *, context: bool = False) -> Callable[[Hit], Sequence[tuple[int, int]]]:
        """The matched words of a hit, or of its ``context``, by the index of its base."""
        finders = {
            id(source): source.base.word_finder(source.trace, source.recipe, context=context)
            for source in (self.own, *self._others.values())
        }
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
