"""Intervals: by hand, against scipy, and whether they cover as often as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rag import Interval
from rag.evaluation.inference.clusters import Clusters
from rag.evaluation.intervals import mean_intervals, rate_interval, wilson

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
