"""The state of an answer: key terms, evidence, and what follows from them."""

import pytest

from rag import Citation, Settings, providers
from rag.answering import PassageReader, Terms, Vocabulary
from rag.answering.assessing.assess import NO_CODE, probability_of
from rag.answering.assessing.evidence import (
    AnswerModel,
    EvidenceReader,
    Observation,
    QuoteEvidence,
    answer_model,
    fitted,
)
from tests.answers import hits, trace
from tests.unit.test_key_terms import OfTexts

EMBEDDER = providers.embedder("fake", Settings.from_env({}))


def read(question: str, text: str, *others: str) -> QuoteEvidence:
    passages = hits(text, *others)
    reader = EvidenceReader(EMBEDDER, PassageReader(), Vocabulary())
    return reader.read(trace(passages, question), [Citation(1, passages[0], text)])


def test_evidence_is_all_there_where_the_quote_has_every_key_term():
    evidence = read(
        "When does unused leave lapse?", "Unused leave lapses on 30 June.", "Cats purr."
    )
    assert evidence.missing == ()
    figures = evidence.figures
    assert (figures["passage"], figures["soft"], figures["best_elsewhere"]) == (1.0, 1.0, -1.0)
    assert (figures["missing_name"], figures["figure"]) == (0, 0.0)


def test_evidence_names_what_the_quotes_lack_and_where_it_stands_instead():
    evidence = read(
        "What does bereavement leave cost?",
        "Annual leave costs nothing.",
        "Bereavement leave costs two days.",
    )
    assert [term.text for term in evidence.missing] == ["bereavement"]
    assert evidence.figures["passage"] == pytest.approx(1 / 2)
    assert evidence.figures["best_elsewhere"] == pytest.approx(1 / 2)


def test_the_model_is_a_logistic_function_of_its_figures():
    model = AnswerModel({"passage": 2.0, "code": -1.0}, -1.0, 0.25, "nobody")
    assert model.probability({"passage": 0.5, "code": 0.0, "soft": 9.0}) == pytest.approx(0.5)
    assert model.probability({"passage": 1.0, "code": 1.0}) == pytest.approx(0.5)


@pytest.mark.parametrize("embedder", ["minilm", "multilingual-e5"])
def test_words_with_nothing_in_common_are_far_apart_by_the_cosines_of_each_embedder(embedder):
    text = "The teaching pool is open on Saturday."
    passages, model = hits(text), providers.embedder(embedder, Settings.from_env({}))
    reader = EvidenceReader(model, PassageReader(), Vocabulary())
    evidence = reader.read(
        trace(passages, "When is the cafe open?"), [Citation(1, passages[0], text)]
    )
    assert evidence.figures["soft"] < 0.8


def test_other_embedders_get_the_model_without_cosines():
    assert {"dense", "soft"} <= set(answer_model("minilm-int8-8199be6f").weights)
    assert {"dense", "soft"} <= set(answer_model("multilingual-e5-small-q4-1571fc98").weights)
    assert {"dense", "soft"}.isdisjoint(answer_model("fake-64").weights)
    assert answer_model("fake-64").weights["passage"] > 0


def test_a_fitted_model_tells_right_from_wrong():
    observations = [
        Observation(name, {"passage": share, "dense": 0.5}, right)
        for name in ("one", "other")
        for share, right in ((0.9, True), (1.0, True), (0.8, True), (0.1, False), (0.2, False))
    ]
    model = fitted(observations, cosines=False)
    assert list(model.weights) == ["passage"]
    assert model.probability({"passage": 1.0}) > 0.8 > 0.2 > model.probability({"passage": 0.1})


TARIFF = "| From | To | Fare |\n|---|---|---|\n| Aldermouth | Torvik | 12 EUR |\n{}\n"


def test_a_pair_is_not_borne_out_by_its_halves_in_different_rows():
    question = "What is the fare from Aldermouth to Corrie?"
    passage = hits(TARIFF.format("| Torvik | Corrie | 9 EUR |"))
    reader = EvidenceReader(EMBEDDER, PassageReader(), Vocabulary())
    quote = "| Aldermouth | Torvik | 12 EUR |"
    evidence = reader.read(trace(passage, question), [Citation(1, passage[0], quote)])
    assert [term.text for term in evidence.apart] == ["Aldermouth", "Corrie"]
    assert probability_of(evidence, SURE) <= 0.02


CROWNS = "| Treatment | Fee |\n|---|---|\n| Ceramic crown | 740 |\n| Course of whitening | 320 |\n"


