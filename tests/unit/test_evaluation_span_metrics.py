"""Span metrics by hand, against sets of characters, and in their bounds."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag import InvalidInput, Question
from rag.evaluation import Judged
from rag.evaluation.span_metrics import (
    Coverage,
    Span,
    by_tokens,
    means,
    measured_by_span,
    ranked_keys,
    span_figures,
    span_scores,
)
from rag.types import Evidence
from tests.runs import DOCUMENTS, SET, WORDS, handbook
from tests.tokenizers import Words


def _spans(*spans: Span) -> list[Evidence]:
    return [Evidence(*span) for span in spans]


def test_labels_that_name_no_text_are_left_out():
    whole, graded = Evidence("a", 0, None), Evidence("a", 0, 5, grade=0)
    scores = span_scores([whole, graded, Evidence("a", 5, 10)], [("a", 0, 10)])
    assert (scores.recall.tolist(), scores.precision.tolist()) == ([1.0], [0.5])
    nothing = span_scores([whole], [("a", 0, 10)])
    assert (nothing.recall.tolist(), nothing.iou.tolist()) == ([0.0], [0.0])


def test_which_questions_can_be_measured():
    span, whole = Evidence("a", 0, 5), Evidence("b", 0, None)
    assert measured_by_span(Question("q", "?", (span,)))
    assert not measured_by_span(Question("q", "?", (span, whole)))
    assert not measured_by_span(Question("q", "?", (Evidence("a", 0, 5, grade=0),)))
    assert not measured_by_span(Question("q", "?", answerable=False))


def test_in_tokens_a_long_word_counts_as_much_as_a_short_one():
    texts = {"a": "one incomprehensibilities two three", "b": "four five"}
    ruler = by_tokens(texts.__getitem__, Words())
    # labelled: incomprehensibilities two; retrieved: one incomprehensibilities | four five
    scores = span_scores(_spans(("a", 4, 29)), [("a", 0, 25), ("b", 0, 9)], ruler)
    np.testing.assert_allclose(scores.recall, [1 / 2, 1 / 2])
    np.testing.assert_allclose(scores.precision, [1 / 2, 1 / 4])
    np.testing.assert_allclose(scores.iou, [1 / 3, 1 / 5])


def test_at_a_cutoff():
    scores = span_scores(_spans(("a", 0, 20)), [("a", 0, 10), ("b", 0, 10)])
    assert scores.at("span_recall@1") == 0.5
    assert scores.at("span_precision@2") == 10 / 20
    assert scores.at("span_iou@2") == 10 / 30
    assert scores.at("span_iou@100") == 10 / 30
    assert span_scores(_spans(("a", 0, 20)), []).at("span_recall@5") == 0.0
    for name in ("recall@5", "span_recall@0", "span_recall", "span_f1@5", "span_iou@-1"):
        with pytest.raises(InvalidInput, match="not a span metric"):
            scores.at(name)


def test_many_rankings_of_the_same_passages_at_once():
    evidence = _spans(("a", 0, 20))
    passages = [("a", 0, 10), ("a", 10, 20), ("b", 0, 10)]
    coverage = Coverage.of(evidence, passages)
    orders = np.array([[[0, 1, 2], [2, 1, -1]], [[-1, -1, -1], [1, -1, 0]]])
    scores = coverage.scores(orders)
    np.testing.assert_allclose(scores.recall[0], [[0.5, 1, 1], [0, 0.5, 0.5]])
    np.testing.assert_allclose(scores.precision[0], [[1, 1, 2 / 3], [0, 0.5, 0.5]])
    np.testing.assert_allclose(scores.recall[1], [[0, 0, 0], [0.5, 0.5, 1]])
    assert scores.precision[1, 0].tolist() == [0, 0, 0]
    without = Coverage.of(evidence, []).scores(np.full((2, 3), -1))
    assert without.iou.tolist() == [[0, 0, 0], [0, 0, 0]]


SPANS = st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(0, 12)).map(
    lambda made: (made[0], made[1], made[1] + made[2])
)
LABELS = st.lists(SPANS, max_size=4)
RANKED = st.lists(SPANS, max_size=6)


def _characters(spans: Sequence[Span]) -> set[tuple[str, int]]:
    return {(name, place) for name, start, end in spans for place in range(start, end)}


@given(LABELS, RANKED)
@example([("a", 0, 10), ("a", 2, 5)], [("a", 0, 10)])  # one label within another
def test_equal_to_sets_of_characters(labels, ranked):
    scores = span_scores(_spans(*labels), ranked)
    labelled = _characters(labels)
    for k in range(1, len(ranked) + 1):
        shared = len(labelled & _characters(ranked[:k]))
        retrieved = sum(end - start for _, start, end in ranked[:k])
        union = len(labelled) + retrieved - shared
        assert scores.at(f"span_recall@{k}") == (shared / len(labelled) if labelled else 0)
        assert scores.at(f"span_precision@{k}") == (shared / retrieved if retrieved else 0)
        assert scores.at(f"span_iou@{k}") == (shared / union if union else 0)


TEXTS = {
    "a": "lorem ipsum dolor sit amet, consectetur elit",
    "b": "sed do eiusmod tempor ut dolore",
}


@given(LABELS, RANKED, st.booleans())
def test_bounds_and_recall_that_never_falls(labels, ranked, tokens):
    options = {"ruler": by_tokens(TEXTS.__getitem__, Words())} if tokens else {}
    scores = span_scores(_spans(*labels), ranked, **options)
    for figures in (scores.recall, scores.precision, scores.iou):
        assert ((figures >= 0) & (figures <= 1)).all()
    assert (np.diff(scores.recall) >= 0).all()
    assert (scores.iou <= np.minimum(scores.recall, scores.precision) + 1e-12).all()


MINILM = {"index.embedder": "minilm"}


def _judged(question: Question, *keys: int, ideal: tuple[int, ...] = (1,)) -> Judged:
    ids = tuple(f"{key:016x}" for key in keys)
    return Judged(question, ids, (1.0,) * len(ids), (0,) * len(ids), ideal)


def test_of_judged_questions_by_hand():
    question = Question("q", "?", (Evidence("a", 10, 30),))
    ranked = [_judged(question, 7, 9)]
    assert ranked_keys(ranked) == [7, 9]
    figures = span_figures(
        ranked, {f"{7:016x}": ("b", 0, 20), f"{9:016x}": ("a", 5, 25)}, [1, 2, 5]
    )
    assert figures == {
        "q": {
            "span_recall@1": 0.0,
            "span_recall@2": 15 / 20,
            "span_recall@5": 15 / 20,
            "span_precision@1": 0.0,
            "span_precision@2": 15 / 40,
            "span_precision@5": 15 / 40,
            "span_iou@1": 0.0,
            "span_iou@2": 15 / 45,
            "span_iou@5": 15 / 45,
        }
    }


def test_questions_swept_metrics_are_left_out():
    whole = Question("whole", "?", (Evidence("a", 0, None),))
    unreachable = Question("gap", "?", (Evidence("a", 5, 6),))
    unanswerable = Question("none", "?", answerable=False)
    ranked = [
        _judged(whole, 1),
        _judged(unreachable, 2, ideal=()),
        _judged(unanswerable, 3, ideal=()),
    ]
    assert ranked_keys(ranked) == []
    assert span_figures(ranked, {}, [1]) == {}
    assert means({}) == {}


def test_a_question_for_which_nothing_comes_back_scores_zero():
    found = span_figures([_judged(Question("q", "?", (Evidence("a", 0, 9),)))], {}, [3])
    assert found["q"] == {"span_recall@3": 0.0, "span_precision@3": 0.0, "span_iou@3": 0.0}


def test_an_evaluation_has_them_for_its_span_questions_only(home):
    workspace, base = handbook(home)
    quote = "The Hollin pump makes a grinding noise when its bearing is dry."
    rows = [
        {"id": "s", "text": "noise", "evidence": [{"document": "pump.txt", "quote": quote}]},
        {"id": "d", "text": "hotels", "evidence": [{"document": "travel.txt"}]},
    ]
    base.questions.import_file("mixed", "mixed.jsonl", "\n".join(map(json.dumps, rows)))
    found = base.runs.evaluate("mixed", WORDS, [1, 5])
    by_id = {result.question_id: result.metrics for result in found.results}
    assert "span_recall@1" not in by_id["d"]
    assert by_id["s"]["span_recall@1"] == 1.0
    assert by_id["s"]["span_precision@1"] == len(quote) / len(DOCUMENTS["pump.txt"])
    for name in ("span_recall@1", "span_precision@5", "span_iou@5"):
        assert found.run.metrics[name] == by_id["s"][name]
    assert base.runs.get(found.run.id).metrics == found.run.metrics
    workspace.close()


def test_in_tokens_too_where_it_is_asked_for(home):
    workspace, base = handbook(home)
    found = base.runs.evaluate(SET, WORDS, [1], by_tokens=True)
    plain = base.runs.evaluate(SET, WORDS, [1])
    added = {"token_recall@1", "token_precision@1", "token_iou@1"}
    assert found.run.metrics.keys() - plain.run.metrics.keys() == added
    counted = base.recipes.count_tokens("when its bearing is dry", WORDS.with_fields(MINILM))
    whole = base.recipes.count_tokens(DOCUMENTS["pump.txt"], WORDS.with_fields(MINILM))
    figures = next(each.metrics for each in found.results if each.question_id == "q2")
    assert figures["token_recall@1"] == 1.0
    assert figures["token_precision@1"] == figures["token_iou@1"] == counted / whole
    workspace.close()


def test_the_other_figures_are_means_over_all_questions(home):
    workspace, base = handbook(home)
    found = base.runs.evaluate(SET, WORDS, [1])
    judged = [result.metrics for result in found.results if "recall@1" in result.metrics]
    assert len(judged) == 4
    for name in ("recall@1", "span_recall@1", "span_iou@1"):
        assert found.run.metrics[name] == pytest.approx(sum(each[name] for each in judged) / 4)
    workspace.close()
