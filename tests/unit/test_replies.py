"""What counts as said in a reply of a model, and what of it is checked."""

from collections.abc import Iterator, Sequence

import pytest

from rag import Answer, AnswerRecipe, Message, Settings, Trace, answering, providers
from rag.protocols import ChatModel
from rag.types import Delta
from tests.answers import hits, trace

LEAVE = "Up to eight days of unused leave may be carried over."


class Pieces:
    """A model whose reply comes in these pieces."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        yield from map(Delta, self._pieces)


def ask(found: Trace, chat: ChatModel, mode: str) -> Answer:
    recipe = AnswerRecipe.model_validate({"mode": mode})
    fake = providers.embedder("fake", Settings.from_env({}))
    return answering.answer(found, recipe, embedder=fake, chat=chat).answer


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (["<think>Is it 900 [1]? No.</think>\n\nEight [1]."], "Eight [1]."),
        (["<thi", "nk>900 [1]", "</thin", "king>", "\n", "Eight", " [1]."], "Eight [1]."),
        (["<thinking>a</thinking> <think>b</think>Eight [1]."], "Eight [1]."),
        (["<", "5 days [1]"], "<5 days [1]"),
        (["Eight <think>is right</think> [1]."], "Eight <think>is right</think> [1]."),
        (["Eight \ud83d", "\ude00 days [1]."], "Eight \U0001f600 days [1]."),
        (["Eight \ud83d days\0 [1].", "\ud83d"], "Eight \ufffd days [1]."),
    ],
)
def test_thoughts_and_half_characters_are_no_part_of_it(pieces, said):
    answer = ask(trace(hits(LEAVE)), Pieces(*pieces), "strict")
    assert (answer.text, answer.status) == (said, "complete")


@pytest.mark.parametrize("thought", ["<think>Eight [1], or", "<thi"])
def test_a_thought_that_never_ends_is_no_answer(thought):
    answer = ask(trace(hits(LEAVE)), Pieces("<think>Eight [1], or ", thought), "strict")
    assert (answer.text, answer.status) == ("", "failed")
