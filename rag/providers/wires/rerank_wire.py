"""Reranking over HTTP: the ``/rerank`` form of Cohere, Jina, vLLM, llama.cpp, and that of TEI."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rag.errors import ProviderRejected
from rag.providers.endpoint import Endpoint, batches, require_configured
from rag.providers.spanned import rerank_with_span
from rag.providers.tokens import encodable
from rag.providers.wires.rest import post
from rag.types import Scores

LARGEST_REPLY = 8_000_000
"""Bytes. Some services send the passages back; nobody sends more than this for a list of scores."""


class RerankService:
    """One model of a service. Safe to share between threads.

    A request names ``query`` and ``documents``. A server that refuses this and asks for ``texts``
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
            rerank_with_span(self._endpoint, self._model, question, batch, self._ask)
            for batch in batches(sent, self._batch)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _ask(self, question: str, texts: Sequence[str]) -> Scores:
        query = encodable(question)
        if not self._says_texts:
            request: dict[str, Any] = {"query": query, "documents": list(texts)}
            request |= {self._endpoint.row.rerank_limit: len(texts), "return_documents": False}
            if self._model:
                request["model"] = self._model
            try:
                return self._checked(self._post(request), len(texts))
            except ProviderRejected as error:
                if "texts" not in error.message:
                    raise
        request = {"query": query, "texts": list(texts), "truncate": True}
        scores = self._checked(self._post(request), len(texts))
        self._says_texts = True
        return scores

    def _post(self, request: dict[str, Any]) -> Any:
        path = self._endpoint.row.rerank_path
        return post(self._endpoint, path, request, self._model, largest=LARGEST_REPLY)

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
