"""Contacts, weights, ports, fees and defaults: what a question asks for, and texts that give it."""

import pytest

from rag.answering import Vocabulary
from rag.answering.assessing.key_terms import key_terms
from rag.answering.statements.sentences import statements


def texts_of(passage: str) -> list[str]:
    return [statement.text for statement in statements(passage)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('You say "Stop! Up in four" and wait. Then go.', 2),
        ("Er ruft “Halt! Hier” und wartet. Dann geht er.", 2),
        ('He said "Stop!" Ada went home.', 2),
        ('A 5" tube is here. Another 6" tube is there.', 2),
        ('It is "open. Nobody closed the quotation here. Go on.', 3),
    ],
)
def test_no_sentence_ends_within_a_quotation(text, expected):
    assert len(texts_of(text)) == expected
    assert " ".join(texts_of(text)).startswith(text[:20])


def test_a_unit_is_one_in_all_spellings():
    terms = {term.text: term for term in key_terms("Pacht pro Quadratmeter", Vocabulary())}
    assert terms["Quadratmeter"].is_like("qm")
    assert terms["Quadratmeter"].is_like("m²")
    assert not terms["Quadratmeter"].is_like("m³")
