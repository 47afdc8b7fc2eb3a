"""The state of an answer wherever one leaves: command line, REST, MCP, stored turns, exports."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from rag import KnowledgeBase, Workspace
from rag.__main__ import main
from rag.storage.conversations.sessions import turn
from tests.answers import asked
from tests.api import client
from tests.verbs import output_of
from tests.workspaces import QUICK, add, stocked

ERRORS = (
    "CV-115 means that the speed sensors disagree. CV-118 means that the rotor was not recognised. "
    "CV-126 means that the mains failed."
)
POLICY = "Everybody who works five days a week has {days} days of annual leave per calendar year."
KNOWN = "What does CV-118 mean?"
UNKNOWN = "What does CV-155 mean?"
LEAVE = "How many days of annual leave do I have per calendar year?"
RECIPE = QUICK.with_fields({"search.threshold": None, "search.refuse": "off"})


DAYS = (2024, 27), (2026, 29)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    policies = {f"leave-policy-{year}.md": POLICY.format(days=days) for year, days in DAYS}
    return stocked(tmp_path, {"errors.md": ERRORS, **policies}, RECIPE, "manuals")[0]


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("manuals")


def spoken(capsys: pytest.CaptureFixture[str], home: Path, question: str) -> dict[str, Any]:
    told: dict[str, Any] = output_of(capsys, "ask", "manuals", question, "--home", str(home))
    return told


def test_a_code_that_no_passage_has_is_doubtful_and_named(base):
    answer = base.ask(UNKNOWN, RECIPE).answer
    assert answer.state == "doubtful"
    assert answer.assessment.reason == "No passage has CV-155. Most similar: CV-115."
    assert answer.assessment.missing == ("CV-155",)
    assert answer.assessment.probability is not None
    assert answer.assessment.probability <= 0.02


def test_a_code_that_is_quoted_is_answered(base):
    answer = base.ask(KNOWN, RECIPE).answer
    assert answer.state == "answered"
    assert answer.assessment.missing == ()


def test_editions_that_disagree_are_both_shown_the_newest_first(base):
    answer = base.ask(LEAVE, RECIPE).answer
    assert answer.state == "conflicting"
    told = [
        (edition.n, edition.document, edition.day, edition.in_force)
        for edition in answer.assessment.editions
    ]
    assert told == [
        (1, "leave-policy-2026.md", "2026", True),
        (2, "leave-policy-2024.md", "2024", False),
    ]
    assert answer.text.index("29 days") < answer.text.index("27 days")


@pytest.mark.parametrize(
    ("question", "older", "state"),
    [
        ("How many weeks of parental leave at full pay?", "{shared} {paternity}", "answered"),
        ("How many weeks of parental leave at full pay?", "{changed}", "conflicting"),
        ("How many weeks of parental leave at full pay in Austria?", "{changed}", "doubtful"),
    ],
)
def test_sources_disagree_where_each_says_something_else_about_the_question(
    workspace, question, older, state
):
    base = workspace.create("leave", RECIPE)
    parts = {
        "shared": "We provide 12 weeks shared parental leave at full pay and 39 weeks at half pay.",
        "paternity": "We provide 10 weeks parental leave at full pay to fathers.",
        "changed": "We provide 9 weeks shared parental leave at full pay and 30 weeks at half pay.",
    }
    files = {
        "parental-2025.md": f"{parts['paternity']} {parts['shared']}",
        "parental-2023.md": older.format(**parts),
    }
    add(workspace, base, files)
    answer = base.ask(question, RECIPE).answer
    assert answer.state == state
    assert ("Austria" in answer.assessment.reason) == (state == "doubtful")


def test_an_edition_without_a_date_in_its_name_counts_by_the_date_that_it_states(workspace):
    base = workspace.create("rules", RECIPE)
    new = "Valid from 1 March 2026. It replaces the rules of 15 January 2024.\n\n"
    add(
        workspace,
        base,
        {
            "rules-2024.md": POLICY.format(days=27),
            "rules.md": new + POLICY.format(days=29),
        },
    )
    answer = base.ask(LEAVE, RECIPE).answer
    assert [(edition.document, edition.day) for edition in answer.assessment.editions] == [
        ("rules.md", "2026-03-01"),
        ("rules-2024.md", "2024"),
    ]
    assert answer.assessment.reason == (
        "rules.md (2026-03-01) and rules-2024.md give different figures. rules.md is the newest."
    )
    assert answer.text.index("29 days") < answer.text.index("27 days")


def test_a_refusal_is_a_state_too(base):
    answer = base.ask(
        KNOWN, RECIPE.with_fields({"search.threshold": 1.0, "search.exact_codes": False})
    ).answer
    assert (answer.status, answer.state) == ("refused", "refused")


def test_command_line_and_rest_tell_the_same(workspace, tmp_path, capsys):
    rest = client(workspace, "ask").post(
        "/api/v1/knowledge-bases/manuals/ask", json={"question": UNKNOWN}
    )
    told = spoken(capsys, tmp_path, UNKNOWN)
    assert rest.status_code == 200
    assert rest.json()["state"] == told["state"] == "doubtful"
    assert rest.json()["assessment"] == told["assessment"]
    assert told["assessment"]["reason"] == "No passage has CV-155. Most similar: CV-115."
    assert main(["ask", "manuals", UNKNOWN, "--home", str(tmp_path)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert (
        first == "Doubtful: perhaps not answered here. No passage has CV-155. Most similar: CV-115."
    )


def test_turns_keep_their_state_and_old_ones_open_without(workspace, base):
    answer = base.ask(LEAVE, RECIPE).answer
    stored = asked(base, LEAVE, RECIPE, answer=answer)
    assert stored.state == "conflicting"
    assert stored.details.assessment == answer.assessment
    with base._database.write() as connection:
        connection.execute(update(turn).values(details={}))
    [old] = base.conversations.turns(stored.conversation_id)
    assert (old.state, old.answer) == (None, answer.text)


def test_doubtful_answers_wait_for_a_review(base):
    for question in (KNOWN, UNKNOWN):
        asked(base, question, RECIPE)
    assert [item.turn.question for item in base.conversations.waiting_reviews()] == [UNKNOWN]
    assert base.conversations.review_figures().doubtful == 1
