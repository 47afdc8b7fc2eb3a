"""Requests to models that can be followed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from rag import telemetry
from rag.errors import TouchstoneError
from rag.protocols import ChatModel
from rag.providers.endpoint import Endpoint
from rag.providers.request_limiter import call_with_limits
from rag.types import Delta, Message, Scores, Usage


@dataclass(slots=True)
class ModelCall:
    """A request to a chat model, and the reply received so far.

    ``first_token`` is the seconds until the first chunk of ``text``, None before it arrives.
    ``finish`` is the provider's name for the reason why the reply ended, "" if it gives none.
    """

    provider: str
    model: str
    messages: Sequence[Message]
    temperature: float
    max_tokens: int
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    finish: str = ""
    first_token: float | None = None


class SpannedChat:
    """A chat model that asks another one; each of its replies is a span, from the request to its
    last piece.
    """

    def __init__(self, chat: ChatModel, provider: str, model: str) -> None:
        self._chat = chat
        self._provider = provider
        self._model = model

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError, also in the middle."""
        call = ModelCall(self._provider, self._model, tuple(messages), temperature, max_tokens)
        span, started = telemetry.begin("chat", {}, telemetry.current()), perf_counter()
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=max_tokens)
        error: TouchstoneError | None = None
        try:
            for delta in stream:
                if delta.text and call.first_token is None:
                    call.first_token = perf_counter() - started
                call.text += delta.text
                call.usage = delta.usage or call.usage
                call.finish = delta.finish or call.finish
                yield delta
        except TouchstoneError as problem:
            error = problem
            raise
        finally:
            if isinstance(stream, Generator):
                stream.close()
            telemetry.end(span, call, error)


def rerank_with_span(
    endpoint: Endpoint,
    model: str,
    question: str,
    texts: list[str],
    ask: Callable[[str, Sequence[str]], Scores],
) -> Scores:
    """The scores that one request brings, one for each text; a span of its own.

    Raises ProviderError.
    """
    attributes = {
        "provider": endpoint.row.name,
        "model": model,
        "question": question,
        "texts": texts,
    }
    with telemetry.spanning("rerank", attributes) as span:
        span.about = scores = call_with_limits(endpoint, "reranking", lambda: ask(question, texts))
        return scores
