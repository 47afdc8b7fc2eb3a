"""The wire format of OpenAI, spoken by many servers, and other forms of embedding requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from rag.errors import ProviderRejected
from rag.protocols import InputType
from rag.providers.endpoint import (
    CONNECT_SECONDS,
    Clients,
    Endpoint,
    import_required,
    require_configured,
)
from rag.providers.request_limiter import limited_call
from rag.providers.wires.rest import google_token, post
from rag.types import Delta, Message, Usage

if TYPE_CHECKING:
    import openai

_ALTERNATIVES: Mapping[str, str | None] = {
    "stream_options": None,
    "max_tokens": "max_completion_tokens",
    "temperature": None,
}
"""Request fields that some servers refuse, and what to send instead (None: leave it out)."""


class OpenAIWire:
    """One model of one server. ``clients`` connect on first use; safe to share between threads."""

    def __init__(self, endpoint: Endpoint, model: str, clients: Clients) -> None:
        self._endpoint = endpoint
        self._model = model
        self._clients = clients

    def embeddings(self, texts: list[str], input_type: InputType) -> Sequence[Sequence[float]]:
        """One vector for each text, in their order. Asks once. Raises ProviderError."""
        row = self._endpoint.row
        with self._translated():
            reply = self._client.embeddings.create(
                model=self._model,
                input=texts,
                encoding_format="float" if row.sends_floats else import_required("openai").omit,
                extra_body=row.input_words(input_type) or None,
            )
            by_index = {item.index: item.embedding for item in reply.data}
        if len(reply.data) != len(texts) or sorted(by_index) != list(range(len(texts))):
            raise self._endpoint.misbehaved(
                f"{len(reply.data)} vectors for {len(texts)} texts, or numbered them wrongly"
            )
        return [by_index[index] for index in range(len(texts))]

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError, also in the middle."""
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": part.role, "content": part.content} for part in messages],
            "temperature": temperature,
            "max_tokens": max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        with (
            limited_call(self._endpoint, "chat", lambda: self._open(request)) as chunks,
            closing(chunks),
        ):
            yield from self._deltas(chunks)

    def _deltas(self, chunks: openai.Stream[Any]) -> Iterator[Delta]:
        heard = begun = False
        finish: str | None = None
        with self._translated(lambda: begun):
            for chunk in chunks:
                heard = True
                for choice in chunk.choices or ():
                    finish = choice.finish_reason if finish is None else finish
                    if choice.delta is not None and choice.delta.content:
                        begun = True
                        yield Delta(choice.delta.content)
                if used := chunk.usage:
                    usage = Usage(used.prompt_tokens or 0, used.completion_tokens or 0)
                    yield Delta(usage=usage, finish=finish or "", model=chunk.model or "")
        if not heard:
            raise self._endpoint.misbehaved("with no chat reply at all")
        if finish is None:
            raise self._endpoint.broke_off()

    def _open(self, request: dict[str, Any]) -> openai.Stream[Any]:
        """Start the reply; fields that the server names in a refusal are replaced."""
        try:
            with self._translated():
                stream: openai.Stream[Any] = self._client.chat.completions.create(**request)
                return stream
        except ProviderRejected as error:
            refused = [name for name in _ALTERNATIVES if name in request and name in error.message]
            if not refused:
                raise
            return self._open(_without(request, refused[0]))

    @property
    def _client(self) -> openai.OpenAI:
        return self._clients.of(self._endpoint, _connected)

    @contextmanager
    def _translated(self, begun: Callable[[], bool] | None = None) -> Iterator[None]:
        """Turn the package's exceptions into ours; ``begun`` tells whether some text came.

        Without it nothing of a reply has come.
        """
        openai, endpoint = import_required("openai"), self._endpoint
        try:
            yield
        except openai.APIStatusError as error:
            wait = error.response.headers.get("retry-after")
            raise endpoint.status(
                error.status_code, _detail(error), self._model, wait
            ) from endpoint.cause(error)
        except openai.APITimeoutError as error:
            raise endpoint.timed_out() from endpoint.cause(error)
        except openai.APIConnectionError as error:
            broken = endpoint.broke_off() if begun else endpoint.unreachable()
            raise broken from endpoint.cause(error)
        except openai.APIError as error:
            problem = endpoint.within(_detail(error), self._model, begun=bool(begun and begun()))
            raise problem from endpoint.cause(error)
        except (ValueError, TypeError, AttributeError) as error:
            raise endpoint.misbehaved("something that is not of this wire format") from error


