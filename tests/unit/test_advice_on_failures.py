"""Advice against causes: a larger top-k, an off-topic limit, and which search finds a passage."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rag import Diagnosis, FailedQuestion
from rag.retrieval import Corpus, SearchQuery
from rag.topic import Topic, TopicEvidence
from rag.tuning.diagnosis.case import Figures
from rag.tuning.diagnosis.checks import found_by_one, too_low
from rag.tuning.diagnosis.finding import Finding
from rag.tuning.diagnosis.fixes import Trials, changes_for
from rag.tuning.diagnosis.larger_top_k import LargerTopK
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
    monkeypatch.setattr("rag.runs.doubts.FLAGGED", ())

    def advised(on_topic: float) -> tuple[str, str]:
        def topic(query: SearchQuery, _corpus: Corpus) -> Topic:
            evidence = TopicEvidence(0.5, 0.1, 0.5, 0.1, 0.5, 0.5)
            return Topic(evidence, on_topic if "RX-77" in query.words else 0.6, 0.275)

        with monkeypatch.context() as patch:
            patch.setattr("rag.tuning.candidates.topic_of", topic)
            diagnosis = base.diagnoses.diagnose("limited", WORDS)
        (failed,) = diagnosis.questions
        untried = replace(diagnosis, trials=replace(diagnosis.trials, fixes=(), without_gain=()))
        return failed.finding.evidence.partition("on-topic: ")[2], untried.advice("answered")

    assert advised(0.4) == (
        "0.400; questions with an answer have at least 0.600.",
        "Raise the threshold, or the limit of off-topic questions.",
    )
    evidence, advice = advised(0.99)
    assert evidence == "0.990; questions with an answer have at least 0.600."
    assert advice.startswith("Raise the threshold. Read what the answer rests on")


@pytest.mark.parametrize(
    ("near", "lexical", "cause", "evidence"),
    [
        (6, 4, None, ""),  # both have it, though one alone would return it
        (40, 12, None, ""),
        (6, 70, "meaning_only", "Only dense search has it in the first 50: dense rank 6, lexical"),
        (60, 4, "words_only", "Only lexical search has it in the first 50: dense rank 60, lexical"),
        (None, 4, "words_only", "Only lexical search has it in the first 50: dense not at all"),
        (60, None, "not_found", "Neither search has it in the first 50: dense rank 60, lexical"),
    ],
)
def test_a_passage_is_found_by_one_search_if_the_other_has_it_not_among_its_candidates(
    near, lexical, cause, evidence
):
    case: Any = SimpleNamespace(
        search=QUICK.search.model_copy(update={"candidates": 50, "top_k": 5}),
        figures=Figures(0.5, near, lexical, ()),
        rank=6,
        shown_rank=None,
        corpus=SimpleNamespace(lexical=SimpleNamespace(spellings=lambda _text: {})),
        question=SimpleNamespace(text="Who?"),
        setting=SimpleNamespace(recipe=QUICK),
    )
    finding = found_by_one(case)
    assert (finding.cause if finding else None) == cause
    assert evidence in (finding.evidence if finding else "")
    if cause is None:
        assert too_low(case).cause == "top_k"


def test_a_larger_top_k_is_what_returns_passages_below_it():
    recipe = WORDS.with_fields({"search.top_k": 5})

    def below(*ranks: int | None) -> Diagnosis:
        failed = [
            FailedQuestion(
                str(rank), "Who?", 0.0, Finding("top_k", "", {"rank": rank} if rank else {})
            )
            for rank in ranks
        ]
        trials = Trials("ndcg@10", without_gain=("top_k",))
        return Diagnosis("checks", recipe, "", 9, tuple(failed), trials, can_rerank=False)

    assert below(6, 9).larger == LargerTopK(10, 2, 2)
    assert below(6, 9, 70).larger == LargerTopK(10, 2, 3)
    assert below(6, 18, 31).larger == LargerTopK(20, 2, 3)
    assert below().larger is None
    assert below(21).larger is None  # a better ranking helps more
    assert below(20).larger == LargerTopK(20, 1, 1)
    assert below(6, None).larger == LargerTopK(10, 1, 1)  # which is no candidate
    (step, *_) = below(6, 6, 6).next_steps
    assert (step.kind, step.changes) == ("top_k", ({"search.top_k": 10},))
    assert {"search.top_k": 10} not in changes_for("top_k", recipe, None)


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
