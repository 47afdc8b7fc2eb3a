"""The randomisation test against scipy and in simulation, Holm by hand, power in simulation."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, permutation_test

from rag.evaluation import significance
from rag.evaluation.inference.clusters import Clusters
from rag.evaluation.significance import RESAMPLES, holm, paired_tests, sign_patterns
from rag.types import Floats

# Eighths, whose sums are exact: the other one takes rounding for a difference.
STEPS = st.integers(-4, 4).map(lambda step: step / 8)


def randomisation_p(
    differences: Floats, resamples: int = RESAMPLES, clusters: Clusters | None = None
) -> float:
    """The randomisation test of ``paired_tests`` without its margin for skewed differences."""
    units = clusters or Clusters.single(len(differences))
    totals = np.round(units.sums(differences[None]), significance._DECIMALS)
    if not totals.any():
        return 1.0
    ahead = totals if totals.sum() >= 0 else -totals
    return float(
        significance._sign_flips(*significance._sorted(ahead, units.sizes), resamples)[0][0]
    )


@given(st.lists(STEPS, min_size=2, max_size=9))
@settings(max_examples=40, deadline=None)
def test_the_exact_test_equals_scipys(steps):
    differences = np.array(steps)
    theirs = permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert randomisation_p(differences) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_by_hand():
    # Of the eight sign patterns of (1, 2, 3) only +++ and --- are as far from 0 as 6.
    assert randomisation_p(np.array([0.1, 0.2, 0.3])) == 2 / 8
    # 0.1 + 0.2 and 0.3 tie although their binary sums differ: patterns with |sum| >= 0 are all.
    assert randomisation_p(np.array([0.1, 0.2, -0.3])) == 1.0
    assert randomisation_p(np.array([0.5, 0.0, 0.0])) == 1.0
    # However many are equal, the patterns of those that differ are all tried.
    assert randomisation_p(np.array([0.1, 0.2, 0.3, *[0.0] * 20])) == 2 / 8


def test_identical_runs_and_no_questions_have_p_one():
    assert randomisation_p(np.zeros(50)) == 1.0
    assert randomisation_p(np.empty(0)) == 1.0


def test_random_patterns_agree_with_all_patterns():
    differences = np.random.default_rng(5).normal(0.3, 1.0, 13)
    doubled = np.repeat(differences, 2) / 2  # 26 differences: drawn at random
    theirs = permutation_test(
        (doubled,), np.sum, permutation_type="samples", n_resamples=50_000, rng=2
    )
    assert randomisation_p(doubled) == pytest.approx(theirs.pvalue, abs=0.02)


def test_p_is_never_zero():
    assert randomisation_p(np.full(300, 0.5), resamples=999) == 1 / 1000
    assert randomisation_p(np.full(5, 0.5)) == 2 / 32


def test_the_direction_does_not_matter_and_the_seed_repeats():
    differences = np.random.default_rng(8).normal(0.1, 1.0, 40)
    assert randomisation_p(differences) == pytest.approx(randomisation_p(-differences), abs=1e-12)
    assert randomisation_p(differences) == randomisation_p(differences)


def test_one_sign_for_each_cluster():
    differences = np.array([0.1, 0.2, 0.2, 0.1, 0.3])
    clusters = Clusters.of(["a", "b", "a", "b", "c"])  # sums 0.3, 0.3, 0.3
    assert randomisation_p(differences, clusters=clusters) == 2 / 8
    lone = Clusters.of(list("vwxyz"))
    assert randomisation_p(differences, clusters=lone) == randomisation_p(differences) == 2 / 32


def test_the_order_of_questions_does_not_matter():
    rng = np.random.default_rng(5)
    rows, names = rng.normal(0.05, 0.2, (3, 60)), rng.integers(25, size=60)
    order = rng.permutation(60)
    straight = paired_tests(rows, Clusters.of(names.tolist()))
    mixed = paired_tests(rows[:, order], Clusters.of(names[order].tolist()))
    assert np.array_equal(straight.p, mixed.p)
    assert straight.intervals == pytest.approx(mixed.intervals, abs=1e-12)


@given(st.lists(STEPS, min_size=2, max_size=30), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_p_and_interval_agree_and_mirror(steps, share):
    rows = np.array([steps])
    clusters = Clusters.of([place // share for place in range(len(steps))])
    found, turned = paired_tests(rows, clusters), paired_tests(-rows, clusters)
    low, high = found.intervals[0]
    assert low < high
    assert (low <= 0 <= high) == (found.p[0] > 0.05)
    assert low - 1e-9 <= rows.mean() <= high + 1e-9
    assert turned.p == pytest.approx(found.p)
    if rows.sum():
        assert turned.intervals[0] == pytest.approx([-high, -low])


def test_the_interval_holds_what_the_test_would_not_reject():
    differences = np.random.default_rng(9).normal(0.1, 0.2, 60)
    low, high = paired_tests(differences[None]).intervals[0]
    # No question is so bad that it would matter here more than the test does.
    assert randomisation_p(differences - high) == pytest.approx(0.05, abs=0.01)
    assert 0.02 < randomisation_p(differences - low) <= 0.055


def test_holm_by_hand():
    # Sorted 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1, and never below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]).tolist() == []


def test_of_few_clusters_every_sign_pattern_is_there_once():
    (found,) = sign_patterns(2, 9999)
    assert sorted(found.tolist()) == [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]


def test_sign_patterns_are_those_of_one_draw_however_many_are_held_at_once():
    at_once = np.random.default_rng(0).integers(2, size=(9999, 37), dtype=np.int8)
    parts = np.concatenate(list(sign_patterns(37, 9999)))
    assert (parts == np.concatenate([np.ones((1, 37)), 1.0 - 2.0 * at_once])).all()


def test_a_test_of_five_thousand_questions_holds_a_hundred_megabytes():
    rows = np.random.default_rng(1).choice([-0.5, 0.0, 0.5], (3, 5000))
    tracemalloc.start()
    paired_tests(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000


def test_p_values_are_uniform_when_the_runs_are_equal():
    rng = np.random.default_rng(17)
    # Skewed scores: of two equal runs, not of a normal distribution.
    first, second = rng.beta(2, 1, (400, 40)), rng.beta(2, 1, (400, 40))
    values = [randomisation_p(row, resamples=999) for row in first - second]
    assert kstest(values, "uniform").pvalue > 0.05
