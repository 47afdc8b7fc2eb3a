"""Contacts, weights, ports, fees and defaults: what a question asks for, and texts that give it."""

from __future__ import annotations

import pytest

from rag.answering.asked_values import asked_value
from rag.answering.assessing.key_terms import key_terms
from rag.answering.statements.sentences import statements
from rag.answering.vocabulary import Vocabulary

SPEAK = "Who do I speak to about a loan?"
INSURER = "Which company insures the boats?"
WEIGHT = "How much does the pump weigh?"


@pytest.mark.parametrize(
    ("question", "name"),
    [
        (INSURER, "a name"),
        ("What is the brand of the stove?", "a name"),
        ("Who supplies the stove?", "a name"),
        ("What brand is the stove?", None),
        ("Which company policy is that?", None),
        ("Which port does the proxy listen on?", "a number"),
        ("Which PHP version does it need?", "a number"),
        ("How big is the security deposit?", "a price"),
        ("How big is the garden?", "a number"),
        ("Wie hoch ist die Pacht?", "a price"),
        ("Was muss ich zahlen, wenn ich zu spät komme?", "a price"),
        ("Quel est le montant de la caution ?", "a price"),
    ],
)
def test_questions_ask_for_a_kind(question: str, name: str | None) -> None:
    kind = asked_value(question)
    assert (kind.name if kind else None) == name


@pytest.mark.parametrize(
    ("question", "text", "has_it"),
    [
        (INSURER, "The boats are insured with Harbour Mutual.", True),
        (INSURER, "Our boats are insured, and so are their crews.", False),
        (INSURER, "Cover begins on Monday. It costs 40 EUR.", False),
        (INSURER, "Insurer: Harbour", True),
        (INSURER, "Harbour Mutual does.", True),
        ("How much does a lamp cost?", "Lamp: 12 V, 16 A", False),
        ("How much does a lamp cost?", "Lamp 40 W: 30", True),
        ("How much does a lamp cost?", "Lamps: 30 a week", True),
        (WEIGHT, "It weighs about 12, with the hose.", True),
        (WEIGHT, "Mass · 12 kg", True),
        ("After how many seconds does it close?", "Idle for so long. [seconds] Default: 600", True),
        ("How much is a ticket?", "The fee for the day is 15.", True),
        ("How much is a ticket?", "It needs a 16 A circuit and a door of 90.", False),
        ("How many cores does it use?", "It uses all available cores.", True),
    ],
)
def test_a_text_has_a_value_of_the_kind(question: str, text: str, has_it: bool) -> None:
    kind = asked_value(question)
    assert kind.is_in(text) is has_it


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
def test_no_sentence_ends_within_a_quotation(text: str, expected: int) -> None:
    assert len(texts_of(text)) == expected
    assert " ".join(texts_of(text)).startswith(text[:20])


def test_a_unit_is_one_in_all_spellings() -> None:
    terms = {term.text: term for term in key_terms("Pacht pro Quadratmeter", Vocabulary())}
    assert terms["Quadratmeter"].is_like("qm")
    assert terms["Quadratmeter"].is_like("m²")
    assert not terms["Quadratmeter"].is_like("m³")


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What must contractors wear on site?", None),
        ("Which company car may I use?", None),
        ("What does the company pay for meals?", "a price"),
        ("How long do I have to wait before I can swim?", "a duration"),
        ("How long is the break before lunch?", "a duration"),
        ("Wie viel muss ich trinken?", "a number"),
        ("Was muss ich beim Bezahlen der Miete beachten?", None),
        ("How heavy is the fine?", "a number"),
        ("Which port does the ferry leave from?", None),
    ],
)
def test_other_questions_ask_for_other_kinds(question: str, name: str | None) -> None:
    kind = asked_value(question)
    assert (kind.name if kind else None) == name


@pytest.mark.parametrize(
    "text",
    [
        "The deadline is Aug 5.",
        "Travel grant · Deadline: 15 Sept",
        "jusqu'au 5 mars",
        "bis zum 15. des Monats",
        "drei Monate zum Quartalsende",
        "You have 14 days to pay.",
        "There is no deadline.",
        "bis zum Monatsende",
    ],
)
def test_a_deadline_is_written_in_many_ways(text: str) -> None:
    kind = asked_value("By when do I have to pay?")
    assert kind.is_in(text)
