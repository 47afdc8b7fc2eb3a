"""A question set is evaluated, survives a reload, and its worst question opens in the inspector."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Serve, Shoot
from tests.browser.waiting import click_row, idle

CARDS = ["nDCG@10", "MRR@10", "Recall@10", "Precision@5", "Correct refusals"]


def test_evaluate_then_open_a_question_in_the_inspector(
    serve: Serve, warm_home: Path, page: Page, shoot: Shoot
) -> None:
    with serve(warm_home) as address:
        page.goto(f"{address}/metrics?kb=handbook")
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
        page.wait_for_url(lambda url: "kb=handbook" in url or "kb=" not in url)

        page.go_back()
        _settled(page)  # and the table does not open its question again
        expect(inspector).to_be_hidden()


def _settled(page: Page) -> None:
    page.get_by_text("Click a question to open it in the inspector").wait_for()
    expect(page.get_by_test_id("stMetricLabel")).to_have_text(CARDS)
    expect(page.get_by_test_id("stMetricValue")).to_have_count(len(CARDS))
    idle(page)
