"""A file is dropped, read, looked at, and answers with a citation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Page

LONG = 60_000  # milliseconds; a busy machine is slow
BOILER = (
    "The boiler in the basement hums at night because its pump runs dry.\n\n"
    "Its filter is changed every 14 months by the caretaker.\n"
)


def test_a_file_is_uploaded_previewed_and_cited(
    serve: Callable[..., AbstractContextManager[str]],
    warm_home: Path,
    page: Page,
    shoot: Callable[[Page, str], None],
) -> None:
    page.set_default_timeout(LONG)
    with serve(warm_home) as address:
        page.goto(f"{address}/upload")
        page.get_by_role("heading", name="3 documents").wait_for()
        page.locator("input[type=file]").first.set_input_files(
            {"name": "boiler.txt", "mimeType": "text/plain", "buffer": BOILER.encode()}
        )
        page.get_by_text("1 file: 1 added (1 passage).").wait_for()
        page.get_by_role("heading", name="4 documents").wait_for()
        _click_first_row(page)
        page.get_by_role("heading", name="boiler.txt").wait_for()
        page.wait_for_url("**doc=*")
        assert "hums at night because its pump runs dry" in _preview(page)
        shoot(page, "documents-preview")

        page.get_by_role("link", name="Ask these documents").click()
        page.get_by_test_id("stChatInputTextArea").fill("How often is the filter changed?")
        page.get_by_test_id("stChatInputTextArea").press("Enter")
        page.get_by_text("every 14 months").first.wait_for()
        page.get_by_text("boiler.txt").first.wait_for()
        shoot(page, "chat-cited")


def _click_first_row(page: Page) -> None:
    """Rows are painted on a canvas: the first one lies below the header."""
    table = page.locator("[data-testid=stDataFrame] .dvn-scroller").first
    table.click(position={"x": 120, "y": 35 + 17})


def _preview(page: Page) -> str:
    texts = page.get_by_test_id("stMarkdownContainer").all_inner_texts()
    return next(text for text in texts if "hums" in text)
