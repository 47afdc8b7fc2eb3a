"""What unjudged hits could do to a difference, by hand and against every possible judgement."""

import itertools
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.evaluation.metrics import Ranked, evaluate
from rag.evaluation.pooling.bounds import BOUNDED, OpenPair, difference_bounds
from rag.evaluation.pooling.difference import (
    JudgedRankings,
    bpref,
    condensed_ndcg,
    pooled_difference,
)


def _value(metric: str, ids: list[str], grades: dict[str, int], k: int) -> float:
    gains = [grades.get(item, 0) for item in ids]
    ideal = sorted((each for each in grades.values() if each > 0), reverse=True)
    return float(evaluate(Ranked.of([gains], [ideal], max(len(ids), 1)), [metric])[metric][0])


def test_by_hand():
    # One relevant passage, which only the second has; the first has two that nobody judged.
    pair = OpenPair(["a", "b"], ["r"], {"r": 1}, 2, 1)
    second = 1 / log2(3)
    low, high = difference_bounds("ndcg", pair)
    assert low == pytest.approx(-1.0)  # neither is relevant: 0 against 1
    # Both are: their DCG less the first rank of the other, of an ideal of two.
    assert high == pytest.approx(second / (1 + second))
    assert difference_bounds("precision", pair) == (-0.5, 0.5)


def test_one_run_alone_may_lack_any_number_of_passages():
    low, high = difference_bounds("ndcg", OpenPair(["r", "x"], (), {"r": 1}, 2, 3))
    assert low == pytest.approx(1 / (3 * (1 + 1 / log2(3))))
    assert high == pytest.approx(1.0)  # if the open one has grade 1, nothing better is possible


ITEMS = ["a", "b", "c", "d"]
RANKING = st.lists(st.sampled_from(ITEMS), unique=True, max_size=3)


@given(
    RANKING,
    RANKING,
    st.dictionaries(st.sampled_from([*ITEMS, "missed"]), st.integers(0, 2)),
    st.sampled_from(BOUNDED),
    st.integers(1, 3),
)
def test_no_judgement_leads_out_of_the_bounds(first, second, grades, measure, k):
    low, high = difference_bounds(measure, OpenPair(first, second, grades, k, 2))
    open_ = sorted({*first, *second} - grades.keys())
    found = []
    for judged in itertools.product(range(3), repeat=len(open_)):
        for never_retrieved in ([], [1], [2, 2, 2]):
            more = {f"n{at}": grade for at, grade in enumerate(never_retrieved)}
            every = {**grades, **dict(zip(open_, judged, strict=True)), **more}
            values = [_value(f"{measure}@{k}", ids, every, k) for ids in (first, second)]
            found.append(values[0] - values[1])
    assert low - 1e-9 <= min(found)
    assert max(found) <= high + 1e-9
    if measure == "precision":
        assert (low, high) == pytest.approx((min(found), max(found)))
    if measure == "ndcg":
        # Attained: nothing narrower is true. (Behind, it takes more than three more passages.)
        assert high == pytest.approx(max(found)) or high <= 0
        assert low == pytest.approx(min(found)) or low >= 0


def test_metrics_of_judged_hits_alone():
    grades = {"r": 1, "n": 0, "s": 1}
    assert condensed_ndcg(["x", "r", "y", "s"], grades, 2) == 1.0
    # One of the two relevant ones stands below the only one judged not relevant.
    assert bpref(["r", "x", "n", "s"], grades) == 0.5
    assert bpref(["r"], {"r": 1, "s": 2}) == 0.5
    assert bpref(["r"], {"n": 0}) == 0.0


def test_a_comparison_says_what_is_open_and_what_it_could_do():
    rows = {
        str(number): JudgedRankings(["x", "y"], ["r", "n"], {"r": 1, "n": 0}, {"r": 1, "n": 0})
        for number in range(5)
    }
    found = pooled_difference("precision@2", rows, unlabelled=2)
    assert found.open_shares == (1.0, 0.0)
    assert found.bounds == (-0.5, 0.5)
    judged = pooled_difference(
        "precision@2", {"q": JudgedRankings(["n"], ["r"], {"r": 1, "n": 0}, {"r": 1, "n": 0})}
    )
    assert judged.sentence == ""


def test_the_bounds_of_runs_that_cut_differently_are_those_of_each_alone():
    row = JudgedRankings(["a", "r"], ["n", "x"], {"r": 1}, {"s": 1, "n": 0})
    found = pooled_difference("precision@2", {"q": row}, same_cut=False)
    # The first has 0.5 to 1, the second 0 to 0.5, and nothing that one has tells of the other.
    assert found.bounds == (0.0, 1.0)
    assert found.open_shares == (0.5, 0.5)
    # Both have 0.5 to 1.
    row = JudgedRankings(["a", "r"], ["s", "x"], {"r": 1}, {"s": 1})
    assert pooled_difference("precision@2", {"q": row}, same_cut=False).bounds == (-0.5, 0.5)


def test_pooled_labels_never_turn_the_true_difference_out_of_the_bounds():
    """Labels kept only where the first run found them: it looks better, and the bounds know."""
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(40):
        rows, truth = {}, []
        for number in range(30):
            full = {f"d{at}": 1 for at in rng.choice(30, 4, replace=False)}
            rankings = []
            for skill in (0.8, 1.4):  # the second run is the better one
                scores = rng.normal(size=30) + skill * np.array(
                    [f"d{at}" in full for at in range(30)]
                )
                rankings.append([f"d{at}" for at in np.argsort(-scores)[:10]])
            known = {item: full.get(item, 0) for item in rankings[0]}
            if not any(known.values()):
                continue
            rows[str(number)] = JudgedRankings(rankings[1], rankings[0], known, known)
            values = [_value("ndcg@10", ids, full, 10) for ids in rankings]
            truth.append(values[1] - values[0])
        found = pooled_difference("ndcg@10", rows)
        inside += found.bounds.low <= np.mean(truth) <= found.bounds.high
    assert inside == 40
