"""The command line among odd terminals, file names, databases and other processes."""

import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag import Jobs, Settings, Workspace
from rag.__main__ import main
from rag.cli import printing
from rag.services.jobs.runner import machine
from rag.storage import jobs, leases
from tests.servers import Reply, scripted
from tests.verbs import run_verb
from tests.workspaces import QUICK, add, surroundings

ROOT = Path(__file__).resolve().parents[2]
FAKE = ("--set", "index.embedder=fake")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_result_is_told_in_the_characters_that_standard_output_has(
    workspace, encoding, capsys, monkeypatch
):
    add(workspace, workspace.create("notes", QUICK), {"σ.txt": "Leave lapses in June → “soon” 😀."})
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding))
    for form in ([], ["--json"]):
        assert main(["search", "notes", "leave", *form]) == 0
    *words, line = output.getvalue().decode(encoding).splitlines()
    assert "Leave lapses in June" in "\n".join(words)
    (hit,) = json.loads(line)["hits"]
    assert hit["text"] == "Leave lapses in June → “soon” 😀."
    assert hit["document"] == "σ.txt"
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_result_that_cannot_be_written_is_no_failed_check():
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "rag", "schema"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: The result could not be written: ")


def test_bytes_that_are_not_utf8_do_no_harm(workspace, tmp_path, capsys):
    raw = b"caf\xe9.txt"
    (folder := tmp_path / "docs").mkdir()
    (folder / os.fsdecode(raw)).write_text("Leave lapses in June.")
    (folder / "other.txt").write_text("Coffee is free.")
    code, told, _ = run_verb(capsys, "ingest", "notes", str(folder), *FAKE)
    assert code == 0
    rows = {row["name"]: row["status"] for row in told["documents"]}
    assert rows == {"caf\ufffd.txt": "added", "other.txt": "added"}
    code, told, _ = run_verb(
        capsys, "search", "notes", "leave \udce9", "--set", "search.threshold=null"
    )
    assert (code, told["question"]) == (0, "leave \ufffd")
    assert told["hits"][0]["document"] in rows
    for verb in (("search", "no\udce9", "x"), ("tag", "notes", "no\udce9", "x")):
        code, _, said = run_verb(capsys, *verb)
        assert (code, said.count("Unexpected")) == (2, 0)


@pytest.mark.parametrize("source", ["", " ", "x" * 5000, "a\0b"])
def test_a_source_that_is_no_name_adds_nothing(workspace, capsys, source):
    code, told, said = run_verb(capsys, "ingest", "typo", source, *FAKE)
    assert (code, told, workspace.bases()) == (2, None, [])
    assert "Hint: Name a file, a folder or a URL." in said


@pytest.mark.parametrize("chunk", ["8" + "0" * 15, "f" * 17, "-1", "0x1", " 1"])
def test_what_cannot_be_the_id_of_a_passage_is_bad_input(workspace, capsys, chunk):
    add(workspace, workspace.create("notes", QUICK), {"a.txt": "Leave lapses in June."})
    code, _, said = run_verb(capsys, "explain", "notes", "leave", f"--chunk={chunk}")
    assert (code, said.splitlines()[0]) == (2, f"Error: {chunk!r} is not the id of a passage.")


@pytest.mark.parametrize("url", ["nope://host/x", "oracle://host/x", "sqlite://a:b:c/d"])
def test_a_database_that_cannot_be_used_is_bad_input(capsys, monkeypatch, url):
    monkeypatch.setenv("TOUCHSTONE_DATABASE_URL", url)
    code, _, said = run_verb(capsys, "runs", "notes")
    assert code == 2
    assert said.startswith("Error: The database of that URL cannot be used here.\nHint: ")


@pytest.mark.parametrize(
    "url", ["postgresql+psycopg://me@127.0.0.1:9/x", "postgresql+psycopg://me@nowhere.invalid/x"]
)
def test_a_server_that_does_not_answer_is_told_in_two_lines(capsys, monkeypatch, url):
    monkeypatch.setenv("TOUCHSTONE_DATABASE_URL", url)
    code, _, said = run_verb(capsys, "runs", "notes")
    what, hint = said.splitlines()
    assert code == 2
    assert what.startswith("Error: The database said: ")
    assert hint == "Hint: Check TOUCHSTONE_DATABASE_URL, and that the server is up."


