"""Amazon Bedrock by its own package, which signs requests and reads its binary streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, TypeVar

from rag.protocols import InputType
from rag.providers.endpoint import (
    CONNECT_SECONDS,
    Clients,
    Endpoint,
    import_required,
    require_configured,
)
from rag.providers.request_limiter import limited_call
from rag.providers.tokens import encodable
from rag.providers.wires.rerank_wire import RerankService
from rag.types import Delta, Message, Scores, Usage

T = TypeVar("T")
Rows = Sequence[Sequence[float]]


class BedrockWire:
    """One model of Bedrock. ``clients`` connect on first use; safe to share between threads."""

    def __init__(self, endpoint: Endpoint, model: str, clients: Clients) -> None:
        self._endpoint = endpoint
        self._model = model
        self._clients = clients

    def embeddings(self, texts: list[str], input_type: InputType) -> Rows:
        """One vector for each text, in their order. Raises ProviderError.

        Models of Cohere take them together, those of Amazon (Titan) one by one.
        """
        if "cohere." in self._model:
            words = self._endpoint.row.input_words(input_type)
            reply = self._invoke({"texts": texts, "embedding_types": ["float"], **words})
            rows: Rows = self._read(lambda: reply["embeddings"]["float"])
            return rows
        return [self._titan(text) for text in texts]

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError, also in the middle."""
        request: dict[str, Any] = {
            "modelId": self._model,
            "messages": [
                {"role": part.role, "content": [{"text": part.content}]}
                for part in messages
                if part.role != "system"
            ],
            "system": [{"text": part.content} for part in messages if part.role == "system"],
            "inferenceConfig": {"temperature": temperature, "maxTokens": max_tokens},
        }
        with (
            limited_call(self._endpoint, "chat", lambda: self._open(request)) as events,
            closing(events),
        ):
            yield from self._deltas(events)

    def _deltas(self, events: Any) -> Iterator[Delta]:
        finish: str | None = None
        with _translated(self._endpoint, self._model, streaming=True):
            for event in events:
                if text := event.get("contentBlockDelta", {}).get("delta", {}).get("text"):
                    yield Delta(text)
                if "messageStop" in event:
                    finish = event["messageStop"].get("stopReason", "")
                if used := event.get("metadata", {}).get("usage"):
                    usage = Usage(used["inputTokens"], used["outputTokens"])
                    yield Delta(usage=usage, finish=finish or "")
        if finish is None:
            raise self._endpoint.broke_off()

    def _open(self, request: dict[str, Any]) -> Any:
        with _translated(self._endpoint, self._model):
            return self._client.converse_stream(**request)["stream"]

    def _titan(self, text: str) -> Sequence[float]:
        reply = self._invoke({"inputText": text})
        row: Sequence[float] = self._read(lambda: reply["embedding"])
        return row

    def _invoke(self, body: dict[str, Any]) -> Any:
        with _translated(self._endpoint, self._model):
            reply = self._client.invoke_model(
                modelId=self._model,
                body=json.dumps(body),
                contentType="application/json",
                accept="application/json",
            )
            return json.loads(reply["body"].read())

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (KeyError, TypeError) as error:
            raise self._endpoint.misbehaved(
                "no vectors where its documentation has them"
            ) from error

    @property
    def _client(self) -> Any:
        return self._clients.of(self._endpoint, partial(_connected, service="bedrock-runtime"))


class BedrockReranker(RerankService):
    """A reranking model of Bedrock, by the service that its agents use."""

    def __init__(self, endpoint: Endpoint, model: str, batch: int) -> None:
        super().__init__(endpoint, model, batch)
        self._clients = Clients()

    def _ask(self, question: str, texts: Sequence[str]) -> Scores:
        sources = [
            {
                "type": "INLINE",
                "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": text}},
            }
            for text in texts
        ]
        model = {
            "modelArn": f"arn:aws:bedrock:{self._endpoint.region}::foundation-model/{self._model}"
        }
        with _translated(self._endpoint, self._model):
            client = self._clients.of(
                self._endpoint, partial(_connected, service="bedrock-agent-runtime")
            )
            results = client.rerank(
                queries=[{"type": "TEXT", "textQuery": {"text": encodable(question)}}],
                sources=sources,
                rerankingConfiguration={
                    "type": "BEDROCK_RERANKING_MODEL",
                    "bedrockRerankingConfiguration": {
                        "modelConfiguration": model,
                        "numberOfResults": len(texts),
                    },
                },
            )["results"]
        listed = [
            {"index": entry.get("index"), "score": entry.get("relevanceScore")} for entry in results
        ]
        return self._checked(listed, len(texts))


def _connected(endpoint: Endpoint, service: str) -> Any:
    boto3, config = import_required("boto3"), import_required("botocore.config")
    require_configured(endpoint)
    seconds = endpoint.retry_policy.timeout
    return boto3.Session().client(
        service,
        region_name=endpoint.region,
        endpoint_url=endpoint.base_url if endpoint.base_url != _usual(endpoint) else None,
        config=config.Config(
            connect_timeout=min(seconds, CONNECT_SECONDS),
            read_timeout=seconds,
            retries={"total_max_attempts": 1},  # retries are ours
        ),
    )


def _usual(endpoint: Endpoint) -> str:
    return endpoint.row.base_url.format(AWS_REGION=endpoint.region)


@contextmanager
def _translated(endpoint: Endpoint, model: str, *, streaming: bool = False) -> Iterator[None]:
    """Turn the package's exceptions into ours."""
    failures = import_required("botocore.exceptions")
    try:
        yield
    except failures.EventStreamError as error:
        raise endpoint.broke_off() from error
    except failures.ClientError as error:
        response = error.response
        code = response["ResponseMetadata"]["HTTPStatusCode"]
        wait = response["ResponseMetadata"].get("HTTPHeaders", {}).get("retry-after")
        raise endpoint.status(code, response["Error"].get("Message", ""), model, wait) from error
    except (failures.NoCredentialsError, failures.PartialCredentialsError) as error:
        raise endpoint.without_credentials() from error
    except (failures.ConnectTimeoutError, failures.ReadTimeoutError) as error:
        raise endpoint.timed_out() from error
    except failures.BotoCoreError as error:
        raise (endpoint.broke_off() if streaming else endpoint.unreachable()) from error
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise endpoint.misbehaved("something that is not of this wire format") from error
