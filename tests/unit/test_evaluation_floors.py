"""Thresholds by hand: purity, loss, answers and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.evaluation.threshold_curve import ThresholdCurve, ThresholdPoint

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
def test_by_hand(
    threshold: float, precision: float | None, kept: float, answered: float, refused: float
) -> None:
    point = BY_HAND.at(threshold)
    assert (
        point.precision,
        point.kept,
        point.answered,
        point.refused,
    ) == pytest.approx((precision, kept, answered, refused))


def test_in_words() -> None:
    assert BY_HAND.at(0.65).sentence == (
        "precision 0.50, keeps 50% of the relevant, answers 67% of answerable questions, "
        "refuses 100% of unanswerable ones"
    )
    assert ThresholdPoint(0.5, 0.9, 0.7, 0.8, None).sentence == (
        "precision 0.90, keeps 70% of the relevant, answers 80% of answerable questions"
    )
    assert BY_HAND.at(0.95).sentence.startswith("nothing reaches it, keeps 0% of the relevant")


def _one_question(relevance: list[float], relevant: list[bool]) -> ThresholdCurve:
    owner = np.zeros(len(relevance), np.intp)
    return ThresholdCurve.of(np.array(relevance), np.array(relevant, bool), owner, np.array([True]))


def test_the_lowest_threshold_of_the_wanted_precision_is_recommended() -> None:
    values = [1 - number / 100 for number in range(30)]
    # Relevant: the first nine, not the next, then ten more, then none.
    curve = _one_question(values, [True] * 9 + [False] + [True] * 10 + [False] * 10)
    wanted = curve.recommend(0.9)
    assert wanted.point == curve.at(0.80)  # 19 of 21; 19 of 22 are fewer than 0.9
    assert wanted.point.precision == pytest.approx(19 / 21)
    assert wanted.sentence.startswith("threshold 0.800: precision 0.90, keeps 100%")
    never = curve.recommend(0.99)
    assert never.point is None
    assert never.best == curve.at(0.81)
    assert never.sentence == "no threshold reaches precision 0.99: the best is 0.95, at 0.810"


def test_a_threshold_takes_all_candidates_of_its_value() -> None:
    curve = _one_question([0.5] * 20, [True] * 10 + [False] * 10)
    assert curve.recommend(0.9).point is None
    assert curve.recommend(0.5).point == ThresholdPoint(0.5, 0.5, 1.0, 1.0, None)


def test_few_candidates_recommend_nothing() -> None:
    curve = _one_question([0.9] * 9, [True] * 9)
    assert curve.recommend().sentence == "too few candidates to recommend a threshold"
    assert _one_question([], []).recommend().point is None
    assert _one_question([], []).at(0.5) == ThresholdPoint(0.5, None, None, 0.0, None)


CANDIDATES = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.8]), st.booleans(), st.integers(0, 4)),
    min_size=1,
    max_size=40,
)


@given(CANDIDATES, st.sampled_from([0.05, 0.2, 0.25, 0.8, 0.9]), st.floats(0, 1))
def test_equal_to_counting(
    candidates: list[tuple[float, bool, int]], threshold: float, wanted: float
) -> None:
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
    found = curve.recommend(wanted).point
    purer = [
        value
        for value in set(relevance.tolist())
        if (relevance >= value).sum() >= 10 and relevant[relevance >= value].mean() >= wanted
    ]
    assert (found.threshold if found else None) == min(purer, default=None)
