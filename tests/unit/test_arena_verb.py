"""The verb for votes: both answers are asked for, hidden until the vote, and summed up."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag.__main__ import main
from tests.workspaces import QUICK, add, workspace_at

ASK = "How long may unused leave be carried over?"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    workspace = workspace_at(tmp_path)
    base = workspace.create("notes", QUICK)
    files = {
        "leave.txt": "Unused leave may be carried over until 30 June.",
        "pump.txt": "The pump makes a grinding noise when its bearing is dry.",
    }
    assert set(add(workspace, base, files)) == {"added"}
    workspace.close()
    return tmp_path


def run(home: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    code = main(["arena", "notes", *arguments, "--home", str(home), "--json"])
    told = capsys.readouterr()
    return code, json.loads(told.out) if told.out else None, told.err


def test_a_pair_is_asked_voted_on_and_summed_up(home, capsys):
    code, asked, _ = run(home, capsys, "ask", ASK, "--against", "search.top_k=1")
    assert (code, asked["id"], asked["vote"]) == (0, 1, None)
    assert [asked[side]["recipe"] for side in ("left", "right")] == [None, None]
    assert "30 June" in asked["left"]["answer"]
    assert run(home, capsys)[1]["bouts"] == [asked]
    assert run(home, capsys, "summary")[1] == {"summaries": []}

    _, voted, _ = run(home, capsys, "vote", "1", "both bad")
    assert voted["vote"] == "both bad"
    names = {voted[side]["recipe"] for side in ("left", "right")}
    assert len(names) == 2
    assert None not in names
    assert run(home, capsys, "show", "1")[1] == voted
    [found] = run(home, capsys, "summary")[1]["summaries"]
    assert {found["first"], found["second"]} == names
    assert (found["votes"], found["both_bad"], found["rate"], found["decided"]) == (
        1,
        1,
        0.5,
        False,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["vote", "1"], "takes an id and a vote"),
        (["vote", "7", "left"], "no such pair of answers"),
        (["vote", "x", "left"], "is not the id of a pair of answers"),
        (["ask", ASK], "Both recipes are the same"),
        (["list", "1"], "takes nothing more"),
    ],
)
def test_what_makes_no_sense_is_refused(home, capsys, arguments, said):
    code, _, error = run(home, capsys, *arguments)
    assert code == 2
    assert said in error
