"""Metrics by hand, at the edges where tools differ."""

import math

import numpy as np
import pytest

from rag import InvalidInput, QuestionResult, precision_ceiling
from rag.evaluation.measuring import highest_mean, measured
from rag.evaluation.metrics import Ranked, evaluate, parse_metric
from tests.measures import figures

QRELS = {"q": {"a": 2, "b": 1, "c": 1, "z": 0}}


def _one(ranking: list[str], name: str) -> float:
    return figures(QRELS, {"q": ranking}, [name])[name][0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("precision@5", 2 / 5),  # divides by k although three came back
        ("precision@1", 0.0),
        ("recall@5", 2 / 3),
        ("f1@5", 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3)),
        ("hit@1", 0.0),
        ("hit@2", 1.0),
        ("mrr@1", 0.0),
        ("mrr@5", 1 / 2),
        ("map@5", (1 / 2 + 2 / 3) / 3),
        ("map@2", (1 / 2) / 3),
        ("ndcg@2", (1 / math.log2(3)) / (2 + 1 / math.log2(3))),
        ("ndcg@3", (1 / math.log2(3) + 2 / 2) / (2 + 1 / math.log2(3) + 1 / 2)),
    ],
)
def test_by_hand(name, expected):
    assert _one(["x", "b", "a"], name) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("by_document", [True, False])
def test_what_comes_again_counts_where_it_came_first(by_document):
    def found(*ranking: str) -> dict[str, list[float]]:
        names = ["recall@5", "precision@5", "map@5", "ndcg@5"]
        return figures(QRELS, {"q": ranking}, names, by_document=by_document)

    assert found("a", "a", "a", "b", "a") == found("a", "b")
    assert found("a", "a", "a", "b", "a")["recall@5"] == [2 / 3]


def test_recipes_are_scored_together():
    gains = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [1.0, 1.0]]])
    ranked = Ranked(gains, np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([2.0, 2.0]))
    scores = evaluate(ranked, ["precision@2", "mrr@2", "recall@1"])
    assert scores["precision@2"].tolist() == [[0.5, 0.0], [0.5, 1.0]]
    assert scores["mrr@2"].tolist() == [[1.0, 0.0], [0.5, 1.0]]
    assert scores["recall@1"].tolist() == [[0.5, 0.0], [0.0, 0.5]]


def test_nothing_to_score():
    assert measured([], (3,)) == ([], {})
    empty = Ranked(np.zeros((2, 0)), np.zeros((2, 0)), np.zeros(2))
    for name in ("precision@3", "recall@3", "f1@3", "hit@3", "mrr@3", "map@3", "ndcg@3"):
        assert evaluate(empty, [name])[name].tolist() == [0.0, 0.0]


def test_names():
    found = parse_metric("ndcg@10")
    assert (found.measure, found.k) == ("ndcg", 10)
    for name in ("ndcg", "ndcg@0", "ndcg@-1", "ndcg@x", "ndcg@1.5", "rouge@5", "", "ndcg@10 "):
        with pytest.raises(InvalidInput, match="is not a metric"):
            parse_metric(name)


def test_precision_has_the_ceiling_that_the_labels_allow():
    results = [
        QuestionResult(f"q{count}", "", (), count > 0, {}, (), None, 0, count)
        for count in (1, 2, 9, 0)  # the last has no label, so it is in no mean
    ]
    assert precision_ceiling(results, 5) == pytest.approx((0.2 + 0.4 + 1.0) / 3)
    assert precision_ceiling(results, 1) == 1.0
    assert precision_ceiling(results[-1:], 5) is None
    assert highest_mean("precision@20", results) == pytest.approx((0.05 + 0.1 + 0.45) / 3)
    assert highest_mean("precision@1", results) == highest_mean("ndcg@20", results) == 1.0
