"""The candidates that a sweep works on: fetched once for a build, and kept.

Recipes that arithmetic cannot follow are measured with the pipeline's own selection. Their
candidates are gathered once for all that differ only in how the list is cut, diversified and
cleared of copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np
import numpy.typing as npt

from rag.chunking import estimates
from rag.errors import InvalidInput
from rag.evaluation.judging import Judge
from rag.evaluation.sweeping import CandidateTable, QuestionFigures, measure
from rag.experiments.runs.evaluator import deepened
from rag.lexical import Postings
from rag.library.questions.groups import QuestionSnapshot
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Candidates, Corpus, Nearness, Remembered, Timeline, gather, select
from rag.retrieval.caches import Cache
from rag.retrieval.candidates import (
    NOT_FOUND,
    Ranking,
    SearchQuery,
    blocks,
    cosines,
    holds_code,
    nearest,
    ranks_among,
    rare_codes,
    relevance_of_words,
)
from rag.retrieval.pipeline import topic_of
from rag.retrieval.query_transforms import transform_query
from rag.retrieval.stages import measured_by_pipeline, stage_row, stage_rows
from rag.search.corpus import FittedCalibration, corpus
from rag.search.tools import refuse_tools
from rag.services.indexing.index import Index
from rag.services.services import Services
from rag.storage import passages
from rag.types import Keys, Mask, ProgressCallback, Question, Ranks, Scores, Vectors

Options = tuple[object, ...]
Everything = tuple[CandidateTable, Postings, Vectors]
"""All that questions can find, whatever k1 and b: with what scores it, and their vectors."""

MOST_POSTINGS = 8_000_000  # what is held of a build, at four dozen bytes each

_KEPT = 8  # tables of candidates of a build, for different k1, b ...
_EVERYTHING = 2  # by spelling, filters ...


class CandidateSource:
    """The candidates of one build, with what they count as."""

    def __init__(
        self,
        services: Services,
        question_set: QuestionSnapshot,
        questions: Sequence[Question],
        recipe: IndexRecipe,
        index: Index,
        queries: Vectors,
        judge: Judge,
        fitted: FittedCalibration | None,
    ) -> None:
        self.index = index
        self.questions = questions
        self.queries = queries
        self.exact = index.dense.exact
        self.ideals = [judge.ideal(question) for question in questions]
        self.judge = judge
        self.fitted = fitted
        self.calibration = fitted.model if fitted else None
        self._services = services
        self._set = question_set
        self._recipe = recipe
        self._dense = Remembered(index.dense)
        self._tables = Cache[Options, tuple[int, CandidateTable]](_KEPT)
        self._everything = Cache[Options, tuple[int, Everything | None]](_EVERYTHING)
        self._gathered = Cache[SearchRecipe, list[tuple[Candidates, Nearness]]](_KEPT)
        self._tokens: dict[int, int] = {}

    def has_candidates(self, search: SearchRecipe) -> bool:
        """Whether ``table`` has nothing to fetch."""
        depth, _ = self._tables.get(_options(search, self.exact)) or (0, None)
        return depth >= search.candidates

    def table(
        self, search: SearchRecipe, on_progress: ProgressCallback = lambda _done, _total: None
    ) -> CandidateTable:
        """Candidates for the k1, b ... of a recipe, as deep as it asks, or deeper.

        Raises InvalidInput for steps that they do not serve.
        """
        options, hybrid = _options(search, self.exact), search.model_copy(update={"mode": "hybrid"})
        depth, table = self._tables.get(options) or (0, None)
        if table is None or depth < search.candidates:
            everything = self.fetch(search, on_progress)
            if everything is None:
                table = self.tabled(self._candidates(hybrid, on_progress))
            else:
                table = self._scored(*everything, hybrid)
            self._tables.put(options, (search.candidates, table), inf)
        return table

    def fetch(self, search: SearchRecipe, on_progress: ProgressCallback) -> Everything | None:
        """Find what every k1 and b have in common, as deep as ``search`` asks.

        None where that is too much, or there is nothing to find. Raises InvalidInput for steps
        that candidates do not serve.
        """
        refuse_steps(search)
        options = _options(search, self.exact)[2:]
        depth, everything = self._everything.get(options) or (0, None)
        if depth < search.candidates:
            hybrid = search.model_copy(update={"mode": "hybrid"})
            everything = self._found(hybrid, on_progress)
            self._everything.put(options, (search.candidates, everything), inf)
        return everything

    def by_question(
        self, search: SearchRecipe, on_progress: ProgressCallback
    ) -> list[tuple[Candidates, Nearness]]:
        """The candidates of each question, and how near they are to each other.

        Raises InvalidInput for tools.
        """
        refuse_tools(search)
        vectors = self._dense.vectors
        if not measured_by_pipeline(search):
            table = self.table(search, on_progress).within(search.mode, search.candidates)
            return [(row, Nearness(row.keys, vectors)) for row in table.by_question()]
        gathering = _before_cuts(search)
        gathered = self._gathered.get(gathering)
        if gathered is None:
            rows = self._candidates(gathering, on_progress)
            gathered = [(row, Nearness(row.keys, vectors)) for row in rows]
            self._gathered.put(gathering, gathered, inf)
        return gathered

    def tabled(self, rows: Sequence[Candidates], *, with_context: bool = False) -> CandidateTable:
        """The candidates of each question as a table, with their lengths if they are counted."""
        table = CandidateTable.of(self.questions, rows, self.judge, self._set.groups)
        return self.with_tokens(table) if with_context else table

    def with_tokens(self, table: CandidateTable) -> CandidateTable:
        """The same with the lengths of the candidates."""
        tokens = np.zeros(table.inside.shape, np.int64)
        tokens[table.inside] = self.tokens(table.candidates.keys[table.inside])
        return replace(table, tokens=tokens)

    def _found(self, search: SearchRecipe, on_progress: ProgressCallback) -> Everything | None:
        """All that the questions can find, without BM25 and cosines, unless it is too much."""
        searched, lexical = self._searched(search), self.index.lexical
        queries, near = list[SearchQuery](), list[Ranking]()
        for place, (question, vector) in enumerate(zip(self.questions, self.queries, strict=True)):
            on_progress(place, len(self.questions))
            query = transform_query(question.text, search, searched, Timeline(), vector)
            queries.append(query)
            near.append(nearest(query, self._dense, search, searched.allowed))
        words, fuzzy, prefix = [query.words for query in queries], search.fuzzy, search.prefix
        frequencies = (lexical.frequencies(one, fuzzy=fuzzy, prefix=prefix) for one in words)
        if len(words) * max(sum(counts.values()) for counts in frequencies) > MOST_POSTINGS:
            return None
        nearest_keys = [ranking.keys for ranking in near]
        postings = lexical.postings(
            words, nearest_keys, fuzzy=fuzzy, prefix=prefix, allowed=searched.allowed
        )
        keys = np.split(postings.keys, np.searchsorted(postings.rows, np.arange(1, len(words))))
        rows = [
            self._row(query, row_keys, near_keys, searched)
            for query, row_keys, near_keys in zip(queries, keys, nearest_keys, strict=True)
        ]
        return self.tabled(rows), postings, np.stack([query.vector for query in queries])

    def _row(self, query: SearchQuery, keys: Keys, near: Keys, searched: Corpus) -> Candidates:
        lexical, passages_of_build = self.index.lexical, len(self.index.dense)
        codes = rare_codes(query.words, lexical, passages_of_build)
        return Candidates(
            keys=keys,
            cosine=np.full(len(keys), np.nan),
            bm25=np.zeros(len(keys)),
            dense_rank=ranks_among(keys, near),
            lexical_rank=np.full(len(keys), NOT_FOUND, np.int32),
            exact=holds_code(codes, keys, lexical),
            word_relevance=relevance_of_words(
                query.words, keys, lexical, passages_of_build, searched.default_threshold
            ),
            topic=topic_of(query, searched),
            lacking=searched.languages.lacks(query.question, lexical),
        )

    def _scored(
        self, table: CandidateTable, postings: Postings, queries: Vectors, search: SearchRecipe
    ) -> CandidateTable:
        """The first of both lists with one k1 and b; BM25 is computed from postings."""
        found, depth = table.candidates, search.candidates
        bm25: Scores = np.zeros(table.inside.shape)
        bm25[table.inside] = postings.scores(search.k1, search.b)
        first = bm25 > 0
        if (others := bm25.shape[1] - depth) > 0:
            first &= bm25 >= np.partition(bm25, others, axis=1)[:, [others]]
        first = table.inside & (first | (found.dense_rank < depth))
        # Kept in the table for the next k1 and b.
        rows, columns = np.nonzero(first & np.isnan(found.cosine))
        found.cosine[rows, columns] = self._cosines(queries[rows], found.keys[rows, columns])
        table = replace(table, candidates=replace(found, bm25=bm25)).taken(first)
        ranks = _lexical_ranks(table.candidates.bm25, table.inside)
        table = replace(table, candidates=replace(table.candidates, lexical_rank=ranks))
        return table.within("hybrid", depth)

    def _cosines(self, queries: Vectors, keys: Keys) -> Scores:
        similarities = (
            cosines(queries[at], self._dense.vectors(keys[at])) for at in blocks(len(keys))
        )
        return np.concatenate([np.empty(0), *similarities])

    def _searched(self, search: SearchRecipe) -> Corpus:
        # Recipes with every limit follow from these candidates: they know the topic in any case.
        recipe = Recipe(index=self._recipe, search=search.model_copy(update={"refuse": "auto"}))
        searched = corpus(self._services, self._set.base_id, recipe, self.index)
        return replace(searched, dense=self._dense)

    def _candidates(self, search: SearchRecipe, on_progress: ProgressCallback) -> list[Candidates]:
        candidates, searched = list[Candidates](), self._searched(search)
        for place, (question, query) in enumerate(zip(self.questions, self.queries, strict=True)):
            on_progress(place, len(self.questions))
            candidates.append(gather(question.text, search, searched, Timeline(), query)[1])
        return candidates

    def tokens(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Estimated tokens of passages, as a run counts them, shape (len(keys),)."""
        new = sorted(set(keys.tolist()).difference(self._tokens))
        chunks = self._services.database.fetch(passages.by_key, self.index.cut_id, new)
        self._tokens.update({key: estimates.tokens(chunk.text) for key, chunk in chunks.items()})
        return np.array([self._tokens.get(key, 0) for key in keys.tolist()], np.int64)


