"""Curves and fronts around a recipe: each point is the figure of an ordinary evaluation."""

from dataclasses import replace

import pytest

from rag import (
    CostPoint,
    KnowledgeBase,
    Recipe,
    Trace,
    WhatIf,
    by_time,
    by_tokens,
    cheapest,
    pareto_front,
    present,
    search_times,
)
from tests.runs import SET, WORDS, handbook

HYBRID = WORDS.with_fields({"search.mode": "hybrid", "search.threshold": 0.2, "search.top_k": 2})


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return handbook(tmp_path_factory.mktemp("home"))[1]


@pytest.fixture(scope="module")
def what_if(base: KnowledgeBase) -> WhatIf:
    return WhatIf(base.tuning.tuner(SET), HYBRID, "all", 0.2)


def _metric(base: KnowledgeBase, name: str, **search: object) -> float:
    recipe = HYBRID.with_fields({f"search.{field}": value for field, value in search.items()})
    return base.runs.evaluate(SET, recipe, (1, 3, 10, 20)).run.metrics[name]


def test_only_search_fields_are_varied(what_if):
    changed, same = what_if.varied([{"top_k": 7}])
    assert changed == HYBRID.with_fields({"search.top_k": 7})
    assert same == HYBRID


def test_the_weight_curve_is_that_of_evaluations(base, what_if):
    curve = what_if.against_weight()
    for name in ("ndcg@10", "mrr@10", "recall@10"):
        for place in (0, 7, 20):
            expected = _metric(base, name, dense_weight=curve.x[place])
            assert curve.lines[name][place] == pytest.approx(expected)
    assert curve.lines["ndcg@10"][curve.x.index(curve.at)] == max(curve.lines["ndcg@10"])
    now = _metric(base, "ndcg@10")
    assert curve.best.difference == pytest.approx(max(curve.lines["ndcg@10"]) - now)


def test_the_threshold_curve_ends_where_nothing_comes_back(base, what_if):
    curve = what_if.against_threshold()
    assert set(curve.lines) == {"shown_precision", "recall@2", "answered", "correct_refusal"}
    assert curve.x[0] == 0.0
    assert {len(row) for row in curve.lines.values()} == {len(curve.x)}
    assert curve.lines["answered"][-1] == 0.0
    assert curve.lines["answered"][-3] > 0.0
    for place in (0, 4, 8):
        refused = _metric(base, "correct_refusal", threshold=curve.x[place])
        assert curve.lines["correct_refusal"][place] == refused
    now = _metric(base, "recall@2", threshold=what_if.threshold)
    best = what_if.best_threshold(curve.at)
    assert best.baseline == pytest.approx(now)
    assert best.mean == max(curve.lines["recall@2"])
    assert best.compared == 41  # steps, also those where nothing comes back


def test_the_depth_curve_counts_tokens(base, what_if):
    curve = what_if.against_depth()
    assert curve.lines["recall"][2] == pytest.approx(_metric(base, "recall@3"))
    assert curve.lines["precision"][0] == pytest.approx(_metric(base, "precision@1"))
    run = base.runs.evaluate(SET, HYBRID).run  # which shows two passages
    assert round(curve.lines["tokens"][1], 1) == run.context_tokens


def test_the_map_scores_refusals_too(base, what_if):
    found = what_if.weight_and_threshold()
    assert found.refusals
    assert (len(found.scores), len(found.scores[0])) == (len(found.weights), len(found.thresholds))
    ndcg, refused = _metric(base, "ndcg@10"), _metric(base, "correct_refusal")
    assert found.now == pytest.approx((4 * ndcg + refused) / 5)


def test_no_step_of_the_curves_beats_the_best_place_of_the_map(base, what_if):
    def score(**search: object) -> float:
        parts = (_metric(base, name, **search) for name in ("ndcg@10", "correct_refusal"))
        return (4 * next(parts) + next(parts)) / 5

    found = what_if.weight_and_threshold()
    weight, threshold = found.at
    best = score(dense_weight=weight, threshold=threshold)
    assert found.now + found.best.difference == pytest.approx(best)
    steps = [{"threshold": 0.025}, {"threshold": 0.175}, {"dense_weight": 0.65}]
    assert all(score(**step) <= best for step in steps)


def test_a_front_has_what_no_other_beats():
    drawn = [(100, 0.5), (200, 0.4), (200, 0.6), (300, 0.6), (400, 0.7)]
    front = pareto_front([CostPoint(cost, quality, {}) for cost, quality in drawn])
    assert [(each.cost, each.quality) for each in front] == [(100, 0.5), (200, 0.6), (400, 0.7)]
    assert cheapest(front, 0.55) == front[1]
    assert cheapest(front, 0.71) is None
    assert pareto_front([]) == []


def test_the_present_recipe_is_one_of_those_that_are_measured(what_if):
    points, now = by_tokens(what_if), present(what_if)
    assert len(points) == 11 * 9 * 11
    assert now.fields == {"top_k": 2, "threshold": 0.2, "dense_weight": 0.6}
    (same,) = [point for point in points if point.fields == now.fields]
    assert (same.cost, same.quality) == (now.cost, now.quality)
    words = replace(what_if, recipe=WORDS, threshold=None)
    assert len(by_tokens(words)) == 11 * 9
    assert present(words).fields == {"top_k": 5, "threshold": None}


def test_searches_are_timed_by_mode_and_candidates(base, what_if):
    asked: list[Recipe] = []

    def search(text: str, recipe: Recipe) -> Trace:
        asked.append(recipe)
        seconds = {"a": 0.001, "b": 0.002, "c": 0.9}[text] * recipe.search.candidates
        return replace(base.search("hotel", recipe), seconds=seconds)

    times = search_times(what_if, search, ["a", "b", "c"])
    assert times == [2.0 * count for _ in range(3) for count in (10, 20, 50, 100)]
    assert [recipe.search.mode for recipe in asked[::12]] == ["lexical", "dense", "hybrid"]
    *points, now = by_time(what_if, times)
    assert [point.cost for point in points] == times
    assert (now.cost, now.fields) == (200.0, {"mode": "hybrid", "candidates": 100})
    assert points[3].quality == _shown(base, mode="lexical", candidates=100)
    near = replace(what_if, recipe=HYBRID.with_fields({"search.candidates": 24}))
    assert by_time(near, times)[-1].cost == 40.0


def _shown(base: KnowledgeBase, **search: object) -> float:
    """nDCG@10 of what a search shows."""
    recipe = HYBRID.with_fields({f"search.{name}": value for name, value in search.items()})
    figures = base.tuning.tuner(SET).figures([recipe], ["ndcg@10"], as_shown=True)
    means = figures.means("ndcg@10")
    return float(means[0])
