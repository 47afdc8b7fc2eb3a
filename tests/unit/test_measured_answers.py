"""Durations, measures, limits and ranges: figures that answer a question only with their unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.answering.assessing.asked_values import asked_value
from rag.answering.assessing.question_forms import answer_form, bound_pattern
from rag.answering.assessing.ranges import asked_figures
from rag.answering.assessing.wanted_terms import wanted_terms
from rag.answering.markup import unmarked
from rag.answering.statements.following import continued
from rag.answering.statements.sentences import Statement, statements
from rag.answering.vocabulary import Vocabulary
from rag.lexical import LexicalIndex, term_weights, word_shares
from rag.types import Trace, WordCorrection
from tests.unit.test_shown_quotes import ask


@pytest.mark.parametrize(
    ("text", "is_duration"),
    [
        ("Stand quietly for 5 minutes.", True),
        ("Answers come within five (5) business days.", True),
        ("Hours: 12", True),
        ("Kurs: Yoga · Minuten: 60", True),
        ("Les informations sont supprimées cinq ans après la fin de la cotisation.", True),
        ("The offer is open until Friday.", True),
        ("The bridge is 200 m long and crosses the river near the old mill.", True),
        ("Up to 12 passengers find room on board in a pleasant ambience.", False),
        ("Auf dem Schiff finden bis zu 12 Passagiere in schönem Ambiente Platz.", False),
        ("Les informations sont stockées dans un fichier informatique de la maison.", False),
    ],
)
def test_how_long_is_answered_with_a_unit_of_time_or_length(text: str, is_duration: bool) -> None:
    kind = asked_value("How long do I have to wait?")
    assert kind is not None
    assert (kind.name, kind.is_in(text)) == ("a duration", is_duration)


@pytest.mark.parametrize(
    ("question", "name", "text", "has_it"),
    [
        ("How many watts does the tube have?", "a value in watts", "Power: 40 W", True),
        ("How many watts does the tube have?", "a value in watts", "Power (W): 40", True),
        ("How many watts does the tube have?", "a value in watts", "it takes 2 kW", True),
        ("How many watts does the tube have?", "a value in watts", "turn it to “0”", False),
        ("How many metres is the pier long?", "a value in metres", "38 mm thick", True),
        ("How many metres is the pier long?", "a value in metres", "Built in 1938", False),
        ("How many nodes can I mark?", "a number", "at most 3", True),
    ],
)
def test_a_measure_is_answered_in_its_unit(
    question: str, name: str, text: str, has_it: bool
) -> None:
    kind = asked_value(question)
    assert kind is not None
    assert (kind.name, kind.is_in(text)) == (name, has_it)


@pytest.mark.parametrize(
    ("question", "limit", "no_limit"),
    [
        (
            "What is the shortest time I can set?",
            "This cannot be set lower than 4 hours.",
            "This must not be set above 5 hours.",
        ),
        (
            "Quel est le montant minimum de la cotisation ?",
            "un montant qui ne peut être inférieur à 10 euros",
            "un montant inférieur à 10 euros",
        ),
        (
            "How often at the least do we meet?",
            "at a minimum once each term",
            "once each term",
        ),
        (
            "What is the maximum amount?",
            "It cannot be more than 50 euros.",
            "It cannot be less than 5 euros.",
        ),
    ],
)
def test_a_negation_sets_a_limit(question: str, limit: str, no_limit: str) -> None:
    pattern = bound_pattern(question)
    assert pattern is not None
    assert pattern.search(limit) is not None
    assert pattern.search(no_limit) is None


def test_a_reason_may_be_a_purpose() -> None:
    form = answer_form("Why should I switch off the heartbeat?")
    assert form is not None
    assert form.search("Best to disable it to reduce network traffic.") is not None
    assert form.search("It is sent to all devices.") is None


@pytest.mark.parametrize(
    ("question", "row", "is_inside"),
    [
        ("handed in three working days late", "2 to 5 working days late · capped", True),
        ("handed in three working days late", "Less than 2 working days late · -10", False),
        ("handed in three working days late", "Greater than 5 working days late · 1", False),
        ("a child of 7 years", "Children under 7 years: free", False),
        ("a child of 6 years", "Children under 7 years: free", True),
        ("a group of 10 people", "10 people or more · 5 %", True),
        ("a group of 9 people", "10 people or more · 5 %", False),
        ("a parcel of 5 kg", "up to 5 kg · 4 €", True),
        ("Kind mit sechs Jahren", "Kinder ab 6 Jahren · 5 €", True),
        ("a room for 12 people", "open from 9:30, people may come", False),
    ],
)
def test_a_range_may_have_one_end_and_a_question_may_spell_its_figure(
    question: str, row: str, is_inside: bool
) -> None:
    (figure,) = asked_figures(question)
    assert figure.is_in_range(row) is is_inside


def test_a_spelled_figure_within_the_range_of_a_row_is_not_missing() -> None:
    question = "What is the penalty for work that comes three days late?"
    row = Statement("2 to 5 days late · half of the points", "", 0, "row", "2 to 5 days late")
    other = Statement("6 to 9 days late · no points", "", 0, "row", "6 to 9 days late")
    words = Vocabulary()
    inside = {term.text for term in wanted_terms(question, "rules.md", row, words)}
    outside = {term.text for term in wanted_terms(question, "rules.md", other, words)}
    assert outside - inside == {"three"}


def test_the_row_with_the_range_is_quoted(tmp_path: Path) -> None:
    text = """# Late work

