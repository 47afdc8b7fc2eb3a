"""Fixes of failed questions, measured on questions that did not choose them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from rag import KnowledgeBase, Split, Workspace
from rag.experiments.tuning.diagnosis import diagnosis, fixes
from rag.experiments.tuning.diagnosis.case import scores
from rag.experiments.tuning.diagnosis.causes import Cause
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.experiments.tuning.diagnosis.fixes import Changes, Trials, key_of, metric_depth, try_fixes
from rag.services.services import Services
from rag.types import Floats, ProgressCallback
from tests.workspaces import QUICK, add, workspace_at

WORDS = QUICK.with_fields(
    {
        "search.mode": "lexical",
        "search.spelling": False,
        "search.top_k": 1,
        "index.chunk_size": 60,
    }
)

ROOMS = tuple(f"{letter}ellow{letter}" for letter in "bcdfghjklmnprstw")
SEVERAL = WORDS.with_fields({"search.top_k": 3})
STRICT = {"search.threshold": 1.0}
FILTERED = {"search.documents": [f"{room}.md" for room in ROOMS[:8]]}


def _line(name: str, text: str, document: str, quote: str) -> dict[str, Any]:
    return {"id": name, "text": text, "evidence": [{"document": document, "quote": quote}]}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace_at(tmp_path_factory.mktemp("home"))


def _imported(workspace: Workspace, name: str, unanswerable: int = 0) -> KnowledgeBase:
    """A base with a document and a question for each room, and questions without an answer."""
    base = workspace.create(name, WORDS)
    texts = {room: f"The room {room} has a projector." for room in ROOMS}
    add(workspace, base, {f"{room}.md": text for room, text in texts.items()})
    lines = [
        _line(room, f"What does {room} have?", f"{room}.md", text) for room, text in texts.items()
    ]
    lines += [
        {"id": f"cost {room}", "text": f"What does {room} cost?", "answerable": False}
        for room in ROOMS[:unanswerable]
    ]
    base.questions.import_file(name, "x.jsonl", "\n".join(map(json.dumps, lines)))
    return base


@pytest.fixture(scope="module")
def halls(workspace: Workspace) -> KnowledgeBase:
    return _imported(workspace, "halls", 8)


def test_a_fix_is_told_by_what_all_held_out_questions_gain_and_lose(workspace):
    base = _imported(workspace, "rooms")
    outcome = base.tuning.diagnoses.diagnose("rooms", WORDS.with_fields(STRICT))
    assert outcome.causes == {"threshold": 16}
    (fix,) = outcome.trials.fixes
    assert fix.changes == {"search.threshold": None}
    assert (fix.tuning, fix.tuning_gain, fix.comparison.difference) == (8, 1.0, 1.0)
    assert (fix.comparison.won, fix.comparison.lost, len(fix.rescued)) == (8, 0, 8)
    assert fix.comparison.verdict == "better"


@pytest.mark.parametrize(
    ("fields", "cause", "moves"),
    [(FILTERED, "filter", False), (STRICT, "threshold", True)],
    ids=["unmoved", "returned"],
)
def test_questions_without_an_answer_measure_a_fix_only_if_it_moves_them(
    halls, fields, cause, moves
):
    (fix,) = halls.tuning.diagnoses.diagnose("halls", SEVERAL.with_fields(fields)).trials.fixes
    unanswerable = set(fix.comparison.differences) - set(ROOMS)
    assert fix.causes == (cause,)
    assert bool(unanswerable) is moves
    assert fix.without_ndcg == len(unanswerable) == fix.comparison.lost
    scored = (
        f" Among them: {fix.without_ndcg} questions without an answer, scored 1 if the search "
        "returns nothing and 0 otherwise. nDCG@10 of those with an answer: "
        f"+1.000. Of {fix.without_ndcg} without, −{fix.without_ndcg} return nothing."
    )
    assert fix.comparison.metric == ("score" if moves else "ndcg@10")
    assert fix.sentence == fix.comparison.sentence + scored * moves
    ranked = len(fix.comparison.differences) - fix.without_ndcg
    with_answer = (
        f"on the {ranked} held-out questions with an answer and {fix.without_ndcg} without"
    )
    assert fix.basis == (with_answer if moves else fix.comparison.basis)
    assert (fix.comparison.mean == 1.0) is not moves
    assert (fix.tuning + len(fix.comparison.differences) == 16) is not moves


def test_a_fix_that_no_held_out_question_measures_is_left_out(halls, monkeypatch):
    parts = Split(ROOMS, tuple(f"cost {room}" for room in ROOMS[:8]))

    def with_parts(*arguments: Any) -> Trials:
        return try_fixes(*arguments[:4], parts, *arguments[5:])

    monkeypatch.setattr(diagnosis, "try_fixes", with_parts)
    unmoved = halls.tuning.diagnoses.diagnose("halls", SEVERAL.with_fields(FILTERED))
    note = "A change gains on the tuning questions, but no held-out question can test it."
    assert (unmoved.trials.fixes, unmoved.trials.note) == ((), note)
    assert unmoved.trials.tried > 0
    assert [(step.kind, step.reason) for step in unmoved.next_steps][-1] == ("label", note)
    (fix,) = halls.tuning.diagnoses.diagnose("halls", SEVERAL.with_fields(STRICT)).trials.fixes
    assert fix.without_ndcg == len(fix.comparison.differences) == fix.comparison.lost == 8


def test_a_change_is_against_a_cause_only_if_it_helps_a_question_that_failed_by_it(
    halls, monkeypatch
):
    def gain_on(
        _services: Services,
        _base_id: int,
        examination: Examination,
        proposals: Mapping[Cause, Sequence[Changes]],
        _on_progress: ProgressCallback,
    ) -> dict[str, Floats]:
        base = scores(examination.searched, metric_depth(examination.recipe))
        gain = 0.1 * np.array([one.id in ids for one in examination.questions])
        return {key_of(each): base + gain for changes in proposals.values() for each in changes}

    monkeypatch.setattr("rag.experiments.runs.quality.failing.FLAGGED", ())
    monkeypatch.setattr(fixes, "measure_changes", gain_on)
    ids = {*ROOMS}
    elsewhere = halls.tuning.diagnoses.diagnose("halls", SEVERAL)
    assert elsewhere.causes == {"answered": 8}
    assert [fix.causes for fix in elsewhere.trials.fixes] == [()]
    assert elsewhere.trials.without_gain == ("answered",)
    assert elsewhere.trials.helping_others == ("answered",)
    ids = {f"cost {room}" for room in ROOMS[:8]}
    there = halls.tuning.diagnoses.diagnose("halls", SEVERAL)
    assert [fix.causes for fix in there.trials.fixes] == [("answered",)]
    assert (there.trials.without_gain, there.trials.helping_others) == ((), ())


def test_the_found_passage_with_the_expected_answer_is_named(workspace):
    base = workspace.create("severance", WORDS)
    text = "Severance pay is at most 6 months of salary."
    add(workspace, base, {"severance.md": text})
    line = {
        "id": "pay",
        "text": "How much severance pay is there at most?",
        "evidence": [{"document": "severance.md", "quote": text}],
        "answer": "6 months",
    }
    base.questions.import_file("severance", "x.jsonl", json.dumps(line))
    scored = {"false_doubt": 0.0, "answer_containment": 0.0}
    base.runs.evaluate("severance", WORDS, beside={"pay": scored})
    (question,) = base.tuning.diagnoses.diagnose("severance", WORDS).questions
    assert question.document == "severance.md"
    (hit,) = base.search(question.text, WORDS).hits
    assert question.passage == hit.chunk.id
