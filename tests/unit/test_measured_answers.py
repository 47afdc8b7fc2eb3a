"""Durations, measures, limits and ranges: figures that answer a question only with their unit."""

import pytest

from rag import Trace, WordCorrection, unmarked
from rag.answering import Vocabulary
from rag.lexical import LexicalIndex, term_weights, word_shares
from tests.unit.test_shown_quotes import ask


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
def test_marks_of_footnotes_and_attributes_are_left_out(text, plain):
    assert unmarked(text) == plain


def test_a_text_with_another_form_has_the_word_of_the_question():
    corrections = (
        WordCorrection("bike", "bike (bicycle / cycle)"),
        WordCorrection("RHA", "RHA (Regional Harbour Authority)"),
    )
    words = Vocabulary()
    own = words.for_question("", corrections)
    assert own.terms("a bicycle") == words.terms("a bike")
    assert own.terms("Regional Harbour Authority") == words.terms("RHA Regional Harbour Authority")
    assert own.terms("harbour") == words.terms("harbour")
    assert words.for_question("", (WordCorrection("bkie", "bike"),)) is words


def test_a_question_is_read_without_the_other_forms_that_were_searched():
    trace = Trace(
        *("Is a bkie free?", "", 1, None, (), (), 0.0),
        reading="Is a bike (bicycle) free?",
        corrections=(WordCorrection("bkie", "bike"), WordCorrection("bike", "bike (bicycle)")),
    )
    assert trace.searched == "Is a bike (bicycle) free?"
    assert trace.corrected == "Is a bike free?"


def test_a_word_counts_once_where_passages_are_in_several_languages():
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


def test_who_holds_an_office_now_is_answered_with_a_name(tmp_path):
    duties = (
        "# Treasurer\n\nThe treasurer keeps the current ledger of the club and pays the bills.\n"
    )
    question = "Who is the current treasurer of the club?"
    without = ask(tmp_path / "without", {"duties.md": duties}, question)
    assert (without.state, "a name" in without.assessment.reason) == ("doubtful", True)
    named = f"{duties}\nThe current treasurer of the club is Ann Forth.\n"
    answer = ask(tmp_path / "with", {"duties.md": named}, question)
    assert (answer.state, "Ann Forth" in answer.text) == ("answered", True)
