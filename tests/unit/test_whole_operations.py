"""An operation that changes several things changes all of them, or none."""

from pathlib import Path

import pytest
from sqlalchemy import text

from rag import InvalidInput, KnowledgeBase, TourStop, Workspace
from rag.storage import builds, jobs, runs
from tests.workspaces import QUICK, add, stocked

pytestmark = pytest.mark.usefixtures("database")

OTHER = QUICK.with_fields({"index.chunk_size": 12})


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return stocked(home, {"leave.md": "Unused leave lapses in March. Illness stops it."})[0]


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("handbook")


def killed(*_: object, **__: object) -> None:
    """End as if the process were killed."""
    raise KeyboardInterrupt


def test_a_recipe_is_saved_with_the_job_of_its_index(workspace, base):
    outcome = base.recipes.save_and_build(OTHER)
    assert (outcome.saved, base.recipe()) == (True, OTHER)
    assert outcome.job is not None
    workspace.jobs.run(outcome.job)
    assert base.documents.missing(OTHER.index) == 0
    assert base.recipes.save_and_build(QUICK) == type(outcome)(saved=True)
    assert base.recipes.save_and_build(OTHER, instead_of=OTHER) == type(outcome)(saved=False)
    assert base.recipe() == QUICK


@pytest.mark.parametrize(("module", "name"), [(jobs, "create"), (builds, "ensure")])
def test_a_recipe_is_not_saved_without_the_job_of_its_index(base, monkeypatch, module, name):
    monkeypatch.setattr(module, name, killed)
    with pytest.raises(KeyboardInterrupt):
        base.recipes.save_and_build(OTHER)
    assert base.recipe() == QUICK
    assert [build.hash for build in base.documents.builds()] == [QUICK.index.hash]


def test_documents_that_are_added_get_into_the_index_of_a_saved_recipe(workspace, base):
    base.recipes.save(OTHER)
    add(workspace, base, {"travel.md": "Trains are booked by the office."})
    assert [hit.document for hit in base.search("trains", OTHER).hits] == ["travel.md"]


def test_a_run_has_its_note_and_its_tags_or_neither(base, monkeypatch):
    base.questions.create_set("checks")
    question = base.questions.add_question("checks", "When does leave lapse?")
    (leave,) = base.documents.documents(QUICK.index)
    base.questions.label("checks", question, leave.id, 0, 10, 1)
    run = base.runs.evaluate("checks", QUICK).run.id
    base.runs.describe(run, note="As shipped", tags=["q3"])
    for more in ({"tags": ["x" * 41]}, {"tags": [str(number) for number in range(21)]}):
        with pytest.raises(InvalidInput):
            base.runs.describe(run, note="Too strict", **more)
    monkeypatch.setattr(runs, "set_tags", killed)
    with pytest.raises(KeyboardInterrupt):
        base.runs.describe(run, note="Too strict", tags=["q4"])
    stored = base.runs.get(run)
    assert (stored.note, stored.tags) == ("As shipped", ("q3",))
    base.runs.describe(run, note="Too strict")
    stored = base.runs.get(run)
    assert (stored.note, stored.tags) == ("Too strict", ("q3",))


def test_a_set_of_proposals_is_made_with_its_job_or_not_at_all(base, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "create", killed)
        with pytest.raises(KeyboardInterrupt):
            base.questions.request_proposals("checks", ["cloze"], 1, QUICK)
    assert base.questions.list_all() == []
    base.questions.request_proposals("checks", ["cloze"], 1, QUICK)
    assert [item.name for item in base.questions.list_all()] == ["checks"]


def test_a_tour_begins_with_its_stops_or_not_at_all(base, monkeypatch):
    stop = TourStop("page", "Leave", "Unused leave lapses.")
    with pytest.raises(InvalidInput):
        base.conversations.tours.create("For the board", [stop.with_note("x" * 2001)])
    with monkeypatch.context() as patch:
        patch.setattr("rag.storage.access.links.replace_tour", killed)
        with pytest.raises(KeyboardInterrupt):
            base.conversations.tours.create("For the board", [stop])
    assert base.conversations.tours.list_tours() == []
    tour = base.conversations.tours.get(base.conversations.tours.create("For the board", [stop]))
    assert (tour.title, tour.stops) == ("For the board", (stop,))


def test_a_conversation_is_opened_with_its_name_or_not_at_all(workspace, base, monkeypatch):
    with pytest.raises(InvalidInput):
        base.conversations.open(None, "x" * 400)
    with monkeypatch.context() as patch:
        patch.setattr("rag.storage.conversations.sessions.change", killed)
        with pytest.raises(KeyboardInterrupt):
            base.conversations.open(None, "leave")
    with workspace._services.database.read() as connection:
        assert connection.execute(text("SELECT * FROM conversation")).all() == []
    opened = base.conversations.open(None, " leave ")
    assert base.conversations.named("leave").id == opened
    assert base.conversations.open(opened, "travel") == opened
    assert base.conversations.named("leave").id == opened
