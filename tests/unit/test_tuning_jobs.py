"""Searches, tables of cuts and fits as jobs: queued once, kept, true in what they tell."""

import json

import pytest
from sqlalchemy import text

from rag import Grid, InvalidRecipe, KnowledgeBase, Workspace, idle_fields
from tests.jobs import Progress, heard
from tests.runs import SET, WORDS
from tests.workspaces import QUICK, database_at, workspace_at

GRID = {"search.mode": ["dense", "lexical"], "search.k1": [0.9, 1.2]}
EMPTY = WORDS.with_fields({"search.threshold": 1.0})
CUTS = {"index.chunk_size": [24, 48]}


@pytest.fixture
def workspace(parts: tuple[Workspace, KnowledgeBase]) -> Workspace:
    return parts[0]


def _counted(told: list[Progress]) -> list[tuple[int, int]]:
    return [(done, total) for done, total, _ in told if total]


def _climbs(told: list[tuple[int, int]]) -> None:
    done = [each for each, _ in told]
    assert done == sorted(done)
    assert len(set(done)) > 2
    assert len({total for _, total in told}) == 1


def test_a_build_of_another_index_leaves_what_was_measured(workspace, base):
    other = WORDS.with_fields({"index.chunk_size": 48})
    before, unbuilt = base.tuning.state(SET, WORDS), base.tuning.state(SET, other)
    done = workspace.jobs.run(base.documents.build(other.index))
    assert (done.status, done.title) == ("done", "Building sections 48 with fake")
    assert base.tuning.state(SET, WORDS) == before
    assert base.tuning.state(SET, other) != unbuilt
    leave, *_ = base.documents.documents(WORDS.index)
    base.documents.edit_passages(
        leave.id, "exclude", base.documents.find_quote(leave.id, "Sick leave")
    )
    workspace.jobs.run(workspace.jobs.recent(base.id)[0].id)
    edited = base.tuning.state(SET, WORDS)
    assert edited != before
    base.documents.delete_documents([leave.id])
    assert base.tuning.state(SET, WORDS) not in (before, edited)


def test_a_search_is_kept_with_what_it_was_measured_on(workspace, base, home):
    job = base.tuning.searches.start(SET, GRID, WORDS, EMPTY, "ndcg@10")
    assert base.tuning.searches.start(SET, GRID, WORDS, EMPTY, "ndcg@10") == job
    assert base.tuning.searches.start(SET, GRID, WORDS, WORDS, "mrr@10") != job
    assert base.tuning.searches.result(SET) is None
    done = workspace.jobs.run(job)
    assert done.status == "done"
    found = workspace_at(home).base(base.name).tuning.searches.result(SET)
    best = base.tuning.tuner(SET).search(Grid.parse(GRID, WORDS), EMPTY, "ndcg@10")
    assert (found.recipe, found.baseline) == (best.recipe, EMPTY)
    assert found.selection == best.selection
    assert found.state == base.tuning.state(SET, WORDS)


def test_a_result_of_an_earlier_version_that_cannot_be_read_is_none(workspace, base, home):
    workspace.jobs.run(base.tuning.searches.start(SET, GRID, WORDS, EMPTY, "ndcg@10"))
    assert base.tuning.searches.result(SET) is not None
    with database_at(home).write() as connection:
        connection.execute(text("UPDATE job SET result = '{\"recipe\": null}'"))
    assert base.tuning.searches.result(SET) is None


def test_what_is_measured_on_has_another_name_when_it_changes(base):
    names = [base.tuning.state(SET, WORDS)]
    assert base.tuning.state(SET, EMPTY) == names[0]
    base.questions.edit_question(SET, "q1", tags=["changed"])
    names.append(base.tuning.state(SET, WORDS))
    base.questions.set_split(SET, 3, 0.5)
    names.append(base.tuning.state(SET, WORDS))
    base.documents.delete_documents([base.documents.documents(WORDS.index)[0].id])
    names.append(base.tuning.state(SET, WORDS))
    assert len(set(names)) == 4


def test_a_search_that_was_stopped_leaves_the_one_before(workspace, base):
    workspace.jobs.run(base.tuning.searches.start(SET, GRID, WORDS, EMPTY, "ndcg@10"))
    before = base.tuning.searches.result(SET)
    stopped = base.tuning.searches.start(SET, GRID, WORDS, WORDS, "ndcg@10")
    workspace.jobs.cancel(stopped)
    assert workspace.jobs.run(stopped).status == "cancelled"
    assert base.tuning.searches.result(SET) == before is not None
    with pytest.raises(InvalidRecipe):
        base.tuning.searches.start(SET, {"search.moon": [1]}, WORDS, EMPTY, "ndcg@10")


def test_a_table_has_the_rows_of_the_foreground(workspace, base):
    grid = Grid.parse(CUTS, WORDS)
    building = base.documents.build_several([each.index for each in grid.indexes()])
    assert building is not None
    workspace.jobs.run(building)
    job = base.tuning.build_tables.start(SET, CUTS, WORDS, (5, 10))
    assert base.tuning.build_tables.start(SET, CUTS, WORDS, (5, 10)) == job
    with heard() as told:
        assert workspace.jobs.run(job).status == "done"
    _climbs(_counted(told))
    found = base.tuning.build_tables.result(SET, grid)
    assert list(found.rows) == base.tuning.build_table.rows(SET, grid, (5, 10))
    assert found.state == base.tuning.state(SET, WORDS)
    assert base.tuning.build_tables.result(SET, Grid.parse({}, WORDS)) is None


