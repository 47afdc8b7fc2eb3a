"""Lexical information of a knowledge base: matches, term weights and spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rag.indexing.lookup import lookup
from rag.lexical import Explanation
from rag.operation import operation
from rag.recipe import Recipe
from rag.retrieval import ScoreContribution, score_contributions
from rag.services import Services
from rag.types import Hit, Trace


class Words:
    """The part of a knowledge base that looks into the words of its indexes."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self.id = base_id

    @operation("guest", models="none")
    def word_finder(
        self, trace: Trace, recipe: Recipe, *, context: bool = False
    ) -> Callable[[Hit], list[tuple[int, int]]]:
        """Finds the spans of a hit's text whose words BM25 matched with the question.

        With ``context`` spans of the hit's context, which is indexed and not part of its text.
        """
        words = self._services.indexes.current(self.id, recipe.index).lexical
        search = recipe.search

        def spans(hit: Hit) -> list[tuple[int, int]]:
            return words.matched_spans(
                trace.words or trace.question,
                hit.chunk.context if context else hit.chunk.text,
                fuzzy=search.fuzzy,
                prefix=search.prefix,
            )

        return spans

    @operation("guest", models="none")
    def explain_words(self, key: int, trace: Trace, recipe: Recipe) -> Explanation:
        """Explain the BM25 score of a passage word by word. Raises NotFound for an unknown key."""
        index = self._services.indexes.current(self.id, recipe.index)
        search = recipe.search
        explanation = index.lexical.explain(
            trace.words or trace.question,
            key,
            k1=search.k1,
            b=search.b,
            fuzzy=search.fuzzy,
            prefix=search.prefix,
        )
        passage = lookup(self._services.database, self.id, index.cut_id)([key]).get(key)
        return (
            explanation.with_context(passage[0].context, index.lexical.analyzer)
            if passage
            else explanation
        )

    @operation("guest", models="none")
    def spelled(self, text: str, recipe: Recipe) -> Mapping[str, str]:
        """Index terms of a text, each as the word that it was first made of there."""
        lexical = self._services.indexes.current(self.id, recipe.index).lexical
        words: dict[str, str] = {}
        for term, start, end in lexical.analyzer.spans(text):
            words.setdefault(term, text[start:end])
        return words

    @operation("guest", models="none")
    def score_contributions(self, trace: Trace, recipe: Recipe) -> Mapping[int, ScoreContribution]:
        """Return the contributions of dense and lexical retrieval to each score, by passage key."""
        return score_contributions(trace, recipe.search)
