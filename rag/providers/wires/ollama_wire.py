"""The wire format of Ollama: models on one's own machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from rag.protocols import InputType
from rag.providers.endpoint import Clients, Endpoint, import_required, require_configured
from rag.providers.request_limiter import limited_call
from rag.types import Delta, Message, Usage

if TYPE_CHECKING:
    import ollama

WINDOW_STEP = 2048
CHARACTERS_PER_TOKEN = 3
"""A cautious guess, so that the context window is rather too large than too small."""


class OllamaWire:
    """One model of one server. ``clients`` connect on first use; safe to share between threads."""

    def __init__(self, endpoint: Endpoint, model: str, clients: Clients) -> None:
        self._endpoint = endpoint
        self._model = model
        self._clients = clients

    def embeddings(self, texts: list[str], _input_type: InputType) -> Sequence[Sequence[float]]:
        """One vector for each text, in their order. Asks once. Raises ProviderError."""
        with self._translated():
            return self._client.embed(model=self._model, input=texts).embeddings

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError, also in the middle."""
        # A context window that holds prompt and reply, in steps so that models reload rarely.
        # Ollama's default window is small and what does not fit is cut off without a word.
        prompt = sum(len(part.content) for part in messages) // CHARACTERS_PER_TOKEN
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": part.role, "content": part.content} for part in messages],
            "options": {
                "temperature": temperature,
                "num_predict": max_tokens,
                "num_ctx": (-(-(prompt + max_tokens) // WINDOW_STEP) * WINDOW_STEP),
            },
        }
        with limited_call(self._endpoint, "chat", lambda: self._open(request)) as parts:
            yield from self._deltas(parts)

    def _open(self, request: dict[str, Any]) -> Iterator[ollama.ChatResponse]:
        """Start the reply. The package connects when the first part is asked for."""
        with self._translated():
            parts = iter(self._client.chat(stream=True, **request))
            first = next(parts, None)
        if first is None:
            raise self._endpoint.broke_off()
        return chain([first], parts)

    def _deltas(self, parts: Iterator[ollama.ChatResponse]) -> Iterator[Delta]:
        finished = False
        with self._translated(streaming=True):
            for part in parts:
                if part.message.content:
                    yield Delta(part.message.content)
                if part.done:
                    finished = True
                    usage = Usage(part.prompt_eval_count or 0, part.eval_count or 0)
                    model = part.model or ""
                    yield Delta(usage=usage, finish=part.done_reason or "", model=model)
        if not finished:
            raise self._endpoint.broke_off()

    @property
    def _client(self) -> ollama.Client:
        return self._clients.of(self._endpoint, _connected)

    @contextmanager
    def _translated(self, *, streaming: bool = False) -> Iterator[None]:
        """Turn the package's exceptions, and those of httpx that it passes on, into ours."""
        httpx, ollama, endpoint = (
            import_required("httpx"),
            import_required("ollama"),
            self._endpoint,
        )
        try:
            yield
        except ollama.ResponseError as error:
            detail, model = _detail(error.error), self._model
            if error.status_code < 0:
                raise endpoint.within(detail, model, begun=streaming) from error
            # The header ``Retry-After``, which the package leaves in the exception that it
            # translates.
            response = getattr(error.__context__, "response", None)
            wait: str | None = None if response is None else response.headers.get("retry-after")
            raise endpoint.status(error.status_code, detail, model, wait) from error
        except httpx.TimeoutException as error:
            raise endpoint.timed_out() from error
        except (ConnectionError, httpx.TransportError) as error:
            raise (endpoint.broke_off() if streaming else endpoint.unreachable()) from error
        except (ValueError, TypeError, AttributeError) as error:
            raise endpoint.misbehaved("something that is not of this wire format") from error


def _detail(body: object) -> str:
    """The server's own words; proxies of other wire formats send an object in their place."""
    if isinstance(body, dict) and body.get("message"):
        return str(body["message"])
    return str(body)


def _connected(endpoint: Endpoint) -> ollama.Client:
    package = import_required("ollama")
    require_configured(endpoint)
    client: ollama.Client = package.Client(endpoint.base_url, timeout=endpoint.retry_policy.timeout)
    return client
