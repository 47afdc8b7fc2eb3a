"""Questions that suggestions leave out, for owners and for guests with a link to one tour."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rag import Principal, ScopedWorkspace, TourStop
from rag.runs.quality.failing import failing, failing_depth, first_cause, ranks_low
from tests.runs import SET, VECTORS, WORDS, handbook


def test_guests_of_a_tour_learn_what_the_newest_runs_fail(home: Path) -> None:
    workspace, base = handbook(home)
    board = base.tours.create("Board", [TourStop("answer", "Why?", "Because.")])
    secret, _ = base.links.create("board", tour_id=board)
    guest = ScopedWorkspace(workspace, Principal(link=workspace.access.link(secret)))
    suggestions = guest.base(base.name).suggestions
    assert suggestions.newest_runs() == {}
    decisions = {f"q{n}": {"correct_decision": 1.0, "false_doubt": 0.0} for n in range(1, 5)}
    decisions["q2"] = {"correct_decision": 0.0, "false_doubt": 1.0}
    scored = base.evaluator.evaluate(SET, WORDS, beside=decisions).run
    strict = WORDS.with_fields({"search.threshold": 1.0})
    newest = base.evaluator.evaluate(SET, strict).run
    assert suggestions.newest_runs() == {SET: (newest.id, scored.id)}
    assert "q2" in suggestions.failing_questions([scored.id])
    assert suggestions.failing_questions([newest.id, scored.id]) >= {"q1", "q2", "q3", "q4"}
    assert suggestions.failing_questions([]) == frozenset()


def test_a_question_fails_by_its_first_cause(home: Path) -> None:
    _, base = handbook(home)
    run = base.evaluator.evaluate(SET, VECTORS).run
    results = {one.question_id: one for one in base.runs.results(run.id)}
    k = failing_depth(run)
    assert k == VECTORS.search.top_k
    found = replace(results["q1"], metrics={f"ndcg@{k}": 1.0})
    low = replace(found, metrics={f"ndcg@{k}": 0.4, "false_doubt": 1.0})
    doubtful = replace(found, metrics={f"ndcg@{k}": 0.5, "false_doubt": 1.0})
    unexpected = replace(found, metrics={f"ndcg@{k}": 1.0, "answer_containment": 0.0})
    causes = [first_cause(one, k) for one in (found, low, doubtful, unexpected)]
    assert causes == [None, "low", "doubtful", "unexpected"]
    right = {f"ndcg@{k}": 0.4, "answer_containment": 1.0}
    answered = [replace(found, metrics=right), replace(found, metrics={**right, "false_doubt": 1})]
    assert [(ranks_low(one, k), first_cause(one, k)) for one in answered] == [
        (True, None),
        (True, "low"),
    ]
    unanswerable = replace(results["q5"], metrics={})
    refused = replace(unanswerable, ranking=())
    wrong, right = (replace(unanswerable, metrics={"correct_doubt": it}) for it in (0.0, 1.0))
    causes = [first_cause(one, k) for one in (unanswerable, refused, wrong, right)]
    assert causes == ["not refused", None, "answered", None]
    unmeasured = replace(results["q2"], metrics={})
    assert failing(run, [found, low, unmeasured]) == {results["q1"].question_id}
