"""Searched questions, and one failed question with all that its causes are checked by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rag.errors import NotFound
from rag.evaluation.judging import Judged
from rag.evaluation.measuring import measured
from rag.experiments.tuning.candidates import CandidateSource
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval import (
    Candidates,
    Corpus,
    Nearness,
    SearchQuery,
    Selection,
    Timeline,
    gather,
    select,
)
from rag.retrieval.candidates import bm25_options, cosines
from rag.retrieval.pipeline import FullRankings, true_rank
from rag.retrieval.query_transforms import transform_query
from rag.types import (
    Chunk,
    Document,
    Evidence,
    Floats,
    Hit,
    Keys,
    Mask,
    Order,
    ProgressCallback,
    Question,
    Span,
    Vectors,
)


@dataclass(frozen=True)
class Searched:
    """One question: its candidates, their fate, and the positions that fit into the prompt."""

    candidates: Candidates
    nearness: Nearness
    selection: Selection
    shown: Order
    judged: Judged

    @property
    def keys(self) -> Keys:
        """The passages in the prompt, best first."""
        return self.candidates.keys[self.shown]


def search_all(
    source: CandidateSource,
    questions: Sequence[Question],
    recipe: Recipe,
    threshold: float | None,
    on_progress: ProgressCallback,
) -> list[Searched]:
    """Search the ``questions`` of a source. ``threshold`` is the recipe's as a number."""
    search = recipe.search
    calibration = source.calibration if search.relevance == "probability" else None
    chosen = [
        (candidates, nearness, select(candidates, search, threshold, calibration, nearness))
        for candidates, nearness in source.by_question(search, on_progress)
    ]
    kept = [candidates.keys[selection.kept] for candidates, _, selection in chosen]
    source.tokens(np.unique(np.concatenate([np.empty(0, np.int64), *kept])))  # in one query
    budget = recipe.answer.context_tokens
    return [
        _judged(source, question, *parts, budget)
        for question, parts in zip(questions, chosen, strict=True)
    ]


def _judged(
    source: CandidateSource,
    question: Question,
    candidates: Candidates,
    nearness: Nearness,
    selection: Selection,
    budget: int,
) -> Searched:
    kept = selection.kept
    sizes = np.cumsum(source.tokens(candidates.keys[kept]))
    fitting = max(1, int(np.count_nonzero(sizes <= budget)))
    shown = kept[:fitting]
    judged = source.judge.judge(
        question, candidates.keys[shown], selection.scores[shown], max(len(shown), 1)
    )
    return Searched(candidates, nearness, selection, shown, judged)


def scores(searched: Sequence[Searched], k: int) -> Floats:
    """nDCG@k of what is shown, shape (questions,); of unanswerable ones 1 where nothing is."""
    results, _ = measured([item.judged for item in searched], [k])
    return np.array(
        [
            result.metrics.get(f"ndcg@{k}", 0.0)
            if result.answerable
            else float(not item.judged.ids)
            for result, item in zip(results, searched, strict=True)
        ]
    )


def have_ndcg(searched: Sequence[Searched], k: int) -> Mask:
    """Whether each question has an nDCG@k: a label that is relevant."""
    results, _ = measured([item.judged for item in searched], [k])
    return np.array([f"ndcg@{k}" in result.metrics for result in results], dtype=bool)


Documents = Callable[[str], Document]
CorpusOf = Callable[[SearchRecipe], Corpus]


