"""Why each passage behind an answer of quotes is quoted, or is not."""

import pytest

from rag import AnswerRecipe, Settings, answering, providers
from rag.answering import PassageReader, Vocabulary, choose_quotes, quote_fates
from tests.answers import hits, trace

MINILM = providers.embedder("minilm", Settings.from_env({}))
QUESTION = "How long may unused leave be carried over?"
POLICY = "Up to eight days of unused leave may be carried over into the following year."
OTHER = "Receipts of a journey are kept for seven years in the office of the travel desk."


def fates(*texts: str) -> list[tuple[int, str]]:
    found = trace(hits(*texts), QUESTION)
    result = quote_fates(found, choose_quotes(found, MINILM, PassageReader(), Vocabulary()))
    return [(fate.number, fate.reason) for fate in result.values()]


def test_what_is_quoted_has_its_number_and_the_rest_a_reason():
    twin_text = f"{POLICY} See the handbook of the staff."
    lead = "The picture shows the ways to apply for leave:"
    first, other, twin, heading, announces = fates(POLICY, OTHER, twin_text, "## Leave", lead)
    assert first == (1, "")
    assert other[0] == 0
    assert other[1].startswith("its best sentence scores 0.")
    assert twin == (0, "says the same as [1]")
    assert heading == announces == (0, "it has no sentence to quote")


def test_more_than_three_quotes_are_not_shown():
    texts = [
        f"{team} may carry over {days} days of unused leave into the following year."
        for team, days in (("Drivers", 8), ("Cooks", 9), ("Nurses", 10), ("Clerks", 11))
    ]
    result = fates(*texts)
    assert sorted(number for number, _ in result) == [0, 1, 2, 3]
    assert [reason for number, reason in result if not number] == ["3 sentences score higher"]


def test_a_passage_that_only_asks_has_no_sentence_to_quote():
    (_, asks) = fates(POLICY, "How long may leave be carried over?")
    assert asks == (0, "no sentence stands alone: each is cut off, asks, or repeats the question")


@pytest.mark.parametrize("texts", [(POLICY, OTHER), (OTHER, POLICY, POLICY), ("## Leave", OTHER)])
def test_the_numbers_are_those_of_the_answer(texts):
    found = trace(hits(*texts), QUESTION)
    stream = answering.answer(found, AnswerRecipe(), embedder=MINILM, chat=None)
    assert "".join(stream)
    explanation = answering.explain_quotes(found, AnswerRecipe(), embedder=MINILM)
    assert explanation.assessment == stream.answer.assessment
    result = explanation.fates
    cited = {citation.hit.chunk.key: citation.n for citation in stream.answer.citations}
    assert {key: fate.number for key, fate in result.items() if fate.number} == cited
    quoted = {citation.hit.chunk.key: citation.quote for citation in stream.answer.citations}
    assert {key: fate.quote for key, fate in result.items() if fate.quote} == quoted
    stands = {citation.n for citation in stream.answer.citations if citation.answers}
    folded = {fate.number for fate in result.values() if fate.folded}
    assert folded == ({*cited.values()} - stands if stands else set())
