"""Prompts of a knowledge base: changed, compared, reset; turns know which they were asked by."""

import hashlib

import pytest

from rag import PROMPTS, InvalidInput, NotFound
from tests.runs import handbook


def test_a_prompt_is_changed_and_reset_and_versions_stay(home):
    _, base = handbook(home)
    shipped = PROMPTS["strict"].text
    assert base.conversations.prompts.wording().text("strict") == shipped
    mine = shipped.replace("in as few sentences", "in verse, in as few sentences")
    base.conversations.prompts.save("strict", f"{mine}\n")
    assert base.conversations.prompts.wording().text("strict") == mine
    digest = hashlib.sha256(mine.encode()).hexdigest()[:8]
    assert base.conversations.prompts.wording().version("strict") == f"strict@{digest}"
    changed = [
        line
        for line in base.conversations.prompts.changes("strict").splitlines()
        if line[0] in "+-"
    ]
    (before, after) = changed[2:]
    assert (before[0], after[0]) == ("-", "+")
    assert after[1:] == before[1:].replace("in as few sentences", "in verse, in as few sentences")
    base.conversations.prompts.save("strict", mine)
    base.conversations.prompts.reset("strict")
    assert [each.text for each in base.conversations.prompts.versions("strict")] == ["", mine]
    assert base.conversations.prompts.changes("strict") == ""
    assert base.conversations.prompts.wording().edited == {}


@pytest.mark.parametrize(
    ("text", "said"), [("Be brief.", "{mark}, {no_answer}"), (" ", "between 1 and 20,000")]
)
def test_a_prompt_keeps_the_places_that_make_it_safe(home, text, said):
    _, base = handbook(home)
    with pytest.raises(InvalidInput) as caught:
        base.conversations.prompts.save("strict", text)
    assert said in caught.value.message
    assert base.conversations.prompts.versions("strict") == []


def test_an_unknown_prompt(home):
    with pytest.raises(NotFound):
        handbook(home)[1].conversations.prompts.save("pirate", "x")


def test_what_a_model_gets_is_the_text_in_use(home):
    _, base = handbook(home)
    base.conversations.prompts.save("strict", PROMPTS["strict"].text + "\n8. Write in verse.")
    recipe = base.recipe().with_fields({"answer.mode": "strict"})
    prompt = base.explanations.prompt(base.search("grinding noise", recipe), recipe)
    assert "8. Write in verse." in prompt.text
    assert prompt.version == base.conversations.prompts.wording().version("strict")
