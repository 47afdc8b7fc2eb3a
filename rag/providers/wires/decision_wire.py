"""Decision models over HTTP: typed questions in, probabilities out.

``/decisions`` is OpenAI's form (https://developers.openai.com/api/reference/resources/decisions),
``/systemone`` that of TypeSafe (https://docs.typesafe.ai/api), which Ollama, vLLM and llama.cpp
serve too.
"""

from __future__ import annotations

from typing import Any

from rag.providers.endpoint import Endpoint
from rag.providers.request_limiter import call_with_limits
from rag.providers.tokens import encodable
from rag.providers.wires.rest import post
from rag.types import StatedProbability, Usage

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
