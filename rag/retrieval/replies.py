"""Short replies of a language model, asked for within a retrieval. What comes is not trusted."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from rag.errors import ProviderUnavailable
from rag.protocols import ChatModel
from rag.types import Message

LONGEST_SECONDS = 30.0
"""A whole reply, however slowly it drips: somebody waits for the search behind it."""
LONGEST_REPLY = 8_000
"""Characters; what a model says beyond is not read."""

_PROMPTS = Path(__file__).with_name("prompts")
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)


def reply(
    chat: ChatModel,
    messages: Sequence[Message],
    max_tokens: int,
    seconds: float | None = None,
) -> str:
    """Return the model's reply without its thoughts.

    The reply may take ``seconds``, by default ``LONGEST_SECONDS``. Raises ProviderError.
    """
    seconds = LONGEST_SECONDS if seconds is None else seconds
    stream = chat.stream(messages, temperature=0.0, max_tokens=max_tokens)
    text, end = "", time.monotonic() + seconds
    try:
        for delta in stream:
            text += delta.text
            if len(text) >= LONGEST_REPLY:
                break
            if time.monotonic() > end:
                raise ProviderUnavailable(
                    f"The language model did not finish its reply within {seconds:g} s.",
                    "The server may be overloaded. Try again, or choose a faster model.",
                )
    finally:
        if isinstance(stream, Generator):
            stream.close()
    return _THOUGHTS.sub("", text[:LONGEST_REPLY]).strip()


def prompt(name: str, **values: object) -> str:
    """A prompt file with its places filled in."""
    template = (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()
    return re.sub(r"\{(\w+)\}", lambda place: str(values[place.group(1)]), template)
