"""Conversations on the command line: asked, listed, renamed, deleted, exported."""

import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rag import Recipe
from rag.__main__ import main
from tests.verbs import output_of
from tests.workspaces import QUICK, stocked, workspace_at

LEAVE = "How long may leave be carried over?"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    leave = "Leave may be carried over until 30 June."
    stocked(tmp_path, {"leave.md": leave}, name="notes")[0].close()
    monkeypatch.setenv("TOUCHSTONE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    return partial(output_of, capsys)


def test_a_session_is_begun_and_gone_on_with(run, home):
    first = run("ask", "notes", LEAVE, "--session", "Leave", "--set", "search.top_k=2")
    assert "30 June" in first["answer"]
    second = run("ask", "notes", "And then?", "--session", "Leave")
    assert second["session"] == first["session"]
    assert second["recipe"] == first["recipe"] != QUICK.hash
    [listed] = run("sessions", "notes")["sessions"]
    assert (listed["name"], listed["questions"], listed["visitor"]) == ("Leave", 2, "")
    shown = run("sessions", "notes", "show", "Leave")
    assert [turn["question"] for turn in shown["turns"]] == [LEAVE, "And then?"]
    assert shown["settings"] == {"recipe": {"search.top_k": 2}, "also": []}
    assert run("ask", "notes", LEAVE, "--session", "99", code=2) is None


def test_a_chat_answers_line_by_line(run, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{LEAVE}\n\n/quit\nnever asked\n"))
    told = run("chat", "notes")
    assert [turn["question"] for turn in told["turns"]] == [LEAVE]
    assert "30 June" in told["turns"][0]["answer"]
    monkeypatch.setattr("sys.stdin", io.StringIO("What else?"))
    assert main(["chat", "notes", "--session", str(told["session"])]) == 0
    assert "session 1, 1 question" in capsys.readouterr().out
    assert run("sessions", "notes", "show", "1")["turns"][1]["question"] == "What else?"


def test_the_quote_that_answers_is_printed_before_the_others(home, run, capsys, monkeypatch):
    files = {
        "lathes.md": "Goggles are compulsory near lathes.",
        "paint.md": "Goggles are compulsory while sanding.",
    }
    stocked(home, files, name="two")[0].close()
    question = "Where are goggles compulsory?"
    told = run("ask", "two", question)
    assert [(one["n"], one["answers"]) for one in told["citations"]] == [(1, True), (2, False)]
    assert main(["ask", "two", question]) == 0
    printed = capsys.readouterr().out
    places = [printed.index(part) for part in ("near", "More from the documents", "sanding")]
    assert places == sorted(places)
    monkeypatch.setattr("sys.stdin", io.StringIO(question))
    assert main(["chat", "two"]) == 0
    printed = capsys.readouterr().out
    assert [printed.count(part) for part in ("near", "sanding", "[2] paint.md")] == [1, 1, 1]


@pytest.mark.parametrize("verb", ["ask", "chat"])
def test_the_sentence_beside_the_quote_is_printed(verb, home, capsys, monkeypatch):
    text = "Leave may be carried over until 30 June. It lapses after that day."
    stocked(home, {"leave.md": text}, name="two")[0].close()
    monkeypatch.setattr("sys.stdin", io.StringIO(LEAVE))
    assert main([verb, "two", *[LEAVE] * (verb == "ask")]) == 0
    assert "[1] It lapses after that day." in capsys.readouterr().out


def test_ctrl_c_keeps_the_part_that_was_said(run, monkeypatch):
    def told(*pieces: str, **options: Any) -> None:
        if options.get("end") == "":
            raise KeyboardInterrupt
        print(*pieces, **options)  # noqa: T201

    monkeypatch.setattr("rag.cli.asking.conversing.print", told, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{LEAVE}\n"))
    [turn] = run("chat", "notes")["turns"]
    assert (turn["status"], "30 June" in turn["answer"]) == ("interrupted", True)
    [stored] = run("sessions", "notes", "show", "1")["turns"]
    assert (stored["status"], stored["answer"]) == ("interrupted", turn["answer"])


def test_sessions_are_renamed_exported_and_deleted_when_that_is_meant(run, home, monkeypatch):
    run("ask", "notes", LEAVE, "--session", "Leave")
    assert run("sessions", "notes", "rename", "Leave", "Holidays") == {"id": 1, "name": "Holidays"}
    assert run("sessions", "notes", "list", "--search", "holid")["sessions"][0]["id"] == 1
    assert run("sessions", "notes", "list", "--search", "zebra")["sessions"] == []
    file = home / "talk.json"
    assert run("sessions", "notes", "export", "1", "-o", str(file))["file"] == str(file)
    assert json.loads(file.read_text())["name"] == "Holidays"
    assert run("sessions", "notes", "export", "1")["content"].startswith("# Holidays\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run("sessions", "notes", "delete", "1", code=2) is None
    assert run("sessions", "notes", "delete", "1", "--yes") == {"deleted": 1}
    assert run("sessions", "notes", "show", "1", code=2) is None
    assert run("sessions", "notes", "rename", code=2) is None


def test_feedback_of_all_visitors_is_exported(run, home):
    run("ask", "notes", LEAVE, "--session", "Leave")
    workspace = workspace_at(home)
    base = workspace.base("notes")
    base.conversations.rate(1, -1)
    base.conversations.explain_thumb(1, "wrong", "Never.")
    workspace.close()
    file = home / "feedback.jsonl"
    [row] = run("feedback", "export", "notes", "-o", str(file))["feedback"]
    assert row["feedback"] == {"thumb": "down", "reason": "wrong", "correction": "Never."}
    assert json.loads(file.read_text()) == row


def test_the_recipe_of_a_session_is_what_it_was_asked_with(run):
    run("ask", "notes", LEAVE, "--session", "Leave", "--set", "search.mode=dense")
    shown = run("sessions", "notes", "show", "Leave")
    asked = Recipe().with_fields({**QUICK.fields(), "search.mode": "dense"})
    assert shown["turns"][0]["recipe"] == asked.hash