def _connected(endpoint: Endpoint) -> openai.OpenAI:
    package = import_required("openai")
    require_configured(endpoint)
    # Retries are ours (one behaviour for all providers). A key must be given even where none
    # is needed, or the package would send the one in OPENAI_API_KEY to a stranger.
    timeout = endpoint.retry_policy.timeout
    common: dict[str, Any] = {
        "timeout": package.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        "max_retries": 0,
    }
    client: openai.OpenAI
    if endpoint.row.wire == "azure":
        client = package.AzureOpenAI(
            azure_endpoint=endpoint.base_url,
            api_key=endpoint.key,
            api_version=endpoint.api_version,
            **common,
        )
    else:
        client = package.OpenAI(
            base_url=endpoint.base_url.rstrip("/") + endpoint.row.chat_path,
            api_key=google_token
            if endpoint.row.embedding_form == "vertex"
            else endpoint.key or "none",
            **common,
        )
    return client


def _without(request: Mapping[str, Any], name: str) -> dict[str, Any]:
    rest = {key: value for key, value in request.items() if key != name}
    instead = _ALTERNATIVES[name]
    return rest | {instead: request[name]} if instead else rest


def _detail(error: openai.APIError) -> str:
    """The server's own words, where it sends them in the usual place."""
    if isinstance(error.body, dict) and error.body.get("message"):
        code = error.body.get("code")
        names_code = isinstance(code, str) and code in str(error.body["message"])
        message = str(error.body["message"])
        return message if names_code or not isinstance(code, str) else f"{message} ({code})"
    response = getattr(error, "response", None)
    return error.message if response is None else str(response.text)


Rows = Sequence[Sequence[float]]
Form = Callable[[Endpoint, str, list[str], InputType], Rows]
"""Asks an endpoint's model once for one vector a text, in their order. Raises ProviderError."""


def cohere(endpoint: Endpoint, model: str, texts: list[str], input_type: InputType) -> Rows:
    """https://docs.cohere.com/v2/reference/embed"""
    request = {
        "model": model,
        "texts": texts,
        "embedding_types": ["float"],
        **endpoint.row.input_words(input_type),
    }
    answer = post(endpoint, "/v2/embed", request, model)
    return _rows(endpoint, lambda: answer["embeddings"]["float"])


def gemini(endpoint: Endpoint, model: str, texts: list[str], input_type: InputType) -> Rows:
    """https://ai.google.dev/api/embeddings#method:-models.batchembedcontents"""
    name = f"models/{model}"
    words = endpoint.row.input_words(input_type)
    requests = [{"model": name, "content": {"parts": [{"text": text}]}, **words} for text in texts]
    answer = post(
        endpoint,
        f"/v1beta/{name}:batchEmbedContents",
        {"requests": requests},
        model,
        {"x-goog-api-key": endpoint.key},
    )
    return _rows(endpoint, lambda: [entry["values"] for entry in answer["embeddings"]])


def vertex(endpoint: Endpoint, model: str, texts: list[str], input_type: InputType) -> Rows:
    """https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api

    Its Gemini models take one text a request.
    """
    alone = model.startswith("gemini")
    parts = [[text] for text in texts] if alone else [texts]
    return [row for part in parts for row in _predicted(endpoint, model, part, input_type)]


def _predicted(endpoint: Endpoint, model: str, texts: list[str], input_type: InputType) -> Rows:
    words = endpoint.row.input_words(input_type)
    answer = post(
        endpoint,
        f"/publishers/google/models/{model}:predict",
        {"instances": [{"content": text, **words} for text in texts]},
        model,
        {"Authorization": f"Bearer {google_token()}"},
    )
    return _rows(
        endpoint, lambda: [entry["embeddings"]["values"] for entry in answer["predictions"]]
    )


def _rows(endpoint: Endpoint, read: Callable[[], Any]) -> Rows:
    try:
        rows: Rows = read()
        len(rows)
    except (KeyError, TypeError, IndexError) as error:
        raise endpoint.misbehaved("no vectors where its documentation has them") from error
    return rows


FORMS: Mapping[str, Form] = {"cohere": cohere, "gemini": gemini, "vertex": vertex}
