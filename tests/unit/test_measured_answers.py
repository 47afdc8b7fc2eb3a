"""Durations, measures, limits and ranges: figures that answer a question only with their unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.answering.asked_values import asked_value
from rag.answering.markup import unmarked
from rag.answering.statements.rows import rows_within
from rag.answering.statements.sentences import statements
from rag.answering.vocabulary import Vocabulary
from rag.lexical import LexicalIndex, term_weights, word_shares
from rag.types import Document, Table, Trace, WordCorrection
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
        ("Die Lieferung dauert 5 Werktage, wenn alles am Lager ist.", True),
        ("Der Kurs dauert 2 Std. und kostet nichts für alle, die hier wohnen.", True),
        ("The boat is 9m long and lies at the pier of the old harbour.", True),
        ("The ladder is a 3-metre one, and it stands behind the second shed.", True),
        ("There are 3 of them, and I'm one of those who know where they are.", False),
        ("Up to 12 passengers find room on board in a pleasant ambience.", False),
        ("Auf dem Schiff finden bis zu 12 Passagiere in schönem Ambiente Platz.", False),
        ("Les informations sont stockées dans un fichier informatique de la maison.", False),
    ],
)
def test_how_long_is_answered_with_a_unit_of_time_or_length(text: str, is_duration: bool) -> None:
    kind = asked_value("How long do I have to wait?")
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
        ("How many litres does it hold?", "a value in litres", "twenty litres", True),
        ("How many kilograms is it?", "a value in kilograms", "23kilos", True),
        ("How many nodes can I mark?", "a number", "at most 3", True),
    ],
)
def test_a_measure_is_answered_in_its_unit(
    question: str, name: str, text: str, has_it: bool
) -> None:
    kind = asked_value(question)
    assert (kind.name, kind.is_in(text)) == (name, has_it)


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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Favorites Only[^3] · Yes", "Favorites Only · Yes"),
        ("[^3]: Favorites are first.", "Favorites are first."),
        ("Mind the gap. {.is-warning}", "Mind the gap."),
        ("Closing words {.text-center .wide}", "Closing words"),
        ("Closing words {#closing .text-center}", "Closing words"),
        ("<u>/s/ Ann Baker</u>", "/s/ Ann Baker"),
        ("Write `<u>both</u>` to underline", "Write <u>both</u> to underline"),
        ("The <u> tag underlines", "The <u> tag underlines"),
        (
            "The class `[^3]` of digits, [^abc] of letters",
            "The class [^3] of digits, [^abc] of letters",
        ),
        ("struct x = {.left}", "struct x = {.left}"),
        ("GET /users/{:id}", "GET /users/{:id}"),
        ("The pattern x[^0-9] finds", "The pattern x[^0-9] finds"),
        ("Write {#if open}", "Write {#if open}"),
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


def test_rows_of_a_group_have_its_name() -> None:
    lines = ("Room\tUnit\tClubs\tOthers", "Old hall*", "\tDay\t35\t75", "\tHour\t5\t10")
    text = "\n".join((*lines, "New hall", "\tDay\t150\t", "Garden\tDay\t20\t40", "\tHour\t3\t6"))
    table = Table(0, len(text), ("Room", "Unit", "Clubs", "Others"))
    document = Document("d", "fees.tsv", "", "text/plain", text, tables=(table,))
    assert [row.text for row in rows_within(document, (0, len(text)))] == [
        "Room: Old hall* · Unit: Day · Clubs: 35 · Others: 75",
        "Room: Old hall* · Unit: Hour · Clubs: 5 · Others: 10",
        "Room: New hall · Unit: Day · Clubs: 150",
        "Room: Garden · Unit: Day · Clubs: 20 · Others: 40",
        "Unit: Hour · Clubs: 3 · Others: 6",
    ]
    part = text.index("\tHour\t5")
    (row,) = rows_within(document, (part, part + 5))
    assert row.name == "Old hall*"


@pytest.mark.parametrize(
    ("passage", "texts"),
    [
        ("£7\n\nAdults\n\n£5\n\nChildren", ["£7", "£5"]),
        ("Prices\n\n£7\n\nAdults\n\n£5\n\nChildren", ["£7", "£5"]),
        (
            "Contact: Ann Forth, office 12 at the north entrance\nPhone: 0123 456789\n",
            ["Contact: Ann Forth, office 12 at the north entrance Phone: 0123 456789"],
        ),
        ("We sell tickets.\n\n£7", ["We sell tickets.", "£7"]),
        (
            "Flash point : 40 °C Method: closed cup\nBoiling point : 87.8 °C\nSolubility : good",
            [
                "Flash point : 40 °C Method: closed cup",
                "Boiling point : 87.8 °C",
                "Solubility : good",
            ],
        ),
    ],
)
def test_a_label_goes_with_its_value(passage: str, texts: list[str]) -> None:
    assert [one.text for one in statements(passage)] == texts


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How much is a family ticket?", "a price"),
        ("How much are the dues of a member?", "a price"),
        ("How much is the maximum weight of a bag?", "a number"),
        ("Which email address do I report damage to?", "an e-mail address"),
        ("How much is left?", "a number"),
        ("How much is the torque for the wheel nuts?", "a number"),
        ("How much is the holiday entitlement?", "a number"),
    ],
)
def test_kinds_of_values_that_questions_ask_for(question: str, name: str) -> None:
    kind = asked_value(question)
    assert kind.name == name


def test_who_holds_an_office_now_is_answered_with_a_name(tmp_path: Path) -> None:
    duties = (
        "# Treasurer\n\nThe treasurer keeps the current ledger of the club and pays the bills.\n"
    )
    question = "Who is the current treasurer of the club?"
    without = ask(tmp_path / "without", {"duties.md": duties}, question)
    assert (without.state, "a name" in without.assessment.reason) == ("doubtful", True)
    named = f"{duties}\nThe current treasurer of the club is Ann Forth.\n"
    answer = ask(tmp_path / "with", {"duties.md": named}, question)
    assert (answer.state, "Ann Forth" in answer.text) == ("answered", True)
