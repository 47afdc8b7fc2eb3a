"""Questions are edited in their table and saved; a file of more comes in through its dialog."""

import json
from pathlib import Path

from playwright.sync_api import Page, WebSocket

from rag import LabelledQuestion
from tests.browser.waiting import click_table
from tests.workspaces import workspace_at

ASKED = "How long can I keep leave that is left over?"
FILE = "\n".join(
    json.dumps(each)
    for each in (
        {
            "id": "n1",
            "text": "Which class do we ride in?",
            "evidence": [{"document": "travel.md", "quote": "second class"}],
        },
        {"id": "n2", "text": "Who won the cup in 1954?", "answerable": False},
    )
)


def test_edit_a_question_then_import_a_file(serve, warm_home, tmp_path, page, shoot):
    file = tmp_path / "more questions.jsonl"
    file.write_text(FILE)
    with serve(warm_home) as address:
        with page.expect_websocket() as opened:
            page.goto(f"{address}/metrics?kb=handbook&set=checks&metrics=Question+sets")
        page.get_by_role("button", name="Edit questions").click()
        page.get_by_role("dialog").get_by_role("button", name="Save").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        page.get_by_role("button", name="Edit questions").click()
        _replace(page, opened.value, 0, ASKED)
        shoot(page, "question-editor")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("dialog").wait_for(state="detached")
        (first, *others) = _stored(warm_home, "checks")
        assert (first.text, [label.quote for label in first.labels]) == (ASKED, ["until 30 June"])
        assert [each.id for each in others] == ["travel.md", "pump.md"]

        page.get_by_role("button", name="Import questions").click()
        page.locator("input[type=file]").set_input_files(file)
        page.wait_for_function(
            "[...document.querySelectorAll('input')].some(each => each.value === 'more questions')"
        )
        shoot(page, "question-import")
        page.get_by_role("button", name="Import", exact=True).click()
        page.get_by_text("2 questions imported into “more questions”.").wait_for()
        page.get_by_text("2 questions, 1 of them without an answer in the documents.").wait_for()
        page.wait_for_url("**set=more**")
        chosen = page.get_by_role("heading", name="checks", exact=True)
        click_table(page.get_by_test_id("stDataFrame").first, (330, 52), chosen)
    imported = _stored(warm_home, "more questions")
    assert [(each.id, each.answerable) for each in imported] == [("n1", True), ("n2", False)]
    assert [label.quote for label in imported[0].labels] == ["second class"]


def test_an_edit_stays_with_its_question_when_others_change_the_set(serve, warm_home, page):
    with serve(warm_home) as address:
        with page.expect_websocket() as opened:
            page.goto(f"{address}/metrics?kb=handbook&set=checks&metrics=Question+sets")
        page.get_by_role("button", name="Edit questions").click()
        _replace(page, opened.value, 1, ASKED)
        workspace = workspace_at(warm_home)
        workspace.base("handbook").questions.delete_questions("checks", ["leave.md"])
        workspace.close()
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("dialog").wait_for(state="detached")
    stored = [(each.id, each.text) for each in _stored(warm_home, "checks")]
    assert stored == [("travel.md", ASKED), ("pump.md", "Why does the pump make a noise?")]


def _replace(page: Page, server: WebSocket, row: int, text: str) -> None:
    """Types over a question: the table is a canvas, its cells have no elements.

    An edit leaves for the server a moment after it was made; nobody clicks before, but a test does.
    """
    table = page.get_by_role("dialog").get_by_test_id("stDataFrame")
    field = page.locator(".gdg-clip-region textarea, .gdg-clip-region input").first
    click_table(table, (150, 52 + 35 * row), field, clicks=2)
    field.fill(text)
    with server.expect_event("framesent", lambda sent: text.encode() in sent):
        field.press("Enter")
    field.wait_for(state="detached")


def _stored(home: Path, name: str) -> list[LabelledQuestion]:
    workspace = workspace_at(home)
    found = workspace.base("handbook").questions.labelled(name)
    workspace.close()
    return found
