"""Conversations in the browser: two visitors, an arena, and a review."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Shoot

LEAVE = "How long may unused leave be carried over?"
HOTEL = "What may a hotel cost?"

pytestmark = pytest.mark.slow


def test_two_visitors_an_arena_and_a_review(serve, warm_home, open_page, shoot):
    with serve(warm_home) as address:
        ann, bob = open_page(), open_page()
        _ask(ann, address, LEAVE)
        _ask(bob, address, HOTEL)
        _bob_sees_nothing_of_ann(bob, ann, address)
        _name_and_open_a_citation(ann, shoot)
        _vote(ann, address, shoot)
        _review(ann, address, shoot)


def _ask(page: Page, address: str, question: str) -> None:
    page.goto(f"{address}/chat?kb=handbook")
    box = page.get_by_placeholder("Ask your documents")
    box.fill(question)
    box.press("Enter")
    page.wait_for_url(re.compile(r"talk=\d+"))
    page.get_by_text("quotes, no language model").wait_for()


def _bob_sees_nothing_of_ann(bob: Page, ann: Page, address: str) -> None:
    keys = [
        {each["name"]: each for each in page.context.cookies()}["touchstone_visitor"]
        for page in (ann, bob)
    ]
    assert keys[0]["value"] != keys[1]["value"]
    assert [(key["httpOnly"], key["sameSite"]) for key in keys] == [(True, "Lax")] * 2
    bob.get_by_role("button", name="Conversations").click()
    bob.get_by_text("No other conversations yet.").wait_for()
    bob.goto(f"{address}/chat?kb=handbook&{_talk(ann)}")
    bob.get_by_text("You have no conversation at this address.").wait_for()
    bob.get_by_text("Every answer cites its passages").wait_for()
    expect(bob.get_by_text("carried over until 30 June")).to_have_count(0)


def _talk(page: Page) -> str:
    found = re.search(r"talk=\d+", page.url)
    assert found
    return found.group()


def _name_and_open_a_citation(page: Page, shoot: Shoot) -> None:
    page.get_by_role("button", name="Conversations").click()
    name = page.get_by_label("Name of this conversation")
    name.fill("Leave of the year")
    name.press("Enter")
    shoot(page, "conversations")
    page.keyboard.press("Escape")
    page.get_by_role("radio", name=re.compile("^1 leave")).click()
    page.get_by_text(re.compile(r"passage \d+ of \d+")).wait_for()
    shoot(page, "conversation-source")
    page.get_by_role("button", name="Answer again").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Answer", exact=True).click()
    page.get_by_text("2/2").wait_for()
    shoot(page, "conversation")


def _vote(page: Page, address: str, shoot: Shoot) -> None:
    page.goto(f"{address}/runs?compare=Arena&kb=handbook&k=1")
    box = page.get_by_placeholder("Ask both")
    box.fill(HOTEL)
    box.press("Enter")
    page.get_by_role("button", name="A is better").wait_for()
    shoot(page, "arena-blind")
    page.get_by_role("button", name="A is better").click()
    page.get_by_text("Your vote: A is better").wait_for()
    page.get_by_text("1 vote on 1 question").wait_for()
    shoot(page, "arena")


def _review(page: Page, address: str, shoot: Shoot) -> None:
    page.goto(f"{address}/chat?kb=handbook")
    page.get_by_role("button", name="New conversation").click()
    _ask(page, address, "When is a medical certificate needed?")
    page.get_by_test_id("stFeedback").get_by_role("radio").last.click()
    page.get_by_role("button", name="Say why").click()
    page.get_by_role("radio", name="wrong source").click()
    page.get_by_label("Correct answer").fill("From the fourth day.")
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("button", name="Because: wrong source").wait_for()
    page.goto(f"{address}/usage?kb=handbook")
    page.get_by_text("When is a medical certificate needed?").wait_for()
    shoot(page, "review")
    page.get_by_role("button", name="Add to questions").click()
    dialog = page.get_by_role("dialog")
    expected = dialog.get_by_role("textbox", name="Expected answer")
    expect(expected).to_have_value("From the fourth day.")
    shoot(page, "review-dialog")
    dialog.get_by_role("radio", name="The answer", exact=True).first.click()
    dialog.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("Nothing waits for a review").wait_for()
