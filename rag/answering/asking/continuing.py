"""Going on with an answer of a model that broke off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rag.answering.asking.speech import spoken
from rag.answering.citations import mentions
from rag.protocols import ChatModel
from rag.types import Delta, Message

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
