"""Values, names and figures without which an answer is doubtful, and those that are not needed."""

import pytest

from rag import Citation
from rag.answering import PassageReader, Vocabulary
from rag.answering.assessing.assess import NO_CODE, probability_of
from rag.answering.assessing.evidence import EvidenceReader, QuoteEvidence
from rag.answering.assessing.key_terms import key_terms
from rag.answering.assessing.model import AnswerModel
from rag.answering.vocabulary import Terms
from rag.providers.hashing import HashingEmbedder
from tests.answers import hits, trace

SURE = AnswerModel({"passage": 10.0}, 0.0, 0.25, "nobody")


class OfTexts(Vocabulary):
    """The words of some texts as those of an index."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self._indexed = self.terms(" ".join(texts))

    def indexed(self, terms: Terms) -> Terms:
        return terms & self._indexed


def read(question: str, passage: str, *quotes: str) -> QuoteEvidence:
    """Read the evidence of quotes of one passage; the passage as a whole without quotes."""
    (hit,) = hits(passage)
    reader = EvidenceReader(HashingEmbedder(), PassageReader(), OfTexts(passage))
    citations = [Citation(n, hit, quote) for n, quote in enumerate(quotes or (passage,), start=1)]
    return reader.read(trace([hit], question), citations)


def test_a_number_in_any_quote_is_there():
    question = "What is the phone number of the workshop?"
    passage = "The workshop is in Mill Lane. Its number is 0341 5550 127."
    first, second = "The workshop is in Mill Lane.", "Its number is 0341 5550 127."
    assert read(question, passage, first).gap == "a phone number"
    assert read(question, passage, first, second).gap == ""


@pytest.mark.parametrize(
    ("quote", "lacks"),
    [
        ("Vacation accrues to a maximum bank of 27 days.", ""),
        ("Vacation accrues until five weeks are banked.", ""),
        ("Vacation accrues from the date of hire.", "a number"),
    ],
)
def test_a_quote_with_a_number_is_not_said_to_have_none(quote, lacks):
    assert read("How many vacation days can I bank?", quote).no_value == lacks


@pytest.mark.parametrize(
    ("question", "without", "with_it"),
    [
        ("Who is the bursar?", "The bursar may fine a student.", "The bursar is Ada Lund."),
        ("What does the apron cost?", "The apron is washed here.", "The apron costs 5 euros."),
    ],
)
def test_without_a_value_of_the_kind_that_is_asked_for_there_is_hardly_any_probability(
    question, without, with_it
):
    assert probability_of(read(question, without), SURE) == NO_CODE
    assert probability_of(read(question, with_it), SURE) > SURE.limit


def test_opening_hours_are_no_answer_to_a_question_for_a_phone_number():
    question = "What is the phone number of the reception?"
    assert read(question, "Reception is open 9.00-17.00.").gap == "a phone number"


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Is it OK to bring my dog?", "Dogs may be brought."),
        ("Is there a TV in the room?", "There is a television in the room."),
        ("What is the Wi-Fi password?", "The wifi password is sesame."),
        ("I need this ASAP: where is the canteen?", "The canteen is on the ground floor."),
        ("Hello, I am John. How do I reset my password?", "Reset the password on the login page."),
        ("What is the refund policy of Acme?", "Our refund policy: within 14 days."),
        ("How Long Is The Notice Period For Tenants?", "The notice period is three months."),
        ("Are you open on the 24th?", "We are open on all days of December."),
        ("Can I arrive at 9am?", "You can arrive from 8 to 17."),
        ("Is parking free for a 3-day stay?", "Parking is free for guests."),
    ],
)
def test_names_ordinals_and_measures_that_no_passage_has_leave_the_answer_to_the_model(
    question, passage
):
    evidence = read(question, passage)
    assert probability_of(evidence, SURE) == SURE.probability(evidence.figures) > NO_CODE


def test_a_code_that_no_passage_has_leaves_hardly_any_probability():
    evidence = read("What does CV-155 mean?", "CV-118 means that the rotor is blocked.")
    assert probability_of(evidence, SURE) == NO_CODE


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("24th", "figure"),
        ("9am", "figure"),
        ("500Wh", "figure"),
        ("17-year-old", "figure"),
        ("625-ABC", "code"),
        ("3A", "code"),
        ("F09", "code"),
    ],
)
def test_a_figure_with_its_unit_is_no_code(text, kind):
    assert key_terms(f"Is {text} there?", Vocabulary())[0].kind == kind


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Can a 17 year old rent a car?", "To rent a car you must be at least 18."),
        ("Is shipping free on a 60 euro order?", "Shipping is free from 50 euro."),
        ("Is shipping free on the 60 € order?", "Shipping is free from 50 euro."),
        ("Can I return the shoes after the 30 days?", "Return shoes within 14 days."),
        ("Is parking free for a 3 day stay?", "Parking is free for guests."),
        ("Do I need a 24/7 contract?", "A contract is needed."),
        ("Do I need the 24/7 contract?", "A contract is needed."),
        ("Darf das 17 Jahre alte Kind mit?", "Ein Kind darf ab 18 Jahren mit."),
    ],
)
def test_a_figure_of_the_one_who_asks_is_no_name_of_a_thing(question, passage):
    assert read(question, passage).gap == ""


def test_a_figure_with_another_unit_names_a_thing():
    evidence = read("How long does the 90 °C programme run?", "The 60 °C programme runs 2 hours.")
    assert evidence.gap == "90"


@pytest.mark.parametrize("quote", ["Front Desk: 030 1234567", "Customer Service 0800 123456"])
def test_two_words_with_capitals_are_somebody_else_only_where_somebody_is_meant(quote):
    passage = f"Our Berlin office. {quote}"
    assert read("What is the phone number of the Berlin office?", passage, quote).gap == ""
    question = "What is the phone number of Felix Brandt?"
    assert read(question, f"Felix Brandt is our guide. {quote}", quote).gap == (
        "a phone number beside Felix"
    )


@pytest.mark.parametrize(
    ("question", "passage", "gap"),
    [
        (
            "What is the notice period after probation?",
            "The notice period during your probation is one week, then four weeks.",
            "",
        ),
        (
            "What is the notice period during probation?",
            "The notice period during your probation is one week.",
            "",
        ),
    ],
)
def test_the_opposite_of_a_preposition_is_no_answer(question, passage, gap):
    assert read(question, passage).gap == gap


def test_words_that_compare_are_no_key_terms():
    words = OfTexts("The limit is 2000 euros.")
    (limit,) = (term for term in key_terms("Is the limit higher than 2500?", words) if term.indexed)
    assert limit.text == "limit"
    assert "higher" not in [term.text for term in key_terms("Is the limit higher?", words)]


TABLE = (
    "| Block | Lift per week | Cleaning per week |\n|---|---|---|\n"
    "| Elm Tower | £4.90 | £2.15 |\n| Birch House | £3.20 | £2.75 |"
)
ROW = "| Elm Tower | £4.90 | £2.15 |"
SPEEDS = "| Flask | Filled to | Highest speed |\n|---|---|---|\n| 2 l | 400 ml | 220 rpm |"


@pytest.mark.parametrize(
    ("question", "passage", "quote", "gap"),
    [
        (
            "What is the allowance for contractors?",
            "The allowance of permanent staff is £250.",
            "",
            "“contractors”",
        ),
        (
            "What is the allowance for permanent staff?",
            "The allowance of permanent staff is £250.",
            "",
            "",
        ),
        ("What is the allowance in total?", "The allowance of staff is £250.", "", ""),
        ("What is covered WİTH insurance?", "Without insurance, nothing is covered.", "", ""),
        ("What did a lift cost in 2023?", "In 2025, a lift cost £4.90.", "", "2023"),
        ("What did a lift cost in 2025?", "In 2025, a lift cost £4.90.", "", ""),
        ("What is the lift charge per week in Elm Tower?", TABLE, ROW, ""),
        ("What is the shaking speed for 2 l?", SPEEDS, "| 2 l | 400 ml | 220 rpm |", ""),
        (
            "Which two approaches integrate the helper into tickets, and how do they differ in "
            "terms of scalability?",
            "Two approaches integrate the helper into tickets: they differ in scalability.",
            "",
            "",
        ),
    ],
)
def test_what_restricts_a_question_is_in_the_passage(question, passage, quote, gap):
    assert read(question, passage, *filter(None, [quote])).gap == gap


def test_words_by_which_people_ask_are_no_key_terms():
    question = "I want to know who has to be told when somebody's dog was ok or not at all"
    assert [term.text for term in key_terms(question, OfTexts("Dogs are reported."))] == [
        "somebody's",
        "dog",
    ]


@pytest.mark.parametrize("word", ["permit", "allowance", "rights", "findings"])
def test_words_that_only_look_like_those_of_a_question_are_key_terms(word):
    terms = key_terms(f"How much is a parking {word}?", OfTexts("A fine is 40."))
    assert [term.text for term in terms] == ["parking", word]
