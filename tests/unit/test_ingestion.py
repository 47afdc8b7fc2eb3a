"""Documents go in whole, stay apart by content, and leave without a trace."""

import hashlib
import io
import json
import shutil
import unicodedata
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import text

from rag import IndexRecipe, InvalidInput, KnowledgeBase, Upload, Workspace, providers
from tests.sample_files import PROSE, html
from tests.workspaces import QUICK, add, found, workspace_at

pytestmark = pytest.mark.usefixtures("database")

LEAVE = "# Leave\n\nUnused leave may be carried over for three months.\n"
TRAVEL = "# Travel\n\nTrains are booked in second class.\n"


def test_a_document_is_added_found_and_described(workspace):
    base = workspace.create("handbook", QUICK)
    assert add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL}) == ["added", "added"]
    hit = base.search("carried over", QUICK).hits[0]
    assert "Unused leave may be carried over" in hit.chunk.text
    assert (hit.document, hit.chunk.heading) == ("leave.md", "Leave")
    document = base.documents.document(hit.chunk.document_id)
    assert document.text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    infos = base.documents.documents(QUICK.index)
    assert [(info.name, info.passages) for info in infos] == [("leave.md", 1), ("travel.md", 1)]
    moments = [info.added for info in infos] + [info.created for info in workspace.bases()]
    assert {moment.utcoffset() for moment in moments} == {timedelta(0)}


def test_the_same_bytes_again_are_unchanged_under_any_name(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    version = base.version()
    assert add(workspace, base, {"leave.md": LEAVE, "copy.md": LEAVE}) == ["unchanged"] * 2
    assert base.version() == version


def test_new_bytes_under_a_known_name_replace_the_old_version(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    assert found(base, "months")
    statuses = add(workspace, base, {"leave.md": LEAVE.replace("three months", "two weeks")})
    assert statuses == ["replaced"]
    assert [info.name for info in base.documents.documents(QUICK.index)] == ["leave.md"]
    assert "two weeks" in found(base, "carried over")[0]
    assert not any("months" in text for text in found(base, "months"))


def test_names_of_macos_are_those_that_people_type(workspace):
    base = workspace.create("handbook", QUICK)
    name = "Hafengebühren.md"
    add(workspace, base, {unicodedata.normalize("NFD", name): LEAVE})
    content = f'{{"id": "q", "text": "How long?", "evidence": [{{"document": "{name}"}}]}}'
    base.questions.import_file("set", "set.jsonl", content)
    assert not base.questions.lost_labels("set")
    for spelling in ("NFC", "NFD"):
        names = [unicodedata.normalize(spelling, name)]
        assert base.search("months", QUICK.with_fields({"search.documents": names})).hits
    assert add(workspace, base, {name: TRAVEL}) == ["replaced"]


def test_of_copies_the_plain_name_stays(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave-COPY.md": LEAVE, "leave.md": LEAVE})
    assert [info.name for info in base.documents.documents(QUICK.index)] == ["leave.md"]


def test_the_plain_name_stays_also_when_the_copy_was_there_before(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave-COPY.md": LEAVE})
    assert add(workspace, base, {"leave.md": LEAVE}) == ["unchanged"]
    assert [info.name for info in base.documents.documents(QUICK.index)] == ["leave.md"]
    assert add(workspace, base, {"other.md": LEAVE}) == ["unchanged"]
    new = LEAVE.replace("three", "two")
    assert add(workspace, base, {"leave.md": new}) == ["replaced"]
    assert _texts(base) == {"leave.md": new.strip()}


def test_a_plain_name_elsewhere_does_not_take_a_document_out_of_its_folder(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"hr/leave.md": LEAVE})
    assert add(workspace, base, {"leave.md": LEAVE}) == ["unchanged"]
    assert [*_texts(base)] == ["hr/leave.md"]
    add(workspace, base, {"hr/leave (2).md": TRAVEL})
    assert add(workspace, base, {"leave (2).md": TRAVEL, "hr/leave.md": LEAVE}) == ["unchanged"] * 2
    assert sorted(_texts(base)) == ["hr/leave (2).md", "hr/leave.md"]


def _texts(base: KnowledgeBase) -> dict[str, str]:
    infos = base.documents.documents(QUICK.index)
    return {info.name: base.documents.document(info.id).text.strip() for info in infos}


@pytest.mark.parametrize("old", ["leave-2024.md", "zz-leave-2024.md"])
def test_a_version_that_is_kept_under_another_name_survives_the_next(workspace, old):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    new = LEAVE.replace("three", "two")
    statuses = add(
        workspace, base, {name: LEAVE if name == old else new for name in sorted((old, "leave.md"))}
    )
    assert sorted(statuses) == ["added", "replaced"]
    assert _texts(base) == {old: LEAVE.strip(), "leave.md": new.strip()}
    assert base.documents.original(hashlib.sha256(LEAVE.encode()).hexdigest()) is not None
    assert {"two" in text for text in found(base, "carried over months")} == {True, False}


def test_a_job_that_was_left_behind_brings_no_older_version_back(workspace, home):
    base = workspace.create("handbook", QUICK)
    files = {"leave.md": LEAVE, "travel.md": TRAVEL}
    left = base.documents.add_files(
        [Upload(name, io.BytesIO(text.encode())) for name, text in files.items()]
    )
    new = LEAVE.replace("three", "two")
    assert add(workspace, base, {"leave.md": new}) == ["added"]
    assert workspace.jobs.run(left).status == "done"
    items = [(item.name, item.status, item.reason) for item in workspace.jobs.items(left)]
    assert items == [
        ("leave.md", "unchanged", "another version of it was added later"),
        ("travel.md", "added", ""),
    ]
    assert _texts(base) == {"leave.md": new.strip(), "travel.md": TRAVEL.strip()}
    stored = {path.name for path in (home / "files").rglob("*") if path.is_file()}
    assert stored == {hashlib.sha256(text.encode()).hexdigest() for text in (new, TRAVEL)}


def test_a_job_that_was_left_behind_brings_no_deleted_document_back(workspace, home):
    base = workspace.create("handbook", QUICK)
    left = base.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE.encode()))])
    assert add(workspace, base, {"leave.md": LEAVE}) == ["added"]
    [info] = base.documents.documents(QUICK.index)
    base.documents.delete_documents([info.id])
    assert workspace.jobs.run(left).status == "done"
    assert [item.reason for item in workspace.jobs.items(left)] == ["The document was deleted."]
    assert _texts(base) == {}
    assert not [path for path in (home / "files").rglob("*") if path.is_file()]
    assert add(workspace, base, {"leave.md": LEAVE}) == ["added"]


