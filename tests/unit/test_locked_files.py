"""An encrypted PDF waits for its password, is read with it, and leaves no trace of it."""

import io
import json
import logging
import sys
from pathlib import Path

import pytest

from rag import KnowledgeBase, LockedFile, UnreadableDocument, Workspace
from rag.__main__ import main
from rag.readers import count_pages, web
from tests.sample_files import encrypted_pdf, pdf
from tests.verbs import output_of
from tests.workspaces import QUICK, add, found, workspace_at

PASSWORD = "gr\u00fcn-Zw3tschge-41"
WORDS = "Unused leave may be carried over."
FAKE = ("--set", "index.embedder=fake")


def _locked_pdf(algorithm: str = "AES-256", password: str = "open sesame 71") -> bytes:
    return encrypted_pdf(WORDS, password, "owner", algorithm)


def _waiting(workspace: Workspace, data: bytes) -> tuple[KnowledgeBase, LockedFile]:
    base = workspace.create("handbook", QUICK)
    assert add(workspace, base, {"leave.pdf": data}) == ["failed"]
    (locked,) = base.documents.locked_files()
    return base, locked


def _traces(home: Path, *words: str) -> list[str]:
    """The files below a home that hold one of some words, as they are or as JSON has them."""
    sought = [form for word in words for form in (word.encode(), json.dumps(word)[1:-1].encode())]
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path.name for path in files if any(word in path.read_bytes() for word in sought)]


def _originals(home: Path) -> set[str]:
    return {path.name for path in (home / "files").rglob("*") if path.is_file()}


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
def test_the_password_opens_it_and_is_kept_nowhere(workspace, home, algorithm, caplog):
    caplog.set_level(logging.DEBUG)
    right, wrong = "open sesame 71", "close sesame 72"
    base, locked = _waiting(workspace, _locked_pdf(algorithm))
    assert locked.name == "leave.pdf"
    with pytest.raises(UnreadableDocument, match="does not open this PDF") as refused:
        base.documents.open_locked_file(locked, wrong)
    assert (refused.value.reason, bool(refused.value.hint)) == ("needs_password", True)
    assert base.documents.locked_files() == [locked]
    job = base.documents.open_locked_file(locked, right)
    assert base.documents.locked_files() == []
    assert workspace.jobs.run(job).status == "done"
    assert [item.status for item in workspace.jobs.items(job)] == ["added"]
    assert found(base, "carried over") == [WORDS]
    assert _traces(home, right, wrong) == []
    told = caplog.text + repr(workspace.jobs.recent()) + repr(workspace.jobs.items(job))
    assert (right in told, wrong in told) == (False, False)


def test_its_pages_are_counted_and_drawn_as_of_any_other(workspace, home):
    base, locked = _waiting(workspace, _locked_pdf())
    workspace.jobs.run(base.documents.open_locked_file(locked, "open sesame 71"))
    (info,) = base.documents.documents(QUICK.index)
    original, document = base.documents.original(info.id), base.documents.document(info.id)
    assert original is not None
    assert count_pages(original) == info.pages == 1
    page = base.documents.page(document, 1, [(0, len(document.text))])
    assert (page.pages, page.matched) == (1, 1.0)
    assert page.png.startswith(b"\x89PNG")
    assert _originals(home) == {info.id}  # the encrypted one is gone


def test_the_same_file_again_is_unchanged(workspace):
    data = _locked_pdf()
    base, locked = _waiting(workspace, data)
    workspace.jobs.run(base.documents.open_locked_file(locked, "open sesame 71"))
    assert add(workspace, base, {"leave.pdf": data}) == ["failed"]
    (again,) = base.documents.locked_files()
    job = base.documents.open_locked_file(again, "open sesame 71")
    workspace.jobs.run(job)
    assert [item.status for item in workspace.jobs.items(job)] == ["unchanged"]


def test_it_waits_through_other_uploads_and_a_restart(workspace, home):
    base, locked = _waiting(workspace, _locked_pdf())
    assert add(workspace, base, {"other.md": "Other words."}) == ["added"]
    workspace.close()
    again = workspace_at(home)
    assert again.base("handbook").documents.locked_files() == [locked]
    job = again.base("handbook").documents.open_locked_file(locked, "open sesame 71")
    assert again.jobs.run(job).status == "done"
    again.close()


