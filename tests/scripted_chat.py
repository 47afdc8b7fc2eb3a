"""A chat model that replies what a test wrote, and remembers what it was asked."""

from collections.abc import Callable, Iterator, Sequence

from rag import Message
from rag.types import Delta


class ScriptedChat:
    """Replies in order, the last one again and again; a function replies to the last message."""

    def __init__(self, *replies: str | Callable[[Sequence[Message]], str]) -> None:
        self.replies = replies
        self.asked: list[list[Message]] = []

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The next reply in two pieces."""
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append(list(messages))
        text = reply if isinstance(reply, str) else reply(messages)
        yield Delta(text[:7])
        yield Delta(text[7:])
