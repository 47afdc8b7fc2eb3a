"""Thresholds by hand, and promised precision: kept on other questions, or refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv, stdtrit

from rag import PromiseCurves, ThresholdCurve, ThresholdPoint, whole_percent
from rag.evaluation import Clusters, questions_needed
from rag.types import Floats


def _curve(rng: np.random.Generator, questions: int, *, together: float = 0.0) -> ThresholdCurve:
    """Questions of ten candidates each, the more relevant the higher.

    ``together`` moves all candidates of a question up or down in relevance, not in value, as a
    question on which nothing is labelled does.
    """
    values = rng.uniform(0.0, 1.0, (questions, 10))
    moved = together * rng.choice([-1.0, 1.0], (questions, 1))
    relevant = rng.uniform(0.0, 1.0, values.shape) < np.clip(values + moved, 0.0, 1.0)
    owner = np.repeat(np.arange(questions), 10)
    answerable = np.ones(questions, np.bool_)
    return ThresholdCurve.of(values.ravel(), relevant.ravel(), owner, answerable)


@pytest.mark.parametrize("together", [0.0, 0.2])
@pytest.mark.parametrize("wanted", [0.5, 0.7, 0.8])
def test_nine_promises_in_ten_are_kept_on_other_questions(wanted, together):
    rng = np.random.default_rng(7)
    promised = kept = aimed = 0
    for _ in range(300):
        curve, other = _curve(rng, 100, together=together), _curve(rng, 100, together=together)
        found = PromiseCurves(curve, other).promise(wanted)
        promised += found.point is not None
        kept += found.kept is True
        aim = curve.aim(wanted)
        aimed += aim is not None and (other.at(aim.threshold).precision or 1.0) >= wanted
    assert promised > 50
    assert kept / promised >= 0.9
    assert aimed / 300 < 0.65  # what is read off the same questions is kept about half of the time


def _of_sources(rng: np.random.Generator, sources: int, *, known: bool) -> ThresholdCurve:
    """Five questions of each source, whose passages are relevant or not together."""
    values = rng.uniform(0.0, 1.0, (5 * sources, 10))
    moved = 0.35 * rng.choice([-1.0, 1.0], (sources, 1)).repeat(5, axis=0)
    relevant = rng.uniform(0.0, 1.0, values.shape) < np.clip(values + moved, 0.0, 1.0)
    clusters = Clusters(np.repeat(np.arange(sources), 5)) if known else None
    owner, answerable = np.repeat(np.arange(5 * sources), 10), np.ones(5 * sources, np.bool_)
    return ThresholdCurve.of(values.ravel(), relevant.ravel(), owner, answerable, clusters=clusters)


def test_groups_are_counted_where_questions_share_a_source():
    found = PromiseCurves(_of_sources(np.random.default_rng(1), 20, known=True)).promise(0.9)
    assert (found.questions, found.units, found.needed) == (100, 20, 57)


def test_how_many_questions_it_takes():
    # All relevant on n questions: 0.1 / 2 = precision ** (n / 2), as there are two starts.
    assert [questions_needed(each) for each in (0.5, 0.7, 0.8, 0.9)] == [9, 17, 27, 57]
    assert questions_needed(0.9, confidence=0.95) == 71


def _pure(questions: int) -> ThresholdCurve:
    values = np.linspace(0.9, 0.5, questions)
    every = np.ones(questions, np.bool_)
    return ThresholdCurve.of(values, every, np.arange(questions), every)


def test_the_fewest_questions_are_enough_where_all_is_relevant_and_one_less_is_not():
    enough, few = (PromiseCurves(_pure(count)).promise(0.9) for count in (57, 56))
    assert enough.point is not None
    assert enough.bound == pytest.approx(0.05 ** (2 / 57))
    assert (few.point, few.missing, enough.missing) == (None, 2, None)


def test_the_estimate_of_missing_questions_makes_the_promise():
    rng = np.random.default_rng(2)
    promised, estimates = 0, list[int]()
    for _ in range(40):
        found = PromiseCurves(_curve(rng, 20)).promise(0.8)
        if found.missing is not None:
            estimates.append(found.missing)
            enough = PromiseCurves(_curve(rng, 20 + found.missing)).promise(0.8)
            promised += enough.point is not None
    assert len(estimates) > 25
    assert np.median(estimates) == pytest.approx(35, abs=25)
    assert promised / len(estimates) > 0.3  # with so many, the promise is no rare luck


def test_a_question_counts_once_however_many_passages_it_has():
    one = ThresholdCurve.of(
        np.linspace(0.9, 0.5, 440),
        np.ones(440, np.bool_),
        np.repeat(np.arange(20), 22),
        np.ones(20, np.bool_),
    )
    assert PromiseCurves(one).promise(0.9).point is None
    assert PromiseCurves(one).promise(0.7).point is not None


def test_where_no_threshold_is_pure_enough_it_says_what_can_be_promised():
    rng = np.random.default_rng(3)
    values = rng.uniform(0.0, 1.0, 400)
    relevant = rng.uniform(0.0, 1.0, 400) < 0.4
    curve = ThresholdCurve.of(values, relevant, np.arange(400), np.ones(400, np.bool_))
    refused = PromiseCurves(curve, curve).promise(0.8)
    assert (refused.point, refused.checked, refused.check, refused.kept) == (None, None, "", None)
    assert refused.possible is not None
    assert 0.3 < refused.possible < 0.45
    assert refused.missing is None
    assert "lower bound" in refused.headline  # passages above a threshold may be relevant oftener
    assert PromiseCurves(curve).promise(refused.possible).point is not None


def test_of_fewer_questions_than_it_takes_the_number_is_the_only_reason():
    values = np.linspace(0.9, 0.5, 60)
    relevant = np.arange(60) % 10 == 9
    curve = ThresholdCurve.of(values, relevant, np.repeat(np.arange(6), 10), np.ones(6, np.bool_))
    refused = PromiseCurves(curve).promise(0.5)
    assert refused.missing is None


def test_a_lower_threshold_that_is_as_good_is_named():
    relevance = np.array([0.95, 0.9, 0.88, 0.85, 0.82, 0.7])
    relevant = np.array([True, False, True, True, True, False])
    answerable = np.array([True, True, True, True, False])
    curve = ThresholdCurve.of(relevance, relevant, np.array([0, 1, 1, 2, 3, 4]), answerable)
    lower = curve.lowest_as_good(curve.at(0.88))
    assert lower is not None
    assert (lower.threshold, str(lower.pure), str(lower.answering)) == (0.82, "4 of 5", "4 of 4")
    assert curve.lowest_as_good(lower) is None  # at 0.7 the question without an answer is answered
    assert curve.lowest_as_good(curve.at(0.95)) is None


def test_nothing_is_promised_of_nothing():
    empty = ThresholdCurve.of(
        np.empty(0), np.empty(0, np.bool_), np.empty(0, np.intp), np.ones(3, np.bool_)
    )
    assert PromiseCurves(empty, empty).promise(0.5).point is None


def _bound_of_prefix(curve: ThresholdCurve, count: int, level: float) -> float:
    """Korn and Graubard's lower bound of the first ``count`` candidates, question by question."""
    relevant, owner = np.diff(curve.hits)[:count], curve.unit[:count]
    share = relevant.sum() / count
    residuals = np.bincount(owner, weights=relevant - share)[np.unique(owner)]
    reached = len(residuals)
    variance = (residuals**2).sum() / count**2 * reached / max(reached - 1, 1)
    effective = share * (1 - share) / variance if variance > 1e-12 else reached
    freedom = stdtrit(max(count - 1, 1), level) / stdtrit(max(reached - 1, 1), level)
    effective = min(effective, count) * min(freedom, 1.0) ** 2 / 2
    if not relevant.any():
        return 0.0
    return float(betaincinv(share * effective, (1 - share) * effective + 1, level))


