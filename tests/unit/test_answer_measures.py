"""Measures of answers: words shared with the expected one, citations, refusals."""

import random
from dataclasses import replace

import pytest

from rag import Answer, Assessment, Citation, Question, SentenceCheck, lacks_expected
from rag.evaluation.answers.measures import (
    exact_match,
    measured,
    normalised,
    plain_answer,
    rouge_l,
    token_f1,
)
from rag.providers.hashing import HashingEmbedder
from rag.types import Evidence
from tests.answers import hits, trace

WORDS = (
    *("up", "to", "eight", "days", "of", "leave", "may", "be", "carried"),
    *("over,", "the", "rest", "lapses", "in", "June", "2026"),
)


def test_rouge_l_is_that_of_the_reference_implementation():
    from rouge_score.rouge_scorer import RougeScorer  # slow to import: it brings nltk

    theirs = RougeScorer(["rougeL"], use_stemmer=False)
    draw = random.Random(5)
    for _ in range(300):
        one, other = (
            " ".join(draw.choices(WORDS, k=draw.randrange(1, 15))) + draw.choice([".", "?", " €5"])
            for _ in range(2)
        )
        expected = theirs.score(other, one)["rougeL"].fmeasure
        assert rouge_l(one, other) == pytest.approx(expected), (one, other)


def test_squad_normalisation_and_f1():
    assert normalised("  The  Cat's, hat!") == "cats hat"
    assert exact_match("the Eight days.", "eight days") == 1.0
    assert token_f1("eight days of leave", "eight days") == pytest.approx(2 * 2 / (4 + 2))
    assert token_f1("eight eight", "eight") == pytest.approx(2 / 3)
    assert (token_f1("", ""), token_f1("a", "the"), token_f1("x", "")) == (1.0, 1.0, 0.0)
    assert (exact_match("nine days", "eight days"), rouge_l("", "eight")) == (0.0, 0.0)


def _question(**more: object) -> Question:
    evidence = (Evidence("doc-1.md", 0, 4, 3, "Text"), Evidence("doc-9.md", 0, 4, 2, "Else"))
    fields = {"evidence": evidence, "answer": "Eight days."} | more
    return Question("q1", "How many days?", **fields)  # type: ignore[arg-type]


def _answer(status: str = "complete", text: str = "Eight days [1]. Nine [2].") -> Answer:
    found = hits("Eight days.", "Other.")
    checks = (
        SentenceCheck(0, 15, "supported", (1,)),
        SentenceCheck(16, 25, "unsupported", (2,), ("no",)),
    )
    cited = tuple(Citation(n, hit) for n, hit in enumerate(found, 1))
    return Answer(text, cited, trace(found), "grounded", status, sentences=checks)  # type: ignore[arg-type]


def test_measures_of_an_answer():
    found = measured(_question(), _answer(), HashingEmbedder())
    assert plain_answer(_answer().text) == "Eight days. Nine."
    assert found["groundedness"] == 0.5
    assert (found["citation_precision"], found["citation_recall"]) == (0.5, 0.5)
    assert found["token_f1"] == pytest.approx(2 * 2 / (3 + 2))
    assert found["answer_containment"] == 1.0
    assert found["refusal_correctness"] == 1.0
    assert 0.0 < found["answer_relevance"] < 1.0


def test_a_refused_answer_has_nothing_but_being_refused():
    found = measured(_question(), _answer("refused"), HashingEmbedder())
    assert set(found.values()) == {0.0}
    open_one = _question(answerable=False, evidence=())
    rightly = measured(open_one, _answer("refused"), HashingEmbedder())
    assert rightly == {"refusal_correctness": 1.0}
    wrongly = measured(open_one, _answer(), HashingEmbedder())
    assert wrongly == {"refusal_correctness": 0.0}


def test_without_an_expected_answer_or_labels_only_the_rest_is_measured():
    found = measured(_question(answer="", evidence=()), _answer(), HashingEmbedder())
    assert set(found) == {"groundedness", "answer_relevance", "refusal_correctness"}


def test_only_an_answer_without_doubt_contains_the_expected_one():
    def containment(answer: Answer, expected: str = "8 days") -> float | None:
        found = measured(_question(answer=expected), answer, HashingEmbedder())
        return found.get("answer_containment")

    assert containment(_answer()) == 1.0
    assert containment(_answer(), "7 days") == 0.0
    assert containment(_answer(), "Yes.") is None
    assert containment(replace(_answer(), assessment=Assessment("conflicting"))) == 1.0
    assert containment(replace(_answer(), assessment=Assessment("doubtful"))) == 0.0
    assert containment(_answer("refused")) == 0.0


def test_a_quote_that_is_folded_below_the_answer_is_no_answer():
    one, other = hits("Nine days.", "Eight days.")
    citations = Citation(1, one, answers=True), Citation(2, other)
    quotes = replace(
        _answer(text="“Nine days.” [1]\n\n“Eight days.” [2]"), citations=citations, mode="quotes"
    )
    folded = measured(_question(), quotes, HashingEmbedder())
    assert (folded["answer_containment"], folded["token_f1"]) == (0.0, 0.5)
    unfolded = replace(quotes, citations=tuple(replace(one, answers=True) for one in citations))
    assert measured(_question(), unfolded, HashingEmbedder())["answer_containment"] == 1.0


def test_an_answer_lacks_the_expected_one_unless_a_judge_calls_it_right():
    lacking = {"answer_containment": 0.0, "false_doubt": 0.0, "refusal_correctness": 1.0}
    assert lacks_expected(lacking)
    assert lacks_expected(lacking | {"judged_correctness": 0.5})
    assert not lacks_expected(lacking | {"judged_correctness": 1.0})
    assert not lacks_expected(lacking | {"false_doubt": 1.0})
    assert not lacks_expected(lacking | {"answer_containment": 1.0})
    assert not lacks_expected({})
