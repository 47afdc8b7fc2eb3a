"""Embedding requests for services that do not use OpenAI's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag.protocols import InputType
from rag.providers.endpoint import Endpoint
from rag.providers.wires.google_sign_in import google_token
from rag.providers.wires.rest import post

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
