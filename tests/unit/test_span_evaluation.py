"""Span metrics in ordinary evaluations: by hand, and only where labels are spans."""

import json

import pytest

from rag import Question
from rag.evaluation.judging import Judged
from rag.evaluation.retrieved_text import means, ranked_keys, span_figures
from rag.types import Evidence
from tests.runs import DOCUMENTS, SET, WORDS, handbook

MINILM = {"index.embedder": "minilm"}


def _judged(question: Question, *keys: int, ideal: tuple[int, ...] = (1,)) -> Judged:
    ids = tuple(f"{key:016x}" for key in keys)
    return Judged(question, ids, (1.0,) * len(ids), (0,) * len(ids), ideal)


def test_by_hand():
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
    counted = base.count_tokens("when its bearing is dry", WORDS.with_fields(MINILM))
    whole = base.count_tokens(DOCUMENTS["pump.txt"], WORDS.with_fields(MINILM))
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
