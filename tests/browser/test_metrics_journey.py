"""A question set is evaluated, survives a reload, and its worst question opens in the inspector."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import LABELLED
from tests.browser.waiting import click_row, idle

CARDS = ["nDCG@10", "MRR@10", "Recall@10", "Precision@5", "Rightly unanswered"]


def test_evaluate_then_open_a_question_in_the_inspector(own, page, shoot):
    address, base = own
    page.goto(f"{address}/metrics?kb={base.name}")
    evaluate = page.get_by_role("button", name="Evaluate")
    evaluate.wait_for()
    idle(page)
    evaluate.click()
    _settled(page)
    figures = page.get_by_test_id("stMetricValue").all_inner_texts()

    page.reload()
    _settled(page)
    expect(page.get_by_test_id("stMetricValue")).to_have_text(figures, use_inner_text=True)
    shoot(page, "metrics")

    table = page.locator("[data-testid=stDataFrame]").last
    inspector = page.get_by_role("heading", level=1, name="Inspector")
    click_row(table, 0, inspector)
    inspector.wait_for()
    page.wait_for_url("**/inspector?*q=*")
    page.wait_for_url(lambda url: f"kb={base.name}" in url or "kb=" not in url)

    page.go_back()
    _settled(page)  # and the table does not open its question again
    expect(inspector).to_be_hidden()


def test_back_from_another_page_returns_to_the_set_and_the_tab(own, page):
    address, base = own
    base.questions.import_file("travel", "travel.jsonl", LABELLED)
    page.goto(f"{address}/metrics?kb={base.name}")
    picker = page.get_by_role("combobox", name="Question set")
    picker.wait_for()
    idle(page)
    picker.click()
    page.get_by_role("option", name="travel").click()
    failures = page.get_by_role("tab", name="Failures")
    failures.click()
    page.wait_for_url("**/metrics?*set=travel*")
    page.wait_for_url("**/metrics?*metrics=Failures*")
    idle(page)
    for title in ("Chat", "Settings"):
        page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
        page.get_by_role("heading", level=1, name=title).wait_for()
        idle(page)
        page.go_back()
        page.get_by_role("heading", level=1, name="Metrics").wait_for()
        idle(page)
        expect(picker).to_have_value("travel")
        expect(failures).to_have_attribute("aria-selected", "true")
        assert {"set=travel", "metrics=Failures"} <= set(page.url.split("?")[1].split("&"))
    page.go_forward()  # the address is put right in place, so the history goes on
    page.get_by_role("heading", level=1, name="Settings").wait_for()


def _settled(page: Page) -> None:
    page.get_by_text("Click a question to inspect it").wait_for()
    expect(page.get_by_test_id("stMetricLabel")).to_have_text(CARDS)
    expect(page.get_by_test_id("stMetricValue")).to_have_count(len(CARDS))
    idle(page)
