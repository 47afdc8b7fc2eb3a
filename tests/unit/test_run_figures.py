"""Intervals of the figures of a run, and what its unjudged hits leave open."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rag import Interval, Question, QuestionResult
from rag.evaluation import run_intervals
from rag.evaluation.intervals import mean_intervals, rate_interval
from rag.evaluation.pooling.bounds import DifferenceBounds, OpenPair, difference_bounds
from rag.evaluation.run_intervals import by_tag, intervals, unjudged_share
from rag.types import Evidence
from tests.runs import SET, WORDS, handbook


def _result(number: int, answerable: bool, metrics: dict[str, float], came: int) -> QuestionResult:
    ranking = tuple((f"{place:016x}", 1.0, 0) for place in range(came))
    return QuestionResult(str(number), "?", (), answerable, metrics, ranking, None, 0, 1)


def test_each_metric_over_the_questions_that_have_it():
    values = np.linspace(0, 1, 12)
    results = [_result(n, True, {"a@1": v}, 1) for n, v in enumerate(values.tolist())]
    results += [_result(12, True, {"a@1": 0.5, "span_a@1": 0.25}, 0), _result(13, False, {}, 0)]
    names = ["false_refusal", "a@1", "span_a@1", "correct_refusal", "absent@1"]
    found = intervals(results, names)
    assert list(found) == ["false_refusal", "a@1", "span_a@1", "correct_refusal"]
    assert found["a@1"] == Interval(*mean_intervals(np.append(values, 0.5)).tolist())
    assert found["span_a@1"] == Interval(*mean_intervals(np.array([0.25])).tolist())
    assert found["correct_refusal"] == rate_interval(1, 1)
    assert found["false_refusal"] == rate_interval(1, 13)


def test_tags_by_hand():
    code, table = ("code",), ("table", "code", "code")  # said twice, it counts once
    results = [
        replace(_result(0, True, {"a@1": 1.0}, 1), tags=code),
        replace(_result(1, True, {"a@1": 0.5}, 0), tags=table),
        replace(_result(2, False, {}, 0), tags=("none",)),
        _result(3, True, {"a@1": 0.0}, 1),
    ]
    found = by_tag(results, ["a@1", "correct_refusal"])
    assert [(each.tag, each.questions, each.means) for each in found] == [
        ("code", 2, {"a@1": 0.75}),
        ("none", 1, {"correct_refusal": 1.0}),
        ("table", 1, {"a@1": 0.5}),
    ]
    assert found[0].intervals == intervals(results[:2], ["a@1"])
    assert found[1].intervals == {"correct_refusal": rate_interval(1, 1)}


def _key(number: int) -> str:
    return f"{number:016x}"


def test_unjudged_by_hand():
    spans = {"a": [(1, 0, 10), (2, 10, 20), (3, 20, 30)]}
    questions = [
        Question("q", "?", (Evidence("a", 0, 10), Evidence("a", 20, 30, 0))),
        Question("none", "?", answerable=False),
    ]
    rankings = {"q": [_key(9), _key(3), _key(1), _key(2)], "none": [_key(1)]}
    found = unjudged_share(questions, rankings, spans, k=3)
    assert (found.hits, found.unjudged, found.share) == (3, 1, pytest.approx(1 / 3))
    assert found.precision == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    # The open hit stands first: with it the ideal has two relevant passages, and so has the list.
    best = (1 + 1 / 2) / (1 + 1 / np.log2(3))
    # And there may be more relevant passages than the first three have room for.
    worst = (1 / 2) / (1 + 1 / np.log2(3) + 1 / 2)
    assert found.ndcg == (pytest.approx(worst), pytest.approx(best))


def test_documents_are_judged_as_documents():
    question = Question("q", "?", (Evidence("a", 0, None), Evidence("b", 0, None, 0)))
    found = unjudged_share([question], {"q": ["b", "c", "a"]}, {}, k=5)
    assert (found.hits, found.unjudged) == (3, 1)
    assert found.precision == (pytest.approx(1 / 5), pytest.approx(2 / 5))


def test_questions_of_one_outcome_are_bounded_once(monkeypatch):
    computed = list[str]()

    def counting(measure: str, pair: OpenPair) -> DifferenceBounds:
        computed.append(measure)
        return difference_bounds(measure, pair)

    run_intervals._bounds_alone.cache_clear()
    monkeypatch.setattr(run_intervals, "difference_bounds", counting)
    questions = [Question(f"q{at}", "?", (Evidence(f"d{at}", 0, None),)) for at in range(40)]
    rankings = {f"q{at}": [f"d{at + 1}", f"d{at}"] for at in range(40)}
    alone = unjudged_share(questions[:1], rankings, {}, k=10)
    together = unjudged_share(questions, rankings, {}, k=10)
    assert together.ndcg == pytest.approx(alone.ndcg)
    assert computed == ["precision", "ndcg"]


def test_nothing_labelled():
    assert unjudged_share([Question("q", "?", answerable=False)], {"q": []}, {}, k=5) is None


def test_of_a_kept_run(home):
    workspace, base = handbook(home)
    found = base.runs.evaluate(SET, WORDS, [1, 5])
    ends = base.runs.intervals(found.run.id)
    assert list(ends) == list(found.run.metrics)
    for name, value in found.run.metrics.items():
        assert ends[name].low <= value <= ends[name].high, name
    share = base.runs.unjudged(found.run.id, k=5)
    assert share.current
    assert share.precision.low <= found.run.metrics["precision@5"] <= share.precision.high
    assert share.ndcg.low <= found.run.metrics["ndcg@5"] + 1e-12
    workspace.close()


def test_labels_that_changed_are_said(home):
    workspace, base = handbook(home)
    found = base.runs.evaluate(SET, WORDS, [5])
    line = {"id": "q1", "text": "?", "evidence": [{"document": "pump.txt", "quote": "Grease"}]}
    base.questions.import_file(SET, "questions.jsonl", json.dumps(line))
    share = base.runs.unjudged(found.run.id, k=5)
    assert not share.current
    workspace.close()
