"""Thresholds by hand: purity, loss, answers and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import ThresholdCurve, ThresholdPoint, whole_percent

# Question 0: 0.9 yes, 0.5 no. Question 1: 0.7 no, 0.4 yes. Question 2 has no answer: 0.6, 0.2.
# Question 3 has none either, and no candidates. Question 4 is answerable, without candidates.
BY_HAND = ThresholdCurve.of(
    np.array([0.9, 0.5, 0.7, 0.4, 0.6, 0.2]),
    np.array([True, False, False, True, False, False]),
    np.array([0, 0, 1, 1, 2, 2]),
    np.array([True, True, False, False, True]),
)


@pytest.mark.parametrize(
    ("threshold", "precision", "kept", "answered", "refused"),
    [
        (0.0, 2 / 6, 1.0, 2 / 3, 1 / 2),
        (0.4, 2 / 5, 1.0, 2 / 3, 1 / 2),  # exactly at the threshold stays
        (0.41, 1 / 4, 1 / 2, 2 / 3, 1 / 2),
        (0.65, 1 / 2, 1 / 2, 2 / 3, 1.0),
        (0.8, 1.0, 1 / 2, 1 / 3, 1.0),
        (0.95, None, 0.0, 0.0, 1.0),
    ],
)
def test_by_hand(threshold, precision, kept, answered, refused):
    point = BY_HAND.at(threshold)
    assert (
        point.precision,
        point.kept,
        point.answered,
        point.refused,
    ) == pytest.approx((precision, kept, answered, refused))


def test_all_but_one_are_not_a_hundred_percent():
    assert [whole_percent(share) for share in (0.0, 1 / 280, 0.5, 279 / 280, 1.0)] == [
        "0%",
        "0.4%",
        "50%",
        "99.6%",
        "100%",
    ]


def test_off_topic_questions_are_not_counted_among_the_unanswerable_ones():
    curve = ThresholdCurve.of(
        np.array([0.9, 0.3, 0.6]),
        np.array([True, False, False]),
        np.array([0, 1, 2]),
        np.array([True, False, False]),
        np.array([False, True, False]),
    )
    point = curve.at(0.5)
    assert (point.refusing, point.turning_away) == ((0, 1), (1, 1))
    assert point.figures()["counts"]["turned_away"] == (1, 1)


def _one_question(relevance: list[float], relevant: list[bool]) -> ThresholdCurve:
    owner = np.zeros(len(relevance), np.intp)
    return ThresholdCurve.of(np.array(relevance), np.array(relevant, bool), owner, np.array([True]))


def test_the_lowest_threshold_of_the_wanted_precision_is_aimed_at():
    values = [1 - number / 100 for number in range(30)]
    # Relevant: the first nine, not the next, then ten more, then none.
    curve = _one_question(values, [True] * 9 + [False] + [True] * 10 + [False] * 10)
    assert curve.aim(0.9) == curve.at(0.80)  # 19 of 21; 19 of 22 are fewer than 0.9
    assert curve.at(0.80).precision == pytest.approx(19 / 21)
    assert curve.aim(0.99) == curve.at(0.81)  # none reaches it: the highest there is


def test_a_threshold_takes_all_candidates_of_its_value():
    curve = _one_question([0.5] * 20, [True] * 10 + [False] * 10)
    expected = ThresholdPoint(0.5, (10, 20), (10, 10), (1, 1), (0, 0), (0, 0))
    assert curve.aim(0.5) == curve.aim(0.9) == expected


def test_few_candidates_aim_at_nothing():
    assert _one_question([0.9] * 9, [True] * 9).aim(0.9) is None
    assert _one_question([], []).aim(0.9) is None
    nothing = _one_question([], []).at(0.5)
    assert (nothing.precision, nothing.kept, nothing.answered) == (None, None, 0.0)


CANDIDATES = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.8]), st.booleans(), st.integers(0, 4)),
    min_size=1,
    max_size=40,
)


@given(CANDIDATES, st.sampled_from([0.05, 0.2, 0.25, 0.8, 0.9]), st.floats(0, 1))
def test_equal_to_counting(candidates, threshold, wanted):
    relevance, relevant, owner = map(np.array, zip(*candidates, strict=True))
    answerable = np.array([True, False, True, True, False])
    curve = ThresholdCurve.of(relevance, relevant, owner, answerable)
    point = curve.at(threshold)
    passing = relevance >= threshold
    assert point.precision == (relevant[passing].mean() if passing.any() else None)
    assert point.kept == (passing[relevant].mean() if relevant.any() else None)
    left = np.array([passing[owner == number].any() for number in range(5)])
    assert point.answered == pytest.approx(left[answerable].mean())
    assert point.refused == pytest.approx((~left[~answerable]).mean())
    found = curve.aim(wanted)
    purer = [
        value
        for value in set(relevance.tolist())
        if (relevance >= value).sum() >= 10 and relevant[relevance >= value].mean() >= wanted
    ]
    if purer:
        assert found.threshold == min(purer)
    else:
        assert found is None or (found.precision or 0.0) < wanted
