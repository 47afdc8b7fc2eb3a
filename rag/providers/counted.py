"""A chat model whose server says how much of a prompt it read: less than was sent is told.

A local server cuts a prompt that is longer than its window, in front and without a word. Its reply
counts the tokens that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace

from rag.protocols import ChatModel
from rag.providers.tokens import least_tokens
from rag.types import Delta, Message, Usage

SMALLEST_WINDOW = 256
"""Tokens. No server cuts to fewer: a lower count leaves out what it had in its cache."""

OnCut = Callable[[int, int], None]
"""Takes the tokens that a server read, and the least that the prompt had."""


class CountedChat:
    """A chat model that asks another one, and compares what its server read with what it sent."""

    def __init__(self, chat: ChatModel, on_cut: OnCut) -> None:
        self._chat = chat
        self._on_cut = on_cut

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError, also in the middle."""
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=max_tokens)
        try:
            for delta in stream:
                yield replace(delta, usage=self._compared(messages, delta.usage))
        finally:
            if isinstance(stream, Generator):
                stream.close()

    def _compared(self, messages: Sequence[Message], usage: Usage | None) -> Usage | None:
        """The usage with the tokens that were not read."""
        if usage is None or usage.prompt_tokens < SMALLEST_WINDOW:
            return usage
        sent = sum(least_tokens(message.content) for message in messages)
        if usage.prompt_tokens >= sent:
            return usage
        self._on_cut(usage.prompt_tokens, sent)
        return replace(usage, unread_tokens=sent - usage.prompt_tokens)