def test_files_that_swap_their_contents_are_both_there(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"a.md": LEAVE, "b.md": TRAVEL})
    add(workspace, base, {"a.md": TRAVEL, "b.md": LEAVE})
    assert _texts(base) == {"a.md": TRAVEL.strip(), "b.md": LEAVE.strip()}
    assert any("Trains" in text for text in found(base, "trains"))
    assert any("Unused" in text for text in found(base, "leave"))


def test_a_file_that_became_a_copy_does_not_answer_with_its_old_content(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"a.md": LEAVE, "b.md": TRAVEL})
    assert add(workspace, base, {"a.md": TRAVEL}) == ["replaced"]
    (item,) = workspace.jobs.items(workspace.jobs.recent(base.id)[0].id)
    assert item.reason == "the same content is stored as b.md"
    assert _texts(base) == {"b.md": TRAVEL.strip()}
    assert not any("carried" in text for text in found(base, "carried over"))
    assert base.documents.original(hashlib.sha256(LEAVE.encode()).hexdigest()) is None
    assert add(workspace, base, {"a.md": TRAVEL}) == ["unchanged"]


def test_a_page_with_text_that_was_left_out_says_which(workspace):
    base = workspace.create("handbook", QUICK)
    shown = f"<main><p>{PROSE * 3}</p><div class=caption>Lift the lid by two.</div></main>"
    assert add(workspace, base, {"lid.html": html(shown)}) == ["added"]
    (item,) = workspace.jobs.items(workspace.jobs.recent(base.id)[0].id)
    assert item.reason.endswith(": “Lift the lid by two.”")


def test_a_failing_document_says_why_and_the_others_go_on(workspace):
    base = workspace.create("handbook", QUICK)
    files = {"empty.txt": b"", "broken.pdf": b"%PDF-1.7 nonsense", "leave.md": LEAVE}
    assert add(workspace, base, files) == ["failed", "failed", "added"]
    items = workspace.jobs.items(workspace.jobs.recent(base.id)[0].id)
    assert "empty" in items[0].reason.lower()
    assert items[1].reason
    assert items[1].hint
    assert [info.name for info in base.documents.documents(QUICK.index)] == ["leave.md"]


