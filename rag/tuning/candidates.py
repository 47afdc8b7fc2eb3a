"""The candidates that a sweep works on: fetched once for a build, and kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput
from rag.evaluation.judging import Judge
from rag.evaluation.sweeping import Bm25Grid, Deep, Field, Pair, Prepared, flattened
from rag.indexing.index import Index
from rag.lexical import LexicalIndex, Postings
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Candidates, Corpus, Nearness, Remembered, Timeline, gather
from rag.retrieval.candidate_generation import topic_of
from rag.retrieval.candidates import (
    blocks,
    cosines,
    holds_code,
    nearest,
    rare_codes,
    relevance_of_words,
)
from rag.retrieval.query_transforms import transform_query
from rag.retrieval.stages import measured_by_pipeline, stage_row, stage_rows
from rag.search.corpus import corpus
from rag.search.threshold import FittedCalibration
from rag.search.tools import refuse_tools
from rag.services import Services
from rag.storage import passages
from rag.topic import Topic
from rag.types import Keys, Mask, ProgressCallback, Question, Scores, Vectors

Options = tuple[object, ...]

MOST_POSTINGS = 8_000_000  # what is held of a build, at two dozen bytes each

_KEPT = 8  # tables of candidates of a build, for different k1, b ...
_REACHES = 2  # by spelling, filters ...


@dataclass(frozen=True, slots=True)
class Gathered:
    """Candidates by question, and how near they are to each other."""

    candidates: Sequence[Candidates]
    nearness: Sequence[Nearness]


class CandidateSource:
    """The candidates of one build, with what they count as."""

    def __init__(
        self,
        services: Services,
        base_id: int,
        questions: Sequence[Question],
        recipe: IndexRecipe,
        index: Index,
        queries: Vectors,
        judge: Judge,
        fitted: FittedCalibration | None,
    ) -> None:
        self.index = index
        self.queries = queries
        self.exact = index.dense.exact
        self.ideals = [judge.ideal(question) for question in questions]
        self._services = services
        self._base_id = base_id
        self._recipe = recipe
        self._questions = questions
        self.judge = judge
        self.fitted = fitted
        self.calibration = fitted.model if fitted else None
        self._dense = Remembered(index.dense)
        self._deep: dict[Options, tuple[int, Prepared]] = {}
        self._reaches: dict[Options, tuple[int, Bm25Grid | None]] = {}
        self._found: dict[SearchRecipe, Gathered] = {}
        self._tokens: dict[int, int] = {}

    def has_candidates(self, search: SearchRecipe) -> bool:
        """Whether ``deep`` has nothing to fetch."""
        return self._deep.get(_options(search, self.exact), (0, None))[0] >= search.candidates

    def deep(self, search: SearchRecipe, on_progress: ProgressCallback) -> Deep:
        """Candidates for the k1, b ... of a recipe, as deep as it asks, or deeper.

        Raises InvalidInput for steps that they do not serve.
        """
        refuse_steps(search)
        return self.prepared(search, on_progress).deep

    def prepared(self, search: SearchRecipe, on_progress: ProgressCallback) -> Prepared:
        """The same, ready to be swept over."""
        options = _options(search, self.exact)
        depth, prepared = self._deep.get(options, (0, None))
        if prepared is None or depth < search.candidates:
            prepared = Prepared(
                self._fetched(search.model_copy(update={"mode": "hybrid"}), on_progress)
            )
            while len(self._deep) >= _KEPT:
                self._deep.pop(next(iter(self._deep)))
            self._deep[options] = search.candidates, prepared
        return prepared

    def gathered(self, search: SearchRecipe, on_progress: ProgressCallback) -> Gathered:
        """The candidates of just this recipe, whatever its steps; tools are not among them."""
        gathering = _before_cuts(search)
        if gathering not in self._found:
            candidates = self._candidates(gathering, on_progress)
            while len(self._found) >= _KEPT:
                self._found.pop(next(iter(self._found)))
            near = [self.nearness(question_candidates.keys) for question_candidates in candidates]
            self._found[gathering] = Gathered(candidates, near)
        return self._found[gathering]

    def nearness(self, keys: Keys) -> Nearness:
        """Return the cosines of some passages with each other, computed when asked for."""
        return Nearness(keys, self._dense.vectors)

    def by_question(
        self, search: SearchRecipe, on_progress: ProgressCallback
    ) -> list[tuple[Candidates, Nearness | None]]:
        """Return the candidates of a recipe for each question. Raises InvalidInput for tools."""
        refuse_tools(search)
        if not measured_by_pipeline(search):
            candidates = self.deep(search, on_progress).candidates(search.mode, search.candidates)
            return [(question_candidates, None) for question_candidates in candidates]
        gathered = self.gathered(search, on_progress)
        return list(zip(gathered.candidates, gathered.nearness, strict=True))

    def field(
        self, search: SearchRecipe, pairs: Collection[Pair], on_progress: ProgressCallback
    ) -> Field | None:
        """Candidates for many k1 and b in one table, as deep as ``search`` asks.

        None where there are too many postings to hold, or none to be had. Raises InvalidInput as
        ``deep`` does.
        """
        refuse_steps(search)
        bm25_grid = self._bm25_grid(search.model_copy(update={"mode": "hybrid"}), on_progress)
        return None if bm25_grid is None else bm25_grid.field(pairs, search.candidates)

    def _fetched(self, search: SearchRecipe, on_progress: ProgressCallback) -> Deep:
        pair = search.k1, search.b
        field = self.field(search, [pair], on_progress)
        if field is not None:
            return field.deep(pair)[0]
        candidates = self._candidates(search, on_progress)
        return flattened(self._questions, candidates, self.judge, self.calibration)

    def _bm25_grid(self, search: SearchRecipe, on_progress: ProgressCallback) -> Bm25Grid | None:
        options = _options(search, self.exact)[2:]
        depth, grid = self._reaches.get(options, (0, None))
        if depth < search.candidates:
            grid = self._computed_grid(search, on_progress)
            while len(self._reaches) >= _REACHES:
                self._reaches.pop(next(iter(self._reaches)))
            self._reaches[options] = search.candidates, grid
        return grid

    def _computed_grid(
        self, search: SearchRecipe, on_progress: ProgressCallback
    ) -> Bm25Grid | None:
        """All that the questions can find, unless it is too much."""
        searched, lexical = self._searched(search), self.index.lexical
        queries, near, topics = list[str](), list[Keys](), list[Topic | None]()
        lacking, vectors = list[str](), list[Vectors]()
        for place, (question, query) in enumerate(zip(self._questions, self.queries, strict=True)):
            on_progress(place, len(self._questions))
            query_parts = transform_query(question.text, search, searched, Timeline(), query)
            queries.append(query_parts.words)
            vectors.append(query_parts.vector)
            near.append(nearest(query_parts, self._dense, search, searched.allowed).keys)
            topics.append(topic_of(query_parts, searched))
            lacking.append(searched.languages.lacks(query_parts.question, lexical))
        fuzzy, prefix = search.fuzzy, search.prefix
        frequencies = (
            lexical.frequencies(words, fuzzy=fuzzy, prefix=prefix).values() for words in queries
        )
        if sum(map(sum, frequencies)) > MOST_POSTINGS:
            return None
        postings = lexical.postings(
            queries, near, fuzzy=fuzzy, prefix=prefix, allowed=searched.allowed
        )
        return Bm25Grid(
            self._questions,
            postings,
            near,
            self.judge,
            partial(self._cosines, np.stack(vectors)),
            self.calibration,
            self._exact(queries, postings, lexical),
            self._word_relevance(queries, postings, searched),
            topics,
            lacking,
        )

    def _exact(
        self, queries: Sequence[str], postings: Postings, lexical: LexicalIndex
    ) -> Mask | None:
        """Return a mask of the passages of ``postings`` that contain a rare code of their question.

        The result is None if no passage contains one.
        """
        exact = np.zeros(len(postings.keys), np.bool_)
        for words, at in _by_question(queries, postings):
            codes = rare_codes(words, lexical, len(self.index.dense))
            has_code = holds_code(codes, postings.keys[at], lexical)
            if has_code is not None:
                exact[at] = has_code
        return exact if exact.any() else None

    def _word_relevance(
        self, queries: Sequence[str], postings: Postings, searched: Corpus
    ) -> Scores | None:
        """Return the relevance that the passages of ``postings`` have by their words."""
        relevance = np.full(len(postings.keys), -1.0)
        count, threshold = len(self.index.dense), searched.default_threshold
        for words, at in _by_question(queries, postings):
            by_words = relevance_of_words(
                words, postings.keys[at], searched.lexical, count, threshold
            )
            if by_words is not None:
                relevance[at] = by_words
        return relevance if (relevance >= 0).any() else None

    def _cosines(self, queries: Vectors, rows: Keys, keys: Keys) -> Scores:
        parts = blocks(len(keys))
        similarities = (cosines(queries[rows[at]], self._dense.vectors(keys[at])) for at in parts)
        return np.concatenate([np.empty(0), *similarities])

    def _searched(self, search: SearchRecipe) -> Corpus:
        # Recipes with every limit follow from these candidates: they know the topic in any case.
        recipe = Recipe(index=self._recipe, search=search.model_copy(update={"refuse": "auto"}))
        searched = corpus(self._services, self._base_id, recipe, self.index)
        return replace(searched, dense=self._dense)

    def _candidates(self, search: SearchRecipe, on_progress: ProgressCallback) -> list[Candidates]:
        candidates, searched = list[Candidates](), self._searched(search)
        for place, (question, query) in enumerate(zip(self._questions, self.queries, strict=True)):
            on_progress(place, len(self._questions))
            candidates.append(gather(question.text, search, searched, Timeline(), query)[1])
        return candidates

    def tokens(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Length of passages in tokens of the embedder, shape (len(keys),)."""
        new = sorted(set(keys.tolist()).difference(self._tokens))
        count = self._services.models.embedder(self._recipe.embedder).tokenizer.count
        with self._services.database.read() as connection:
            chunks = passages.by_key(connection, self.index.cut_id, new)
        self._tokens.update({key: count(chunk.text) for key, chunk in chunks.items()})
        return np.array([self._tokens.get(key, 0) for key in keys.tolist()], np.int64)


