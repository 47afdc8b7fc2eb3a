"""The state of an answer: key terms, evidence, and what follows from them."""

import pytest

from rag import Citation
from rag.answering import PassageReader, Vocabulary
from rag.answering.assessing.assess import probability_of
from rag.answering.assessing.evidence import EvidenceReader, QuoteEvidence
from rag.answering.assessing.fitting import Observation, fitted
from rag.answering.assessing.key_terms import key_terms
from rag.answering.assessing.model import AnswerModel, answer_model
from rag.answering.vocabulary import Terms
from rag.providers.hashing import HashingEmbedder
from tests.answers import hits, trace


def kinds(question: str) -> dict[str, str]:
    return {term.text: term.kind for term in key_terms(question, Vocabulary())}


def test_key_terms_are_codes_names_figures_and_words_without_grammar():
    assert kinds("What does error CV-155 mean?") == {"error": "word", "CV-155": "code"}
    assert kinds("Who leads the office in Singapore with 12 people?") == {
        "leads": "word",
        "office": "word",
        "Singapore": "name",
        "12": "figure",
        "people": "word",
    }


def read(question: str, text: str, *others: str) -> QuoteEvidence:
    passages = hits(text, *others)
    reader = EvidenceReader(HashingEmbedder(), PassageReader(), Vocabulary())
    return reader.read(trace(passages, question), [Citation(1, passages[0], text)])


def test_evidence_is_all_there_where_the_quote_has_every_key_term():
    evidence = read(
        "When does unused leave lapse?", "Unused leave lapses on 30 June.", "Cats purr."
    )
    assert evidence.missing == ()
    assert evidence.codes is None
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


def test_a_missing_code_leaves_hardly_any_probability():
    sure = AnswerModel({"passage": 10.0}, 0.0, 0.25, "nobody")
    evidence = read("What does CV-155 mean?", "CV-118: rotor not recognised.")
    assert evidence.codes == 0.0
    assert probability_of(evidence, sure) <= 0.02


def test_the_model_is_a_logistic_function_of_its_figures():
    model = AnswerModel({"passage": 2.0, "code": -1.0}, -1.0, 0.25, "nobody")
    assert model.probability({"passage": 0.5, "code": 0.0, "soft": 9.0}) == pytest.approx(0.5)
    assert model.probability({"passage": 1.0, "code": 1.0}) == pytest.approx(0.5)


def test_other_embedders_get_the_model_without_cosines():
    assert {"dense", "soft"} <= set(answer_model("minilm-int8-8199be6f").weights)
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
    reader = EvidenceReader(HashingEmbedder(), PassageReader(), Vocabulary())
    quote = "| Aldermouth | Torvik | 12 EUR |"
    evidence = reader.read(trace(passage, question), [Citation(1, passage[0], quote)])
    assert [term.text for term in evidence.apart] == ["Aldermouth", "Corrie"]
    sure = AnswerModel({"passage": 10.0}, 0.0, 0.25, "nobody")
    assert probability_of(evidence, sure) <= 0.02


CROWNS = "| Treatment | Fee |\n|---|---|\n| Ceramic crown | 740 |\n| Course of whitening | 320 |\n"


class OfCrowns(Vocabulary):
    """The words of an index that has no other words than the table of crowns."""

    def indexed(self, terms: Terms) -> Terms:
        return terms & self.terms(CROWNS)


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
    reader = EvidenceReader(HashingEmbedder(), PassageReader(), OfCrowns())
    evidence = reader.read(trace(passage, question), [Citation(1, passage[0], row)])
    assert [term.text for term in evidence.apart] == apart


def test_words_for_the_kind_of_value_are_no_key_terms():
    assert kinds("How long does it take to charge the battery?") == {
        "charge": "word",
        "battery": "word",
    }


def test_the_phone_number_of_somebody_else_is_no_answer():
    question = "What is the phone number of Felix Brandt?"
    assert read(question, "Sanna Ek: 0170 555 0199").gap == "a phone number beside Felix"
    assert read(question, "Felix Brandt: 0170 555 0188").gap == ""


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
    reader = EvidenceReader(HashingEmbedder(), PassageReader(), Indexed())
    evidence = reader.read(trace(passages, question), [Citation(1, passages[0], text)])
    assert evidence.gap == gap


def test_another_word_of_the_same_stem_is_missing():
    evidence = read("What does the employer pay?", "The employee pays half.")
    assert [term.text for term in evidence.missing] == ["employer"]
    evidence = read("What is the rent?", "The current is 5 ampere.")
    assert [term.text for term in evidence.missing] == ["rent"]