@pytest.mark.parametrize(
    ("question", "row", "apart"),
    [
        ("How dear is a metal crown?", "| Ceramic crown | 740 |", ["metal", "crown"]),
        ("What is the fee for a ceramic crown?", "| Ceramic crown | 740 |", []),
        (
            "What is the fee for a course of juggling?",
            "| Course of whitening | 320 |",
            ["course", "juggling"],
        ),
        ("How expensive is a ceramic crown?", "| Ceramic crown | 740 |", []),
        ("Does insurance cover a crown?", "| Ceramic crown | 740 |", []),
        ("Is a crown, in general, insured?", "| Ceramic crown | 740 |", []),
    ],
)
def test_a_row_is_not_about_a_thing_that_no_passage_has(question, row, apart):
    passage = hits(CROWNS)
    reader = EvidenceReader(EMBEDDER, PassageReader(), OfTexts(CROWNS))
    evidence = reader.read(trace(passage, question), [Citation(1, passage[0], row)])
    assert [term.text for term in evidence.apart] == apart


class Indexed(Vocabulary):
    """The words of an index that has no figure."""

    def indexed(self, terms: Terms) -> Terms:
        return frozenset(term for term in terms if not term.isdigit())


@pytest.mark.parametrize(
    ("question", "gap"),
    [
        ("How long does the 1000 Wh battery charge?", "1000"),
        ("How long does the 500 Wh battery charge?", ""),
        ("Does the battery charge after 45 days?", ""),
    ],
)
def test_a_figure_that_names_a_thing_has_to_be_quoted(question, gap):
    text = "The 500 Wh battery charges in 4 hours."
    passages = hits(text)
    reader = EvidenceReader(EMBEDDER, PassageReader(), Indexed())
    evidence = reader.read(trace(passages, question), [Citation(1, passages[0], text)])
    assert evidence.gap == gap


def test_another_word_of_the_same_stem_is_missing():
    evidence = read("What does the employer pay?", "The employee pays half.")
    assert [term.text for term in evidence.missing] == ["employer"]
    evidence = read("What is the rent?", "The current is 5 ampere.")
    assert [term.text for term in evidence.missing] == ["rent"]


SURE = AnswerModel({"passage": 10.0}, 0.0, 0.25, "nobody")


def read_quotes(question: str, passage: str, *quotes: str) -> QuoteEvidence:
    """Read the evidence of quotes of one passage; the passage as a whole without quotes."""
    (hit,) = hits(passage)
    reader = EvidenceReader(EMBEDDER, PassageReader(), OfTexts(passage))
    citations = [Citation(n, hit, quote) for n, quote in enumerate(quotes or (passage,), start=1)]
    return reader.read(trace([hit], question), citations)


def test_a_number_in_any_quote_is_there():
    question = "What is the phone number of the workshop?"
    passage = "The workshop is in Mill Lane. Its number is 0341 5550 127."
    first, second = "The workshop is in Mill Lane.", "Its number is 0341 5550 127."
    assert read_quotes(question, passage, first).gap == "a phone number"
    assert read_quotes(question, passage, first, second).gap == ""


@pytest.mark.parametrize(
    ("quote", "lacks"),
    [
        ("Vacation accrues to a maximum bank of 27 days.", ""),
        ("Vacation accrues until five weeks are banked.", ""),
        ("Vacation accrues from the date of hire.", "a number"),
    ],
)
def test_a_quote_with_a_number_is_not_said_to_have_none(quote, lacks):
    assert read_quotes("How many vacation days can I bank?", quote).no_value == lacks


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
    assert probability_of(read_quotes(question, without), SURE) == NO_CODE
    assert probability_of(read_quotes(question, with_it), SURE) > SURE.limit


def test_opening_hours_are_no_answer_to_a_question_for_a_phone_number():
    question = "What is the phone number of the reception?"
    assert read_quotes(question, "Reception is open 9.00-17.00.").gap == "a phone number"


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
    evidence = read_quotes(question, passage)
    assert probability_of(evidence, SURE) == SURE.probability(evidence.figures) > NO_CODE


def test_a_code_that_no_passage_has_leaves_hardly_any_probability():
    evidence = read_quotes("What does CV-155 mean?", "CV-118 means that the rotor is blocked.")
    assert probability_of(evidence, SURE) == NO_CODE


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
    assert read_quotes(question, passage).gap == ""


def test_a_figure_with_another_unit_names_a_thing():
    evidence = read_quotes(
        "How long does the 90 °C programme run?", "The 60 °C programme runs 2 hours."
    )
    assert evidence.gap == "90"


@pytest.mark.parametrize("quote", ["Front Desk: 030 1234567", "Customer Service 0800 123456"])
def test_two_words_with_capitals_are_somebody_else_only_where_somebody_is_meant(quote):
    passage = f"Our Berlin office. {quote}"
    assert read_quotes("What is the phone number of the Berlin office?", passage, quote).gap == ""
    question = "What is the phone number of Felix Brandt?"
    assert read_quotes(question, "Felix Brandt: 0170 555 0188").gap == ""
    assert read_quotes(question, f"Felix Brandt is our guide. {quote}", quote).gap == (
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
    assert read_quotes(question, passage).gap == gap


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
    assert read_quotes(question, passage, *filter(None, [quote])).gap == gap
