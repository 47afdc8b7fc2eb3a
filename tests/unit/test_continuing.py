"""An answer that goes on where an earlier one broke off, with a prompt too long for the model."""

from rag import Answer, AnswerRecipe, Message, Settings, answering, providers
from rag.errors import ContextOverflow
from tests.answers import Turns, hits, trace

LEAVE = "Up to eight days of unused leave may be carried over."
LONG = [LEAVE, *(" ".join(["word"] * 200) for _ in range(4))]


def go_on(model: Turns) -> Answer:
    return answering.answer(
        trace(hits(*LONG)),
        AnswerRecipe(mode="strict"),
        embedder=providers.embedder("fake", Settings.from_env({})),
        chat=answering.Continuing(model, "Eight"),
    ).answer


def test_its_prompt_is_shortened_once_and_what_it_had_said_stays():
    model = Turns(ContextOverflow("4096 tokens", share=0.5), " days [1].")
    answer = go_on(model)
    assert (answer.status, answer.text) == ("complete", "Eight days [1].")
    assert [each.step for each in answer.decisions] == ["context"]
    first, second = model.asked
    assert len(second[1].content) < len(first[1].content)
    assert second[2] == first[2] == Message("assistant", "Eight")
    assert second[3] == first[3]


def test_what_it_thinks_before_it_goes_on_is_not_said():
    answer = go_on(Turns("<think>Eight what? [1]</think> days [1]."))
    assert (answer.status, answer.text) == ("complete", "Eight days [1].")
