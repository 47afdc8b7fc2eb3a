"""A passage that is missing is found, the change that brings it in is applied, and it is there."""

import re

from tests.browser.waiting import at_rest

QUESTION = "How long may unused leave be carried over?"
MISSING = "Trains are booked in second class."


def test_opening_what_is_advanced_moves_no_card(warm_address, page):
    page.goto(f"{warm_address}/inspector?kb=handbook&q={QUESTION}")
    card = page.get_by_role("button", name="1 · leave.md")
    card.wait_for()
    page.get_by_role("radio", name="Stages").wait_for()
    before = at_rest(card)
    page.get_by_text("Change the recipe", exact=True).click()
    page.get_by_text("Advanced").click()
    page.get_by_text("BM25 b", exact=True).wait_for()
    assert at_rest(card) == before


def test_find_the_missing_and_bring_it_in(own, page, shoot):
    address, base = own
    page.goto(f"{address}/inspector?kb={base.name}&q={QUESTION}&view=What+if")
    field = page.get_by_label("Expected something else? Paste its words")
    field.fill(MISSING)
    field.press("Enter")
    page.get_by_text("has these words").wait_for()
    page.get_by_role("button", name="Look up").first.click()
    page.get_by_text(re.compile("lost at (threshold|top-k)")).first.wait_for()
    page.get_by_text(re.compile("Enters the (top|results)")).first.wait_for()
    shoot(page, "what-if")
    page.get_by_role("button", name="Apply").first.click()
    page.get_by_text("given to the answer, rank").first.wait_for()

    page.get_by_role("radio", name="Compare").click()
    page.get_by_text("Rank-biased overlap").wait_for()
    shoot(page, "compare")
    page.get_by_role("radio", name="Attribution").click()
    page.get_by_role("button", name="Compute").click()
    page.get_by_text("texts were embedded").wait_for()
    shoot(page, "attribution")
