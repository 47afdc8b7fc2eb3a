"""Metrics by hand, at the edges where tools differ."""

import math

import numpy as np
import pytest

from rag.errors import InvalidInput
from rag.evaluation.metrics import (
    Ranked,
    evaluate,
    evaluate_rankings,
    evaluate_run,
    parse_metric,
)

QRELS = {"q": {"a": 2, "b": 1, "c": 1, "z": 0}}


def _one(ranking: list[str], name: str) -> float:
    return float(evaluate_rankings(QRELS, {"q": ranking}, [name])[name][0])


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
def test_by_hand(name: str, expected: float) -> None:
    assert _one(["x", "b", "a"], name) == pytest.approx(expected, abs=1e-12)


def test_missing_questions_score_zero_and_unjudged_ones_are_ignored() -> None:
    qrels = {"q": {"a": 1}, "r": {"a": 1}, "none": {"a": 0}}
    scores = evaluate_run(qrels, {"q": {"a": 1.0}, "other": {"a": 1.0}}, ["ndcg@10", "map@10"])
    assert {name: values.tolist() for name, values in scores.items()} == {
        "ndcg@10": [1.0, 0.0, 0.0],
        "map@10": [1.0, 0.0, 0.0],
    }


def test_equal_scores_are_ordered_by_id_descending_in_single_precision() -> None:
    qrels = {"q": {"a": 1}}
    for gap in (0.0, 1e-9):
        scores = evaluate_run(qrels, {"q": {"a": 1 + gap, "b": 1.0}}, ["mrr@5"])
        assert scores["mrr@5"].tolist() == [0.5]
    assert evaluate_run(qrels, {"q": {"a": 1.1, "b": 1.0}}, ["mrr@5"])["mrr@5"].tolist() == [1.0]


def test_recipes_are_scored_together() -> None:
    gains = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [1.0, 1.0]]])
    ranked = Ranked(gains, np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([2.0, 2.0]))
    scores = evaluate(ranked, ["precision@2", "mrr@2", "recall@1"])
    assert scores["precision@2"].tolist() == [[0.5, 0.0], [0.5, 1.0]]
    assert scores["mrr@2"].tolist() == [[1.0, 0.0], [0.5, 1.0]]
    assert scores["recall@1"].tolist() == [[0.5, 0.0], [0.0, 0.5]]


def test_nothing_to_score() -> None:
    assert evaluate_run({}, {}, ["ndcg@3"])["ndcg@3"].tolist() == []
    empty = Ranked(np.zeros((2, 0)), np.zeros((2, 0)), np.zeros(2))
    for name in ("precision@3", "recall@3", "f1@3", "hit@3", "mrr@3", "map@3", "ndcg@3"):
        assert evaluate(empty, [name])[name].tolist() == [0.0, 0.0]


def test_a_score_must_be_a_number() -> None:
    with pytest.raises(InvalidInput, match="not a number"):
        evaluate_run({"q": {"a": 1}}, {"q": {"a": math.nan}}, ["mrr@5"])


def test_names() -> None:
    found = parse_metric("ndcg@10")
    assert (found.measure, found.k) == ("ndcg", 10)
    for name in ("ndcg", "ndcg@0", "ndcg@-1", "ndcg@x", "ndcg@1.5", "rouge@5", "", "ndcg@10 "):
        with pytest.raises(InvalidInput, match="is not a metric"):
            parse_metric(name)


def test_infinite_scores_are_scores() -> None:
    run = {"q": {"a": float("inf"), "b": float("-inf"), "c": 0.0}}
    assert evaluate_run({"q": {"c": 1}}, run, ["mrr@10"])["mrr@10"].tolist() == [0.5]
