"""Amounts of a question: each is one key term, as it is written."""

import pytest

from rag.answering import Vocabulary
from rag.answering.assessing.key_terms import KeyTerm, key_terms


def _figures(question: str) -> list[KeyTerm]:
    return [term for term in key_terms(question, Vocabulary()) if term.kind == "figure"]


@pytest.mark.parametrize(
    ("question", "text", "number"),
    [
        ("Who can approve a sponsorship of $40,000?", "$40,000", "40,000"),
        ("Is a parcel of 3.5 kg too heavy?", "3.5", "3.5"),
        ("Kostet die Prüfung 1'000 CHF?", "1'000", "1'000"),
        ("Sind 2,5 % Skonto erlaubt?", "2,5", "2,5"),
        ("Who pays 1,234,567.50 dollars?", "1,234,567.50", "1,234,567.50"),
        ("Is a discount of 75% allowed?", "75", "75"),
    ],
)
def test_an_amount_is_one_key_term(question, text, number):
    (figure,) = _figures(question)
    assert (figure.text, figure.number) == (text, number)
    assert question[figure.start : figure.end] == text


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Is it 10,000, 20,000 or 30,000?", ["10,000", "20,000", "30,000"]),
        ("Is it between $5 and $10?", ["$5", "$10"]),
        ("Are rooms 100 200 and 300 open?", ["100", "200", "300"]),
        ("Does rule 4.2.1 apply on 24/12/2025?", ["4.2.1", "24/12/2025"]),
    ],
)
def test_other_figures_stay_apart(question, texts):
    assert [figure.text for figure in _figures(question)] == texts


@pytest.mark.parametrize("written", ["40,000", "40.000", "40 000"])
def test_an_amount_is_found_as_others_write_it(written):
    (figure,) = _figures("Who can approve $40,000?")
    words = Vocabulary()
    assert figure.borne_out(words.terms(f"The board approves {written} dollars.")) == 1
    assert figure.borne_out(words.terms("The board approves 3,000 dollars.")) == 0
