"""Replies of a language model: their visible text, piece by piece, and the tokens of all."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rag.answering.citations import mentions
from rag.errors import ProviderUnavailable
from rag.protocols import ChatModel
from rag.types import Delta, Message, Usage

_MARKS = ("<think>", "<thinking>")
_BEGINS = re.compile("<think(?:ing)?>")
_ENDS = re.compile("</think(?:ing)?>")
_LONGEST = len("</thinking>")


def spoken(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """A reply without the thoughts that it begins with, and of readable text."""
    speech = _Speech()
    for delta in deltas:
        yield replace(delta, text=speech.heard(delta.text))
    if rest := speech.rest():
        yield Delta(rest)


def readable(text: str) -> str:
    """``text`` without what nothing can show or store: half characters, and the character 0."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Speech:
    """Hears one piece after the other."""

    def __init__(self) -> None:
        self._held = ""  # the beginning of what may be a mark, or half of a character
        self._thinks = self._thought = self._speaks = False

    def heard(self, piece: str) -> str:
        """Add a chunk of the stream and return the text that is certainly visible."""
        text, self._held = self._held + piece, ""
        if self._thinks:
            end = _ENDS.search(text)
            if end is None:
                self._held = text[-_LONGEST:]
                return ""
            self._thinks, self._thought, text = False, True, text[end.end() :]
        if not self._speaks:
            begun = text.lstrip()
            if begins := _BEGINS.match(begun):
                self._thinks = True
                return self.heard(begun[begins.end() :])
            if any(mark.startswith(begun) for mark in _MARKS):
                self._held = text
                return ""
            self._speaks, text = True, text.lstrip("\r\n") if self._thought else text
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._held = text[:-1], text[-1:]
        return readable(text)

    def rest(self) -> str:
        """Return the buffered text at the end of the stream: an incomplete mark."""
        return "" if self._thinks or self._speaks else self._held


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


_PROMPT = Path(__file__).parents[1] / "prompts" / "continue.txt"


class Continuing:
    """A chat model that goes on with ``begun``: what it says begins with that.

    Until some of the rest has come, every request asks for it: a prompt may have to be shortened.
    """

    def __init__(self, chat: ChatModel, begun: str) -> None:
        self._chat = chat
        self._begun = begun
        self._told = self._goes_on = False

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError."""
        if not self._told:
            self._told = True
            yield Delta(self._begun)
        if not self._goes_on:
            request = Message("user", _PROMPT.read_text(encoding="utf-8").strip())
            messages = [*messages, Message("assistant", self._begun), request]
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=max_tokens)
        for delta in spoken(stream):
            self._goes_on = self._goes_on or bool(delta.text)
            yield delta


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """``text`` with other numbers in its citations; those without a new one are left out."""
    pieces, last = list[str](), 0
    for mention in mentions(text):
        new = [str(numbers[n]) for n in mention.numbers if n in numbers]
        pieces += [text[last : mention.start], f"[{', '.join(new)}]" if new else ""]
        last = mention.end
    return "".join([*pieces, text[last:]])
