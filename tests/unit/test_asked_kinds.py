"""Contacts, weights, ports, fees and defaults: what a question asks for, and texts that give it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.answering.asked_values import asked_value
from rag.answering.assessing.key_terms import key_terms
from rag.answering.assessing.question_forms import default_pattern
from rag.answering.assessing.wanted_terms import wanted_terms
from rag.answering.statements.sentences import Statement, statements
from rag.answering.vocabulary import Vocabulary
from tests.unit.test_shown_quotes import ask

SPEAK = "Who do I speak to about a loan?"
INSURER = "Which company insures the boats?"
WEIGHT = "How much does the pump weigh?"


@pytest.mark.parametrize(
    ("question", "name"),
    [
        (SPEAK, "somebody to contact"),
        ("Who should we notify of a fire?", "somebody to contact"),
        ("An wen kann ich mich wenden?", "somebody to contact"),
        (INSURER, "a name"),
        ("What is the brand of the stove?", "a name"),
        ("Who supplies the stove?", "a name"),
        ("What brand is the stove?", None),
        ("Which company policy is that?", None),
        (WEIGHT, "a weight"),
        ("How heavy is it?", "a weight"),
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
        (SPEAK, "Please get in touch with Ada Byrne for more.", True),
        (SPEAK, "Ask the finance team for a form.", True),
        (SPEAK, "Write to loans@example.org.", True),
        (SPEAK, "A loan spreads the cost of a ticket.", False),
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
        (WEIGHT, "It takes 12 amperes from the socket of the wall.", False),
        ("How much is a ticket?", "The fee for the day is 15.", True),
        ("How much is a ticket?", "It needs a 16 A circuit and a door of 90.", False),
        ("How many cores does it use?", "It uses all available cores.", True),
    ],
)
def test_a_text_has_a_value_of_the_kind(question: str, text: str, has_it: bool) -> None:
    kind = asked_value(question)
    assert kind is not None
    assert kind.is_in(text) is has_it


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What is the default port?", True),
        ("How many cores does it use unless I tell it otherwise?", True),
        ("Which hash is used if you do not change it?", True),
        ("Can I go if I tell it to them?", False),
        ("Which port does it use?", False),
    ],
)
def test_questions_ask_for_a_default(question: str, asks: bool) -> None:
    assert (default_pattern(question) is not None) is asks


def texts_of(passage: str) -> list[str]:
    return [statement.text for statement in statements(passage)]


def test_a_default_is_quoted_with_what_it_describes() -> None:
    passage = (
        "### listen_port\n\nWhich port to listen on. For TCP too.\n\nDefault: 6432\n\n### next"
    )
    assert texts_of(passage) == ["Which port to listen on. For TCP too. Default: 6432"]
    unfinished = "Closed after so long. 0 turns it off.  [seconds]\n\nDefault: 600.0\n"
    assert texts_of(unfinished) == [
        "Closed after so long. 0 turns it off. [seconds] Default: 600.0"
    ]
    long = f"{'It waits for all of them to come back. ' * 8}Then it ends.\n\nDefault: 6"
    assert texts_of(long)[-1] == ("It waits for all of them to come back. Then it ends. Default: 6")
    assert texts_of("Default: 6432")[0] == "Default: 6432"


def test_the_sentences_of_a_definition_have_its_term() -> None:
    passage = "statement\n:   Released after each query. No transaction spans two of them."
    assert texts_of(passage)[1] == "statement: No transaction spans two of them."


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


def test_years_within_the_range_of_a_row_are_not_missing() -> None:
    row = Statement("Over 10-20 Years · 36 days/yr.", "Over 10-20 Years\t36 days/yr.", 0, "row")
    question = "How many days off does somebody with 15 years of service get?"
    texts = [term.text for term in wanted_terms(question, "leave.md", row, Vocabulary())]
    assert "15" not in texts
    longer = "How many days off does somebody with 25 years of service get?"
    assert "25" in [term.text for term in wanted_terms(longer, "leave.md", row, Vocabulary())]


def test_a_link_to_another_place_comes_after_the_reason(tmp_path: Path) -> None:
    text = (
        "For the reasons why a queue has no policy, refer to [Why a queue has no policy](#why).\n\n"
        "A queue has no policy because policies are dynamic."
    )
    answer = ask(tmp_path, {"queues.md": text}, "Why does a queue have no policy?")
    assert answer.text.startswith("“A queue has no policy because policies are dynamic.”")


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
        "In an emergency, call 112.",
        "Tell your boss before nine.",
        "Payroll: Ada Byrne, extension 42",
        "Bei Fragen hilft Ihnen Frau Müller.",
        "Póngase en contacto con la secretaria.",
    ],
)
def test_somebody_to_contact_is_named_in_many_ways(text: str) -> None:
    kind = asked_value(SPEAK)
    assert kind is not None
    assert kind.is_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "The deadline is Aug 5.",
        "Travel grant · Deadline: 15 Sept",
        "jusqu'au 5 mars",
        "bis zum 15. des Monats",
        "drei Monate zum Quartalsende",
        "You have 14 days to pay.",
        "It is due upon receipt.",
        "There is no deadline.",
        "bis zum Monatsende",
    ],
)
def test_a_deadline_is_written_in_many_ways(text: str) -> None:
    kind = asked_value("By when do I have to pay?")
    assert kind is not None
    assert kind.is_in(text)


@pytest.mark.parametrize(
    "question",
    [
        "What happens to my key if I lose it?",
        "What is the fine if you do not return it?",
        "How do I change my default browser?",
        "What should I do if the customer defaults on payment?",
    ],
)
def test_other_questions_ask_for_no_default(question: str) -> None:
    assert default_pattern(question) is None
