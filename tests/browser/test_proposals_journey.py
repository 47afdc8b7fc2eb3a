"""Questions are made and accepted, and a dialog that cannot do its work says so and stays."""

from tests.browser.waiting import click_table
from tests.workspaces import workspace_at


def test_make_questions_and_accept_them(serve, warm_home, page, shoot):
    with serve(warm_home) as address:
        page.goto(f"{address}/metrics?kb=handbook&set=checks&metrics=Question+sets")
        page.get_by_role("button", name="Make questions").click()
        page.get_by_label("How many").fill("2")
        page.get_by_label("How many").press("Enter")
        page.get_by_role("button", name="Make", exact=True).click()
        page.get_by_text("New questions appear as they are made.").wait_for()
        page.get_by_text("2 questions to accept or reject").wait_for()
        shoot(page, "proposals")
        accept = page.get_by_role("button", name="Accept 2", exact=True)
        every_row = (15, 17)
        click_table(page.get_by_test_id("stDataFrame").last, every_row, accept)
        accept.click()
        page.get_by_text("2 questions.").wait_for()
    workspace = workspace_at(warm_home)
    made = [item.origin for item in workspace.base("handbook").questions.labelled("made questions")]
    workspace.close()
    assert {"cloze", "keywords"} & set(made)
