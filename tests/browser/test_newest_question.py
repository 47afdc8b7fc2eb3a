"""A chat follows its newest question, wherever the page stood before."""

from functools import partial

import pytest
from playwright.sync_api import Locator, Page

from tests.browser.waiting import comes_true, idle

HEIGHT = 950
QUESTIONS = (
    "How long may unused leave be carried over?",
    "What may a hotel cost?",
    "Why does the pump make a noise?",
    "When is a medical certificate needed?",
    "In which class are trains booked?",
    "When does unused leave lapse?",
    "What does the pump need when it grinds?",
    "How much is a hotel a night?",
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [1440, 420])
def test_each_new_question_comes_into_view_with_its_answer(width, serve, page, warm_home):
    page.set_viewport_size({"width": width, "height": HEIGHT})
    with serve(warm_home) as address:
        page.goto(f"{address}/chat?kb=handbook")
        page.get_by_text("Every answer cites its passages").wait_for()
        for number, question in enumerate(QUESTIONS, start=1):
            _ask(page, question)
            page.get_by_text("quotes, no language model").nth(number - 1).wait_for()
            idle(page)
            asked = _messages(page, "user").nth(number - 1)
            answer = _messages(page, "assistant").nth(number - 1)
            comes_true(page, partial(_are_seen, page, asked, answer))
        _a_reader_who_scrolls_away_is_left_there(page)


def _ask(page: Page, question: str) -> None:
    box = page.get_by_placeholder("Ask your documents")
    box.fill(question)
    box.press("Enter")


def _messages(page: Page, name: str) -> Locator:
    return page.get_by_label(f"Chat message from {name}", exact=True)


def _are_seen(page: Page, asked: Locator, answer: Locator) -> bool:
    """Whether a question is below the header, and its answer ends above the field or fills all."""
    header = page.get_by_test_id("stHeader").bounding_box()
    field = page.get_by_placeholder("Ask your documents").bounding_box()
    places = [asked.bounding_box(), answer.bounding_box()]
    if header is None or field is None or None in places:
        return False
    (above, below), top = places, header["y"] + header["height"]
    is_first = above["y"] < top + 100
    ends_in_view = below["y"] + below["height"] <= field["y"]
    return above["y"] >= top - 10 and below["y"] < field["y"] and (ends_in_view or is_first)


def _a_reader_who_scrolls_away_is_left_there(page: Page) -> None:
    page.get_by_test_id("stAppScrollToBottomContainer").hover()
    _ask(page, QUESTIONS[0])
    page.get_by_text("quotes, no language model").nth(len(QUESTIONS)).wait_for()
    comes_true(page, partial(_is_scrolled_up, page))
    left_at = _position(page)[0]
    page.wait_for_timeout(2000)
    assert _position(page)[0] <= left_at


def _is_scrolled_up(page: Page) -> bool:
    """Turn the wheel, and say whether the page has left its end."""
    page.mouse.wheel(0, -1500)
    page.wait_for_timeout(300)
    top, below = _position(page)
    return below > HEIGHT / 4 or top == 0


def _position(page: Page) -> tuple[float, float]:
    """Return the pixels above and below what is in view."""
    box = page.get_by_test_id("stAppScrollToBottomContainer")
    script = "box => [box.scrollTop, box.scrollHeight - box.scrollTop - box.clientHeight]"
    above, below = box.evaluate(script)
    return above, below
