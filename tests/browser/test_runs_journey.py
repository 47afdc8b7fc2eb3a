"""Two runs are compared, a lost question shows both rankings, and the report opens by itself."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.waiting import click_row
from tests.workspaces import workspace_at


def _evaluated(home: Path) -> str:
    """Two runs, the better one pinned; returns the id of the other."""
    workspace = workspace_at(home)
    base = workspace.base("handbook")
    good = base.runs.evaluate("checks", base.recipe().with_fields({"search.threshold": None})).run
    bad = base.runs.evaluate("checks", base.recipe().with_fields({"search.threshold": 0.99})).run
    base.runs.describe(good.id, note="As shipped")
    base.runs.describe(bad.id, note="Too strict")
    base.runs.pin(good.id)
    workspace.close()
    return bad.id


def test_compare_and_take_the_report_away(serve, warm_home, page, shoot, tmp_path):
    run = _evaluated(warm_home)
    with serve(warm_home) as address:
        page.goto(f"{address}/runs?kb=handbook")
        compared = page.get_by_text("Better on 0 questions, worse on 3")
        click_row(page.get_by_test_id("stDataFrame").first, 1, compared)
        page.wait_for_url(f"**/runs?*runs={run}*")

        _pick_a_question(page)
        page.wait_for_url("**question=*")
        shoot(page, "runs")

        page.reload()
        page.get_by_text("Better on 0 questions, worse on 3").wait_for()
        page.get_by_text("Nothing came back.").wait_for()

        _inspect_and_return(page)
        _pick_a_question(page)
        _inspect_and_return(page)

        page.get_by_test_id("stMain").get_by_test_id("stPopoverButton").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Report (HTML)").click()
        report = tmp_path / "report.html"
        download.value.save_as(report)
    # The server is gone: the file stands by itself.
    page.goto(report.as_uri())
    expect(page.locator("body")).to_contain_text(re.compile(f"Too strict|{run}"))
    expect(page.locator("svg").first).to_be_visible()


def _pick_a_question(page: Page) -> None:
    click_row(page.get_by_test_id("stDataFrame").nth(1), 0, page.get_by_text("Nothing came back."))


def _inspect_and_return(page: Page) -> None:
    """Opens a question with a run's recipe in the inspector, and comes back to the runs."""
    page.get_by_test_id("stMain").get_by_role("button", name="Inspect").first.click()
    page.get_by_role("heading", level=1, name="Inspector").wait_for()
    page.wait_for_url("**/inspector?*q=How*")
    page.get_by_role("link", name="Runs").click()
    page.get_by_text("Better on 0 questions, worse on 3").wait_for()