def _promised_by_all_bounds(curve: ThresholdCurve, wanted: float) -> float | None:
    """The threshold, with the bound of every step computed before the tests begin."""
    bounds = [_bound_of_prefix(curve, int(step) + 1, 0.05) for step in curve.steps()]
    reached = [len(np.unique(curve.unit[: int(step) + 1])) for step in curve.steps()]
    needed = questions_needed(wanted)
    passed = []
    for start in (min(-(-3 * needed // 2), max(needed, reached[-1])), reached[-1] // 2):
        at = int(np.searchsorted(reached, max(needed, start)))
        while at < len(bounds) and bounds[at] >= wanted:
            passed.append(at)
            further = np.searchsorted(curve.steps() + 1, (curve.steps()[at] + 1) * 1.1)
            at = max(at + 1, int(further))
    return float(curve.values[curve.steps()[max(passed)]]) if passed else None


@pytest.mark.parametrize("together", [0.0, 0.2])
@pytest.mark.parametrize("wanted", [0.3, 0.6, 0.8, 0.95])
def test_a_promise_is_that_of_the_bounds_of_every_step(wanted, together):
    rng = np.random.default_rng(11)
    for questions in (3, 60, 150):
        curve = _curve(rng, questions, together=together)
        point = PromiseCurves(curve).promise(wanted).point
        assert (point and point.threshold) == _promised_by_all_bounds(curve, wanted)


def test_of_fifty_thousand_candidates_only_those_tested_are_bounded(monkeypatch):
    computed = []

    def counting(*arguments: Floats) -> Floats:
        computed.append(np.size(arguments[0]))
        return np.asarray(betaincinv(*arguments))

    monkeypatch.setattr("scipy.special.betaincinv", counting)
    found = PromiseCurves(_curve(np.random.default_rng(3), 5000)).promise(0.6)
    assert found.point is not None
    assert sum(computed) < 500


def _kept(wanted: float, *, known: bool) -> tuple[int, float]:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(200):
        pair = (_of_sources(rng, 40, known=known) for _ in range(2))
        found.append(PromiseCurves(*pair).promise(wanted))
    made = [each for each in found if each.point is not None]
    return len(made), sum(each.kept is True for each in made) / len(made)


@pytest.mark.parametrize("wanted", [0.5, 0.7])
def test_promises_are_kept_where_questions_share_a_source(wanted):
    promised, kept = _kept(wanted, known=True)
    assert promised > 20
    assert kept >= 0.9
    assert _kept(wanted, known=False)[1] < 0.9  # without their groups known


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