def _lexical_ranks(bm25: Scores, inside: Mask) -> Ranks:
    """Places by falling score, equal ones by key, of those above 0."""
    order = np.argsort(np.where(inside, -bm25, np.inf), axis=1, kind="stable")
    ranks = np.empty(bm25.shape, np.int32)
    np.put_along_axis(ranks, order, np.arange(bm25.shape[1], dtype=np.int32)[None], axis=1)
    return np.where(inside & (bm25 > 0), ranks, NOT_FOUND).astype(np.int32)


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


def alike(searches: Mapping[int, SearchRecipe], exact: bool) -> list[list[list[int]]]:
    """Numbers of the recipes that share what is fetched, and of these, those of one table."""
    groups: dict[Options, dict[Options, list[int]]] = {}
    for number, search in searches.items():
        options = _options(search, exact)
        groups.setdefault(options[2:], {}).setdefault(options, []).append(number)
    return [list(tables.values()) for tables in groups.values()]


_RANKED = SearchRecipe(mode="dense", threshold=None, refuse="off", candidates=2000)
"""Ranks a list that is ranked already."""


def pipeline_figures(
    source: CandidateSource,
    search: SearchRecipe,
    metrics: Sequence[str],
    *,
    deepest: int,
    as_shown: bool,
    with_context: bool,
    on_progress: ProgressCallback,
) -> QuestionFigures:
    """The figures of one recipe, as ``measure`` has them."""
    deep = search if as_shown else deepened(search, deepest)
    as_ranked = _RANKED.model_copy(update={"top_k": search.top_k})
    table = _ranked_table(source, deep, on_progress, with_context=with_context)
    width = table.inside.shape[1]
    figures = measure(table, [as_ranked], metrics, deepest=width, as_shown=as_shown)
    if deep.candidates == search.candidates or not with_context:
        return figures
    # What is shown goes no deeper than a search does.
    table = _ranked_table(source, search, on_progress, with_context=True)
    visible = measure(table, [as_ranked], metrics, as_shown=True)
    return replace(figures, shown=visible.shown, relevant=visible.relevant, tokens=visible.tokens)


