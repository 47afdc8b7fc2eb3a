"""Amazon Bedrock by its own package, at a server that answers as documented."""

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import ProviderUnavailable, providers
from rag.errors import ContextOverflow, ProviderRejected
from rag.types import Usage
from tests.hosted import HELLO, SWIFT, answered, embedded, settings
from tests.servers import Reply, scripted


class TestBedrock:
    @pytest.fixture(autouse=True)
    def _credentials(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-aws")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def test_titan_embeds_one_by_one(self) -> None:
        rows = [
            answered({"embedding": row, "inputTextTokenCount": 1}) for row in ([3.0, 4.0], [0, 1])
        ]
        with scripted(*rows) as script:
            found = embedded("bedrock", script, ["a", "b"])
        assert np.allclose(found, [[0.6, 0.8], [0.0, 1.0]])
        assert script.paths[0] == "/model/amazon.titan-embed-text-v2%3A0/invoke"
        assert script.requests[:2] == [{"inputText": "a"}, {"inputText": "b"}]
        signed = script.headers[0]["authorization"]
        assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        assert "/eu-central-1/bedrock/aws4_request" in signed

    def test_cohere_there_embeds_together(self) -> None:
        reply = answered({"embeddings": {"float": [[0.6, 0.8]]}, "response_type": "by_type"})
        with scripted(reply) as script:
            found = embedded("bedrock:cohere.embed-multilingual-v3", script, ["a"])
        assert np.allclose(found, [[0.6, 0.8]])
        assert script.requests[0] == {
            "texts": ["a"],
            "embedding_types": ["float"],
            "input_type": "search_query",
        }

    def test_an_answer_is_streamed(self) -> None:
        frames = [
            ("messageStart", {"role": "assistant"}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Good "}}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "day."}}),
            ("contentBlockStop", {"contentBlockIndex": 0}),
            ("messageStop", {"stopReason": "end_turn"}),
            ("metadata", {"usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}}),
        ]
        with scripted(event_stream(frames)) as script:
            chat = providers.chat_model("bedrock", None, settings("bedrock", script), SWIFT)
            deltas = list(chat.stream(HELLO, temperature=0.5, max_tokens=9))
        assert "".join(delta.text for delta in deltas) == "Good day."
        assert deltas[-1].usage == Usage(7, 3)
        assert script.paths == ["/model/amazon.nova-lite-v1%3A0/converse-stream"]
        assert script.requests == [
            {
                "messages": [{"role": "user", "content": [{"text": "Hello?"}]}],
                "system": [{"text": "Be brief."}],
                "inferenceConfig": {"temperature": 0.5, "maxTokens": 9},
            }
        ]

    def test_an_answer_that_breaks_off_is_told(self) -> None:
        frames = [("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Good "}})]
        with scripted(event_stream(frames)) as script:
            chat = providers.chat_model("bedrock", None, settings("bedrock", script), SWIFT)
            reply = chat.stream(HELLO, temperature=0.5, max_tokens=9)
            assert next(iter(reply)).text == "Good "
            with pytest.raises(ProviderUnavailable, match="broke off"):
                list(reply)

    def test_it_reranks(self) -> None:
        listed = [{"index": 1, "relevanceScore": 0.9}, {"index": 0, "relevanceScore": 0.2}]
        with scripted(answered({"results": listed})) as script:
            reranker = providers.reranker("bedrock", 8, settings("bedrock", script), SWIFT)
            assert reranker.scores("q", ["a", "b"]).tolist() == [0.2, 0.9]
        [request] = script.requests
        assert request["queries"] == [{"type": "TEXT", "textQuery": {"text": "q"}}]
        chosen = request["rerankingConfiguration"]["bedrockRerankingConfiguration"]
        assert chosen == {
            "modelConfiguration": {
                "modelArn": "arn:aws:bedrock:eu-central-1::foundation-model/cohere.rerank-v3-5:0"
            },
            "numberOfResults": 2,
        }

    @pytest.mark.parametrize(
        ("code", "kind", "said", "error"),
        [
            (403, "AccessDeniedException", "no access to the model", ProviderRejected),
            (429, "ThrottlingException", "Too many requests", ProviderUnavailable),
            (503, "ServiceUnavailableException", "later", ProviderUnavailable),
            (400, "ValidationException", "Input is too long for requested model.", ContextOverflow),
        ],
    )
    def test_what_it_refuses_is_said_in_words(
        self, code: int, kind: str, said: str, error: type[Exception]
    ) -> None:
        reply = Reply(code, json.dumps({"message": said}), {"x-amzn-ErrorType": kind})
        with scripted(reply) as script, pytest.raises(error, match=said) as told:
            embedded("bedrock", script, ["a"])
        assert "secret-of-aws" not in str(told.value)

    def test_without_credentials_it_says_which(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "absent"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "absent"))
        with scripted(answered({})) as script:
            with pytest.raises(ProviderRejected, match="There are no credentials") as told:
                embedded("bedrock", script, ["a"])
            assert script.paths == []
        assert "AWS_ACCESS_KEY_ID" in told.value.hint


def event_stream(frames: list[tuple[str, Mapping[str, Any]]]) -> Reply:
    body = b"".join(_frame(kind, json.dumps(event).encode()) for kind, event in frames)
    return Reply(body=body, content_type="application/vnd.amazon.eventstream")


def _frame(kind: str, payload: bytes) -> bytes:
    """One event in Amazon's binary form: prelude, headers, payload, each with its checksum."""
    told = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)])
        + name.encode()
        + b"\x07"
        + struct.pack(">H", len(value))
        + value.encode()
        for name, value in told.items()
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    whole = prelude + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))
