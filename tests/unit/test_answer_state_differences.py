"""Differences of two things: a table, and the sentences behind it."""

from __future__ import annotations

from rag.answering.comparing import differences
from rag.answering.comparing.differences import Differences
from rag.types import Citation
from tests.answers import hit


def test_a_number_in_brackets_that_is_no_citation_stays_when_citations_are_numbered_on() -> None:
    table = Differences("| a |", (Citation(1, hit("a"), "a"),), "One.", certain=True)
    quotes = Differences(
        "“It says ‘so” [7]\n\n“b” [1]", (Citation(1, hit("b"), "b"),), "Two.", True
    )
    joined = differences._joined(table, quotes)
    assert joined.text == "| a |\n\n“It says ‘so” [7]\n\n“b” [2]"
    assert [citation.n for citation in joined.citations] == [1, 2]