def passages_above(
    source: CandidateSource, search: SearchRecipe, on_progress: ProgressCallback
) -> list[tuple[Keys, Scores]]:
    """All passages above the threshold, a number or None, for each question of a source.

    They have their scores, and are best first.
    """
    if search.threshold == "auto":
        raise ValueError("a threshold is resolved before recipes are measured")
    calibration = source.calibration if search.relevance == "probability" else None
    passages = []
    for candidates, nearness in source.by_question(search, on_progress):
        selection = select(candidates, search, search.threshold, calibration, nearness)
        places = np.concatenate([selection.kept, selection.beyond])
        passages.append((candidates.keys[places], selection.scores[places]))
    return passages


def _ranked_table(
    source: CandidateSource,
    search: SearchRecipe,
    on_progress: ProgressCallback,
    *,
    with_context: bool,
) -> CandidateTable:
    """The passages above the threshold, in an only list that ranks them as they are."""
    rows = []
    for keys, _ in passages_above(source, search, on_progress):
        places = np.arange(len(keys), dtype=np.int32)
        absent = np.full(len(keys), NOT_FOUND, np.int32)
        scores = -places.astype(np.float64)
        rows.append(Candidates(keys, scores, np.zeros(len(keys)), places, absent))
    return source.tabled(rows, with_context=with_context)