@pytest.mark.parametrize("way", ["left out", "replaced", "base deleted"])
def test_what_nobody_opens_goes_with_its_bytes(workspace, home, way):
    base, locked = _waiting(workspace, _locked_pdf())
    assert _originals(home) == {locked.file}
    if way == "left out":
        base.documents.leave_out_locked_file(locked)
    elif way == "replaced":
        assert add(workspace, base, {"leave.pdf": pdf("Open words.")}) == ["added"]
    else:
        workspace.delete("handbook")
    assert base.documents.locked_files() == []
    assert locked.file not in _originals(home)
    with pytest.raises(UnreadableDocument, match="not kept here"):
        base.documents.open_locked_file(locked, "open sesame 71")
    if way == "left out":
        item = workspace.jobs.items(locked.job_id)[locked.position]
        assert item.status == "cancelled"  # no page names it as missing any more


def test_the_command_line_reads_passwords_from_a_file(workspace, home, tmp_path, capsys):
    file, keys = tmp_path / "leave.pdf", tmp_path / "keys"
    file.write_bytes(_locked_pdf(password=PASSWORD))
    keys.write_text(f"wrong one\n{PASSWORD}\n", "utf-8")
    asked = ("ingest", "handbook", str(file), *FAKE)
    told = output_of(capsys, *asked, code=2)["documents"]
    assert [(row["status"], row["reason"]) for row in told] == [
        ("failed", "The PDF is encrypted and opens only with a password.")
    ]
    assert main([*asked, "--json", "--password-file", str(keys)]) == 0
    output = capsys.readouterr()
    (row,) = json.loads(output.out)["documents"]
    assert (row["name"], row["status"], row["chunks"]) == ("leave.pdf", "added", 1)
    assert PASSWORD not in output.out + output.err
    assert _traces(home, PASSWORD) == []
    keys.write_text("wrong one\n")
    (row,) = output_of(capsys, *asked, "--password-file", keys, code=2)["documents"]
    assert row["reason"] == "The password given does not open this PDF."


def test_a_password_file_is_read_before_anything_is_added(workspace, tmp_path, capsys):
    file, keys = tmp_path / "leave.pdf", tmp_path / "keys"
    file.write_bytes(_locked_pdf())
    keys.write_text("\n")
    for path, said in ((keys, "contains no password"), (tmp_path / "gone", "cannot be read")):
        asked = ["ingest", "handbook", str(file), *FAKE, "--password-file", str(path)]
        assert main(asked) == 2
        assert said in capsys.readouterr().err
    assert workspace.bases() == []


def test_the_command_line_asks_at_a_terminal(workspace, tmp_path, capsys, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    answers = iter(["wrong", "open sesame 71"])
    prompts: list[str] = []

    def typed(prompt: str) -> str:
        prompts.append(prompt)
        return next(answers)

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("getpass.getpass", typed)
    file = tmp_path / "leave.pdf"
    file.write_bytes(_locked_pdf())
    assert [
        row["status"]
        for row in output_of(capsys, "ingest", "handbook", str(file), *FAKE)["documents"]
    ] == ["added"]
    assert prompts == ["Password of leave.pdf (empty to leave it out): "] * 2


def test_a_pdf_from_an_address_keeps_it(workspace, monkeypatch):
    address = "https://example.org/leave.pdf"
    fetched = web.Fetched(_locked_pdf(), address, address, "leave.pdf", "application/pdf")
    monkeypatch.setattr(web, "fetch", lambda *_args, **_options: fetched)
    base = workspace.create("handbook", QUICK)
    workspace.jobs.run(base.documents.add_urls([address]))
    (locked,) = base.documents.locked_files()
    workspace.jobs.run(base.documents.open_locked_file(locked, "open sesame 71"))
    (info,) = base.documents.documents(QUICK.index)
    assert (info.name, info.source) == ("leave.pdf", address)
