"""On the sample, with the shipped model: what is of another topic is refused, the rest is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tests.sample
from rag import SAMPLE, KnowledgeBase


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with tests.sample.sample(tmp_path_factory.mktemp("home")) as filled:
        yield filled


@pytest.mark.parametrize(
    "question",
    ["Who won the 2022 world cup?", "What is the weather in Paris tomorrow?"],
)
def test_a_question_of_another_topic_is_refused(sample: KnowledgeBase, question: str) -> None:
    stage = sample.search(question, sample.recipe()).stage("refuse")
    assert stage.figures["probability"] < stage.figures["limit"]
    assert stage.given == 0
    assert sample.ask(question, sample.recipe()).answer.status == "refused"


def test_hardly_any_answerable_question_is(sample: KnowledgeBase) -> None:
    _, questions = sample.evaluator.questions(SAMPLE)
    refused = [
        question.text
        for question in questions
        if question.answerable
        and (stage := sample.search(question.text, sample.recipe()).stage("refuse")) is not None
        and stage.dropped
    ]
    assert len(refused) <= 0.05 * sum(question.answerable for question in questions), refused
