"""Three questions that tell whether a language model reads passages well enough to answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from rag.answering.asking.prompt import Beside, Count, prompt_of, says_no_answer
from rag.answering.asking.speech import Listener
from rag.answering.citations import mentions
from rag.answering.reading import PassageReader
from rag.protocols import ChatModel
from rag.recipe import AnswerRecipe
from rag.types import Chunk, Hit

_NAME = "employee-faq.md"
_DOCUMENT = Path(__file__).parents[3] / "data" / "sample" / _NAME
_SECTION = re.compile(r"^## (Time|Getting there|Food)\n+(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_LONGEST = 80
"""Tokens of a reply."""


def _cites(value: re.Pattern[str], passage: int) -> Callable[[str], bool]:
    """Whether a reply has a value, and cites its passage and no other."""

    def right(reply: str) -> bool:
        cited = {number for mention in mentions(reply) for number in mention.numbers}
        return cited == {passage} and value.search(reply) is not None

    return right


_QUESTIONS: Sequence[tuple[str, Callable[[str], bool]]] = (
    (
        "How many months' notice do I have to give to reduce my hours?",
        _cites(re.compile(r"\b(3|[Tt]hree)\b"), 1),
    ),
    ("What does power for a car cost?", _cites(re.compile(r"\b0[.,]29\b"), 2)),
    ("How many days before must I tell the canteen that guests come?", says_no_answer),
)

READING_QUESTIONS = len(_QUESTIONS)


def right_readings(chat: ChatModel, count: Count, seconds: float) -> int | None:
    """Return how many of three questions on the sample a model answers right from passages.

    The third has no answer there. None where it takes longer than ``seconds``. Raises
    ProviderError.
    """
    text = _DOCUMENT.read_text(encoding="utf-8")
    hits = [
        Hit(
            Chunk(n, _NAME, one.start(2), one.end(2), one[2].strip(), n, one[1]),
            _NAME,
            *(n, 1.0, 1.0, {}),
        )
        for n, one in enumerate(_SECTION.finditer(text), start=1)
    ]
    deadline, right = time.monotonic() + seconds, 0
    recipe, listener = AnswerRecipe(mode="strict", max_tokens=_LONGEST), Listener(chat, 0.0)
    for question, is_right in _QUESTIONS:
        prompt = prompt_of("strict", question, hits, recipe, Beside(), PassageReader(), count)
        reply = ""
        with closing(listener.stream(prompt.messages, _LONGEST)) as stream:
            for delta in stream:
                reply += delta.text
                if time.monotonic() > deadline:
                    return None
        right += is_right(reply)
    return right
