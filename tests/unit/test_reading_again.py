"""Documents of an earlier reader are read again under their id; labels follow their words."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from rag import InvalidInput, KnowledgeBase, Workspace, readers
from rag.__main__ import main
from tests.workspaces import QUICK, add

RULE = "Up to eight days of unused leave may be carried over."
GONE = "The form is kept in the third drawer of the grey cabinet."
OLD = f"General words on leave.\n\n{RULE}\n\n{GONE}\n"
NEW = f"A head that was missing.\n\nGeneral words on leave.\n\n{RULE}\n"


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    made = workspace.create("handbook", QUICK)
    add(workspace, made, {"leave.txt": OLD, "other.txt": "Nothing to see here."})
    labels = [{"document": "leave.txt", "quote": quote, "grade": 2} for quote in (RULE, GONE)]
    row = {"id": "q", "text": "How much leave may be carried over?", "evidence": labels}
    made.questions.import_file("checks", "checks.jsonl", json.dumps(row))
    made.documents.tag("leave.txt", ["policy"])
    return made


@pytest.fixture
def updated(base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of plain texts has another version, which reads one of the files better."""
    pool = type(readers.shared_pool())
    read = pool.read

    def better(self: Any, *request: Any) -> Any:
        content = read(self, *request)
        return replace(content, text=NEW) if RULE in content.text else content

    monkeypatch.setattr(pool, "read", better)
    monkeypatch.setattr(readers, "reader_version", lambda _type: 99)


def test_what_the_present_readers_read_is_not_read_again(base):
    assert base.documents.outdated() == []
    with pytest.raises(InvalidInput, match="No document can be read again"):
        base.documents.read_again()


def test_a_text_is_read_in_the_encoding_that_somebody_chose(workspace, base, home, capsys):
    path = home / "fees.txt"
    path.write_bytes("Preis: 5 €, Grün\n".encode("mac_roman"))
    verb = ("ingest", base.name, str(path), "--home", str(home), "--json")
    assert main([*verb, "--encoding", "no-such"]) == 2
    assert main([*verb, "--encoding", "cp1252"]) == 0
    row = next(row for row in base.documents.documents(QUICK.index) if row.name == "fees.txt")
    assert row.receipt is not None
    assert (row.receipt.read["encoding"], row.receipt.read["encoding_chosen"]) == ("cp1252", 1)
    assert "Grün" not in base.documents.document(row.id).text
    job = base.documents.read_again([row.id], "mac-roman")
    workspace.jobs.run(job)
    assert base.documents.document(row.id).text == "Preis: 5 €, Grün\n"
    assert base.search("Grün", QUICK).hits[0].document == "fees.txt"
    assert main(list(verb)) == 0  # as the bytes are there, nothing changes
    assert base.documents.document(row.id).text == "Preis: 5 €, Grün\n"


def test_the_chosen_encoding_stays(workspace, base, monkeypatch):
    path = workspace.settings.home / "fees.txt"
    path.write_bytes("Grün\n".encode("mac_roman"))
    workspace.jobs.run(base.documents.add_paths([path], encoding="mac_roman"))
    row = next(row for row in base.documents.documents(QUICK.index) if row.name == "fees.txt")
    monkeypatch.setattr(readers, "reader_version", lambda _type: 99)
    workspace.jobs.run(base.documents.read_again([row.id]))
    document = base.documents.document(row.id)
    assert (document.text, document.reader_version) == ("Grün\n", 99)


@pytest.mark.usefixtures("updated")
def test_a_document_is_read_again_under_its_id_with_its_tags_and_day(workspace, base):
    before = {each.name: each for each in base.documents.documents(QUICK.index)}
    assert [each.name for each in base.documents.outdated()] == ["leave.txt", "other.txt"]
    job = base.documents.read_again()
    assert workspace.jobs.run(job).status == "done"
    after = {each.name: each for each in base.documents.documents(QUICK.index)}
    leave = after["leave.txt"]
    assert (leave.id, leave.added) == (before["leave.txt"].id, before["leave.txt"].added)
    assert leave.tags == ("policy",)
    assert base.documents.document(leave.id).text == NEW
    assert base.documents.document(leave.id).reader_version == 99
    assert base.documents.outdated() == []


@pytest.mark.usefixtures("updated")
def test_labels_follow_their_words_and_those_that_are_lost_are_listed(workspace, base):
    job = base.documents.read_again([base.documents.outdated()[0].id])
    workspace.jobs.run(job)
    (item,) = workspace.jobs.items(job)
    assert (item.status, item.reason) == ("replaced", f"labels lost: “{GONE}”")
    found, lost = base.questions.usable("checks")[0].evidence
    document = base.documents.document(found.document_id)
    assert document.text[found.start : found.end] == RULE
    assert lost.lost


@pytest.mark.usefixtures("updated")
def test_the_index_has_the_new_passages_and_no_old_ones(workspace, base):
    recipe = QUICK.with_fields({"search.mode": "lexical"})
    assert "drawer" in base.search("grey cabinet drawer", recipe).hits[0].chunk.text
    workspace.jobs.run(base.documents.read_again())
    assert base.search("grey cabinet drawer", recipe).hits == ()
    assert "head" in base.search("a head that was missing", recipe).hits[0].chunk.text


@pytest.mark.usefixtures("updated")
def test_a_document_without_its_file_is_named_but_not_read(base):
    for info in base.documents.documents(QUICK.index):
        path = base.documents.original(info.id)
        path.unlink()
    with base._database.write() as connection:  # where PostgreSQL has it too
        connection.execute(text("DELETE FROM file_part"))
    assert [each.kept for each in base.documents.outdated()] == [False, False]
    with pytest.raises(InvalidInput, match="can be read again"):
        base.documents.read_again()


@pytest.mark.usefixtures("updated")
def test_a_document_that_is_deleted_meanwhile_does_not_come_back(workspace, base):
    leave = base.documents.outdated()[0]
    job = base.documents.read_again([leave.id])
    base.documents.delete_documents([leave.id])
    workspace.jobs.run(job)
    assert [each.name for each in base.documents.documents(QUICK.index)] == ["other.txt"]
