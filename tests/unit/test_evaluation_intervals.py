"""Intervals: by hand, against scipy, and whether they cover as often as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap, norm, t

from rag.evaluation.intervals import Interval, bootstrap_intervals, mean_intervals, wilson

FIGURES = st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0, 1 / 3]), min_size=1, max_size=30)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (41, 300)])
def test_wilson_equals_scipy(successes: int, trials: int) -> None:
    theirs = binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson(successes, trials) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_without_questions_nothing_is_known() -> None:
    assert wilson(0, 0) == Interval(0.0, 1.0)
    assert mean_intervals(np.empty((2, 0))).tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_a_perfect_score_on_few_questions_is_not_certain() -> None:
    assert mean_intervals(np.ones(10)) == pytest.approx([0.7225, 1.0], abs=1e-4)
    assert mean_intervals(np.zeros(10)) == pytest.approx([0.0, 0.2775], abs=1e-4)
    # 0.2 on all: the unseen share 0.2775 may be 0, or may be 1
    assert mean_intervals(np.full(10, 0.2)) == pytest.approx([0.1445, 0.4220], abs=1e-4)


def test_two_values_are_a_rate_on_another_scale() -> None:
    values = np.array([0.2] * 9 + [0.0] * 3)
    assert mean_intervals(values) == pytest.approx(np.array(wilson(9, 12)) * 0.2, abs=1e-12)


def test_the_bootstrap_is_scipys_with_a_wider_tail() -> None:
    values = np.random.default_rng(3).random(200)
    theirs = bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=1)
    ours = bootstrap_intervals(values, resamples=20_000)
    ends = (theirs.confidence_interval.low, theirs.confidence_interval.high)
    assert ours == pytest.approx(ends, abs=0.002)


@pytest.mark.parametrize("questions", [8, 10, 20])
def test_with_few_questions_the_tail_is_as_wide_as_that_of_a_t_interval(questions: int) -> None:
    values = np.random.default_rng(5).random(questions)
    # Hesterberg: the normal tail beyond sqrt(n / (n - 1)) times the quantile of t.
    tail = norm.cdf(np.sqrt(questions / (questions - 1)) * t.ppf(0.025, questions - 1))
    low, high = bootstrap(
        (values,),
        np.mean,
        method="percentile",
        n_resamples=100_000,
        rng=1,
        confidence_level=1 - 2 * tail,
    ).confidence_interval
    ours = bootstrap_intervals(values, resamples=100_000)
    assert ours == pytest.approx((low, high), abs=0.01 * (high - low))


def test_rows_are_independent_and_repeatable() -> None:
    values = np.random.default_rng(0).random((2, 3, 40))
    whole = mean_intervals(values)
    assert whole.shape == (2, 3, 2)
    assert np.allclose(whole[1, 2], mean_intervals(values[1, 2]), atol=1e-12)
    assert np.array_equal(whole, mean_intervals(values))


def test_batches_of_draws_do_not_change_the_level() -> None:
    # So many questions that the draws do not fit into one batch.
    values = np.tile([0.0, 0.5, 1.0, 0.5], 2000)
    error = values.std() / np.sqrt(len(values))
    low, high = mean_intervals(values, resamples=600)
    assert low == pytest.approx(0.5 - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(0.5 + 1.96 * error, abs=0.2 * error)


@given(FIGURES)
@settings(max_examples=80, deadline=None)
def test_the_mean_lies_within_its_interval_and_that_within_the_range(figures: list[float]) -> None:
    low, high = mean_intervals(np.array(figures), resamples=300)
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
def test_intervals_cover_about_as_often_as_they_say(population, truth, questions) -> None:
    samples = population(np.random.default_rng(11), (500, questions))
    intervals = mean_intervals(samples, resamples=600)
    covered = np.mean((intervals[:, 0] <= truth) & (truth <= intervals[:, 1]))
    # Rates of few questions are discrete, so no interval has its level exactly.
    assert covered >= 0.90
    assert covered <= (0.995 if questions >= 30 else 1.0)
