"""A language model that puts passages in order, as a reranker."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rag.errors import ProviderMisbehaved
from rag.fences import fenced
from rag.protocols import ChatModel
from rag.retrieval.replies import prompt, reply
from rag.types import Message, Scores

LONGEST_PASSAGE = 1_500
"""Characters of each passage that the model is shown."""

_BRACKETED = re.compile(r"\[(\d{1,3})\]")
_NUMBER = re.compile(r"\d{1,3}")


class Listwise:
    """A reranker of windows of passages from the end of the list to its start.

    Each window overlaps the one before by half, so that a good passage rises through all of them.
    Sun et al., "Is ChatGPT Good at Search? Investigating Large Language Models as Re-Ranking
    Agents", EMNLP 2023.
    """

    def __init__(self, chat: ChatModel, window: int) -> None:
        self._chat = chat
        self._window = max(window, 2)

    def scores(self, question: str, texts: Sequence[str]) -> Scores:
        """1 for the first, then less by equal steps; shape (len(texts),). Raises ProviderError."""
        order = list(range(len(texts)))
        if len(order) < 2:
            return np.ones(len(order))
        end = len(order)
        while True:
            start = max(end - self._window, 0)
            window = order[start:end]
            places = self._permutation(question, [texts[place] for place in window])
            order[start:end] = [window[place] for place in places]
            if start == 0:
                break
            end -= max(self._window // 2, 1)
        scores = np.empty(len(order))
        scores[order] = 1.0 - np.arange(len(order)) / len(order)
        return scores

    def _permutation(self, question: str, texts: Sequence[str]) -> list[int]:
        passages = [
            fenced("passage", text[:LONGEST_PASSAGE], f'n="{number}"')
            for number, text in enumerate(texts, start=1)
        ]
        content = "\n\n".join([*passages, f"Question: {question}"])
        messages = [Message("system", prompt("rank")), Message("user", content)]
        text = reply(self._chat, messages, max_tokens=40 + 8 * len(texts))
        return parse_permutation(text, len(texts))


def parse_permutation(text: str, count: int) -> list[int]:
    """The order that a reply names, as places from 0.

    Numbers in brackets go before bare ones. Those out of range or named again are ignored, and
    what is missing follows in its given order. Raises ProviderMisbehaved when none is in range.
    """
    numbers = _BRACKETED.findall(text) or _NUMBER.findall(text)
    named = dict.fromkeys(int(number) - 1 for number in numbers)
    positions = [position for position in named if 0 <= position < count]
    if not positions:
        raise ProviderMisbehaved(
            "The language model named no passage in its order.",
            "Try a larger model, or another reranker.",
        )
    return positions + [position for position in range(count) if position not in named]
