"""Explanations of one retrieval: where any passage stands, why, and what would change it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rag.errors import InvalidInput, NotFound
from rag.experiments.explanation.breakpoints import MOST_CANDIDATES, WHOLE, Case, Field
from rag.experiments.explanation.counterfactuals import (
    Counterfactual,
    asks_a_model,
    counterfactuals,
    unavailable,
)
from rag.experiments.explanation.recipe_comparison import Attribution, attribution
from rag.experiments.explanation.standing import (
    Gap,
    Located,
    Match,
    Standing,
    figures,
    gap,
    locate_passages,
    standing,
)
from rag.library.documents.library import Library
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval import (
    Candidates,
    Corpus,
    SearchQuery,
    Timeline,
    embed_question,
    gather,
    retrieve,
)
from rag.retrieval.candidates import IncompleteVectors, Ranking, bm25_options, join
from rag.retrieval.pipeline import FullRankings
from rag.retrieval.selection import resolved_threshold
from rag.types import Chunk, Trace

LONGEST_TEXT = 5000
"""Characters of a text that is looked for."""
_DOCUMENTS = 20  # documents that are searched for the very words
_SHOWN = 5
_PASSAGE_ID = re.compile("[0-7][0-9a-f]{15}", re.IGNORECASE)
_NEAR = 50  # passages by words, and as many by meaning, whose documents are searched


@dataclass(frozen=True, slots=True)
class Finding:
    """A passage that was looked for. ``match`` says how it was found.

    ``exact`` and ``similar`` hold the words that were asked for, ``nearest`` is only near to them,
    ``document`` is of the document asked for. ``gap`` is None for a passage that is shown.
    """

    standing: Standing
    match: Match
    gap: Gap | None


class Explainer:
    """An explainer of one retrieval of one knowledge base; what is expensive is computed once."""

    def __init__(
        self,
        trace: Trace,
        recipe: Recipe,
        corpus: Corpus,
        threshold: float | None,
        library: Library,
    ) -> None:
        self.trace = trace
        self.recipe = recipe
        self._corpus = corpus
        self._threshold = threshold
        self._library = library
        self._changes: dict[int, tuple[Counterfactual, ...]] = {}
        self.permit_attribution: Callable[[], None] = lambda: None
        """Raises NotAllowed where who asked may not have so many texts embedded."""

    def standing(self, key: int) -> Standing:
        """Return the rank of a passage stage by stage, also if it was never a candidate.

        Ranks are exact, over the whole corpus. Raises NotFound for an unknown key.
        """
        corpus, passage = self._corpus, self._passage(key)
        words = corpus.lexical.explain(
            self._search_query.words, key, **bm25_options(self.recipe.search)
        )
        typed = self._corpus.lexical.spellings(self._search_query.words)
        lacking = tuple(typed.get(term, term) for term in words.unmatched)
        passage_figures = figures(self._deep, key, words.score, self._cosine(key), lacking)
        if isinstance(corpus.dense, IncompleteVectors):
            passage_figures = replace(
                passage_figures, by_words=bool(np.isin(key, corpus.dense.lacking))
            )
        return standing(self.trace, self.recipe.search, passage, passage_figures, corpus.allowed)

    def changes(self, key: int) -> tuple[Counterfactual, ...]:
        """The smallest changes, each of one field, that bring a passage in or throw it out.

        Every one was tried by a search. Raises NotFound for an unknown key.
        """
        if key not in self._changes:
            self._passage(key)
            self._changes[key] = self._changed(key)
        return self._changes[key]

    def _changed(self, key: int) -> tuple[Counterfactual, ...]:
        search = self.recipe.search
        is_in = any(hit.chunk.key == key for hit in self.trace.hits)
        if asks_a_model(search):
            return unavailable(search, self._threshold, is_in)
        case = Case(
            key,
            search,
            resolved_threshold(self._candidates, search, self._threshold),
            self._candidates,
            self._deepest,
            self._corpus.calibration,
        )
        return counterfactuals(case, is_in, lambda *change: self.is_in(key, *change))

    def is_in(self, key: int, field: Field, value: float) -> bool:
        """Whether a search with one field changed has the passage among its results."""
        changed = self.recipe.with_fields(
            {f"search.{field}": int(value) if field in WHOLE else value}
        )
        threshold = value if field == "threshold" else self._threshold
        trace = retrieve(self.trace.question, changed, self._corpus, threshold)
        return any(hit.chunk.key == key for hit in trace.hits)

    def attribution(
        self, key: int, on_progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> Attribution:
        """Attribute the cosine of question and passage to their parts; embeds some dozens of texts.

        ``on_progress`` receives (done, total) and can raise an exception to stop. Raises NotFound,
        NotAllowed, ProviderError.
        """
        self.permit_attribution()
        chunk, _ = self._passage(key)
        embedder = self._corpus.embedder
        return attribution(self.trace.searched, chunk.text, embedder, on_progress, chunk.context)

    def find(self, text: str) -> list[Finding]:
        """Return the ranks of the passages that contain a text, or of the passages nearest to it.

        Raises InvalidInput for a text that is empty or too long.
        """
        return self.findings(self.locate(text))

    def locate(self, text: str) -> list[Located]:
        """The passages that ``find`` looks up; the same for every question of a build."""
        needle = text.strip()
        if not needle or len(needle) > LONGEST_TEXT:
            raise InvalidInput(
                "There is nothing to look for." if not needle else "The text is too long.",
                f"Paste a sentence of the passage, up to {LONGEST_TEXT:,} characters.",
            )
        near = self._near(needle)
        names = list(dict.fromkeys(chunk.document_id for chunk, _ in near))[:_DOCUMENTS]
        texts = {name: self._library.document(name).text for name in names}
        passages = {name: self._library.chunks(name, self.recipe.index) for name in names}
        matches = locate_passages(needle, texts, passages)
        return matches or [Located(chunk.key, "nearest") for chunk, _ in near[:_SHOWN]]

    def findings(self, passages: Sequence[Located]) -> list[Finding]:
        """Return the ranks of passages. Raises NotFound for a missing passage."""
        return [self._finding(passage.key, passage.match) for passage in passages]

    def document_id(self, name: str) -> str:
        """Return the id of a document by name or id. Raises NotFound."""
        for info in self._library.documents(self.recipe.index):
            if name in (info.name, info.id):
                return info.id
        raise NotFound(f"No document is called {name!r}.")

    def in_document(self, document_id: str) -> list[Finding]:
        """Return the ranks of a document's passages: a limited number, best rank first."""
        keys = [chunk.key for chunk in self._library.chunks(document_id, self.recipe.index)]
        ranks = {hit.chunk.key: hit.rank for hit in self.trace.hits}
        rest = len(self._deep.near.keys) + 1
        near = {int(key): at for at, key in enumerate(self._deep.near.keys)}
        words = {int(key): at for at, key in enumerate(self._deep.words.keys)}
        keys.sort(
            key=lambda key: (
                ranks.get(key, rest),
                min(near.get(key, rest), words.get(key, rest)),
                key,
            )
        )
        return [self._finding(key, "document") for key in keys[:_SHOWN]]

    def _finding(self, key: int, match: Match) -> Finding:
        standing = self.standing(key)
        return Finding(standing, match, gap(self.trace, standing))

    def _near(self, text: str) -> list[tuple[Chunk, str]]:
        """Passages like a text, by words and meaning (reciprocal ranks), best first."""
        corpus, plain = self._corpus, SearchRecipe()
        words, _ = corpus.lexical.search(text, _NEAR, **bm25_options(plain))
        near, _ = corpus.dense.search(embed_question(text, corpus.embedder), _NEAR)
        scores: dict[int, float] = {}
        for ranked in (words.tolist(), near.tolist()):
            for at, key in enumerate(ranked, start=1):
                scores[key] = scores.get(key, 0.0) + 1 / (plain.rrf_k + at)
        keys = sorted(scores, key=lambda key: (-scores[key], key))
        chunks = corpus.lookup(keys)
        return [chunks[key] for key in keys if key in chunks]

    def _passage(self, key: int) -> tuple[Chunk, str]:
        passage = self._corpus.lookup([key]).get(key)
        if passage is None:
            raise NotFound(
                f"No passage has the id {key:016x}.",
                "Ids belong to one index. Search lists those of the current one.",
            )
        return passage

    def _cosine(self, key: int) -> float:
        vector = self._corpus.dense.vectors(np.array([key], np.int64))[0]
        return float(
            (vector.astype(np.float64) * self._search_query.vector.astype(np.float64)).sum()
        )

    @cached_property
    def _search_query(self) -> SearchQuery:
        """The question itself, as the first search of both retrievers was asked it."""
        vector = embed_question(self.trace.searched, self._corpus.embedder)
        return SearchQuery(vector, self.trace.words or self.trace.question)

    @cached_property
    def _deep(self) -> FullRankings:
        return FullRankings.of(self._search_query, self._corpus, self.recipe.search)

    @cached_property
    def _candidates(self) -> Candidates:
        question, search = self.trace.question, self.recipe.search
        return gather(question, search, self._corpus, Timeline(), self._search_query.vector)[1]

    @cached_property
    def _deepest(self) -> Candidates:
        corpus, search = self._corpus, self.recipe.search
        near, words = (
            Ranking(ranking.keys[:MOST_CANDIDATES], ranking.scores[:MOST_CANDIDATES])
            for ranking in (self._deep.near, self._deep.words)
        )
        candidates = join(
            self._search_query,
            Ranking.nothing() if search.mode == "lexical" else near,
            Ranking.nothing() if search.mode == "dense" else words,
            corpus.dense,
            corpus.lexical,
            search,
            corpus.default_threshold,
        )
        return replace(candidates, lacking=self._candidates.lacking)


def passage_key(chunk_id: str) -> int:
    """The key that a passage's id stands for. Raises InvalidInput for what is no id."""
    if not _PASSAGE_ID.fullmatch(chunk_id):
        raise InvalidInput(
            f"{chunk_id!r} is not the id of a passage.", "An id has 16 hexadecimal digits."
        )
    return int(chunk_id, 16)
