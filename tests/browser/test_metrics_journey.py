"""A question set is evaluated, survives a reload, and its worst question opens in the inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Page

LONG = 60_000  # milliseconds; a busy machine is slow


def test_evaluate_then_open_a_question_in_the_inspector(
    serve: Callable[..., AbstractContextManager[str]],
    warm_home: Path,
    page: Page,
    shoot: Callable[[Page, str], None],
) -> None:
    page.set_default_timeout(LONG)
    with serve(warm_home) as address:
        page.goto(f"{address}/metrics?kb=handbook")
        page.get_by_role("button", name="Evaluate").click()
        before = _figures(page)
        assert [label for label, _ in before][:4] == [
            "nDCG@10",
            "MRR@10",
            "Recall@10",
            "Precision@5",
        ]

        page.reload()
        assert _figures(page) == before
        shoot(page, "metrics")

        table = page.locator("[data-testid=stDataFrame]").last
        table.locator(".dvn-scroller").click(position={"x": 120, "y": 35 + 17})
        page.get_by_role("link", name="Open in the inspector").click()
        page.get_by_role("heading", level=1, name="Inspector").wait_for()
        page.wait_for_url("**/inspector?*q=*")
        assert "kb=handbook" in page.url or "kb=" not in page.url


def _figures(page: Page) -> list[tuple[str, str]]:
    page.get_by_text("Click a question to see why").wait_for()  # the last line of the page
    page.get_by_test_id("stMetricValue").nth(4).wait_for()  # cards are loaded when first needed
    page.get_by_test_id("stMetricLabel").nth(4).wait_for()
    labels = page.get_by_test_id("stMetricLabel").all_inner_texts()
    values = page.get_by_test_id("stMetricValue").all_inner_texts()
    return list(zip((label.strip() for label in labels), values, strict=True))
