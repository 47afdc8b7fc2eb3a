"""Deadlines, times in advance, prices that somebody pays, and what a quote has to state."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.answering.asked_values import asked_value
from rag.answering.assessing.key_terms import KeyTerm, key_terms
from rag.answering.assessing.qualifiers import contradicted, unstated
from rag.answering.assessing.ranges import asked_figures
from rag.answering.vocabulary import Vocabulary
from tests.unit.test_shown_quotes import ask

DEADLINE = "By when do I have to apply?"
LEAD_TIME = "How long before the start do I have to apply?"


@pytest.mark.parametrize(
    ("question", "name"),
    [
        (DEADLINE, "a date"),
        ("Until what day can I return it?", "a date"),
        ("What is the application deadline?", "a date"),
        ("When is the report due?", "a date"),
        ("Bis wann muss ich kündigen?", "a date"),
        ("When does the course begin?", "a date or time"),
        (LEAD_TIME, "a time in advance"),
        ("How far in advance can I book?", "a time in advance"),
        ("How much notice does a tenant give?", "a time in advance"),
        ("Wie lange vorher muss ich absagen?", "a time in advance"),
        ("How long does it take?", "a duration"),
        ("How much will the company pay towards an adoption?", "a price"),
        ("How much do children pay to camp?", "a price"),
        ("How much time do I have?", "a number"),
    ],
)
def test_questions_ask_for_a_day_a_time_in_advance_or_a_price(question: str, name: str) -> None:
    kind = asked_value(question)
    assert kind is not None
    assert kind.name == name


@pytest.mark.parametrize(
    ("question", "text", "has_it"),
    [
        (DEADLINE, "Submission close · 1st June, 2024", True),
        (DEADLINE, "Applications are taken until May 5.", True),
        (DEADLINE, "Send it within two weeks after the end of your stay.", True),
        (DEADLINE, "Jobs that are not collected are deleted after 36 hours.", True),
        (DEADLINE, "Do so before the first day of the term.", True),
        (DEADLINE, "You may apply for a grant, which pays up to 2,500 dollars.", False),
        (DEADLINE, "A passport with six months validity at the time of travel.", False),
        (LEAD_TIME, "Submit the request at least 6 months in advance", True),
        (LEAD_TIME, "Tell us no later than 3 days ahead.", True),
        (LEAD_TIME, "A notice of four weeks is required.", True),
        (LEAD_TIME, "Employees with 10 years of service may apply.", False),
    ],
)
def test_a_text_has_a_day_or_a_time_in_advance(question: str, text: str, has_it: bool) -> None:
    kind = asked_value(question)
    assert kind is not None
    assert kind.is_in(text) is has_it


def words_of(question: str) -> list[str]:
    return [term.text for term in key_terms(question, Vocabulary())]


def test_who_publishes_the_documents_is_no_key_term() -> None:
    assert words_of("How much will the company pay towards an adoption?") == ["adoption"]
    assert words_of("Who drives a company car?") == ["drives", "company", "car"]
    assert words_of("How long is the company's lease?") == ["company's", "lease"]


def lost(*texts: str) -> list[KeyTerm]:
    return [KeyTerm(text, "name", (frozenset({text.casefold()}),), 1, 1, False) for text in texts]


@pytest.mark.parametrize(
    ("question", "shown", "name"),
    [
        ("How much CPU may a node use?", "A node uses 60 % of the memory.", "CPU"),
        ("Which CPU does it have?", "It has 4 GB.", "CPU"),
        ("Does the SDK need a CPU?", "It needs 4 GB.", ""),
        ("What is the default age of a stream?", "The age of a stream (e.g. 7D)", "a default"),
        ("What is the default age of a stream?", "Age · Default: 7D", ""),
        ("What is the default age of a stream?", "Unless you set it, it is 7D.", ""),
        ("How long does it run by default?", "It runs until you stop it.", "a default"),
        ("How do I add a default printer?", "Click *Add* and choose one.", ""),
    ],
)
def test_a_default_and_an_acronym_have_to_be_stated(question: str, shown: str, name: str) -> None:
    assert unstated(question, lost("CPU"), shown) == name


def test_in_advance_of_is_before() -> None:
    question = "Is it paid back before arrival?"
    term = KeyTerm("arrival", "word", (frozenset({"arriv"}),), 1, 1, True, question.index("arr"))
    in_advance = "Paid back 4 weeks in advance of arrival."
    after = "Paid back 4 weeks after arrival."
    assert contradicted(question, [term], in_advance, in_advance) == ""
    assert contradicted(question, [term], after, after) == "“before arrival”"


def test_a_range_before_a_colon_is_one() -> None:
    (figure,) = asked_figures("I have worked here for nine years")
    assert figure.is_in_range("Years 8-12: 25 days/year")
    assert not figure.is_in_range("Years 13-15: 30 days/year")
    assert not figure.is_in_range("Years 8-12:30")


BENEFITS = (
    "Tickets are 4 dollars for everybody who lives here.\n\n"
    "Adoption assistance: Up to 10,000 dollars of reimbursement for agency fees and travel.\n\n"
    "The company has a parking, and everybody may pay for it at night."
)


def test_what_the_company_pays_is_answered_without_these_words(tmp_path: Path) -> None:
    answer = ask(
        tmp_path, {"benefits.md": BENEFITS}, "How much will the company pay towards an adoption?"
    )
    assert answer.text.startswith("“Adoption assistance: Up to 10,000 dollars")
    assert answer.assessment is not None
    assert answer.assessment.reason == "All key words of the question are in the quote."
