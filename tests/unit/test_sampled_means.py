"""Means from a random sample and a judge that is not believed."""

import numpy as np
import pytest

from rag import Interval, InvalidInput, OpenHits
from rag.evaluation.pooling.sampling import SampledMean, agreement, sampled_mean

POOL, SAMPLE, DRAWS = 1000, 60, 500


def _draws(relevant: float, right: float, wrong: float) -> list[tuple[float, SampledMean]]:
    """The truth and an estimate of it, drawn again and again.

    The judge calls a share ``right`` of the relevant hits relevant, and ``wrong`` of the others.
    """
    rng = np.random.default_rng(11)
    found = []
    for _ in range(DRAWS):
        truth = (rng.random(POOL) < relevant).astype(np.float64)
        judge = (rng.random(POOL) < np.where(truth > 0, right, wrong)).astype(np.float64)
        drawn = rng.choice(POOL, SAMPLE, replace=False)
        estimate = sampled_mean(truth[drawn], POOL, judge[drawn], judge)
        found.append((float(truth.mean()), estimate))
    return found


@pytest.mark.parametrize(
    ("relevant", "right", "wrong"),
    [
        (0.5, 0.85, 0.15),
        (0.5, 0.99, 0.6),  # says yes too often
        (0.3, 0.6, 0.01),  # says no too often
        (0.2, 0.9, 0.3),
        (0.5, 0.5, 0.5),  # knows nothing
        (0.5, 0.15, 0.85),  # is wrong throughout
    ],
)
def test_the_interval_covers_the_truth_whatever_the_judge_does(relevant, right, wrong):
    draws = _draws(relevant, right, wrong)
    covered = np.mean(
        [found.interval.low <= truth <= found.interval.high for truth, found in draws]
    )
    assert covered >= 0.93  # 0.95 less twice the error of 500 draws
    assert all(found.narrower >= 0.0 for _, found in draws)  # never wider than people alone


def test_a_judge_of_85_percent_saves_a_fifth_of_the_width():
    narrower = [found.narrower for _, found in _draws(0.5, 0.85, 0.15)]
    assert 0.2 <= np.mean(narrower) <= 0.29


def test_people_alone():
    rng = np.random.default_rng(2)
    truth = (rng.random(400) < 0.1).astype(np.float64)
    found = sampled_mean(truth[:50], 400)
    assert (found.power, found.interval, found.mean) == (0.0, found.people, truth[:50].mean())
    everything = sampled_mean(truth, 400)
    assert everything.interval == (truth.mean(), truth.mean())
    none = sampled_mean(np.zeros(50), 400)
    assert none.interval.low == 0.0
    assert 0.05 < none.interval.high < 0.1
    with pytest.raises(InvalidInput, match="9 hits of the random sample"):
        sampled_mean(np.zeros(9), 400)


def test_a_judge_that_agreed_throughout_leaves_no_interval_without_width():
    truth = np.tile([0.0, 1.0], 30)
    found = sampled_mean(truth, 600, truth, np.tile([0.0, 1.0], 300))
    assert found.mean == pytest.approx(0.5)
    assert found.interval.high - found.interval.low > 0.05


def test_agreement():
    # Fleiss, Cohen and Everitt's formula by hand: 40 and 40 agreed, 10 and 10 not.
    people = np.repeat([1.0, 1.0, 0.0, 0.0], [40, 10, 10, 40])
    judge = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 10, 10, 40])
    found = agreement(people, judge)
    assert (found.hits, found.agreed) == (100, 80)
    assert found.kappa == pytest.approx(0.6)
    assert found.interval == pytest.approx((0.6 - 1.96 * 0.08, 0.6 + 1.96 * 0.08))
    assert agreement(np.ones(5), np.ones(5)).kappa is None
    assert agreement(np.empty(0), np.empty(0)).kappa is None


def test_a_sample_says_how_much_precision_the_labels_miss():
    mean = SampledMean(0.4, Interval(0.3, 0.5), Interval(0.3, 0.5), 0.0, 30, 60)
    hits = OpenHits(60, 30, mean, questions=20)
    assert hits.more_precision is not None
    more, (low, high) = hits.more_precision
    # 60 of 200 places are open: four tenths of them are 24 relevant hits more.
    assert (round(more, 9), round(low, 9), round(high, 9)) == (0.12, 0.09, 0.15)
    assert OpenHits(60, 30, mean).more_precision is None