EMBEDDERS = {"index.embedder": ["fake", "wordllama"]}


@pytest.mark.parametrize(
    ("grid", "chosen", "weights"),
    [
        (EMBEDDERS, 0.6, [0.6, 0.35]),
        (EMBEDDERS, 0.8, [0.8, 0.8]),
        (EMBEDDERS | {"search.dense_weight": [0.6]}, 0.6, [0.6, 0.6]),
    ],
)
def test_embedders_are_compared_with_the_weights_of_an_evaluation(
    workspace, base, grid, chosen, weights
):
    label = {"document": "leave.md", "quote": "Sick leave is reported before ten"}
    asked = {"id": "q1", "text": "vacation days per year", "evidence": [label]}
    base.questions.import_file("ranks", "ranks.jsonl", json.dumps(asked))
    recipe = QUICK.with_fields({"search.dense_weight": chosen})
    parsed = Grid.parse(grid, recipe)
    workspace.jobs.run(base.documents.build_several([each.index for each in parsed.indexes()]))
    evaluated = [
        base.runs.evaluate(
            "ranks", recipe.with_fields({"index.embedder": name, "search.dense_weight": weight})
        ).run
        for name, weight in zip(EMBEDDERS["index.embedder"], weights, strict=True)
    ]
    sweep = base.tuning.sweep("ranks", grid, recipe)
    workspace.jobs.run(base.tuning.build_tables.start("ranks", grid, recipe, (5, 10)))
    for number, row in enumerate(base.tuning.build_tables.result("ranks", parsed).rows):
        run = evaluated[number]
        assert row.recipe == sweep.grid.recipe(number) == run.recipe
        assert row.metrics["ndcg@10"] == run.metrics["ndcg@10"]
        assert sweep.metrics(number)["ndcg@10"] == run.metrics["ndcg@10"]
    rank = {0.35: 3, 0.6: 4, 0.8: 5}[weights[1]]
    assert evaluated[1].metrics["mrr@10"] == 1 / rank


def test_too_few_labels_end_a_fit_with_the_reason(workspace, base):
    job = base.tuning.fits.start(SET, WORDS)
    assert base.tuning.fits.start(SET, WORDS) == job
    failed = workspace.jobs.run(job)
    assert failed.status == "failed"
    assert base.tuning.fits.latest(SET, WORDS) == failed
    base.questions.edit_question(SET, "q1", tags=["changed"])
    assert base.tuning.fits.latest(SET, WORDS) is None


def test_progress_of_a_search_and_a_fit_only_climbs(workspace, base):
    grid = {**GRID, "search.mmr": [None, 0.5]}  # some of it beyond arithmetic
    job = base.tuning.searches.start(SET, GRID, WORDS, EMPTY, "ndcg@10")
    with heard() as told:
        workspace.jobs.run(job)
    _climbs(searched := _counted(told))
    assert searched[-1][0] == searched[-1][1]
    swept: list[tuple[int, int]] = []
    sweeper = base.tuning.sweeper(SET)
    sweeper.sweep(Grid.parse(grid, WORDS), on_progress=lambda *each: swept.append(each))
    _climbs(swept)
    assert swept[-1][0] == swept[-1][1]
    with heard() as told:
        workspace.jobs.run(base.tuning.fits.start(SET, WORDS))
    _climbs(_counted(told))


def test_fields_that_a_search_does_not_look_at():
    search = WORDS.search
    changed = {
        "lexical": {"rrf_k", "bm25_pivot", "dense_weight", "fusion"},
        "dense": {"rrf_k", "bm25_pivot", "dense_weight", "fusion", "k1", "b"},
        "hybrid": {"rrf_k", "bm25_pivot"},
    }
    for mode, idle in changed.items():
        assert idle_fields(search.model_copy(update={"mode": mode, "fusion": "weighted"})) == idle
    rrf = search.model_copy(update={"mode": "hybrid", "fusion": "rrf"})
    assert idle_fields(rrf) == {"bm25_pivot"}
    assert idle_fields(rrf.model_copy(update={"fusion": "qdrant_rrf"})) == {"bm25_pivot"}
    assert idle_fields(rrf.model_copy(update={"fusion": "saturation"})) == {"rrf_k"}
    assert idle_fields(rrf.model_copy(update={"mode": "dense"})) == changed["dense"]


def test_leaders_differ_in_what_makes_a_difference(workspace, base):
    grid = {**GRID, "search.rrf_k": [10, 60]}
    sweep = base.tuning.sweep(SET, grid, WORDS)
    workspace.jobs.run(base.tuning.searches.start(SET, grid, WORDS, WORDS, "ndcg@10"))
    found = base.tuning.searches.result(SET).leaders
    assert found[0].figure == sweep.figures[:, sweep.names.index("ndcg@10")].max()
    assert [leader.figure for leader in found] == sorted(
        (leader.figure for leader in found), reverse=True
    )
    assert [leader.fields for leader in found if leader.fields["mode"] == "dense"] == [
        {"mode": "dense", "k1": None, "rrf_k": None}
    ]
    lexical = [leader.fields["k1"] for leader in found if leader.fields["mode"] == "lexical"]
    assert lexical == [None]  # both rank alike
