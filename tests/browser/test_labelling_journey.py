"""A passage is graded by click, exact words are labelled, and both outlive a reload."""

import re
from pathlib import Path

from tests.workspaces import workspace_at

TEXT = "Who is told about an illness?"
SET = "made while looking"


def test_label_a_passage_then_its_exact_words(serve, warm_home, page, shoot):
    with serve(warm_home) as address:
        page.goto(f"{address}/inspector?kb=handbook&set={SET}&q={TEXT}")
        page.get_by_text("not in this set yet").wait_for()
        page.get_by_role("radio", name="Highly relevant", exact=True).first.click()
        page.get_by_text(re.compile(r"\b1 label$")).wait_for()
        page.get_by_text("Filled: 1 labelled relevant.").wait_for()
        page.reload()
        page.get_by_text("Filled: 1 labelled relevant.").wait_for()

        page.get_by_role("button", name="Label the exact words").click()
        words = page.get_by_label("Paste the words")
        words.fill("from the fourth day")
        words.press("Enter")
        shoot(page, "evidence")
        page.get_by_role("button", name="Store the label").click()
        page.get_by_text("1 label").first.wait_for()
        page.get_by_role("button", name="Store the label").wait_for(state="detached")
        shoot(page, "grading")
    assert _stored(warm_home) == [("from the fourth day", 2)]


def _stored(home: Path) -> list[tuple[str, int]]:
    workspace = workspace_at(home)
    (question,) = workspace.base("handbook").questions.labelled(SET)
    workspace.close()
    assert question.text == TEXT
    return [(label.quote, label.grade) for label in question.labels]