def _by_question(queries: Sequence[str], postings: Postings) -> Iterator[tuple[str, slice]]:
    """Yield each question with the slice of its passages in ``postings``."""
    starts = np.searchsorted(postings.rows, np.arange(len(queries) + 1))
    yield from zip(queries, map(slice, starts[:-1], starts[1:]), strict=True)


def _options(search: SearchRecipe, exact: bool) -> Options:
    """Return the options that candidates depend on.

    For an approximate index, these include the number of requested candidates.
    """
    depth = 0 if exact else search.candidates
    rows = (row for row in stage_rows() if row.swept == "candidates")
    steps = (getattr(search, name) for row in rows for name in row.fields)
    return search.k1, search.b, search.fuzzy, search.prefix, depth, *steps


def _before_cuts(search: SearchRecipe) -> SearchRecipe:
    """The recipe with everything off that its candidates do not depend on."""
    rows = stage_rows()
    looks_at_ranks = any(row.run is not None and row.is_on(search) for row in rows)
    unused = list(rows[rows.index(stage_row("refuse")) :])
    unused += [] if looks_at_ranks else [stage_row("fusion")]
    names = {name for row in unused for name in row.fields}
    plain = SearchRecipe.plain()
    return search.model_copy(update={name: plain[name] for name in names})


def refuse_steps(search: SearchRecipe) -> None:
    """Raise InvalidInput for steps that arithmetic on candidates cannot follow."""
    rows = measured_by_pipeline(search)
    if rows:
        names = [name for row in rows for name in row.fields or (row.name,)]
        off = SearchRecipe.model_fields.keys() - search.steps.keys()
        fields = [f"search.{name}" for name in names if name not in off]
        raise InvalidInput(
            f"Recipes with {', '.join(fields)} cannot be measured while a slider moves.",
            "Evaluate or sweep them, or leave these fields at their defaults.",
        )


def alike(
    searches: Sequence[SearchRecipe], by_pipeline: Collection[int], exact: bool
) -> list[dict[Pair, list[int]]]:
    """Numbers of the recipes that share their postings, by k1 and b, which candidates depend on.

    Those ``by_pipeline`` are left out: arithmetic cannot follow their steps.
    """
    groups: dict[Options, dict[Pair, list[int]]] = {}
    for number, search in enumerate(searches):
        if number not in by_pipeline:
            pairs = groups.setdefault(_options(search, exact)[2:], {})
            pairs.setdefault((search.k1, search.b), []).append(number)
    return list(groups.values())