Penalties apply for late work unless there is a good reason for it.

| How late | Penalty |
|---|---|
| Less than 2 working days | ten points less |
| 2 to 5 working days | only a pass |
| More than 5 working days | no points |
"""
    question = "What is the penalty for work that is three working days late?"
    answer = ask(tmp_path, {"late.md": text}, question)
    assert "only a pass" in answer.text.split("\n\n")[0]
    assert answer.state == "answered"


def test_a_statement_that_leans_on_the_one_before_is_quoted_with_it() -> None:
    passage = (
        "Tell the safety officer about any danger. In particular, report fire doors that do not "
        "close. Instead of a form, a call will do. In addition to that, write it down."
    )
    assert [one.text for one in statements(passage)] == [
        "Tell the safety officer about any danger.",
        "Tell the safety officer about any danger. In particular, report fire doors that do not "
        "close.",
        "Instead of a form, a call will do.",
        "In addition to that, write it down.",
    ]


def test_as_follows_is_quoted_with_what_follows() -> None:
    passage = "If the group has six members, split it as follows.\nMove one in each direction.\n"
    first, second = statements(passage)
    assert continued(passage, first).text == (
        "If the group has six members, split it as follows. Move one in each direction."
    )
    assert continued(passage, second) == second


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Favorites Only[^3] · Yes", "Favorites Only · Yes"),
        ("[^3]: Favorites are first.", "Favorites are first."),
        ("Mind the gap. {.is-warning}", "Mind the gap."),
        (
            "The class `[^3]` of digits, [^abc] of letters",
            "The class [^3] of digits, [^abc] of letters",
        ),
        ("struct x = {.a}", "struct x = {.a}"),
    ],
)
def test_marks_of_footnotes_and_attributes_are_left_out(text: str, plain: str) -> None:
    assert unmarked(text) == plain


def test_a_text_with_another_form_has_the_word_of_the_question() -> None:
    corrections = (
        WordCorrection("bike", "bike (bicycle / cycle)"),
        WordCorrection("RHA", "RHA (Regional Harbour Authority)"),
    )
    words = Vocabulary()
    own = words.for_question(corrections)
    assert own.terms("a bicycle") == words.terms("a bike")
    assert own.terms("Regional Harbour Authority") == words.terms("RHA Regional Harbour Authority")
    assert own.terms("harbour") == words.terms("harbour")
    assert words.for_question((WordCorrection("bkie", "bike"),)) is words


def test_a_question_is_read_without_the_other_forms_that_were_searched() -> None:
    trace = Trace(
        *("Is a bkie free?", "", 1, None, (), (), 0.0),
        reading="Is a bike (bicycle) free?",
        corrections=(WordCorrection("bkie", "bike"), WordCorrection("bike", "bike (bicycle)")),
    )
    assert trace.searched == "Is a bike (bicycle) free?"
    assert trace.corrected == "Is a bike free?"


def test_a_word_counts_once_where_passages_are_in_several_languages() -> None:
    texts = {
        1: "Surfbretter werden auf der Fähre für zwölf Euro befördert, wenn Platz ist.",
        2: "The ferry leaves at nine in the morning and comes back at night.",
        3: "Le montant de la cotisation est de quinze euros par personne et par an.",
    }
    index = LexicalIndex.empty("auto").added(texts.items())
    assert index.analyzers == {"english", "french", "german"}
    weights = term_weights("Was kostet ein Surfbrett?", index, len(texts))
    assert len(weights) == 2
    (share,) = word_shares(weights, [1], index)
    held = min(weights.values())
    assert share == pytest.approx(held / sum(weights.values()))
