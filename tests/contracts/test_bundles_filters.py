"""A run whose recipe filters is repeated elsewhere: tags and dates travel with the documents."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag import KnowledgeBase, Workspace
from rag.storage import documents
from tests.bundles import parts_of, written
from tests.runs import QUESTIONS, SET, handbook
from tests.sample_files import pdf, word
from tests.workspaces import QUICK, add, workspace_at

MANUAL = pdf("The bearing of the pump is dry.", "Grease it every 500 hours.", "Call us in June.")
FILTERS: Mapping[str, dict[str, object]] = {
    "tag": {"tags": ["policy"]},
    "tag and name": {"tags": ["policy", "machine"], "documents": ["*.md", "manual*"]},
    "type": {"types": ["application/pdf", "md"]},
    "page range": {"pages": "1-2"},
    "heading": {"heading": "leave"},
    "after": {"after": "2021-06-01"},
    "before": {"before": "2021-06-01"},
}


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """The machine that bundles: files of several types, tagged, some added long ago."""
    workspace, base = handbook(tmp_path / "here")
    add(workspace, base, {"manual.pdf": MANUAL, "handbook.docx": word()})
    base.documents.tag("leave.md", ["policy", "2024"])
    base.documents.tag("manual.pdf", ["machine"])
    ids = {info.name: info.id for info in base.documents.documents(QUICK.index)}
    with workspace._services.database.write() as connection:
        for name, year in (("leave.md", 2020), ("pump.txt", 2022)):
            moment = datetime(year, 3, 4, 23, 30, tzinfo=UTC)
            documents.set_added(connection, base.id, ids[name], moment)
    base.questions.import_file(SET, "questions.jsonl", QUESTIONS)
    return workspace


def bundled(here: Workspace, target: Path, fields: Mapping[str, object], *, whole: bool) -> str:
    recipe = QUICK.with_fields({f"search.{name}": value for name, value in fields.items()})
    run = here.base("handbook").runs.evaluate(SET, recipe, (1, 3, 10)).run
    here.bundle(run.id, target, with_documents=whole)
    return run.id


def originals(base: KnowledgeBase, folder: Path) -> Path:
    folder.mkdir()
    for info in base.documents.documents(QUICK.index):
        path = base.documents.original(info.id)
        (folder / info.id[:8]).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("whole", [True, False], ids=["with documents", "from a folder"])
@pytest.mark.parametrize("fields", FILTERS.values(), ids=FILTERS.keys())
def test_a_filtered_run_is_repeated_to_the_last_digit(here, tmp_path, fields, whole):
    base, there = here.base("handbook"), workspace_at(tmp_path / "there")
    run = bundled(here, tmp_path / "run.zip", fields, whole=whole)
    folder = None if whole else originals(base, tmp_path / "originals")
    found = there.import_bundle(tmp_path / "run.zip", documents=folder)
    assert (found.exact, found.deviations, found.largest_score_gap) == (True, (), 0.0)
    assert found.environment == {}
    copy = there.base("handbook")
    again, first = copy.runs.get(found.run), base.runs.get(run)
    assert (again.metrics, again.filter_digest) == (first.metrics, first.filter_digest)
    # The filter is what decides here: without it, other passages come back.
    plain = base.runs.evaluate(SET, QUICK, (1, 3, 10)).results
    assert [each.ranking for each in plain] != [each.ranking for each in base.runs.results(run)]


def test_tags_and_dates_arrive_as_they_were(here, tmp_path):
    there = workspace_at(tmp_path / "there")
    bundled(here, tmp_path / "run.zip", {}, whole=True)
    there.import_bundle(tmp_path / "run.zip")
    base, copy = here.base("handbook"), there.base("handbook")
    index = QUICK.index
    assert [(each.name, each.tags, each.added) for each in copy.documents.documents(index)] == [
        (each.name, each.tags, each.added) for each in base.documents.documents(index)
    ]
    there.bundle(copy.runs.list_all()[0].id, tmp_path / "again.zip", with_documents=True)
    first, second = (parts_of(tmp_path / name) for name in ("run.zip", "again.zip"))
    assert first["documents.json"] == second["documents.json"]


def test_a_document_that_is_read_otherwise_here_keeps_its_date(here, tmp_path):
    """As where the machine that bundled had read it before dates of its kind were read."""
    there = workspace_at(tmp_path / "there")
    bundled(here, tmp_path / "run.zip", {}, whole=False)
    parts = parts_of(tmp_path / "run.zip")
    held = json.loads(parts["documents.json"])
    by_name = {each["name"]: each for each in held["documents"]}
    assert by_name["manual.pdf"]["date"]
    by_name["manual.pdf"]["date"] = ""
    by_name["leave.md"]["date"] = "1999-12-31"
    parts["documents.json"] = json.dumps(held).encode()
    folder = originals(here.base("handbook"), tmp_path / "originals")
    there.import_bundle(written(tmp_path / "old.zip", parts), documents=folder)
    library = there.base("handbook").documents
    dates = {
        info.name: library.document(info.id).metadata.get("date")
        for info in library.documents(QUICK.index)
    }
    assert (dates["manual.pdf"], dates["leave.md"]) == (None, "1999-12-31")


def test_a_bundle_from_before_they_travelled_is_read(here, tmp_path):
    there = workspace_at(tmp_path / "there")
    bundled(here, tmp_path / "run.zip", {}, whole=True)
    parts = parts_of(tmp_path / "run.zip")
    held = json.loads(parts["documents.json"])
    for each in held["documents"]:
        for name in ("tags", "date", "added"):
            del each[name]
    parts["documents.json"] = json.dumps(held).encode()
    before = datetime.now(UTC).date()
    found = there.import_bundle(written(tmp_path / "old.zip", parts))
    assert found.exact
    infos = there.base("handbook").documents.documents(QUICK.index)
    assert {info.tags for info in infos} == {()}
    assert min(info.added.date() for info in infos) >= before