def test_a_deleted_document_never_answers_again(workspace, home):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    leave = base.search("carried over", QUICK).hits[0].chunk
    assert base.documents.original(leave.document_id) is not None
    base.documents.delete_documents([leave.document_id])
    assert found(base, "carried over") == found(base, "leave")
    assert not any("carried" in text for text in found(base, "carried over unused leave"))
    assert base.documents.original(leave.document_id) is None
    again = workspace_at(home).base("handbook")  # a fresh process, from the snapshot on disk
    assert not any("carried" in text for text in found(again, "carried over unused leave"))


def test_a_deleted_knowledge_base_never_answers_for_the_next(workspace):
    for body in (LEAVE, TRAVEL):
        base = workspace.create("handbook", QUICK)
        add(workspace, base, {"note.md": body})
        assert all(hit in body for hit in found(base, "what is carried over"))
        workspace.delete("handbook")


def test_deleting_an_equal_document_leaves_a_waiting_upload_its_file(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    [info] = base.documents.documents(QUICK.index)
    job = base.documents.add_files([Upload("again.md", io.BytesIO(LEAVE.encode()))])
    base.documents.delete_documents([info.id])
    assert workspace.jobs.run(job).status == "done"
    assert [item.status for item in workspace.jobs.items(job)] == ["added"]
    assert "carried over" in found(base, "carried over")[0]
    base.documents.delete_documents([info.id])  # nothing waits for it any more
    assert base.documents.original(info.id) is None


def test_questions_that_wait_for_their_job_keep_their_file(workspace):
    base = workspace.create("handbook", QUICK)
    lines = json.dumps({"id": "q1", "question": "How long?", "answerable": False})
    add(workspace, base, {"questions.txt": lines})
    [info] = base.documents.documents(QUICK.index)
    questions = ("set", "questions.jsonl", io.BytesIO(lines.encode()))
    job = base.documents.add_files([Upload("leave.md", io.BytesIO(LEAVE.encode()))], questions)
    base.documents.delete_documents([info.id])
    assert workspace.jobs.run(job).status == "done"
    assert base.questions.named("set").questions == 1


def test_a_replaced_version_leaves_no_file_unless_another_base_holds_it(workspace, home):
    base, other = workspace.create("handbook", QUICK), workspace.create("other", QUICK)
    for each in (base, other):
        add(workspace, each, {"leave.md": LEAVE})
    old = hashlib.sha256(LEAVE.encode()).hexdigest()
    new = [LEAVE.replace("three", number) for number in ("two", "four")]
    assert add(workspace, base, {"leave.md": new[0]}) == ["replaced"]
    assert other.documents.original(old) is not None
    assert add(workspace, other, {"leave.md": new[1]}) == ["replaced"]
    stored = {path.name for path in (home / "files").rglob("*") if path.is_file()}
    assert stored == {hashlib.sha256(text.encode()).hexdigest() for text in new}


def test_a_lost_snapshot_is_made_again_from_the_database(workspace, home):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    before = base.search("second class trains", QUICK).hits
    for file in (home / "indexes").rglob("*"):
        if file.is_file():
            file.write_bytes(b"torn")
    after = workspace_at(home).base("handbook").search("second class trains", QUICK).hits
    assert after == before


def test_a_lost_vector_is_computed_again(workspace, home):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    before = base.search("leave", QUICK).hits
    with workspace._services.database.write() as connection:
        connection.execute(text("DELETE FROM text_vector"))
    workspace.close()
    for file in (home / "indexes").rglob("*.*"):
        file.unlink()
    assert workspace_at(home).base("handbook").search("leave", QUICK).hits == before


def test_vectors_of_another_length_are_computed_again(workspace, home):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    before = base.search("leave", QUICK).hits
    stored = text("SELECT data FROM text_vector ORDER BY text_hash")
    with workspace._services.database.write() as connection:
        kept = connection.execute(stored).scalars().all()
        connection.execute(
            text("UPDATE text_vector SET data = substr(data, 1, 20)")
        )  # another model's
    workspace.close()
    shutil.rmtree(home / "indexes")
    opened = workspace_at(home)
    assert opened.base("handbook").search("leave", QUICK).hits == before
    with opened._services.database.read() as connection:
        assert connection.execute(stored).scalars().all() == kept


def test_recutting_embeds_only_new_text(workspace, monkeypatch):
    embedder = providers.embedder("fake", workspace.settings)
    texts: list[str] = []

    class Counting:
        id, dimension, tokenizer = embedder.id, embedder.dimension, embedder.tokenizer

        def embed(self, batch: list[str], input_type: str) -> np.ndarray:
            texts.extend(batch if input_type == "document" else [])
            return embedder.embed(batch, input_type)  # type: ignore[arg-type]

    monkeypatch.setattr(workspace._services.models, "embedder", lambda _name: Counting())
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    assert len(texts) == 2
    sentence = QUICK.with_fields({"index.chunker": "sentence"}).index
    for recipe in (sentence, QUICK.with_fields({"index.analyzer": "german"}).index):
        workspace.jobs.run(base.documents.build(recipe))
    assert len(texts) == len(set(texts))
    add(workspace, base, {"leave.md": LEAVE + "\nA second paragraph.\n", "travel.md": TRAVEL})
    base.search("leave", QUICK)
    assert len(texts) == len(set(texts))
    assert any("second paragraph" in text for text in texts)


def test_a_build_can_be_deleted_unless_it_answers(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    page: IndexRecipe = QUICK.with_fields({"index.chunker": "page"}).index
    assert base.documents.missing(page) == 1
    workspace.jobs.run(base.documents.build(page))
    assert base.documents.missing(page) == 0
    assert [row.documents for row in base.documents.builds()] == [1, 1]
    base.documents.delete_build(page.hash)
    assert [row.hash for row in base.documents.builds()] == [QUICK.index.hash]
    with pytest.raises(InvalidInput, match="answers the questions now"):
        base.documents.delete_build(QUICK.index.hash)


def test_pasted_text_is_a_document(workspace):
    base = workspace.create("handbook", QUICK)
    workspace.jobs.run(base.documents.add_text("Note on leave", LEAVE))
    hit = base.search("carried over", QUICK).hits[0]
    assert hit.document == "Note on leave"
    assert base.documents.document(hit.chunk.document_id).source == "pasted text"


def test_half_a_surrogate_pair_is_stored_as_a_question_mark(workspace):
    base = workspace.create("handbook", QUICK)
    job = workspace.jobs.run(base.documents.add_text("Note \ud800", f"{LEAVE} \udfff"))
    assert (job.status, workspace.jobs.items(job.id)[0].status) == ("done", "added")
    assert [row.name for row in base.documents.documents(QUICK.index)] == ["Note ?"]


def test_a_question_that_is_no_text_is_refused(workspace):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    conversation = base.conversations.open(None)
    for question in ("carried \ud800 over?", "carried \0 over?", "x" * 8001):
        for ask in (base.search, base.ask, base.explanations.explain):
            with pytest.raises(InvalidInput, match=r"half a character|character 0|8,000 char"):
                ask(question, QUICK)
        with pytest.raises(InvalidInput, match=r"half a character|character 0|8,000 char"):
            base.conversations.ask(conversation, question, QUICK)
    assert base.conversations.turns(conversation) == []
    assert base.search("x" * 8000, QUICK).question == "x" * 8000


def test_what_no_database_can_store_is_said(workspace):
    with pytest.raises(InvalidInput, match="cannot be stored"):
        workspace.base("half \ud800 a pair")


def test_deleting_a_base_takes_everything_with_it(workspace, home):
    base = workspace.create("handbook", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    workspace.delete("handbook")
    assert workspace.bases() == []
    assert [path for path in (home / "files").rglob("*") if path.is_file()] == []
    assert [path for path in (home / "indexes").rglob("*") if path.is_file()] == []


def test_a_document_with_too_much_text_is_refused_before_anything_is_stored(home):
    settings = replace(workspace_at(home).settings, max_document_characters=1000)
    workspace = Workspace(settings)
    base = workspace.create("short", QUICK)
    assert add(workspace, base, {"a.md": "word " * 300, "b.md": "word " * 100}) == [
        "failed",
        "added",
    ]
    refused, _ = workspace.jobs.items(workspace.jobs.recent(base.id)[0].id)
    assert "TOUCHSTONE_MAX_DOCUMENT_CHARACTERS" in refused.hint
    assert [info.name for info in base.documents.documents(QUICK.index)] == ["b.md"]
