"""Questions that suggestions leave out, for owners and for guests with a link to one tour."""

from rag import Principal, ScopedWorkspace, TourStop
from tests.runs import SET, WORDS, handbook


def test_guests_of_a_tour_learn_what_the_newest_runs_fail(home):
    workspace, base = handbook(home)
    board = base.tours.create("Board", [TourStop("answer", "Why?", "Because.")])
    secret, _ = base.access.create_link("board", tour_id=board)
    guest = ScopedWorkspace(workspace, Principal(link=workspace.access.link(secret)))
    suggestions = guest.base(base.name).runs
    assert suggestions.newest_runs() == {}
    decisions = {f"q{n}": {"correct_decision": 1.0, "false_doubt": 0.0} for n in range(1, 5)}
    decisions["q2"] = {"correct_decision": 0.0, "false_doubt": 1.0}
    scored = base.runs.evaluate(SET, WORDS, beside=decisions).run
    strict = WORDS.with_fields({"search.threshold": 1.0})
    newest = base.runs.evaluate(SET, strict).run
    assert suggestions.newest_runs() == {SET: (newest.id, scored.id)}
    assert "q2" in suggestions.failing_questions([scored.id])
    assert suggestions.failing_questions([newest.id, scored.id]) >= {"q1", "q2", "q3", "q4"}
    assert suggestions.failing_questions([]) == frozenset()
