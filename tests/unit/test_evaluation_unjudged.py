"""What unjudged hits could do to the metrics, by hand and against every possible judgement."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.evaluation.metrics import Ranked, evaluate
from rag.evaluation.unjudged import judged_passages, unjudged_bounds
from rag.types import Evidence, Question


def _ranked(gains: list[float], ideal: list[float]) -> Ranked:
    return Ranked(np.array([gains]), np.array([ideal]), np.array([float(len(ideal))]))


def test_by_hand() -> None:
    # Relevant, unjudged, not relevant; one more relevant passage was not found.
    bounds = unjudged_bounds(_ranked([1, 0, 0], [1, 1]), np.array([[False, True, False]]), 3)
    assert bounds.count.tolist() == [1]
    np.testing.assert_allclose(bounds.precision, [[1 / 3, 2 / 3]])
    second, third = 1 / math.log2(3), 1 / 2
    low, high = 1 / (1 + second), (1 + second) / (1 + second + third)
    np.testing.assert_allclose(bounds.ndcg, [[low, high]])


def test_a_relevant_hit_far_down_can_lower_ndcg() -> None:
    bounds = unjudged_bounds(_ranked([1, 0, 0], [1]), np.array([[False, False, True]]), 3)
    low = (1 + 1 / 2) / (1 + 1 / math.log2(3))
    np.testing.assert_allclose(bounds.ndcg, [[low, 1.0]])


def test_without_unjudged_hits_the_metric_is_what_it_is() -> None:
    ranked = _ranked([0, 2, 1, 0], [2, 1, 1])
    bounds = unjudged_bounds(ranked, np.zeros((1, 4), bool), 3)
    metrics = evaluate(ranked, ["precision@3", "ndcg@3"])
    np.testing.assert_allclose(bounds.precision[:, 0], metrics["precision@3"])
    np.testing.assert_allclose(bounds.ndcg[:, 0], metrics["ndcg@3"])
    np.testing.assert_allclose(bounds.ndcg[:, 1], metrics["ndcg@3"])


def test_nothing_labelled_and_nothing_retrieved() -> None:
    bounds = unjudged_bounds(_ranked([0, 0], []), np.array([[True, True]]), 2)
    np.testing.assert_allclose(bounds.ndcg, [[0.0, 1.0]])
    nothing = Ranked(np.zeros((1, 0)), np.ones((1, 1)), np.ones(1))
    empty = unjudged_bounds(nothing, np.zeros((1, 0), bool), 5)
    assert (empty.count.tolist(), empty.ndcg.tolist()) == ([0], [[0.0, 0.0]])


HITS = st.lists(st.sampled_from(["open", 0, 1, 2]), max_size=6)


@given(HITS, st.lists(st.integers(1, 3), max_size=4), st.integers(1, 8))
def test_the_bounds_are_the_extremes_of_every_judgement(
    hits: list[str | int], missed: list[int], k: int
) -> None:
    gains = np.array([[0.0 if hit == "open" else float(hit) for hit in hits]])
    unjudged = np.array([[hit == "open" for hit in hits]], bool)
    known = [float(hit) for hit in hits if hit not in ("open", 0)] + [float(g) for g in missed]
    bounds = unjudged_bounds(_ranked(gains[0].tolist(), sorted(known, reverse=True)), unjudged, k)
    places = [place for place in np.flatnonzero(unjudged[0]) if place < k]
    assert bounds.count.tolist() == [len(places)]
    values = []
    for judgement in itertools.product([0.0, 1.0], repeat=len(places)):
        judged = gains.copy()
        judged[0, places] = judgement
        ideal = sorted([*known, *filter(None, judgement)], reverse=True)
        values.append(evaluate(_ranked(judged[0].tolist(), ideal), [f"precision@{k}", f"ndcg@{k}"]))
    for name, (low, high) in (("precision", bounds.precision[0]), ("ndcg", bounds.ndcg[0])):
        figures = [float(value[f"{name}@{k}"][0]) for value in values]
        assert (low, high) == pytest.approx((min(figures), max(figures)), abs=1e-12)


def test_recipes_share_their_questions() -> None:
    rng = np.random.default_rng(1)
    gains, unjudged = rng.integers(0, 2, (3, 2, 5)) * 1.0, rng.random((3, 2, 5)) < 0.4
    gains[unjudged] = 0
    ideal, relevant = np.ones((2, 6)), np.array([6.0, 6.0])
    many = unjudged_bounds(Ranked(gains, ideal, relevant), unjudged, 4)
    for recipe in range(3):
        one = unjudged_bounds(Ranked(gains[recipe], ideal, relevant), unjudged[recipe], 4)
        np.testing.assert_allclose(many.ndcg[recipe], one.ndcg)
        assert many.count[recipe].tolist() == one.count.tolist()


PASSAGES = [(1, "a", 0, 100), (2, "a", 100, 200), (3, "b", 0, 100), (4, "c", 0, 100)]


def test_what_a_label_speaks_of_is_judged() -> None:
    labels = (Evidence("a", 0, 95), Evidence("b", 0, 100, grade=0))
    assert judged_passages(Question("q", "?", labels), PASSAGES) == {1, 3}
    whole = (Evidence("a", 0, None, grade=0),)
    assert judged_passages(Question("q", "?", whole), PASSAGES) == {1, 2}
    assert judged_passages(Question("q", "?"), PASSAGES) == set()
    assert judged_passages(Question("q", "?", answerable=False), PASSAGES) == {1, 2, 3, 4}
