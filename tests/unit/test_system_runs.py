"""Runs of systems beside runs of recipes: everything that reads runs knows both."""

from statistics import fmean

import pytest
from sqlalchemy import text

from rag import InvalidInput, KnowledgeBase, Returned, ReturnedText, Run, SystemSource
from rag.__main__ import main
from rag.chunking import estimates
from tests.runs import SET, WORDS, handbook
from tests.verbs import output_of
from tests.workspaces import database_at

ELSEWHERE = "Bread is baked at 220 degrees for three quarters of an hour, then left to cool."
CUTOFFS = (1, 3, 10)


def run_of_system(base: KnowledgeBase, *, foreign: bool = False, name: str = "mine") -> Run:
    """A system that returns what the recipe does, or one text of elsewhere before it."""
    deep = WORDS.with_fields({"search.top_k": 10})
    first = (ReturnedText(ELSEWHERE),) if foreign else ()
    returned = [
        Returned(
            item.text,
            first
            + tuple(ReturnedText(hit.chunk.text) for hit in base.search(item.text, deep).hits),
        )
        for item in base.systems.questions(SET)
    ]
    source = SystemSource("callable", name, "ab" * 32, errors={"q9": "TimeoutError: slow"})
    return base.systems.evaluate(SET, returned, source, CUTOFFS).evaluation.run


def test_a_run_of_a_system_is_compared_with_one_of_a_recipe(base):
    own = base.runs.evaluate(SET, WORDS, CUTOFFS).run
    other = run_of_system(base, foreign=True)
    (compared,) = base.runs.compare([other.id], own.id, "mrr@10")
    assert compared.figures.obstacle == ""
    assert compared.figures.difference == pytest.approx(-0.5)
    assert compared.chips == (f"recipe {WORDS.hash} → system mine",)
    assert compared.differences.data == ()
    board = {row.run.id: row for row in base.runs.leaderboard(SET)}
    assert board[other.id].name == "system mine"
    assert board[other.id].place == 2
    both = base.runs.side_by_side(other.id, own.id, "q2")
    assert [passage.foreign for passage in both.after[:2]] == [ELSEWHERE, None]
    assert [passage.other for passage in both.after[:2]] == [None, 1]
    assert base.runs.parity(other.id, own.id).questions[0].first_difference == 1
    assert base.runs.differences(other.id, other.id).phrase.startswith("the same system, questions")


def test_bounds_of_unjudged_hits_are_those_of_the_labels_that_the_run_was_measured_with(base):
    """The first hit of all four questions is of no document, and no label can make it relevant."""
    run = run_of_system(base, foreign=True)
    share = base.runs.unjudged(run.id, 1)
    assert (share.hits, share.unjudged) == (4, 0)
    assert share.precision == (0.0, 0.0)
    whole = base.runs.unjudged(run.id, 10)
    assert whole.ndcg.low <= run.metrics["ndcg@10"] <= whole.ndcg.high


def test_tokens_for_a_model_stand_beside_quality_in_every_comparison(base, capsys):
    shown = WORDS.with_fields({"search.top_k": 2})
    own = base.runs.evaluate(SET, shown, CUTOFFS).run
    asked = [item.text for item in base.systems.questions(SET)]
    texts = [[hit.chunk.text for hit in base.search(text, shown).hits] for text in asked]
    tokens = [sum(map(estimates.tokens, row)) for row in texts]
    assert own.context_tokens == pytest.approx(fmean(tokens), abs=0.1)
    returned = [
        Returned(text, (*map(ReturnedText, row), ReturnedText(ELSEWHERE)))
        for text, row in zip(asked, texts, strict=True)
    ]
    source = SystemSource("callable", "longer", "cd" * 32)
    longer = base.systems.evaluate(SET, returned, source, CUTOFFS).evaluation.run
    more = longer.context_tokens - own.context_tokens
    assert more == pytest.approx(estimates.tokens(ELSEWHERE), abs=0.11)

    new, old = (f"{run.context_tokens:,.0f}" for run in (longer, own))
    assert main(["parity", "handbook", longer.id, own.id]) == 0
    assert f"{new}, the other run {old}" in capsys.readouterr().out
    assert f"{new}, the other run {old}" in base.runs.report(longer.id, own.id)
    rows = output_of(capsys, "runs", "handbook")["runs"]
    assert {row["run"]: row["context_tokens"] for row in rows} == {
        run.id: run.context_tokens for run in (longer, own)
    }
    # What a run costs is no condition that it was measured under.
    assert base.runs.differences(longer.id, own.id).data == ()
    ids = [Returned(text, (ReturnedText("", id="leave.md"),)) for text in asked]
    unknown = base.systems.evaluate(SET, ids, source, CUTOFFS).evaluation.run
    assert unknown.context_tokens is None


