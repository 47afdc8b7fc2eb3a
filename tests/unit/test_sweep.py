"""Sweeps of a knowledge base: what they measure, confirm and refuse."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rag import (
    Grid,
    InvalidFile,
    InvalidInput,
    InvalidRecipe,
    KnowledgeBase,
    NotFound,
    Question,
    Recipe,
    SearchRecipe,
)
from rag.evaluation import CandidateTable, Judge, measure
from rag.experiments.tuning import candidates
from rag.retrieval import NOT_FOUND, Candidates, select
from rag.types import Evidence
from tests.runs import SET, WORDS, handbook, swept_metrics
from tests.workspaces import QUICK

GRID: Mapping[str, list[Any]] = {
    "search.mode": ["dense", "lexical", "hybrid"],
    "search.fusion": ["weighted", "rrf"],
    "search.dense_weight": [0.0, 0.3, 1.0],
    "search.candidates": [2, 50],
    "search.k1": [0.4, 1.2],
    "search.threshold": [None, "auto", 0.3],
    "search.top_k": [1, 5],
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return handbook(tmp_path_factory.mktemp("home"))[1]


BY_WORDS: Mapping[str, list[Any]] = {
    "search.mode": ["lexical", "hybrid"],
    "search.k1": [0.0, 0.9, 3.0],
    "search.b": [0.0, 0.75, 1.0],
    "search.fuzzy": [False, True],
    "search.prefix": [False, True],
    "search.spelling": [False, True],
    "search.documents": [[], ["a*"]],
    "search.candidates": [2, 5],
    "search.threshold": [None, 0.2],
}


def test_another_k1_and_b_make_what_a_search_with_them_finds(base, monkeypatch):
    sweeper, grid = base.tuning.sweeper(SET), Grid.parse(BY_WORDS, WORDS)
    sweep = sweeper.sweep(grid, (1, 2), with_context=True)
    assert sweeper.verify(sweep, 150, seed=1) == []
    monkeypatch.setattr(candidates, "MOST_POSTINGS", 0)  # each pair is searched by itself
    searched = base.tuning.sweeper(SET).sweep(grid, (1, 2), with_context=True)
    assert np.array_equal(sweep.figures, searched.figures)
    assert len(np.unique(sweep.figures, axis=0)) > 5


def test_figures_are_those_that_an_evaluation_stores(base):
    sweep = base.tuning.sweep(SET, GRID, WORDS, (1, 3))
    for number in (0, 100, 431):
        recipe = sweep.grid.recipe(number)
        run = base.runs.evaluate(SET, recipe, (1, 3)).run
        assert sweep.metrics(number) == swept_metrics(run.metrics)
        assert recipe == WORDS.with_fields(sweep.grid.changes(number))
    assert sweep.base == swept_metrics(base.runs.evaluate(SET, WORDS, (1, 3)).run.metrics)


def test_a_wrong_figure_is_not_confirmed(base):
    sweeper = base.tuning.sweeper(SET)
    sweep = sweeper.sweep(Grid.parse({"search.top_k": [3]}, WORDS), (1,))
    wrong = sweep.figures.copy()
    wrong[0, sweep.names.index("recall@1")] = np.nextafter(wrong[0, 1], 2)
    (found,) = sweeper.verify(replace(sweep, figures=wrong), 5)
    assert (found.name, found.recipe.search.top_k) == ("recall@1", 3)
    assert found.swept > found.evaluated


def test_the_best_come_first_and_the_base_has_its_place(base):
    grid = {"search.threshold": [1.0, None], "search.mode": ["lexical", "dense"]}
    sweep = base.tuning.sweep(SET, grid, WORDS, (3,))
    values = [sweep.metrics(number)["ndcg@3"] for number in range(4)]
    assert [sweep.metrics(number)["ndcg@3"] for number in sweep.best("ndcg@3", 9)] == sorted(
        values, reverse=True
    )
    assert sweep.place("ndcg@3") == 1 + sum(value > sweep.base["ndcg@3"] for value in values)
    assert min(values) == 0.0  # nothing is as relevant as 1.0


def test_recipes_that_cannot_be_told_apart_count_once(base):
    idle = {"search.mode": ["lexical"], "search.dense_weight": [0.1, 0.9], "search.rrf_k": [5, 60]}
    sweep = base.tuning.sweep(SET, idle | {"search.threshold": [None, 1.0]}, WORDS, (3,))
    assert (len(sweep.grid), sweep.distinct) == (8, 2)


def test_index_fields_split_the_grid_into_builds(base):
    grid = Grid.parse({"index.chunk_size": [24, 24, 48], "search.dense_weight": [0.2, 0.8]}, QUICK)
    assert [recipe.index.chunk_size for recipe in grid.indexes()] == [24, 48]
    assert [grid.changes(number) for number in range(len(grid))] == [
        {"index.chunk_size": size, "search.dense_weight": weight}
        for size in (24, 48)
        for weight in (0.2, 0.8)
    ]
    overlapping = {"index.chunk_size": [30, 400], "index.chunk_overlap": [25]}
    assert len(Grid.parse(overlapping, QUICK)) == 2


def test_documents_that_are_not_cut_are_built_once_whatever_the_size():
    fields = {"index.chunker": ["whole", "fixed"], "index.chunk_size": [24, 48]}
    grid = Grid.parse(fields, QUICK)
    assert grid.builds == (
        {"index.chunker": "whole", "index.chunk_size": 24},
        {"index.chunker": "fixed", "index.chunk_size": 24},
        {"index.chunker": "fixed", "index.chunk_size": 48},
    )
    assert grid.repeated == ({"index.chunker": "whole", "index.chunk_size": 48},)
    assert len(grid) == 3


def test_as_shown_cuts_at_top_k(base):
    sweeper, grid = base.tuning.sweeper(SET), Grid.parse({"search.top_k": [1, 10]}, WORDS)
    whole, shown = sweeper.sweep(grid, (1, 3)), sweeper.sweep(grid, (1, 3), as_shown=True)
    assert np.array_equal(whole.figures[0], whole.figures[1])
    assert np.array_equal(shown.figures[1], whole.figures[1])
    one = shown.metrics(0)
    assert one["recall@3"] == one["recall@1"] == whole.metrics(0)["recall@1"]
    assert one["precision@3"] == pytest.approx(one["precision@1"] / 3)
    with pytest.raises(InvalidInput, match="whole rankings"):
        sweeper.verify(shown, 1)


@pytest.mark.parametrize(
    ("grid", "error", "said"),
    [
        (["search.top_k"], InvalidFile, "JSON object"),
        ({"search.top": [1]}, InvalidRecipe, "search.top"),
        ({"top_k": [1]}, InvalidRecipe, "top_k"),
        ({"search.top_k": 5}, InvalidRecipe, "no list of values for 'search.top_k'"),
        ({"search.mode": "dense"}, InvalidRecipe, "no list of values"),
        ({"search.top_k": []}, InvalidRecipe, "no list of values"),
        ({"search.top_k": [5, 0]}, InvalidRecipe, "search.top_k"),
        ({"search.dense_weight": [0.5, [1]]}, InvalidRecipe, "search.dense_weight"),
        ({"index.chunk_size": [100], "index.chunk_overlap": [100]}, InvalidRecipe, "less than"),
        ({"answer.temperature": [0.1]}, InvalidRecipe, "does not change the results of a search"),
        (
            {"search.rrf_k": list(range(1, 1001)), "search.top_k": list(range(1, 1001))}
            | {"search.mode": ["dense", "hybrid"]},
            InvalidInput,
            "2,000,000 recipes",
        ),
    ],
)
def test_a_wrong_grid_is_refused(grid, error, said):
    with pytest.raises(error, match=said):
        Grid.parse(grid, Recipe())


def test_tools_are_refused_before_anything_is_fetched(base):
    sweeper, progress = base.tuning.sweeper(SET), list[tuple[float, ...]]()
    grid = Grid.parse({"search.tools": [[], ["docs"]]}, WORDS)
    with pytest.raises(InvalidInput, match="the results of docs have none"):
        sweeper.sweep(grid, (1,), on_progress=lambda *at: progress.append(at))
    assert progress == []


def test_unknown_and_unlabelled_sets_are_refused(base):
    with pytest.raises(NotFound):
        base.tuning.sweep("no such set", {}, WORDS)
    base.questions.import_file("bare", "bare.jsonl", '{"id": "a", "text": "What?"}')
    with pytest.raises(InvalidInput, match="label"):
        base.tuning.sweep("bare", {}, WORDS)


def _recall(
    candidates: Candidates, relevant: int, search: SearchRecipe, threshold: float | None, k: int
) -> float:
    """Recall@k, swept, where one passage is relevant."""
    question = Question("q", "?", (Evidence("d", relevant * 10, relevant * 10 + 10),))
    spans = {"d": [(key, key * 10, key * 10 + 10) for key in candidates.keys.tolist()]}
    judge = Judge(spans, {"d": candidates.keys})
    table = CandidateTable.of([question], [candidates], judge)
    recipe = search.model_copy(update={"threshold": threshold, "top_k": k})
    figures = measure(table, [recipe], [f"recall@{k}"])
    return float(figures.metrics[f"recall@{k}"][0, 0])


def test_all_weight_on_one_list_of_ranks_leaves_ties_to_the_keys():
    """Two passages that the words did not find: one is ahead in both lists, the other in key."""
    keys = np.arange(1, 5)
    cosine, bm25 = np.array([0.5, 0.9, -0.5, -0.6]), np.array([1.0, 2.0, 10.0, 9.0])
    dense = np.array([1, 0, 2, 3], np.int32)
    words = np.array([3, 2, 0, 1], np.int32)
    search = SearchRecipe(mode="hybrid", fusion="rrf", dense_weight=0.0, candidates=2, top_k=1)
    found = [np.where(ranks < 2, ranks, NOT_FOUND).astype(np.int32) for ranks in (dense, words)]
    selection = select(Candidates(keys, cosine, bm25, *found), search, 0.0)
    assert keys[selection.kept].tolist() == [1]
    assert _recall(Candidates(keys, cosine, bm25, dense, words), 1, search, 0.0, 1) == 1.0


def test_scores_that_rounding_makes_equal_are_ordered_by_key():
    """The second is ahead of the first in both lists, but only in the last bit."""
    search, ranks = SearchRecipe(mode="hybrid", top_k=2), np.array([2, 1, 3, 0], np.int32)
    for value in np.linspace(0.5, 0.9, 400):
        figures = np.array([value, np.nextafter(value, 2), 0.0, 1.7])
        candidates = Candidates(np.arange(1, 5), figures, figures, ranks, ranks)
        selection = select(candidates, search, None)
        if selection.scores[0] == selection.scores[1]:
            break
    assert candidates.keys[selection.kept].tolist() == [4, 1]
    assert _recall(candidates, 1, search, None, 2) == 1.0
