"""Parity of two runs: overlap at k, rank-biased overlap and the first rank that differs."""

from dataclasses import replace
from pathlib import Path

import pytest

from rag import InvalidInput, KnowledgeBase, NotFound, QuestionResult, Recipe, Workspace
from rag.__main__ import main
from rag.storage import runs
from tests.runs import SET, WORDS, handbook
from tests.verbs import output_of


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return handbook(home)[0]


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("handbook")


def _run(base: KnowledgeBase, recipe: Recipe) -> str:
    return base.runs.evaluate(SET, recipe, (1, 3)).run.id


def _result(name: str, ids: str, text: str = "?") -> QuestionResult:
    ranking = tuple((letter, 1.0, 0) for letter in ids)
    return QuestionResult(name, text, (), True, {}, ranking, None, 0, 0)


def _stored(
    workspace: Workspace, base: KnowledgeBase, run_id: str, results: list[QuestionResult]
) -> str:
    run = base.runs.get(_run(base, WORDS))
    with workspace._services.database.write() as connection:
        runs.insert_run(connection, replace(run, id=run_id), results)
    return run_id


def test_values_worked_out_by_hand(workspace, base):
    one = [_result("equal", "abc"), _result("swapped", "abc"), _result("short", "abcd")]
    other = [_result("equal", "abc"), _result("swapped", "bad"), _result("short", "ab")]
    one += [_result("none", ""), _result("gone", "a"), _result("reworded", "a", "Old?")]
    other += [_result("none", ""), _result("reworded", "a", "New?")]
    first = _stored(workspace, base, "one", one)
    second = _stored(workspace, base, "other", other)
    found = base.runs.parity(first, second)
    assert [(r.id, r.overlap, r.first_difference) for r in found.questions] == [
        ("short", 0.5, 3),
        ("swapped", pytest.approx(2 / 3), 1),
        ("equal", 1.0, None),
        ("none", 1.0, None),
    ]
    # .1/.9 * (0/1 * .9 + 2/2 * .81 + 2/3 * .729) + 2/3 * .729
    assert found.questions[1].rank_biased_overlap == pytest.approx(0.63)
    assert found.overlap == pytest.approx((0.5 + 2 / 3 + 1 + 1) / 4)
    assert (found.equal, found.left_out) == (2, 3)
    cut = base.runs.parity(first, second, 2)
    assert (cut.overlap, cut.equal) == (1.0, 3)


def test_a_run_agrees_with_itself(base):
    words = _run(base, WORDS)
    found = base.runs.parity(words, words)
    assert (found.overlap, found.rank_biased_overlap) == (1.0, pytest.approx(1.0))
    assert (found.equal, found.left_out) == (len(found.questions), 0)


def test_passages_of_another_cut_are_matched_by_what_they_share(workspace, base):
    small = WORDS.with_fields({"index.chunk_size": 12})
    assert workspace.jobs.run(base.documents.build(small.index)).status == "done"
    fine, coarse = _run(base, small), _run(base, WORDS)
    by_id = {row.id: row for row in base.runs.parity(fine, coarse, 1).questions}
    assert (by_id["q2"].overlap, by_id["q2"].first_difference) == (1.0, None)


def test_runs_without_a_common_question_are_refused(workspace, base):
    words = _run(base, WORDS)
    foreign = _stored(workspace, base, "foreign", [_result("x", "a")])
    with pytest.raises(InvalidInput, match="no question in common"):
        base.runs.parity(words, foreign)
    with pytest.raises(InvalidInput, match="at least 1"):
        base.runs.parity(words, words, 0)
    with pytest.raises(NotFound):
        base.runs.parity(words, "missing")


def test_the_verb_fails_below_its_minimum(workspace, base, home, capsys):
    one = _stored(workspace, base, "one", [_result("q", "ab", "Where?")])
    other = _stored(workspace, base, "other", [_result("q", "ac", "Where?")])
    called = ["parity", "handbook", one, other]
    data = output_of(capsys, *called)
    assert (data["overlap"], data["equal"], data["questions"][0]["first_difference"]) == (0.5, 0, 2)
    assert main([*called, "--min", "0.5"]) == 0
    assert main([*called, "--min", "0.6"]) == 1
    assert "  0.5000  from rank 2  Where?" in capsys.readouterr().out
