"""Every page has an address that works in a fresh browser, on a fresh server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.waiting import idle

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from playwright.sync_api import Page

NAVIGATION = {
    "upload": "Documents",
    "chat": "Chat",
    "inspector": "Inspector",
    "metrics": "Metrics",
    "tuning": "Tuning",
    "runs": "Runs",
    "settings": "Settings",
}


@pytest.mark.parametrize("path", NAVIGATION)
def test_the_first_request_of_a_server_shows_that_page_within_the_frame(
    path: str,
    serve: Callable[[], AbstractContextManager[str]],
    page: Page,
    shoot: Callable[[Page, str], None],
) -> None:
    with serve() as address:
        page.goto(f"{address}/{path}")
        page.get_by_role("heading", level=1, name=NAVIGATION[path]).wait_for()
        links = page.get_by_test_id("stSidebarNavLink")
        expect(links).to_have_text([_titled(title) for title in NAVIGATION.values()])
        current = page.locator("[data-testid=stSidebarNavLink][aria-current=page]")
        expect(current).to_have_text(_titled(NAVIGATION[path]))
        idle(page)
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        shoot(page, path)


def test_the_root_leads_to_chat_and_keeps_the_query_string(address: str, page: Page) -> None:
    page.goto(f"{address}/?from=mail&tag=two&tag=three")
    page.get_by_role("heading", level=1, name="Chat").wait_for()
    page.wait_for_url(f"{address}/chat?from=mail&tag=two&tag=three")


def test_nothing_is_fetched_from_another_host(address: str, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/chat")
    page.get_by_role("heading", level=1, name="Chat").wait_for()
    page.wait_for_load_state("networkidle")
    local = (address, "data:", "blob:")
    assert [url for url in asked if not url.startswith(local)] == []


def _titled(title: str) -> re.Pattern[str]:
    """The text of a link: the name of its icon, and what it is called."""
    return re.compile(rf"^[a-z_]+{title}$")
