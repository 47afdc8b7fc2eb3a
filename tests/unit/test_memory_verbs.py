"""The verbs for past interactions, and for how a knowledge base does in use."""

from pathlib import Path

import pytest

from rag.__main__ import main
from tests import answers
from tests.verbs import run_verb
from tests.workspaces import QUICK, add, fill_home, workspace_at

ASK_LEAVE = "How long may unused leave be carried over?"
ASK_PUMP = "Why does the pump make a grinding noise?"


@pytest.fixture
def asked(home: Path) -> Path:
    """A home in which two questions were answered, the second with a thumb down."""
    fill_home(home, two_answers)
    return home


def two_answers(home: Path) -> None:
    workspace = workspace_at(home)
    base = workspace.create("notes", QUICK)
    files = {
        "leave.txt": "Unused leave may be carried over until 30 June.",
        "pump.txt": "The pump makes a grinding noise when its bearing is dry.",
    }
    assert set(add(workspace, base, files)) == {"added"}
    for question in (ASK_LEAVE, ASK_PUMP):
        turn = answers.asked(base, question)
    base.conversations.rate(turn.id, -1)
    workspace.close()


def test_one_is_shown_corrected_and_deleted(asked, capsys):
    code, found, _ = run_verb(capsys, "memory", "notes", "correct", "1", "--answer", "In June [1].")
    assert (code, found["answer"], found["corrected"]) == (0, "In June [1].", True)
    assert run_verb(capsys, "memory", "notes", "show", "1")[1] == found
    assert run_verb(capsys, "memory", "notes", "delete", "1")[:2] == (0, {"deleted": 1})
    code, _, _said = run_verb(capsys, "memory", "notes", "show", "1")
    assert code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search",), "memory search takes one TEXT."),
        (("list", "x"), "memory list takes no further argument."),
        (("show", "one"), "'one' is not the id of an interaction."),
        (("correct", "1"), "The correction is missing."),
        (("correct", "1", "--answer", " "), "Question and answer need words."),
    ],
)
def test_what_makes_no_sense_is_refused(asked, capsys, arguments, said):
    code, found, error = run_verb(capsys, "memory", "notes", *arguments)
    assert (code, found) == (2, None)
    assert said in error


def test_operations_count_what_was_asked(asked, capsys):
    code, found, _ = run_verb(capsys, "operations", "notes")
    assert (code, found["questions"], found["refused"], found["thumbs_down"]) == (0, 2, 0, 1)
    assert sum(each["questions"] for each in found["periods"]) == 2
    assert sorted(each["id"] for each in found["slowest"]) == [1, 2]
    assert [(each["id"], each["fault"]) for each in found["worst"]] == [(2, "thumb down")]
    assert main(["operations", "notes", "--days", "0"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["operations", "notes", "--days", "nan"], "The number of days is not valid."),
        (["operations", "notes", "--days", "inf"], "The number of days is not valid."),
        (["operations", "notes", "--days", "1e12"], "The number of days is not valid."),
        (["operations", "notes", "--days", "-1"], "The number of days is not valid."),
        (["memory", "notes", "--limit", "-1"], "--limit is at least 1."),
    ],
)
def test_absurd_numbers_are_refused_with_a_reason(asked, capsys, words, said):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"Error: {said}")
