"""Answers without a language model: statements of passages, and which of them are quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import answering, providers
from rag.answering.extractive import quotes
from rag.answering.sentences import sentence_spans, statements
from rag.recipe import AnswerRecipe
from rag.settings import Settings
from tests.answers import hit, hits, trace

MINILM = providers.embedder("minilm", Settings.from_env({}))
QUESTION = "How long may unused leave be carried over?"
POLICY = """# 2.5 Carrying over

Leave should be taken in the year in which it is earned. Up to eight days of unused leave may be
carried over into the following year. Days that were carried over have to be taken by 30 June.
"""
OTHER = "Expenses are reimbursed within ten days. Receipts are kept for seven years."


def test_the_sentence_that_answers_comes_first() -> None:
    text, citations = quotes(QUESTION, hits(OTHER, POLICY), MINILM)
    first = "Up to eight days of unused leave may be carried over into the following year."
    assert text.startswith(f"“{first}” [2]")
    assert "Expenses" not in text
    assert citations[0].n == 2
    assert " ".join(citations[0].quote.split()) == first
    assert citations[0].quote in POLICY


def test_the_answer_is_labelled() -> None:
    stream = answering.answer(
        trace(hits(POLICY), QUESTION), AnswerRecipe(), embedder=MINILM, chat=None
    )
    assert "".join(stream) == stream.answer.text
    assert (stream.answer.mode, stream.answer.status) == ("quotes", "complete")
    assert stream.answer.prompt == ""


def test_the_same_every_time() -> None:
    found = hits(OTHER, POLICY, POLICY.upper())
    assert quotes(QUESTION, found, MINILM) == quotes(QUESTION, found, MINILM)


def test_what_was_said_is_not_said_again() -> None:
    text, _ = quotes(QUESTION, hits(POLICY, POLICY), MINILM)
    assert text.count("Up to eight days") == 1


def test_headings_alone_are_quoted_only_when_there_is_nothing_else() -> None:
    text, citations = quotes("Carrying over?", hits("## Carrying over", OTHER), MINILM)
    assert "Carrying over" not in text
    assert citations[0].n == 2
    alone, _ = quotes("Carrying over?", hits("## Carrying over"), MINILM)
    assert alone == "“## Carrying over” [1]"


def test_a_table_row_is_quoted_with_its_columns() -> None:
    table = "| Model | Price |\n|---|---|\n| T12 | 640 EUR |\n| T30 | 910 EUR |"
    text, citations = quotes("What is the price of the T30?", hits(table), MINILM)
    assert text.startswith("“Model: T30; Price: 910 EUR” [1]")
    assert citations[0].quote == "| T30 | 910 EUR |"


def test_a_list_item_is_quoted_with_what_introduces_it() -> None:
    text, _ = quotes(
        "Who may enter the laboratory?",
        [hit("The laboratory may be entered by:\n\n- trained staff\n- visitors with a guide")],
        MINILM,
    )
    assert "“The laboratory may be entered by: trained staff” [1]" in text


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("See Fig. 3 for e.g. this. Next.", ["See Fig. 3 for e.g. this.", "Next."]),
        ("In 2023. Then more.", ["In 2023.", "Then more."]),
        ("Am 3. Mai. Ende.", ["Am 3. Mai.", "Ende."]),
        ("It costs 3.50 EUR. Cheap.", ["It costs 3.50 EUR.", "Cheap."]),
        ("He said “no.” She left.", ["He said “no.”", "She left."]),
        ("一。二。", ["一。", "二。"]),
        ("  no stop ", ["no stop"]),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@pytest.mark.parametrize(
    ("passage", "said"),
    [
        ("# Title\n\nA first fact.", ["A first fact."]),
        ("Short title\n\nA first fact.", ["A first fact."]),
        ("2.5 Carrying over\nA first fact.", ["A first fact."]),
        ("Leave lapses. It cannot be paid.", ["Leave lapses.", "Leave lapses. It cannot be paid."]),
        ("Allowed are:\n1. one\n2. two\n   more", ["Allowed are: one", "Allowed are: two more"]),
        ("a: 1; b: 2\na: 3; b: 4", ["a: 1; b: 2", "a: 3; b: 4"]),
        ("| only | header |\n|---|---|", []),
        ("---\n===", []),
        ("", []),
    ],
)
def test_statements(passage: str, said: list[str]) -> None:
    assert [statement.text for statement in statements(passage)] == said


def test_an_endless_sentence_is_cut_between_words() -> None:
    found = statements("word " * 300)
    assert all(len(statement.quote) <= 400 for statement in found)
    assert " ".join(statement.text for statement in found) == ("word " * 300).strip()


@given(st.text(alphabet="aB1.:;|#-\n !?", max_size=120))
def test_statements_quote_the_passage_where_they_say(passage: str) -> None:
    for statement in statements(passage):
        end = statement.start + len(statement.quote)
        assert passage[statement.start : end] == statement.quote
        assert statement.quote.strip()
