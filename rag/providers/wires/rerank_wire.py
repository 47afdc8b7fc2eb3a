"""Reranking and decisions over HTTP.

Rerankers have the ``/rerank`` form of Cohere, Jina, vLLM and llama.cpp, that of TEI, or that of
Google's ranking service, which is at an address of its own
(https://cloud.google.com/generative-ai-app-builder/docs/reference/rest/v1/projects.locations.rankingConfigs/rank).

Decision models take typed questions and return probabilities: ``/decisions`` is OpenAI's form
(https://developers.openai.com/api/reference/resources/decisions), ``/systemone`` that of TypeSafe
(https://docs.typesafe.ai/api), which Ollama, vLLM and llama.cpp serve too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rag.errors import ProviderRejected
from rag.providers.endpoint import Endpoint, batches, require_configured
from rag.providers.request_limiter import call_with_limits
from rag.providers.spanned import rerank_with_span
from rag.providers.tokens import encodable
from rag.providers.wires.rest import google_token, post
from rag.types import Scores, StatedProbability, Usage

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


MOST_RECORDS = 200
"""Passages that one request may have."""


class GoogleRanking(RerankService):
    """One of its models. Safe to share between threads."""

    def __init__(self, endpoint: Endpoint, model: str, batch: int) -> None:
        super().__init__(endpoint, model, min(batch, MOST_RECORDS))

    def _ask(self, question: str, texts: Sequence[str]) -> Scores:
        request = {
            "model": self._model,
            "query": encodable(question),
            "records": [{"id": str(n), "content": text} for n, text in enumerate(texts)],
            "topN": len(texts),
            "ignoreRecordDetailsInResponse": True,
        }
        headers = {"Authorization": f"Bearer {google_token()}"}
        answer = post(self._endpoint, ":rank", request, self._model, headers, LARGEST_REPLY)
        records = answer.get("records") if isinstance(answer, dict) else None
        if not isinstance(records, list):
            raise self._endpoint.misbehaved("no list of records")
        numbers = {str(n): n for n in range(len(texts))}
        rows = [record if isinstance(record, dict) else {} for record in records]
        listed = [{"index": numbers.get(str(row.get("id"))), **row} for row in rows]
        return self._checked(listed, len(texts))


_NAME = "asked"
_LARGEST_REPLY = 1_000_000


class DecisionService:
    """One model of a service. Safe to share between threads."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self._endpoint = endpoint
        self._model = model

    def decide(self, question: str, text: str) -> StatedProbability:
        """Return the probability that a yes-or-no question about a text is to be answered yes.

        Raises ProviderError, also for a reply without a probability between 0 and 1.
        """
        wire = self._endpoint.row.wire
        asked = {"instructions": encodable(question)}
        request: dict[str, Any] = {"model": self._model} if self._model else {}
        if wire == "decisions":
            predicate = {"type": "predicate", "name": _NAME, **asked}
            request |= {"input": encodable(text), "questions": [predicate]}
        else:
            request |= {"state": encodable(text), "questions": {_NAME: {"type": "noul", **asked}}}
        reply = call_with_limits(
            self._endpoint,
            "decision",
            lambda: post(self._endpoint, f"/{wire}", request, self._model, largest=_LARGEST_REPLY),
        )
        try:
            answer = reply["answers"][0 if wire == "decisions" else _NAME]
            value = answer["probability" if wire == "decisions" else "noul"]
        except (KeyError, IndexError, TypeError) as error:
            raise self._endpoint.misbehaved(f"no probability: {reply}") from error
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self._endpoint.misbehaved(f"a probability of {value!r}")
        used, version = reply.get("usage"), reply.get("model")
        tokens = used.get("input_tokens") if isinstance(used, dict) else None
        usage = Usage(tokens) if isinstance(tokens, int) and tokens > 0 else Usage()
        return StatedProbability(float(value), version if isinstance(version, str) else "", usage)
