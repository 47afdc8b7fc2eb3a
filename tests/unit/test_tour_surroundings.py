"""The text around a cited page of a tour."""

from dataclasses import replace
from pathlib import Path

import pytest

from rag import KnowledgeBase, TourQuote, answer_stops
from rag.readers import read_text
from tests.runs import handbook

QUESTION = "May unused leave be carried over?"


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    return handbook(home)[1]


def test_the_text_around_a_page_has_no_half_of_a_tag(base: KnowledgeBase) -> None:
    recipe = base.recipe()
    turn_id = base.conversations.ask(base.conversations.open(None), QUESTION, recipe)
    base.conversations.conclude(turn_id, base.ask(QUESTION, recipe).answer)
    turn = base.conversations.turns(base.conversations.recent()[0].id)[0]
    first, tag, words = turn.citations[0], '<TabItem value="ui" label="In the UI">', "word " * 116
    text = f"{tag} {words}cited passage {words}{tag} and so on"
    for moved in range(len(tag)):  # each place of the tag is where the text around is cut
        start = text.index("cited") + moved
        cited = replace(first, start=start, end=start + 1, quote="")
        turn = replace(turn, citations=(cited,))
        (_, page) = answer_stops(turn, {first.document_id: read_text(text, "tabs.md")})
        (quote,) = page.quotes[0].parts()
        assert isinstance(quote, TourQuote)
        assert "value=" not in f"{quote.before}{quote.after}"
        assert "Item" not in f"{quote.before}{quote.after}"