@dataclass(frozen=True)
class Setting:
    """The parts that all failed questions of a diagnosis share.

    ``corpus_of`` gives the corpus that a search recipe searches; ``spans`` the passages of every
    labelled document, (key, start, end) in order.
    """

    recipe: Recipe
    threshold: float | None
    corpus_of: CorpusOf
    document: Documents
    spans: Mapping[str, Sequence[tuple[int, int, int]]]

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus that the recipe searches."""
        return self.corpus_of(self.recipe.search)


@dataclass(frozen=True)
class Rankings:
    """The query of one question, and both complete rankings of the corpus."""

    search_query: SearchQuery
    full: FullRankings

    @classmethod
    def of(cls, question: Question, vector: Vectors, setting: Setting) -> Rankings:
        """Rank every passage that the recipe searches."""
        search, corpus = setting.recipe.search, setting.corpus
        search_query = transform_query(question.text, search, corpus, Timeline(), vector)
        return cls(search_query, FullRankings.of(search_query, corpus, search))


@dataclass(frozen=True, slots=True)
class Figures:
    """The cosine of a passage and its true ranks in both retrievers, from 1.

    ``bm25_rank`` is None without a word of the question; ``lacking`` are the terms that it lacks.
    """

    dense: float
    dense_rank: int | None
    bm25_rank: int | None
    lacking: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A failed question with the relevant passage that came nearest to the results.

    ``label`` is the evidence that the passage answers.
    """

    question: Question
    setting: Setting
    searched: Searched
    rankings: Rankings
    chunk: Chunk
    label: Evidence

    @property
    def search(self) -> SearchRecipe:
        """The search part of the recipe."""
        return self.setting.recipe.search

    @property
    def corpus(self) -> Corpus:
        """The corpus that the recipe searches."""
        return self.setting.corpus

    @cached_property
    def document(self) -> Document:
        """The document of the passage."""
        return self.setting.document(self.chunk.document_id)

    @property
    def span(self) -> Span:
        """The span that the label names, or the passage where it names the whole document."""
        if self.label.end is None:
            return self.chunk.start, self.chunk.end
        return self.label.start, self.label.end

    @property
    def labelled_text(self) -> str:
        """The words of the label as the document has them."""
        return self.document.text[slice(*self.span)]

    @cached_property
    def place(self) -> int | None:
        """The position of the passage among the candidates; None where it is none."""
        at = np.flatnonzero(self.searched.candidates.keys == self.chunk.key)
        return int(at[0]) if len(at) else None

    @cached_property
    def figures(self) -> Figures:
        """Scores and true ranks of the passage in both retrievers."""
        key, corpus = self.chunk.key, self.corpus
        words = corpus.lexical.explain(
            self.rankings.search_query.words, key, **bm25_options(self.search)
        )
        vectors = corpus.dense.vectors(np.array([key], np.int64))
        cosine = float(cosines(self.rankings.search_query.vector, vectors)[0])
        full = self.rankings.full
        near, lexical = true_rank(full.near, key), true_rank(full.words, key)
        return Figures(cosine, near, lexical, words.unmatched)

    @cached_property
    def rank(self) -> int | None:
        """The rank, from 1, as a run counts it: among what passes the threshold.

        That of a passage that does not pass is its rank among all candidates.
        """
        if self.place is None:
            return None
        uncut = np.flatnonzero(self.searched.selection.order == self.place)
        return self.rank_without(np.empty(0, np.int64)) or int(uncut[0]) + 1

    @cached_property
    def shown_rank(self) -> int | None:
        """The rank in the prompt, from 1."""
        at = np.flatnonzero(self.searched.shown == self.place)
        return int(at[0]) + 1 if self.place is not None and len(at) else None

    @cached_property
    def above(self) -> list[Hit]:
        """The results that rank higher, best first."""
        shown = self.searched.shown
        places = shown if self.shown_rank is None else shown[: self.shown_rank - 1]
        candidates, selection = self.searched.candidates, self.searched.selection
        passages = self.corpus.lookup(candidates.keys[places].tolist())
        return [
            Hit(
                *passages[key],
                rank=rank,
                score=float(selection.scores[place]),
                relevance=float(selection.relevance[place]),
                parts={},
            )
            for rank, (place, key) in enumerate(
                zip(places.tolist(), candidates.keys[places].tolist(), strict=True), start=1
            )
            if key in passages
        ]

    def document_of(self, key: int) -> str:
        """The name of a passage's document; raises NotFound if it went away meanwhile."""
        passages = self.corpus.lookup([key])
        if key not in passages:
            raise NotFound("A document changed during the diagnosis.", "Find the causes again.")
        return passages[key][1]

    def enters(self, **fields: Any) -> bool:
        """Whether the same candidates, cut with other search fields, have the passage in."""
        return self._is_kept(self.searched.candidates, self.select(**fields))

    def enters_without_rerank(self) -> bool:
        """Whether the order before reranking has the passage in."""
        candidates = replace(self.searched.candidates, rerank=None)
        return self._is_kept(candidates, self._selected(candidates, self.search))

    def select(self, **fields: Any) -> Selection:
        """Cut the same candidates with other search fields."""
        return self._selected(self.searched.candidates, self.search.model_copy(update=fields))

    def found_by(self, **fields: Any) -> int | None:
        """The rank, from 1, in the results of a search with other fields; None if it is not in."""
        search = self.search.model_copy(update=fields)
        corpus = self.setting.corpus_of(search)
        candidates = gather(self.question.text, search, corpus, Timeline())[1]
        kept = candidates.keys[self._selected(candidates, search).kept]
        at = np.flatnonzero(kept == self.chunk.key)
        return int(at[0]) + 1 if len(at) else None

    def rank_without(self, keys: Keys) -> int | None:
        """The rank among what passes the threshold if some passages were not there."""
        selection, candidates = self.searched.selection, self.searched.candidates
        above = candidates.keys[np.concatenate([selection.kept, selection.beyond])]
        at = np.flatnonzero(above[~np.isin(above, keys)] == self.chunk.key)
        return int(at[0]) + 1 if len(at) else None

    def _selected(self, candidates: Candidates, search: SearchRecipe) -> Selection:
        threshold = self.setting.threshold
        if search.threshold != self.search.threshold and search.threshold != "auto":
            threshold = search.threshold
        calibration = self.corpus.calibration
        nearness = self.searched.nearness
        if candidates is not self.searched.candidates:
            nearness = type(nearness)(candidates.keys, self.corpus.dense.vectors)
        return select(candidates, search, threshold, calibration, nearness)

    def _is_kept(self, candidates: Candidates, selection: Selection) -> bool:
        return bool(np.isin(self.chunk.key, candidates.keys[selection.kept]))
