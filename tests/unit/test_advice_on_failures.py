"""Advice against causes: a larger top-k, an off-topic limit, and which search finds a passage."""

import json
from dataclasses import replace
from typing import Any

from rag.retrieval import Corpus, SearchQuery
from rag.retrieval.topic import Topic, TopicEvidence
from tests.workspaces import QUICK, add

WORDS = QUICK.with_fields({"search.mode": "lexical", "search.top_k": 1})
PARKING = "Parking permits are sold at the reception desk."


def test_a_limit_is_advised_where_it_refuses_no_question_with_an_answer(workspace, monkeypatch):
    base = workspace.create("permits", WORDS)
    add(workspace, base, {"parking.md": PARKING})
    asked, label = "Where are parking permits sold", {"document": "parking.md", "quote": PARKING}
    lines: list[dict[str, Any]] = [
        {"id": f"{n}", "text": f"{asked}{n * '?'}", "evidence": [label]} for n in range(20)
    ]
    lines.append({"id": "none", "text": "Who sells RX-77 permits?", "answerable": False})
    base.questions.import_file("limited", "x.jsonl", "\n".join(map(json.dumps, lines)))
    monkeypatch.setattr("rag.experiments.runs.quality.failing.FLAGGED", ())

    def advised(on_topic: float) -> tuple[str, str]:
        def topic(query: SearchQuery, _corpus: Corpus) -> Topic:
            evidence = TopicEvidence(0.5, 0.1, 0.5, 0.1, 0.5, 0.5)
            return Topic(evidence, on_topic if "RX-77" in query.words else 0.6, 0.275)

        with monkeypatch.context() as patch:
            patch.setattr("rag.experiments.tuning.candidates.topic_of", topic)
            diagnosis = base.diagnoses.diagnose("limited", WORDS)
        (failed,) = diagnosis.questions
        untried = replace(diagnosis, trials=replace(diagnosis.trials, fixes=(), without_gain=()))
        return failed.finding.evidence.partition("on-topic: ")[2], untried.advice("answered")

    evidence, advice = advised(0.4)
    assert evidence == "0.400; questions with an answer have at least 0.600."
    assert advice.startswith("Raise the threshold, or the limit of off-topic questions, only if")
    assert "refuses no question with an answer" in advice
    evidence, advice = advised(0.99)
    assert evidence == "0.990; questions with an answer have at least 0.600."
    assert advice.startswith("Read what the answer rests on. Raise the threshold")
    assert "refuses no question with an answer" in advice


def test_a_question_with_the_expected_answer_does_not_fail_by_its_rank(workspace):
    base = workspace.create("answered", WORDS)
    add(workspace, base, {"parking.md": PARKING})
    label = {"document": "parking.md", "quote": PARKING}
    line = {"id": "p", "text": "Where are permits sold?", "evidence": [label]}
    base.questions.import_file("answered", "x.jsonl", json.dumps(line))
    strict = WORDS.with_fields({"search.threshold": 1.0})
    right = {"false_doubt": 0.0, "answer_containment": 1.0}
    for beside, causes in (({}, {"threshold": 1}), ({"p": right}, {})):
        base.runs.evaluate("answered", strict, beside=beside)
        assert base.diagnoses.diagnose("answered", strict).causes == causes
