"""Intervals of figures and of runs: by hand, against scipy, and how often they cover."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rag import Interval, Question, QuestionResult
from rag.evaluation import (
    Clusters,
    OpenPair,
    by_tag,
    difference_bounds,
    mean_intervals,
    rate_interval,
    run_intervals,
    unjudged_share,
    wilson,
)
from rag.types import Evidence
from tests.runs import SET, WORDS, handbook

FIGURES = st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0, 1 / 3]), min_size=1, max_size=30)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (41, 300)])
def test_wilson_equals_scipy(successes, trials):
    theirs = binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson(successes, trials) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_without_questions_nothing_is_known():
    assert wilson(0, 0) == rate_interval(0, 0) == Interval(0.0, 1.0)
    assert mean_intervals(np.empty((2, 0))).tolist() == [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 7), (7, 7), (19, 20)])
def test_rates_have_the_exact_interval(successes, trials):
    theirs = binomtest(successes, trials).proportion_ci(method="exact")
    assert rate_interval(successes, trials) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    hits = np.arange(trials) < successes
    assert mean_intervals(hits * 1.0) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    graded = np.array([0.5, 1.0, 0.0, 1.0])  # fewer than eight: as 2.5 of 4
    assert mean_intervals(graded) == pytest.approx(rate_interval(2.5, 4))


def test_a_perfect_score_on_few_questions_is_not_certain():
    # the exact interval of a rate: 0.025 ** (1 / 10) = 0.6915
    assert mean_intervals(np.ones(10)) == pytest.approx([0.6915, 1.0], abs=1e-4)
    assert mean_intervals(np.zeros(10)) == pytest.approx([0.0, 0.3085], abs=1e-4)
    # 0.2 on all: what was not seen, 0.3085 of the questions, may be 0, or may be 1
    assert mean_intervals(np.full(10, 0.2)) == pytest.approx([0.1383, 0.4468], abs=4e-3)


def test_bounds_are_those_of_drawn_weights():
    values = np.random.default_rng(3).beta(1, 3, 40)
    weights = np.random.default_rng(1).exponential(size=(200_000, 41))
    weights /= weights.sum(axis=1, keepdims=True)
    low = np.quantile(weights @ np.append(values, 0.0), 0.025)
    high = np.quantile(weights @ np.append(values, 1.0), 0.975)
    assert mean_intervals(values) == pytest.approx((low, high), abs=0.001)


def test_the_order_of_questions_does_not_matter():
    values = np.random.default_rng(3).random(50)
    assert np.array_equal(mean_intervals(values), mean_intervals(values[::-1]))


def test_a_cluster_counts_as_one_question():
    values = np.random.default_rng(3).random(30)
    three = Clusters(np.repeat(np.arange(30), 3))
    thrice = mean_intervals(np.repeat(values, 3), three)
    assert thrice == pytest.approx(mean_intervals(values), abs=1e-9)
    alone = mean_intervals(values, Clusters.of([str(each) for each in range(30)]))
    assert np.array_equal(alone, mean_intervals(values))
    assert three.design_effect(np.repeat(values, 3)) == pytest.approx(3.0, abs=0.1)
    assert Clusters.single(30).design_effect(values) == 1.0


def test_rows_are_independent_and_repeatable():
    values = np.random.default_rng(0).random((2, 3, 40))
    whole = mean_intervals(values)
    assert whole.shape == (2, 3, 2)
    assert np.allclose(whole[1, 2], mean_intervals(values[1, 2]), atol=1e-12)
    assert np.array_equal(whole, mean_intervals(values))


def test_many_questions_have_the_interval_of_the_normal_distribution():
    values = np.tile([0.0, 0.5, 1.0, 0.5], 2000)
    error = values.std() / np.sqrt(len(values))
    low, high = mean_intervals(values)
    assert low == pytest.approx(0.5 - 1.96 * error, abs=0.1 * error)
    assert high == pytest.approx(0.5 + 1.96 * error, abs=0.1 * error)


@given(FIGURES)
@settings(max_examples=80, deadline=None)
def test_the_mean_lies_within_its_interval_and_that_within_the_range(figures):
    low, high = mean_intervals(np.array(figures))
    assert low < high
    assert 0.0 <= low <= np.mean(figures) + 1e-12
    assert np.mean(figures) - 1e-12 <= high <= 1.0


def _reciprocal_ranks(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    shares = [0.55, 0.15, 0.1, 0.1, 0.1]
    return rng.choice([1, 1 / 2, 1 / 3, 1 / 4, 0], p=shares, size=shape)


@pytest.mark.parametrize("questions", [5, 10, 30, 100])
@pytest.mark.parametrize(
    ("population", "truth"),
    [
        (lambda rng, shape: (rng.random(shape) < 0.7) * 1.0, 0.7),
        (lambda rng, shape: (rng.random(shape) < 0.95) * 1.0, 0.95),
        (lambda rng, shape: np.where(rng.random(shape) < 0.2, 0, rng.beta(3, 2, shape)), 0.48),
        (_reciprocal_ranks, 0.55 + 0.075 + 0.1 / 3 + 0.025),
    ],
    ids=["hits", "rare misses", "ndcg", "reciprocal ranks"],
)
def test_intervals_cover_about_as_often_as_they_say(population, truth, questions):
    samples = population(np.random.default_rng(11), (500, questions))
    intervals = mean_intervals(samples)
    covered = np.mean((intervals[:, 0] <= truth) & (truth <= intervals[:, 1]))
    # Of 500 samples; the interval holds for every distribution, so it is wide for most.
    assert covered >= 0.94


def _result(number: int, answerable: bool, metrics: dict[str, float], came: int) -> QuestionResult:
    ranking = tuple((f"{place:016x}", 1.0, 0) for place in range(came))
    return QuestionResult(str(number), "?", (), answerable, metrics, ranking, None, 0, 1)


def test_each_metric_over_the_questions_that_have_it():
    values = np.linspace(0, 1, 12)
    results = [_result(n, True, {"a@1": v}, 1) for n, v in enumerate(values.tolist())]
    results += [_result(12, True, {"a@1": 0.5, "span_a@1": 0.25}, 0), _result(13, False, {}, 0)]
    names = ["false_refusal", "a@1", "span_a@1", "correct_refusal", "absent@1"]
    found = run_intervals.intervals(results, names)
    assert list(found) == ["false_refusal", "a@1", "span_a@1", "correct_refusal"]
    assert found["a@1"] == Interval(*mean_intervals(np.append(values, 0.5)).tolist())
    assert found["span_a@1"] == Interval(*mean_intervals(np.array([0.25])).tolist())
    assert found["correct_refusal"] == rate_interval(1, 1)
    assert found["false_refusal"] == rate_interval(1, 13)


def test_tags_by_hand():
    code, table = ("code",), ("table", "code", "code")  # said twice, it counts once
    results = [
        replace(_result(0, True, {"a@1": 1.0}, 1), tags=code),
        replace(_result(1, True, {"a@1": 0.5}, 0), tags=table),
        replace(_result(2, False, {}, 0), tags=("none",)),
        _result(3, True, {"a@1": 0.0}, 1),
    ]
    found = by_tag(results, ["a@1", "correct_refusal"])
    assert [(each.tag, each.questions, each.means) for each in found] == [
        ("code", 2, {"a@1": 0.75}),
        ("none", 1, {"correct_refusal": 1.0}),
        ("table", 1, {"a@1": 0.5}),
    ]
    assert found[0].intervals == run_intervals.intervals(results[:2], ["a@1"])
    assert found[1].intervals == {"correct_refusal": rate_interval(1, 1)}


def _key(number: int) -> str:
    return f"{number:016x}"


def test_unjudged_by_hand():
    spans = {"a": [(1, 0, 10), (2, 10, 20), (3, 20, 30)]}
    questions = [
        Question("q", "?", (Evidence("a", 0, 10), Evidence("a", 20, 30, 0))),
        Question("none", "?", answerable=False),
    ]
    rankings = {"q": [_key(9), _key(3), _key(1), _key(2)], "none": [_key(1)]}
    found = unjudged_share(questions, rankings, spans, k=3)
    assert (found.hits, found.unjudged, found.share) == (3, 1, pytest.approx(1 / 3))
    assert found.precision == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    # The open hit stands first: with it the ideal has two relevant passages, and so has the list.
    best = (1 + 1 / 2) / (1 + 1 / np.log2(3))
    # And there may be more relevant passages than the first three have room for.
    worst = (1 / 2) / (1 + 1 / np.log2(3) + 1 / 2)
    assert found.ndcg == (pytest.approx(worst), pytest.approx(best))


def test_documents_are_judged_as_documents():
    question = Question("q", "?", (Evidence("a", 0, None), Evidence("b", 0, None, 0)))
    found = unjudged_share([question], {"q": ["b", "c", "a"]}, {}, k=5)
    assert (found.hits, found.unjudged) == (3, 1)
    assert found.precision == (pytest.approx(1 / 5), pytest.approx(2 / 5))


def test_questions_of_one_outcome_are_bounded_once(monkeypatch):
    computed = list[str]()

    def counting(measure: str, pair: OpenPair) -> Interval:
        computed.append(measure)
        return difference_bounds(measure, pair)

    run_intervals._bounds_alone.cache_clear()
    monkeypatch.setattr(run_intervals, "difference_bounds", counting)
    questions = [Question(f"q{at}", "?", (Evidence(f"d{at}", 0, None),)) for at in range(40)]
    rankings = {f"q{at}": [f"d{at + 1}", f"d{at}"] for at in range(40)}
    alone = unjudged_share(questions[:1], rankings, {}, k=10)
    together = unjudged_share(questions, rankings, {}, k=10)
    assert together.ndcg == pytest.approx(alone.ndcg)
    assert computed == ["precision", "ndcg"]


def test_nothing_labelled():
    assert unjudged_share([Question("q", "?", answerable=False)], {"q": []}, {}, k=5) is None


def test_of_a_kept_run(home):
    workspace, base = handbook(home)
    found = base.runs.evaluate(SET, WORDS, [1, 5])
    ends = base.runs.intervals(found.run.id)
    assert list(ends) == list(found.run.metrics)
    for name, value in found.run.metrics.items():
        assert ends[name].low <= value <= ends[name].high, name
    share = base.runs.unjudged(found.run.id, k=5)
    assert share.current
    assert share.precision.low <= found.run.metrics["precision@5"] <= share.precision.high
    assert share.ndcg.low <= found.run.metrics["ndcg@5"] + 1e-12
    workspace.close()


def test_labels_that_changed_are_said(home):
    workspace, base = handbook(home)
    found = base.runs.evaluate(SET, WORDS, [5])
    line = {"id": "q1", "text": "?", "evidence": [{"document": "pump.txt", "quote": "Grease"}]}
    base.questions.import_file(SET, "questions.jsonl", json.dumps(line))
    share = base.runs.unjudged(found.run.id, k=5)
    assert not share.current
    workspace.close()