def test_a_report_names_the_system(base):
    own = base.runs.evaluate(SET, WORDS, CUTOFFS).run
    run = run_of_system(base, foreign=True)
    page = base.runs.report(run.id, own.id)
    assert "1 question failed" in page
    assert ELSEWHERE in page
    assert "recipe.json" not in page


def test_a_bundle_says_that_a_system_cannot_be_repeated(home, tmp_path):
    workspace, base = handbook(home)
    run = run_of_system(base)
    with pytest.raises(InvalidInput, match="measured a system"):
        workspace.bundle(run.id, tmp_path / "run.zip")
    assert base.questions.export_run(run.id).splitlines()[0].endswith("touchstone-abababababab")


def test_texts_go_with_their_run_and_are_not_copied(home):
    workspace, base = handbook(home)
    run = run_of_system(base, foreign=True)

    def counts() -> list[int]:
        mine = "chunk WHERE cut_id IN (SELECT id FROM cut WHERE name = :cut)"
        with database_at(home).read() as connection:
            return [
                connection.execute(text(f"SELECT count(*) FROM {rows}"), {"cut": run.cut}).scalar()
                for rows in (mine, "foreign_text")
            ]

    before = counts()
    assert before[0] > 0
    assert before[1] == 1
    copy, job = workspace.duplicate(base.name, "copy")
    workspace.jobs.run(job)
    assert counts() == before
    assert copy.recipe() == base.recipe()
    base.runs.remove(run.id)
    assert counts() == [0, 0]


def test_a_gate_measures_against_a_run_of_a_system(base, capsys):
    run = run_of_system(base, foreign=True)
    result = output_of(capsys, "gate", "handbook", SET, "--baseline", run.id)
    assert result["outcome"] == "passed"
    assert result["paired"]["ndcg@10"]["difference"] > 0


def test_foreign_texts_cannot_be_decided_on(base):
    first, second = run_of_system(base), run_of_system(base, foreign=True, name="other")
    with pytest.raises(InvalidInput, match="in no document"):
        base.runs.start_decision(first.id, second.id, "dcg@10")


def test_a_system_that_failed_on_a_question_is_not_what_others_are_placed_by(base):
    own = base.runs.evaluate(SET, WORDS, CUTOFFS).run
    source = SystemSource("http", "flaky", "ab" * 32, 1, errors={"q1": "It answers 503."})
    returned = [Returned("Why is there a grinding noise?", (ReturnedText(ELSEWHERE),))]
    flaky = base.systems.evaluate(SET, returned, source, CUTOFFS).evaluation.run
    board = {row.run.id: row for row in base.runs.leaderboard(SET)}
    assert (board[own.id].place, board[own.id].differs) == (1, ())
    assert (board[flaky.id].place, board[flaky.id].differs) == (None, ("questions",))


def test_an_edit_of_passages_leaves_those_that_a_system_returned(base):
    own = base.runs.evaluate(SET, WORDS, CUTOFFS).run
    run = run_of_system(base)
    before = [passage.chunk for passage in base.runs.side_by_side(run.id, own.id, "q2").after]
    for document in base.documents.documents(WORDS.index):
        base.documents.edit_passages(document.id, "exclude", (0, 20))
    after = [passage.chunk for passage in base.runs.side_by_side(run.id, own.id, "q2").after]
    assert None not in before
    assert after == before
