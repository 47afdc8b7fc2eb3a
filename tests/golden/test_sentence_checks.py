"""How well the offline check of sentences tells right answers from changed ones, on the sample.

The expected answers of the sample are cited with the passages that hold their evidence.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

import tests.sample
from rag import KnowledgeBase, SentenceCheck
from rag.evaluation.answers import groundedness, relevance
from tests.sample_answers import Expected, checker, cited_by, expected_answers, sentences

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,  # unit/test_sentence_checks.py has the rules; answers are recorded
]
TRIES = 2  # of a change, for every question


@dataclass(frozen=True)
class Sample:
    base: KnowledgeBase
    answers: list[Expected]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    with tests.sample.sample(tmp_path_factory.mktemp("sample")) as base:
        yield Sample(base, expected_answers(base))


def with_another_figure(text: str, draw: random.Random) -> str:
    """A text with one digit of one of its figures changed, "" where it has none."""
    digits = [match.start() for match in re.finditer(r"\d(?![\d]*\])", text)]
    if not digits:
        return ""
    at = draw.choice(digits)
    new = draw.choice([digit for digit in "123456789" if digit != text[at]])
    return text[:at] + new + text[at + 1 :]


def flagged(sample: Sample, answer: Expected, text: str) -> list[SentenceCheck]:
    found = checker(sample.base, answer.question.text, answer.citations).check(text)
    return [each for each in found if each.verdict != "supported"]


def test_every_quote_of_an_offline_answer_is_found_at_its_citation(sample):
    lost = []
    for answer in sample.answers:
        given = sample.base.ask(answer.question.text, sample.base.recipe()).answer
        assert bool(given.sentences) == (given.status == "complete")
        lost += [
            (answer.question.id, given.text[each.start : each.end], each.reasons)
            for each in given.sentences
            if each.verdict != "supported"
        ]
        for citation in given.citations:
            assert citation.quote in citation.hit.chunk.text
    assert lost == []


def test_expected_answers_are_hardly_ever_flagged(sample):
    wrong = [each.question.id for each in sample.answers if flagged(sample, each, each.text)]
    assert len(sample.answers) == 131
    assert len(wrong) <= 0.05 * len(sample.answers), wrong


def test_a_changed_figure_is_flagged(sample):
    changes = [
        (each, text)
        for each in sample.answers
        for seed in range(TRIES)
        if (text := with_another_figure(each.text, random.Random(f"{each.question.id} {seed}")))
    ]
    missed = [text for each, text in changes if not flagged(sample, each, text)]
    assert len(changes) > 150
    assert len(missed) <= 0.1 * len(changes), missed


def test_a_sentence_of_another_answer_is_flagged(sample):
    missed, tried = [], 0
    for each in sample.answers:
        draw = random.Random(each.question.id)
        for other in draw.sample([one for one in sample.answers if one is not each], TRIES):
            sentence = cited_by(draw.choice(sentences(other.question.answer)), each.citations)
            text = f"{each.text} {sentence}"
            tried += 1
            late = [one for one in flagged(sample, each, text) if one.start >= len(each.text)]
            missed += [] if late else [(each.question.id, sentence)]
    assert len(missed) <= 0.2 * tried, missed


def test_an_answer_to_another_question_is_less_grounded(sample):
    grounded = 0
    for place, each in enumerate(sample.answers):
        other = sample.answers[(place + 37) % len(sample.answers)]
        said = [cited_by(one, each.citations) for one in sentences(other.question.answer)]
        check = checker(sample.base, each.question.text, each.citations)
        right = groundedness(check.check(each.text))
        grounded += groundedness(check.check(" ".join(said))) < right
    assert grounded >= 0.95 * len(sample.answers), grounded


def test_an_answer_to_another_question_is_less_relevant(sample):
    """Of all shuffles: every answer beside that to every other question."""
    services, recipe = sample.base._services, sample.base.recipe()
    embedder = services.remembering(recipe.index.embedder)
    answers = [each.question.answer for each in sample.answers]
    lower = tried = 0
    for place, each in enumerate(sample.answers):
        scores = [relevance(each.question.text, text, embedder) for text in answers]
        lower += sum(score < scores[place] for score in scores)
        tried += len(scores) - 1
    assert lower >= 0.95 * tried, (lower, tried)
