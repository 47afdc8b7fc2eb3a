"""From a question to its answer, to the document, to the reason, and to a link that shows it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from playwright.sync_api import Browser, Locator, Page

QUESTION = "How long may unused leave be carried over?"
READING = 300  # seconds that reading the sample may take on a busy machine

pytestmark = pytest.mark.slow


def test_a_cited_answer_is_asked_opened_inspected_and_shared(
    serve: Callable[[], AbstractContextManager[str]],
    browser: Browser,
    page: Page,
    shoot: Callable[[Page, str], None],
) -> None:
    with serve() as address:
        _await_sample(page, address)
        shoot(page, "chat-welcome")
        _ask(page)
        _open_citation(page)
        shoot(page, "chat-source")
        _inspect(page)
        shoot(page, "inspector")
        _move_threshold(page)
        _assert_link_shows_the_same(browser, page)


def _await_sample(page: Page, address: str) -> None:
    """The sample is read in the background; its questions come when its documents are in."""
    deadline = time.monotonic() + READING
    while time.monotonic() < deadline:
        page.goto(f"{address}/chat")
        page.get_by_text("Every answer cites its passages").wait_for()
        page.wait_for_timeout(3000)
        if page.get_by_role("radio", name=QUESTION).count():
            return
    pytest.fail("The sample was not read in time.")


def _ask(page: Page) -> None:
    page.get_by_role("radio", name=QUESTION).click()
    page.get_by_text("quotes, no language model").wait_for(timeout=120_000)
    assert re.search(r"Up to eight days of unused leave may be carried over", _said(page))
    assert re.search(r"looked at [\d,]+ passages, \d used, [\d,]+ ms", _said(page))
    page.wait_for_url(re.compile(r"talk=\d+"))
    page.reload()
    page.get_by_text("quotes, no language model").wait_for()


def _open_citation(page: Page) -> None:
    page.get_by_role("radio", name=re.compile(r"^1 leave-policy-2026\.pdf · p\. 2")).click()
    page.get_by_text(re.compile(r"passage \d+ of \d+")).wait_for()
    picture = page.get_by_role(
        "img", name=re.compile("Page 2 of leave-policy-2026.pdf; the passage")
    )
    picture.wait_for()
    page.get_by_role("radio", name="Text", exact=True).click()
    quote = page.locator("mark.quote")
    quote.first.wait_for()
    assert "Up to eight days of unused leave may be carried over" in quote.first.inner_text()


def _inspect(page: Page) -> None:
    page.get_by_role("button", name="Inspect this").click()
    page.get_by_role("heading", level=1, name="Inspector").wait_for()
    page.get_by_role("button", name=re.compile("above threshold")).wait_for()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert page.get_by_role("textbox", name="Question").input_value() == QUESTION
    _cards(page).first.wait_for()
    assert _cards(page).first.inner_text().endswith("1 · leave-policy-2026.pdf · page 2")


def _move_threshold(page: Page) -> None:
    before = _passing(page)
    slider = page.get_by_role("slider", name="Threshold")
    slider.focus()
    now = float(slider.get_attribute("aria-valuenow") or slider.input_value())
    for _ in range(round((0.35 - now) * 100)):
        slider.press("ArrowRight")
    page.get_by_text(re.compile(r"similarity ≥ 0\.35: ")).wait_for()
    page.get_by_text("threshold 0.35", exact=True).wait_for()
    assert 0 < _passing(page) < before
    page.wait_for_url(re.compile(r"threshold=0\.35"))


def _assert_link_shows_the_same(browser: Browser, page: Page) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    other = context.new_page()
    other.goto(page.url)
    other.get_by_text(re.compile(r"similarity ≥ 0\.35: ")).wait_for()
    other.get_by_text("threshold 0.35", exact=True).wait_for()
    for _ in range(20):  # cards are drawn one by one
        if _screen(other) == _screen(page):
            break
        other.wait_for_timeout(500)
    assert _screen(other) == _screen(page)
    assert _passing(other) == _passing(page)
    context.close()


def _screen(page: Page) -> list[str]:
    """The cards and the source, which the URL has to bring back."""
    page.get_by_text(re.compile(r"passage \d+ of \d+")).wait_for()
    cards = _cards(page).all_inner_texts()
    return [*cards, page.get_by_text(re.compile(r"passage \d+ of \d+")).inner_text()]


def _cards(page: Page) -> Locator:
    return page.locator("[class*=st-key-inspector_card_] button")


def _passing(page: Page) -> int:
    text = page.get_by_role("button", name=re.compile("above threshold")).inner_text()
    return int(text.split()[0].replace(",", ""))


def _said(page: Page) -> str:
    return "\n".join(page.get_by_test_id("stChatMessage").all_inner_texts())
