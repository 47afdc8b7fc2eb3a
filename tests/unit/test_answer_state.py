"""The state of an answer: key terms, evidence, and what follows from them."""

from __future__ import annotations

from rag.answering.assessing.key_terms import key_terms
from rag.answering.vocabulary import Vocabulary


def kinds(question: str) -> dict[str, str]:
    return {term.text: term.kind for term in key_terms(question, Vocabulary())}


def test_key_terms_are_codes_names_figures_and_words_without_grammar() -> None:
    assert kinds("What does error CV-155 mean?") == {"error": "word", "CV-155": "code"}
    assert kinds("Who leads the office in Singapore with 12 people?") == {
        "leads": "word",
        "office": "word",
        "Singapore": "name",
        "12": "figure",
        "people": "word",
    }


def test_a_code_is_borne_out_whole_or_not_at_all() -> None:
    words = Vocabulary()
    code = key_terms("CV-155 blinks", words)[0]
    assert code.borne_out(words.terms("Code: CV-126 · 155 rpm")) == 0.0
    assert code.borne_out(words.terms("Code: CV-155 · Fan blocked")) == 1.0


def test_shares_of_key_terms_add_up_to_one() -> None:
    terms = key_terms("How many vacation days do employees in Norway get?", Vocabulary())
    assert abs(sum(term.share for term in terms) - 1.0) < 1e-12