def test_a_terminal_obeys_no_name_of_a_document(workspace, capsys):
    name = "\x1b[31mred\u202efdp\x07.txt"
    add(workspace, workspace.create("notes", QUICK), {name: "Leave lapses in June."})
    for verb in ("search", "ask"):
        assert main([verb, "notes", "When does leave lapse?"]) == 0
        told = capsys.readouterr().out
        assert "\ufffd[31mred\\u202efdp\ufffd.txt" in told
        assert not {"\x1b", "\u202e", "\x07"} & set(told)
    _, found, _ = run_verb(capsys, "search", "notes", "When does leave lapse?")
    assert found["hits"][0]["document"] == name


def test_long_work_gives_signs_of_life_where_there_is_no_terminal(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(printing, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(printing, "_PROGRESS", printing._Progress())
    for done in range(0, 300, 10):
        clock[0] += 1.0
        printing.progress(done, 300)
    assert capsys.readouterr().err.splitlines() == ["110 of 300 questions", "220 of 300 questions"]


def test_a_new_knowledge_base_that_another_process_fills_stays(
    workspace, tmp_path, capsys, monkeypatch
):
    follow = printing.follow

    def meanwhile(jobs: Jobs, job: int) -> None:
        workspace.base("notes").documents.add_text("Leave", "Leave lapses in March.")
        follow(jobs, job)

    monkeypatch.setattr(printing, "follow", meanwhile)
    (tmp_path / "void.md").write_text("")
    assert run_verb(capsys, "ingest", "notes", str(tmp_path / "void.md"), *FAKE)[0] == 2
    assert [info.name for info in workspace.bases()] == ["notes"]


@pytest.mark.parametrize("worker", [False, True])
def test_what_a_killed_command_left_is_done_by_the_next(workspace, tmp_path, capsys, worker):
    (tmp_path / "leave.md").write_text("Leave lapses in March.")
    base = workspace.create("notes", QUICK)
    left = base.documents.add_paths([tmp_path / "leave.md"])
    dead = f"{machine()}:999999:abcdef01"
    with workspace._services.database.write() as connection:
        assert jobs.claim(connection, dead, left) == left
        leases.take(connection, dead, ["worker"], 30.0)
        if worker:
            leases.take(connection, "elsewhere:1:abcdef01", ["worker"], 30.0)
    assert run_verb(capsys, "ingest", "notes", str(tmp_path / "leave.md"))[0] == 0
    assert workspace.jobs.get(left).status == ("running" if worker else "done")
    code, _, said = run_verb(capsys, "search", "notes", "leave")
    assert (code, "is not finished" in said) == (0, worker)


def test_a_build_that_cannot_follow_is_told_without_a_traceback(home, tmp_path):
    leave, away = tmp_path / "leave.md", QUICK.with_fields({"index.embedder": "compatible:m"})
    leave.write_text("Leave lapses in March.")
    with scripted(Reply(401)) as server:
        place = {"TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": server.url}
        workspace = Workspace(Settings.from_env(surroundings(home, **place)))
        workspace.create("handbook", QUICK).documents.prepare_build(away.index)
        workspace.close()
        command = [sys.executable, "-m", "rag", "ingest", "handbook", str(leave), "--json"]
        environment = surroundings(home, **place)
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    (row,) = json.loads(done.stdout)["documents"]
    assert (done.returncode, row["status"]) == (0, "added")
    assert row["reason"].startswith("not in the build with compatible:m: ")
    assert b"Traceback" not in done.stderr
    assert b"lacks new documents" in done.stderr


@pytest.mark.parametrize(("option", "code"), [("--help", 0), ("--port", 2)])
def test_the_server_explains_its_options_and_ends(option, code, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["app.py", option])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert "usage: app.py" in printed.out + printed.err
