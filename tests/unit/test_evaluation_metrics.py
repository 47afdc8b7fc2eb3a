"""Metrics by hand, at the edges where tools differ, and which passages a label makes relevant."""

import math

import numpy as np
import pytest

from rag import InvalidInput, Question, QuestionResult, judged_by_document, precision_ceiling
from rag.evaluation import (
    Ranked,
    evaluate,
    highest_mean,
    judged_passages,
    measured,
    parse_metric,
    relevant_chunks,
)
from rag.types import Evidence
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
    assert highest_mean("recall@1", results) == pytest.approx((1 + 1 / 2 + 1 / 9) / 3)
    assert highest_mean("f1@1", results) == pytest.approx((1 + 2 / 3 + 2 / 10) / 3)
    assert highest_mean("misleading@5", results) == 1.0


TENS = [(n, "d", 10 * n, 10 * n + 10) for n in range(10)]


def _span(start: int, end: int | None, grade: int = 1, document: str = "d") -> Evidence:
    return Evidence(document, start, end, grade)


@pytest.mark.parametrize(
    ("start", "end", "keys"),
    [
        (10, 20, {1}),
        (12, 15, {1}),  # inside one passage
        (0, 100, set(range(10))),  # every passage in the middle of a long span
        (15, 45, {1, 2, 3, 4}),  # half of the first and of the last
        (16, 44, {2, 3}),  # less than half of the first and of the last
        (19, 40, {2, 3}),  # one shared character is not enough
        (18, 22, {1, 2}),  # half of the span in each
        (17, 21, {1}),  # three quarters of the span, and one quarter
        (100, 120, set()),  # touches the end only
        (50, 50, set()),
    ],
)
def test_half_of_the_shorter_must_be_shared(start, end, keys):
    assert relevant_chunks([_span(start, end)], TENS) == dict.fromkeys(keys, 1)


def test_a_span_that_no_passage_satisfies_goes_to_the_one_that_shares_most():
    chunks = [(1, "d", 0, 12), (2, "d", 14, 23), (3, "d", 26, 40)]
    assert relevant_chunks([_span(9, 30)], chunks) == {2: 1}
    apart = [(1, "d", 0, 13), (2, "d", 27, 40)]
    assert relevant_chunks([_span(10, 30)], apart) == {1: 1}  # three each: the first
    assert relevant_chunks([_span(11, 31)], apart) == {2: 1}
    assert relevant_chunks([_span(14, 26)], apart) == {}


def test_the_highest_grade_counts():
    evidence = [_span(10, 20), _span(15, 25, 3), _span(10, 13, 2), _span(40, 50, 0)]
    assert relevant_chunks(evidence, TENS) == {1: 3, 2: 3}


def test_overlapping_passages_may_both_answer():
    chunks = [(1, "d", 0, 20), (2, "d", 10, 30), (3, "e", 10, 30)]
    assert relevant_chunks([_span(12, 18)], chunks) == {1: 1, 2: 1}


def test_other_documents_are_left_alone():
    assert relevant_chunks([_span(10, 20, document="e")], TENS) == {}
    assert relevant_chunks([], TENS) == {}
    assert relevant_chunks([_span(10, 20)], []) == {}


def test_labels_of_whole_documents_are_judged_by_document():
    assert judged_by_document(Question("q", "?", (_span(0, None),)))
    assert judged_by_document(Question("q", "?", (_span(0, 5), _span(0, None))))
    assert not judged_by_document(Question("q", "?", (_span(0, 5),)))
    assert not judged_by_document(Question("q", "?", answerable=False))
    assert relevant_chunks([_span(0, None)], TENS) == {}


PASSAGES = [(1, "a", 0, 100), (2, "a", 100, 200), (3, "b", 0, 100), (4, "c", 0, 100)]


def test_what_a_label_speaks_of_is_judged():
    labels = (Evidence("a", 0, 95), Evidence("b", 0, 100, grade=0))
    assert judged_passages(Question("q", "?", labels), PASSAGES) == {1, 3}
    whole = (Evidence("a", 0, None, grade=0),)
    assert judged_passages(Question("q", "?", whole), PASSAGES) == {1, 2}
    assert judged_passages(Question("q", "?"), PASSAGES) == set()
    assert judged_passages(Question("q", "?", answerable=False), PASSAGES) == {1, 2, 3, 4}
