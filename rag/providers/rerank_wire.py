"""Reranking over HTTP: the ``/rerank`` form of Cohere, Jina, vLLM, llama.cpp, and that of TEI."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.errors import ProviderRejected
from rag.providers.endpoint import CONNECT_SECONDS, Endpoint, batches, patiently, require_configured
from rag.providers.tokens import encodable
from rag.types import Scores

if TYPE_CHECKING:
    import httpx

LARGEST_REPLY = 8_000_000
"""Bytes. Some services send the passages back; nobody sends more than this for a list of scores."""


class RerankService:
    """One model of a service. Safe to share between threads.

    A request names ``query`` and ``documents``. A server that refuses this and speaks of ``texts``
    (Text Embeddings Inference) is asked in its own form from then on.
    """

    def __init__(self, endpoint: Endpoint, model: str, batch: int) -> None:
        self._endpoint = endpoint
        self._model = model
        self._batch = batch
        self._says_texts = False

    def scores(self, question: str, texts: Sequence[str]) -> Scores:
        """One score for each text, shape (len(texts),). Raises ProviderError."""
        require_configured(self._endpoint)
        sent = [encodable(text) or " " for text in texts]
        parts = [
            patiently(partial(self._ask, question, batch), self._endpoint.patience)
            for batch in batches(sent, self._batch)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _ask(self, question: str, texts: Sequence[str]) -> Scores:
        query = encodable(question)
        if not self._says_texts:
            request: dict[str, Any] = {"query": query, "documents": list(texts)}
            request |= {"top_n": len(texts), "return_documents": False}
            if self._model:
                request["model"] = self._model
            try:
                return self._checked(self._post(request), len(texts))
            except ProviderRejected as error:
                if "texts" not in error.message:
                    raise
        request = {"query": query, "texts": list(texts), "truncate": True}
        found = self._checked(self._post(request), len(texts))
        self._says_texts = True
        return found

    def _post(self, request: dict[str, Any]) -> Any:
        import httpx

        endpoint = self._endpoint
        seconds = endpoint.patience.timeout
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        base = endpoint.base_url.rstrip("/")
        url = base if base.endswith("/rerank") else f"{base}/rerank"
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        try:
            with (
                httpx.Client(timeout=timeout) as client,
                client.stream("POST", url, json=request, headers=headers) as reply,
            ):
                body = self._read(reply, seconds)
                self._raise_for_status(reply, body)
        except httpx.TimeoutException as error:
            raise endpoint.timed_out() from endpoint.cause(error)
        except httpx.ConnectError as error:
            raise endpoint.unreachable() from endpoint.cause(error)
        except httpx.TransportError as error:
            raise endpoint.broke_off() from endpoint.cause(error)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise endpoint.misbehaved("something that is not HTTP") from endpoint.cause(error)
        try:
            return json.loads(body)
        except ValueError as error:
            raise endpoint.misbehaved("something that is not JSON") from error

    def _read(self, reply: httpx.Response, timeout: float) -> bytes:
        """The body; one that drips is given up on after the same time as one that is silent."""
        body, end = b"", time.monotonic() + timeout
        for piece in reply.iter_bytes():
            body += piece
            if len(body) > LARGEST_REPLY:
                raise self._endpoint.misbehaved("more than a list of scores can be")
            if time.monotonic() > end:
                raise self._endpoint.timed_out()
        return body

    def _raise_for_status(self, reply: httpx.Response, body: bytes) -> None:
        if reply.is_success:
            return
        if reply.is_redirect:
            raise self._endpoint.misbehaved("a redirection")
        wait = reply.headers.get("retry-after")
        detail = body.decode("utf-8", "replace")
        raise self._endpoint.status(reply.status_code, detail, self._model, wait)

    def _checked(self, answer: Any, count: int) -> Scores:
        """The scores in the order of the texts, from ``[{index, score}]`` under any known name."""
        misbehaved = self._endpoint.misbehaved
        if isinstance(answer, dict):
            answer = answer.get("results", answer.get("data"))
        if not isinstance(answer, list):
            raise misbehaved("no list of results")
        scores = np.full(count, np.nan)
        for item in answer:
            place, score = _entry(item)
            if place is None or not 0 <= place < count or not np.isnan(scores[place]):
                raise misbehaved("results that do not number the passages")
            if score is None or not math.isfinite(score):
                raise misbehaved("scores that are not numbers")
            scores[place] = score
        if np.isnan(scores).any():
            raise misbehaved(f"{len(answer)} scores for {count} passages")
        return scores


def _entry(item: Any) -> tuple[int | None, float | None]:
    if not isinstance(item, dict):
        return None, None
    place = item.get("index")
    score = item.get("relevance_score", item.get("score"))
    whole = isinstance(place, int) and not isinstance(place, bool)
    if isinstance(score, bool) or not isinstance(score, int | float):
        return place if whole else None, None
    return place if whole else None, float(score)
