"""Reranking by Google's ranking service, which is at an address of its own.

https://cloud.google.com/generative-ai-app-builder/docs/reference/rest/v1/projects.locations.rankingConfigs/rank
"""

from __future__ import annotations

from collections.abc import Sequence

from rag.providers.endpoint import Endpoint
from rag.providers.tokens import encodable
from rag.providers.wires.google_sign_in import google_token
from rag.providers.wires.rerank_wire import LARGEST_REPLY, RerankService
from rag.providers.wires.rest import post
from rag.types import Scores

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
