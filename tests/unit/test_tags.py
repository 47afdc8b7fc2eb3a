"""Tags decide what a filter by tag finds, and nothing else."""

import pytest

from rag import FederatedBase, InvalidInput, Trace
from tests.runs import SET
from tests.workspaces import QUICK, add

ASKED = "How long may unused leave be carried over?"
TAGGED = QUICK.with_fields({"search.tags": ["policy"], "search.top_k": 50})
DATED = QUICK.with_fields({"search.after": "2000-01-01"})


def documents(trace: Trace) -> set[str]:
    return {hit.document for hit in trace.hits}


def from_cache(trace: Trace) -> bool:
    stage = trace.stage("question")
    return "from the cache" in stage.note


def test_a_tag_is_no_change_of_the_documents(base):
    before = base.version()
    first = base.search(ASKED, QUICK)
    base.documents.tag("leave.md", ["policy"])
    assert base.version() == before
    again = base.search(ASKED, QUICK)
    assert (from_cache(first), from_cache(again)) == (False, True)


def test_remembered_results_of_a_filter_by_tag_follow_the_tags(base):
    assert documents(base.search(ASKED, TAGGED)) == set()
    base.documents.tag("leave.md", ["Policy"])
    assert documents(base.search(ASKED, TAGGED)) == {"leave.md"}
    base.documents.tag("travel.txt", ["policy"])
    assert documents(base.search(ASKED, TAGGED)) == {"leave.md", "travel.txt"}
    base.documents.tag("leave.md", [])
    assert documents(base.search(ASKED, TAGGED)) == {"travel.txt"}
    base.documents.tag("pump.txt", ["machine"])
    assert from_cache(base.search(ASKED, TAGGED))


def test_only_filters_by_tag_and_date_name_documents(base):
    by_name = QUICK.with_fields({"search.documents": ["*.md"], "search.pages": "1"})
    assert (base.documents.filter_digest(QUICK), base.documents.filter_digest(by_name)) == ("", "")
    nothing, all_of_them = base.documents.filter_digest(TAGGED), base.documents.filter_digest(DATED)
    for name in ("leave.md", "pump.txt", "travel.txt"):
        base.documents.tag(name, ["policy"])
    assert base.documents.filter_digest(TAGGED) == all_of_them != nothing
    assert len(nothing) == 12


def test_a_run_without_such_a_filter_still_counts(parts, tmp_path):
    workspace, base = parts
    run = base.runs.evaluate(SET, QUICK, (1, 3)).run
    base.documents.tag("leave.md", ["policy"])
    assert (run.base_version, run.filter_digest) == (
        base.version(),
        base.documents.filter_digest(run.recipe),
    )
    assert "since this run" not in base.runs.report(run.id)
    workspace.bundle(run.id, tmp_path / "run.zip")


def test_a_run_with_such_a_filter_is_told_from_one_before(parts, tmp_path):
    workspace, base = parts
    base.documents.tag("leave.md", ["policy"])
    before = base.runs.evaluate(SET, TAGGED, (1, 3)).run
    workspace.bundle(before.id, tmp_path / "before.zip")
    base.documents.tag("travel.txt", ["policy"])
    after = base.runs.evaluate(SET, TAGGED, (1, 3)).run
    assert before.documents_hash == after.documents_hash
    assert after.metrics["recall@3"] > before.metrics["recall@3"]
    with pytest.raises(InvalidInput, match="tags or dates that its recipe filters by changed"):
        workspace.bundle(before.id, tmp_path / "after.zip")
    said = "Tags or dates that its recipe filters by have changed since this run."
    assert said in base.runs.report(before.id)
    assert said not in base.runs.report(after.id)


def test_runs_that_filter_alike_are_compared_with_a_caveat(base):
    base.documents.tag("leave.md", ["policy"])
    before = base.runs.evaluate(SET, TAGGED, (10,)).run.id
    base.documents.tag("travel.txt", ["policy"])
    after = base.runs.evaluate(SET, TAGGED, (10,)).run.id
    without = base.runs.evaluate(SET, QUICK, (10,)).run.id
    (found,) = base.runs.compare([after], before, "ndcg@10")
    assert found.caveats == ("The same filter selects other documents than before.",)
    assert base.runs.compare([without], before, "ndcg@10")[0].caveats == ()
    base.runs.pin(before)
    shown = {row.run.id: row.comparable for row in base.runs.leaderboard(SET, "ndcg@10")}
    assert shown == {before: True, after: False, without: True}


def test_the_state_names_what_a_search_depends_on_and_nothing_of_the_answer(parts):
    workspace, base = parts
    state = base.state(TAGGED)
    answered = TAGGED.with_fields({"answer.temperature": 0.5, "answer.model": "other"})
    assert (base.state(answered), answered.hash == TAGGED.hash) == (state, False)
    # One search serves both, and each trace carries the hash of its own recipe.
    base.search(ASKED, TAGGED)
    again = base.search(ASKED, answered)
    assert (from_cache(again), again.recipe) == (True, answered.hash)

    rewriting = TAGGED.with_fields({"search.rewrite": True, "answer.provider": "openai"})
    other_model = rewriting.with_fields({"answer.model": "other"})
    other = workspace.create("other", QUICK)
    beside = [FederatedBase(other, QUICK), FederatedBase(other, QUICK, 0.5)]
    states = {
        state,
        base.state(QUICK),
        base.state(QUICK.with_fields({"index.chunk_size": 30})),
        base.state(rewriting),
        base.state(other_model),
        *(base.state(TAGGED, [each]) for each in beside),
    }
    assert len(states) == 7
    base.documents.tag("leave.md", ["policy"])
    tagged = base.state(TAGGED)
    add(workspace, base, {"new.md": "Leave lapses."})
    assert len(states | {tagged, base.state(TAGGED)}) == 9
