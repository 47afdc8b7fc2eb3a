"""Replies of a language model, whole or piece by piece, with the tokens that all of them took."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Sequence

from rag.answering.asking.speech import readable, spoken
from rag.errors import ProviderUnavailable
from rag.protocols import ChatModel
from rag.types import Delta, Message, Usage

LONGEST_SECONDS = 60.0
"""A whole reply to a step on the way to an answer."""
LONGEST_REPLY = 20_000
"""Characters; what a model says beyond is not read."""
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)


class Listener:
    """Asks a model and adds up what that takes."""

    def __init__(self, chat: ChatModel, temperature: float) -> None:
        self._chat = chat
        self._temperature = temperature
        self.usage = Usage()
        self.last = Usage()

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Generator[Delta, None, None]:
        """The reply, piece by piece, without the thoughts that it begins with.

        Raises ProviderError, also in the middle.
        """
        self.last = Usage()
        stream = self._chat.stream(messages, temperature=self._temperature, max_tokens=max_tokens)
        try:
            for delta in spoken(stream):
                self._count(delta.usage)
                if delta.text:
                    yield Delta(delta.text)
        finally:
            if isinstance(stream, Generator):
                stream.close()

    def hear(self, messages: Sequence[Message], max_tokens: int, temperature: float = 0.0) -> str:
        """The whole reply, without the model's thoughts. Raises ProviderError."""
        self.last = Usage()
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=max_tokens)
        text, end = "", time.monotonic() + LONGEST_SECONDS
        try:
            for delta in stream:
                self._count(delta.usage)
                text += delta.text
                if len(text) >= LONGEST_REPLY:
                    break
                if time.monotonic() > end:
                    raise ProviderUnavailable(
                        f"The model did not finish its reply within {LONGEST_SECONDS:g} s.",
                        "The server may be overloaded. Try again, or choose a faster model.",
                    )
        finally:
            if isinstance(stream, Generator):
                stream.close()
        return _THOUGHTS.sub("", readable(text[:LONGEST_REPLY])).strip()

    def _count(self, usage: Usage | None) -> None:
        if usage is not None:
            self.last = usage
            self.usage += usage
