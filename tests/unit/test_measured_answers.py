"""Durations, measures, limits and ranges: figures that answer a question only with their unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.answering.asked_values import asked_value
from rag.answering.assessing.numbered_names import agreement, numbered_names
from rag.answering.assessing.question_forms import answer_form, bound_pattern, is_reference
from rag.answering.assessing.ranges import asked_figures
from rag.answering.assessing.wanted_terms import wanted_terms
from rag.answering.markup import unmarked
from rag.answering.statements.following import continued
from rag.answering.statements.rows import rows_within
from rag.answering.statements.sentences import Statement, statements
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
        ("How many litres does it hold?", "a value in litres", "twenty litres", True),
        ("How many kilograms is it?", "a value in kilograms", "23kilos", True),
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
        ("a parcel of 12 kg", "over 5 kg up to 10 kg · 7 €", False),
        ("a parcel of 7 kg", "over 5 kg up to 10 kg · 7 €", True),
        ("un viaje de 16 años", "desde 6 hasta 14 años · 5 €", False),
        ("a person of 16 years", "from 6 to 14 years · 5 €", False),
        ("a group of 15 people", "Not more than 10 people · 50 €", False),
        ("a group of 8 people", "Not more than 10 people · 50 €", True),
        ("a parcel of 1 kg", "no less than 2 kg", False),
        ("a turnover of £1500", "Turnover £500 to £1000 · £20", False),
        ("a room for 4 people", "Lab 3 people", False),
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
    steps = "Change the filter as follows.\n\n1. Open the lid.\n2. Take it out.\n3. Close the lid."
    change, *_ = statements(steps)
    assert continued(steps, change).text == (
        "Change the filter as follows. Open the lid. Take it out. Close the lid."
    )
    prices = "Prices are as follows.\n\nAdults pay 7.\n\nChildren pay 5."
    first, *_ = statements(prices)
    assert continued(prices, first) == first


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


@pytest.mark.parametrize(
    ("question", "text", "agrees"),
    [
        ("What is the fine for a second alcohol offense?", "Second Offense – $75", 1),
        ("What is the fine for a second alcohol offense?", "Third Offense – $100", -1),
        ("What is the fine for a second alcohol offense?", "2nd offense: $75", 1),
        ("What is the fine for a second alcohol offense?", "first and second offenses", 1),
        ("What is the fine for a fifth offense?", "third or subsequent offenses", 0),
        ("What is the fine for a fifth offense?", "second to eighth offense", 0),
        ("When does the first bus leave?", "Bus 12 leaves at 6:15", 0),
        ("How long is the first lesson?", "Lesson: 45 minutes", 0),
        ("Was kostet die dritte Stunde?", "1. Stunde: 3 Euro", 0),
        ("How much is the second day?", "The first day is 10, each additional day 5", 0),
        ("How much is the second hour?", "The first hour is free. After that, 2 euros", 0),
        ("How much is the third child?", "The first child pays 3, each further child 2", 0),
        ("What is the fine for a second offense?", "Offense 2 – a fine", 1),
        ("Was kostet der zweite Verstoß?", "Erster Verstoß: 10 Euro", -1),
        ("Was kostet der zweite Verstoß?", "Zweiter Verstoß: 20 Euro", 1),
        ("What do pupils of the tenth grade need?", "Grade 10", 1),
        ("What do pupils of grade 2 need?", "the first grade", 0),
    ],
)
def test_an_ordinal_names_a_thing(question: str, text: str, agrees: int) -> None:
    names = numbered_names(question, Vocabulary())
    assert names != ()
    assert agreement(names, [text]) == agrees


def test_a_rate_per_second_and_parts_of_words_are_no_ordinals() -> None:
    for question in ("What is the per second limit?", "Is the twenty-first floor open?"):
        assert numbered_names(question, Vocabulary()) == ()


def test_many_ordinals_are_read_in_linear_time() -> None:
    text = "first, second, " * 40
    (name,) = numbered_names("What is the third rule?", Vocabulary())
    assert agreement([name], [f"{text}third rule"]) == 1


def test_the_text_of_an_ordinal_name_is_that_of_the_question() -> None:
    (name,) = numbered_names("Was kostet der zweite Verstoß?", Vocabulary())
    assert (name.label, name.text) == ("2", "zweite Verstoß")


def test_no_fourth_offence_is_answered_beside_the_third(tmp_path: Path) -> None:
    text = (
        "# Sanctions\n\nA guest who brings alcohol is sent away by the warden.\n\n"
        "- First offence: a fine of 50 dollars\n- Second offence: a fine of 75 dollars\n"
        "- Third offence: a fine of 100 dollars\n"
    )
    second = ask(tmp_path / "two", {"rules.md": text}, "What is the fine for a second offence?")
    assert (second.state, "75 dollars" in second.text.split("\n\n")[0]) == ("answered", True)
    fourth = ask(tmp_path / "four", {"rules.md": text}, "What is the fine for a fourth offence?")
    assert fourth.state == "doubtful"
    assert fourth.assessment is not None
    assert "fourth offence" in fourth.assessment.reason


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
        (
            "ADULTS\n\n£7\n\nFAMILY (2 adults)\n\n£15 per day",
            ["ADULTS £7", "FAMILY (2 adults) £15 per day"],
        ),
        (
            "On normal days trains leave the station of the island at\n\n11:35, 13:10 and 15:10",
            ["On normal days trains leave the station of the island at 11:35, 13:10 and 15:10"],
        ),
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
    ("text", "refers"),
    [
        ("See section “Backing up presets”.", True),
        ("For opening times, please refer to section 4.2.", True),
        ("Siehe Abschnitt Gebühren.", True),
        ("See a doctor if the wound bleeds.", False),
        ("Refer to the manager in case of doubt.", False),
        ("See to it that the door is shut by 9 pm.", False),
        ("To back up presets, see the list and click Save.", False),
    ],
)
def test_a_sentence_that_only_refers_elsewhere(text: str, refers: bool) -> None:
    assert is_reference(text) is refers


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
        ("Ab welchem Alter dürfen Kinder ins Freibad?", "an age"),
    ],
)
def test_kinds_of_values_that_questions_ask_for(question: str, name: str) -> None:
    kind = asked_value(question)
    assert kind is not None
    assert kind.name == name


def test_money_is_no_age() -> None:
    kind = asked_value("How old must a child be?")
    assert kind is not None
    assert [kind.is_in(text) for text in ("from 7 years", "Child · 60,00 €", "aged seven")] == [
        True,
        False,
        True,
    ]


def test_who_holds_an_office_now_is_answered_with_a_name(tmp_path: Path) -> None:
    duties = (
        "# Treasurer\n\nThe treasurer keeps the current ledger of the club and pays the bills.\n"
    )
    question = "Who is the current treasurer of the club?"
    without = ask(tmp_path / "without", {"duties.md": duties}, question)
    assert without.assessment is not None
    assert (without.state, "a name" in without.assessment.reason) == ("doubtful", True)
    named = f"{duties}\nThe current treasurer of the club is Ann Forth.\n"
    answer = ask(tmp_path / "with", {"duties.md": named}, question)
    assert (answer.state, "Ann Forth" in answer.text) == ("answered", True)


def test_like_rows_have_the_headings_that_tell_them_apart(tmp_path: Path) -> None:
    text = "".join(
        f"# Nursery {name}\n\n| Family | Monthly fee |\n|---|---|\n| one child | {one} EUR |\n"
        f"| two children | {two} EUR |\n\n"
        for name, one, two in (("Mornings", 180, 150), ("All day", 210, 175))
    )
    answer = ask(tmp_path, {"fees.md": text}, "monthly fee two children nursery")
    assert answer.text.split("\n\n") == [
        "Nursery All day: “Family: two children · Monthly fee: 175 EUR” [1]",
        "Nursery Mornings: “Family: two children · Monthly fee: 150 EUR” [2]",
    ]
