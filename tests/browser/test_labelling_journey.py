"""A passage is graded by click, exact words are labelled, and both outlive a reload."""

import re

TEXT = "Who is told about an illness?"
SET = "made while looking"


def test_label_a_passage_then_its_exact_words(own, page, shoot):
    address, base = own
    page.goto(f"{address}/inspector?kb={base.name}&set={SET}&q={TEXT}")
    page.get_by_text("not in this set yet").wait_for()
    page.get_by_role("radio", name="Highly relevant", exact=True).first.click()
    page.get_by_text(re.compile(r"\b1 label$")).wait_for()
    page.get_by_text("Filled: 1 labelled relevant.").wait_for()
    page.reload()
    page.get_by_text("Filled: 1 labelled relevant.").wait_for()

    page.get_by_role("button", name="Label the exact words").click()
    words = page.get_by_label("Paste the words")
    words.fill("from the fourth day")
    words.press("Enter")
    shoot(page, "evidence")
    page.get_by_role("button", name="Store the label").click()
    page.get_by_text("1 label").first.wait_for()
    page.get_by_role("button", name="Store the label").wait_for(state="detached")
    shoot(page, "grading")
    (question,) = base.questions.labelled(SET)
    assert question.text == TEXT
    labels = [(label.quote, label.grade) for label in question.labels]
    assert labels == [("from the fourth day", 2)]
