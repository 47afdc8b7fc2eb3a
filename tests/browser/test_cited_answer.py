"""From a question to its answer, to the document, to the reason, and to a link that shows it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.waiting import idle, shows, until

QUESTION = "How long may unused leave be carried over?"
READING = 240_000  # milliseconds that reading the sample may take on a busy machine

pytestmark = pytest.mark.slow


def test_a_cited_answer_is_asked_opened_inspected_and_shared(serve, page, open_page, shoot):
    with serve() as address:
        _await_sample(page, address)
        shoot(page, "chat-welcome")
        _ask(page)
        _open_citation(page)
        shoot(page, "chat-source")
        _inspect(page)
        shoot(page, "inspector")
        _move_threshold(page)
        _assert_link_shows_the_same(page, open_page())


def _await_sample(page: Page, address: str) -> None:
    """The sample is read in the background; its questions come when its documents are in."""
    suggested = page.get_by_role("radio", name=QUESTION)
    until(shows(suggested), lambda: page.goto(f"{address}/chat"), every=5000, limit=READING)
    page.get_by_text("Every answer cites its passages").wait_for()


def _ask(page: Page) -> None:
    page.get_by_role("radio", name=QUESTION).click()
    said = page.get_by_test_id("stChatMessage").last
    for words in (
        "quotes, no language model",
        "Up to eight days of unused leave may be carried over",
        re.compile(r"looked at [\d,]+ passages, \d quoted, [\d.]+ m?s"),
    ):
        expect(said).to_contain_text(words, use_inner_text=True)
    page.wait_for_url(re.compile(r"talk=\d+"))
    page.reload()
    page.get_by_text("quotes, no language model").wait_for()


def _open_citation(page: Page) -> None:
    page.locator("span.listening").wait_for(state="attached")
    page.get_by_role("link", name="[1]", exact=True).first.click()
    expect(page.get_by_role("radio", name=re.compile(r"^1 leave-policy"))).to_be_checked()
    expect(page).to_have_url(re.compile(r"source=1\.1"))
    page.get_by_role("radio", name=re.compile(r"^1 leave-policy")).click()  # closes it
    expect(page).not_to_have_url(re.compile("source="))
    page.get_by_role("radio", name=re.compile(r"^1 leave-policy-2026\.pdf · p\. 2")).click()
    page.get_by_text(re.compile(r"passage \d+ of \d+")).wait_for()
    picture = page.get_by_role(
        "img", name=re.compile("Page 2 of leave-policy-2026.pdf; the passage")
    )
    picture.wait_for()
    page.get_by_role("radio", name="Text", exact=True).click()
    quote = page.locator("mark.quote").first
    expect(quote).to_contain_text("Up to eight days of unused leave may be carried over")


def _inspect(page: Page) -> None:
    page.get_by_role("button", name="Inspect this").click()
    page.get_by_role("heading", level=1, name="Inspector").wait_for()
    page.get_by_role("button", name=re.compile("past threshold")).wait_for()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    expect(page.get_by_role("textbox", name="Question")).to_have_value(QUESTION)
    # Both editions say how long: the one in force is second by rank, and first in the answer.
    for card in ("1 · leave-policy-2024.pdf · page 1", "2 · leave-policy-2026.pdf · page 2"):
        expect(_cards(page).filter(has_text=card).first).to_be_visible()


def _move_threshold(page: Page) -> None:
    idle(page)
    before = _passing(page).inner_text()
    page.get_by_text("Change the recipe", exact=True).click()
    slider = page.get_by_role("slider", name=re.compile("^Threshold"))

    def raise_it() -> None:
        for _ in range(35 - round(float(slider.input_value()) * 100)):
            slider.press("ArrowRight")

    until(shows(page.get_by_text("threshold 0.35", exact=True)), raise_it)
    _threshold_is_up(page)
    expect(_passing(page)).not_to_have_text(before)
    assert 0 < _number(_passing(page).inner_text()) < _number(before)
    page.wait_for_url(re.compile(r"threshold=0\.35"))


def _assert_link_shows_the_same(page: Page, other: Page) -> None:
    idle(page)
    other.goto(page.url)
    other.get_by_text("Change the recipe", exact=True).click()
    _threshold_is_up(other)
    expect(_passing(other)).to_have_text(_passing(page).inner_text(), use_inner_text=True)
    expect(_cards(other)).to_have_text(_cards(page).all_inner_texts(), use_inner_text=True)
    expect(_source(other)).to_have_text(_source(page).inner_text())


def _threshold_is_up(page: Page) -> None:
    page.get_by_text(re.compile(r"cosine ≥ 0\.35: ")).wait_for()
    page.get_by_text("threshold 0.35", exact=True).wait_for()


def _cards(page: Page) -> Locator:
    return page.locator("[class*=st-key-inspector_card_] button")


def _source(page: Page) -> Locator:
    return page.get_by_text(re.compile(r"passage \d+ of \d+"))


def _passing(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile("past threshold"))


def _number(text: str) -> int:
    return int(text.split()[0].replace(",", ""))
