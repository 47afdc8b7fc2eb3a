"""Building the indexes of a grid as one job: what is done stays, the rest goes on later."""

from typing import Any

import pytest

from rag import Cancelled, IndexRecipe, InvalidRecipe
from rag.library.documents.ingestion import Ingestion
from tests.runs import WORDS, handbook

SIZES = [WORDS.with_fields({"index.chunk_size": size}).index for size in (8, 16, 32)]


def test_all_builds_are_made_once(home):
    workspace, base = handbook(home)
    job = base.documents.build_several([*SIZES, SIZES[0], WORDS.index])
    assert job is not None
    done = workspace.jobs.run(job)
    assert (done.status, done.message) == ("done", "3 indexes built")
    items = workspace.jobs.items(job)
    built = {row.hash: row.passages for row in base.documents.builds()}
    assert [item.chunks for item in items] == [built[recipe.hash] for recipe in SIZES]
    assert [item.name for item in items] == [f"{recipe.cut} with fake" for recipe in SIZES]
    assert base.documents.build_several(SIZES) is None
    workspace.close()


def test_a_stopped_job_keeps_what_is_built(home, monkeypatch):
    workspace, base = handbook(home)
    complete = Ingestion.complete

    def stopped(self: Ingestion, recipe: IndexRecipe, *rest: Any) -> None:
        if recipe == SIZES[1]:
            raise Cancelled("Stopped.")
        complete(self, recipe, *rest)

    monkeypatch.setattr(Ingestion, "complete", stopped)
    job = base.documents.build_several(SIZES)
    assert job is not None
    assert workspace.jobs.run(job).status == "cancelled"
    assert [item.status for item in workspace.jobs.items(job)] == ["added", "waiting", "waiting"]
    monkeypatch.undo()
    rest = base.documents.build_several(SIZES)
    assert rest is not None
    assert workspace.jobs.run(rest).status == "done"
    assert [item.name for item in workspace.jobs.items(rest)] == [
        f"{recipe.cut} with fake" for recipe in SIZES[1:]
    ]
    assert [base.documents.missing(recipe) for recipe in SIZES] == [0, 0, 0]
    workspace.close()


def test_an_unknown_embedder_fails_at_once(home):
    workspace, base = handbook(home)
    unknown = WORDS.with_fields({"index.embedder": "nobody"}).index
    with pytest.raises(InvalidRecipe):
        base.documents.build_several([SIZES[0], unknown])
    assert base.documents.missing(SIZES[0]) == 3
    workspace.close()
