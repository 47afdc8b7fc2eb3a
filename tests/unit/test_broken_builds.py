"""A build that cannot be made is refused; those of a grid are made as one job."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import (
    Cancelled,
    IndexRecipe,
    InvalidInput,
    InvalidRecipe,
    KnowledgeBase,
    NotFound,
    ProviderUnavailable,
    Workspace,
)
from rag.errors import ProviderRejected
from rag.library.documents.bulk_jobs import Build
from rag.library.documents.ingestion import Ingestion
from rag.protocols import Embedder, InputType
from rag.providers.minilm import HashingEmbedder
from rag.services.services import Models
from rag.storage import builds
from rag.types import Vectors
from tests.runs import WORDS, handbook
from tests.workspaces import QUICK, add, database_at, found, workspace_at

LEAVE = "# Leave\n\nUnused leave may be carried over for three months.\n"
TRAVEL = "# Travel\n\nTrains are booked in second class.\n"
IMPOSSIBLE = [
    pytest.param("index.embedder", "openai", ProviderRejected, id="no key"),
    pytest.param("index.embedder", "abacus", InvalidRecipe, id="unknown embedder"),
    pytest.param("index.analyzer", "klingon", InvalidRecipe, id="unknown analyzer"),
]
impossible = pytest.mark.parametrize(("field", "value", "error"), IMPOSSIBLE)


class Moody(HashingEmbedder):
    """An embedder whose server is away until ``away`` is false."""

    id = "moody"
    away = True

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if self.away:
            raise ProviderUnavailable("The server is away.", "Start it.")
        return np.ascontiguousarray(super().embed(texts, input_type)[:, ::-1])


@pytest.fixture
def moody(monkeypatch: pytest.MonkeyPatch) -> Moody:
    real, embedder = Models.embedder, Moody()

    def chosen(models: Models, name: str) -> Embedder:
        return embedder if name.startswith("ollama") else real(models, name)

    monkeypatch.setattr(Models, "embedder", chosen)
    return embedder


@pytest.fixture
def workspace(home: Path, moody: Moody) -> Workspace:
    return workspace_at(home)


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    made = workspace.create("handbook", QUICK)
    add(workspace, made, {"leave.md": LEAVE})
    return made


def hashes(base: KnowledgeBase) -> list[str]:
    return [row.hash for row in base.documents.builds()]


def register(home: Path, base: KnowledgeBase, recipe: IndexRecipe) -> None:
    """What a build is that could be made once, and cannot any more."""
    database = database_at(home)
    with database.write() as connection:
        builds.ensure(connection, base.id, recipe)
    database.close()


def test_vectors_of_another_server_are_not_searched(home, workspace, moody, monkeypatch):
    moody.away = False
    recipe = QUICK.with_fields({"index.embedder": "ollama:x", "search.mode": "dense"})
    base = workspace.create("remote", recipe)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    assert "carried over" in found(base, "unused leave carried over", recipe)[0]
    monkeypatch.setattr(moody, "id", "moody@elsewhere")
    monkeypatch.setattr(moody, "embed", HashingEmbedder().embed)
    again = workspace_at(home).base("remote")  # a later process, with the snapshot of the first
    hit = again.search("unused leave carried over", recipe).hits[0]
    assert "carried over" in hit.chunk.text
    assert hit.relevance > 0.5
    asked = list[str]()
    monkeypatch.setattr(moody, "embed", lambda texts, kind: _noting(asked, texts, kind))
    found(workspace_at(home).base("remote"), "second class", recipe)
    assert asked == ["second class"]  # the vectors of the documents were kept


def _noting(asked: list[str], texts: Sequence[str], kind: InputType) -> Vectors:
    asked.extend(texts)
    return HashingEmbedder().embed(texts, kind)


def test_a_document_deleted_meanwhile_ends_no_build(workspace):
    base = workspace.create("handbook 2", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    leave, travel = base.documents.documents(QUICK.index)
    page = QUICK.with_fields({"index.chunker": "page"})
    ingestion = Ingestion(base._database, base.id, base._services.models.embedder)
    base.documents.delete_documents([leave.id])
    ingestion.complete(page.index, [leave.id, travel.id], lambda *_: None)
    assert base.documents.missing(page.index) == 0
    assert "second class" in found(base, "second class", page)[0]


@pytest.mark.parametrize("field", ["index.chunker", "index.embedder"])
def test_an_index_that_was_never_built_is_not_measured(base, field):
    label = {"document": "leave.md", "quote": "carried over"}
    line = json.dumps({"text": "Until when?", "evidence": [label]})
    base.questions.import_file("checks", "checks.jsonl", line)
    other = QUICK.with_fields({field: "page" if field == "index.chunker" else "wordllama"})
    with pytest.raises(InvalidInput, match="none of the labelled documents"):
        base.runs.evaluate("checks", other)
    with pytest.raises(InvalidInput, match="none of the labelled documents"):
        base.tuning.tuner("checks").figures([other], ["ndcg@10"])
    assert base.runs.list_all() == []


@impossible
def test_an_impossible_build_is_refused_and_leaves_nothing(workspace, base, field, value, error):
    recipe = QUICK.with_fields({field: value})
    with pytest.raises(error):
        base.documents.build(recipe.index)
    with pytest.raises(error):
        base.documents.prepare_build(recipe.index)
    with pytest.raises(error):
        base.search("carried over", recipe)
    assert hashes(base) == [QUICK.index.hash]
    assert add(workspace, base, {"travel.md": TRAVEL}) == ["added"]


@impossible
def test_a_job_that_was_queued_for_an_impossible_build_registers_nothing(
    workspace, base, field, value, error
):
    recipe = QUICK.with_fields({field: value}).index
    job = workspace.jobs.run(workspace.jobs.submit(base.id, "Building", Build(recipe=recipe)))
    assert job.status == "failed"
    assert "Unexpected" not in job.message
    assert hashes(base) == [QUICK.index.hash]


@impossible
def test_a_base_with_an_impossible_recipe_is_not_made(workspace, field, value, error):
    with pytest.raises(error):
        workspace.create("handbook", QUICK.with_fields({field: value}))
    with pytest.raises(NotFound):
        workspace.base("handbook")


def test_looking_at_a_recipe_that_was_never_built_registers_no_build(base):
    page = QUICK.with_fields({"index.chunker": "page"})
    assert base.search("carried over", page).hits == ()
    assert hashes(base) == [QUICK.index.hash]


def test_a_recipe_that_was_looked_at_is_found_once_it_is_built(workspace, base):
    page = QUICK.with_fields({"index.chunker": "page"})
    assert found(base, "carried over", page) == []
    workspace.jobs.run(base.documents.build(page.index))
    assert "carried over" in found(base, "carried over", page)[0]


def test_a_build_whose_server_is_away_is_not_registered(workspace, base, moody):
    recipe = QUICK.with_fields({"index.embedder": "ollama:m"}).index
    job = workspace.jobs.run(base.documents.build(recipe))
    assert job.status == "failed"
    assert hashes(base) == [QUICK.index.hash]


def test_a_build_that_broke_later_lacks_documents_until_it_is_built_again(workspace, base, moody):
    recipe = QUICK.with_fields({"index.embedder": "ollama:m"})
    moody.away = False
    workspace.jobs.run(base.documents.build(recipe.index))
    moody.away = True
    assert add(workspace, base, {"travel.md": TRAVEL}) == ["added"]
    job = workspace.jobs.recent(base.id)[0]
    [item] = workspace.jobs.items(job.id)
    assert job.status == "done"
    assert item.reason == "not in the build with ollama:m: The server is away."
    assert "second class" in found(base, "second class trains")[0]
    assert (base.documents.missing(QUICK.index), base.documents.missing(recipe.index)) == (0, 1)
    moody.away = False
    workspace.jobs.run(base.documents.build(recipe.index))
    assert base.documents.missing(recipe.index) == 0
    assert "second class" in found(base, "second class trains", recipe)[0]


@impossible
def test_a_build_that_became_impossible_keeps_no_document_out(
    workspace, base, home, field, value, error
):
    register(home, base, QUICK.with_fields({field: value}).index)
    assert add(workspace, base, {"travel.md": TRAVEL}) == ["added"]
    assert workspace.jobs.recent(base.id)[0].status == "done"
    assert "second class" in found(base, "second class trains")[0]


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
