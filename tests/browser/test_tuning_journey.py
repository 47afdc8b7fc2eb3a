"""A slider moves and the figures follow; the best of a grid is searched, applied and saved."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.waiting import comes_true, idle


def test_tune_by_hand_then_by_search(own, page, shoot):
    address, base = own
    page.goto(f"{address}/tuning?kb={base.name}")
    page.get_by_text("The saved recipe: move a slider").wait_for()
    figure = _first_figure(page)
    idle(page)
    expect(figure).to_have_text(re.compile(r"^[01]\.\d{3}$"))
    before = float(figure.inner_text())

    threshold = page.get_by_role("slider", name=re.compile("^Threshold"))
    threshold.press("End")
    page.wait_for_url("**/tuning?*threshold=1*")
    page.get_by_text("Threshold 1.00:").wait_for()
    expect(figure).to_have_text("0.000")
    page.get_by_text("modified").first.wait_for()

    page.reload()  # the URL says it all
    page.get_by_text("Threshold 1.00:").wait_for()
    page.get_by_role("radio", name="Weight", exact=True).click()
    page.get_by_text("is the same at each weight").wait_for()
    shoot(page, "tuning")

    page.get_by_text("Change the recipe", exact=True).click()
    page.get_by_text("Advanced").click()
    page.get_by_role("radio", name="Off", exact=True).click()
    comes_true(page, lambda: float(figure.inner_text()) >= before)
    page.get_by_role("button", name="Search all").click()
    page.get_by_text("does not beat the saved recipe").wait_for()
    page.get_by_text("Best 10 on all questions").wait_for()
    shoot(page, "tuning-searched")


def _first_figure(page: Page) -> Locator:
    page.get_by_test_id("stMetricValue").nth(4).wait_for()  # cards are loaded when first needed
    return page.get_by_test_id("stMetricValue").first
