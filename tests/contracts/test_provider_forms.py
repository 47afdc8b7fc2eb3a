"""Requests and replies of hosted services as they document them; none of them was asked."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from rag import Settings, providers
from rag.errors import (
    ProviderMisbehaved,
    ProviderRejected,
)
from rag.providers.endpoint import resolve
from rag.providers.table import row_named
from rag.providers.wires import rest
from rag.types import Usage
from tests.hosted import HELLO, SWIFT, answered, embedded, settings
from tests.servers import Reply, Script, scripted


def test_cohere_embeds():
    two = answered({"id": "x", "embeddings": {"float": [[0.6, 0.8], [0.0, 1.0]]}, "texts": []})
    one = answered({"id": "y", "embeddings": {"float": [[1.0, 0.0]]}, "texts": []})
    with scripted(two, one) as script:
        assert np.allclose(embedded("cohere", script, ["a", "b"]), [[0.6, 0.8], [0.0, 1.0]])
    assert script.paths == ["/v2/embed", "/v2/embed"]
    assert script.headers[0]["authorization"] == "Bearer secret-key"
    assert script.requests[0] == {
        "model": "embed-v4.0",
        "texts": ["a", "b"],
        "embedding_types": ["float"],
        "input_type": "search_query",
    }
    assert script.requests[1]["input_type"] == "search_document"


def test_gemini_embeds():
    two = answered({"embeddings": [{"values": [0.6, 0.8]}, {"values": [0.0, 1.0]}]})
    one = answered({"embeddings": [{"values": [1.0, 0.0]}]})
    with scripted(two, one) as script:
        assert np.allclose(embedded("gemini", script, ["a", "b"]), [[0.6, 0.8], [0.0, 1.0]])
    assert script.paths[0] == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert script.headers[0]["x-goog-api-key"] == "secret-key"
    assert "authorization" not in script.headers[0]
    assert script.requests[0]["requests"][1] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "b"}]},
        "taskType": "RETRIEVAL_QUERY",
    }
    assert script.requests[1]["requests"][0]["taskType"] == "RETRIEVAL_DOCUMENT"


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service account whose tokens come from the script that it is handed."""

    def account(script: Script) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        text = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        file = tmp_path / "account.json"
        file.write_text(
            json.dumps(
                {
                    "type": "service_account",
                    "project_id": "project",
                    "private_key_id": "1",
                    "private_key": text,
                    "client_email": "me@project.iam.gserviceaccount.com",
                    "client_id": "1",
                    "token_uri": f"{script.url}/token",
                }
            )
        )
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        monkeypatch.setattr(rest, "_credentials", [])

    return account


def test_vertex_embeds_with_a_token_of_its_own(google):
    token = answered({"access_token": "ya29.token", "expires_in": 3600, "token_type": "Bearer"})
    values = ([0.6, 0.8], [0.0, 1.0], [1.0, 0.0])
    rows = [answered({"predictions": [{"embeddings": {"values": row}}]}) for row in values]
    with scripted(token, *rows) as script:
        google(script)
        found = embedded("vertex", script, ["a", "b"], "/v1/projects/project/locations/here")
    assert np.allclose(found, [[0.6, 0.8], [0.0, 1.0]])
    asked = "/v1/projects/project/locations/here/publishers/google/models/gemini-embedding-001"
    assert script.paths == ["/token", *[f"{asked}:predict"] * 3]
    assert script.headers[1]["authorization"] == "Bearer ya29.token"
    assert script.requests[2] == {"instances": [{"content": "b", "task_type": "RETRIEVAL_QUERY"}]}
    assert script.requests[3]["instances"][0]["task_type"] == "RETRIEVAL_DOCUMENT"


def ranked(google: Any, *replies: Reply, batch: int = 16) -> tuple[Script, list[float]]:
    token = answered({"access_token": "ya29.token", "expires_in": 3600, "token_type": "Bearer"})
    with scripted(token, *replies) as script:
        google(script)
        place = "/v1/projects/p/locations/global/rankingConfigs/default_ranking_config"
        given = {"VERTEX_RANKING_URL": f"{script.url}{place}", "GOOGLE_CLOUD_PROJECT": "p"}
        model = providers.reranker("vertex", batch, Settings.from_env(given), SWIFT)
        return script, model.scores("Why is the sky blue?", ["a", "b", "c"]).tolist()


def test_vertex_reranks_by_the_ranking_service(google):
    scores = [{"id": "2", "score": 0.98}, {"id": "0", "score": 0.64}, {"id": "1", "score": 0.33}]
    script, found = ranked(google, answered({"records": scores}))
    assert found == [0.64, 0.33, 0.98]
    place = "/v1/projects/p/locations/global/rankingConfigs/default_ranking_config:rank"
    assert script.paths == ["/token", place]
    assert script.headers[1]["authorization"] == "Bearer ya29.token"
    assert script.requests[1] == {
        "model": "semantic-ranker-default@latest",
        "query": "Why is the sky blue?",
        "records": [
            {"id": "0", "content": "a"},
            {"id": "1", "content": "b"},
            {"id": "2", "content": "c"},
        ],
        "topN": 3,
        "ignoreRecordDetailsInResponse": True,
    }
    script, found = ranked(
        google,
        answered({"records": [{"id": "1", "score": 0.5}, {"id": "0", "score": 0.25}]}),
        answered({"records": [{"id": "0", "score": 1}]}),
        batch=2,
    )
    assert found == [0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"records": "none"},
        {"records": [{"id": "0", "score": 0.5}]},
        {"records": [{"id": "9", "score": 0.5}] * 3},
        {"records": [{"id": "0", "score": 0.5}] * 3},
        {"records": [{"id": str(n)} for n in range(3)]},
        {"records": [1, 2, 3]},
    ],
)
def test_a_ranking_that_makes_no_sense_is_refused(google, reply):
    with pytest.raises(ProviderMisbehaved):
        ranked(google, answered(reply))


def test_vertex_is_reached_by_region_and_project():
    known = {row.name: row for row in providers.statuses(Settings.from_env({}))}
    assert known["vertex"].missing == "GOOGLE_CLOUD_PROJECT"
    assert known["bedrock"].missing in ("AWS_REGION", "boto3")
    assert (known["vertex"].address, known["bedrock"].address) == ("", "")
    given = Settings.from_env(
        {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west1"}
    )
    known = {row.name: row for row in providers.statuses(given)}
    assert known["vertex"].missing == ""
    assert known["vertex"].address == "https://europe-west1-aiplatform.googleapis.com"
    ranking = resolve(row_named("vertex").for_reranking, given, SWIFT)
    assert ranking.base_url == (
        "https://discoveryengine.googleapis.com/v1/projects/p/locations/global/rankingConfigs/"
        "default_ranking_config"
    )


def test_without_credentials_google_says_how_to_sign_in(monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "absent.json"))
    monkeypatch.setattr(rest, "_credentials", [])
    with pytest.raises(ProviderRejected, match="There are no credentials") as told:
        rest.google_token()
    assert "gcloud auth application-default login" in told.value.hint


def test_jina_says_what_a_text_is_for():
    reply = answered({"data": [{"index": 0, "embedding": [0.6, 0.8]}], "usage": {}})
    with scripted(reply) as script:
        assert np.allclose(embedded("jina", script, ["a"]), [[0.6, 0.8]])
    assert script.paths[0] == "/embeddings"
    assert script.requests[0] == {
        "model": "jina-embeddings-v3",
        "input": ["a"],
        "encoding_format": "float",
        "task": "retrieval.query",
    }
    assert script.requests[1]["task"] == "retrieval.passage"


def test_voyage_answers_in_base64():
    coded = base64.b64encode(np.array([0.6, 0.8], np.float32).tobytes()).decode()
    reply = answered({"object": "list", "data": [{"index": 0, "embedding": coded}], "usage": {}})
    with scripted(reply) as script:
        assert np.allclose(embedded("voyage", script, ["a"]), [[0.6, 0.8]])
    assert script.requests[0] == {
        "model": "voyage-3.5",
        "input": ["a"],
        "encoding_format": "base64",
        "input_type": "query",
    }
    assert script.requests[1]["input_type"] == "document"


@pytest.mark.parametrize(
    ("name", "path", "model", "limit"),
    [
        ("cohere", "/v2/rerank", "rerank-v3.5", "top_n"),
        ("jina", "/rerank", "jina-reranker-v2-base-multilingual", "top_n"),
        ("voyage", "/rerank", "rerank-2.5", "top_k"),
    ],
)
def test_services_rerank(name, path, model, limit):
    where = "data" if name == "voyage" else "results"
    listed = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]
    with scripted(answered({where: listed})) as script:
        reranker = providers.reranker(name, 8, settings(name, script), SWIFT)
        assert reranker.scores("q", ["a", "b"]).tolist() == [0.2, 0.9]
    assert script.paths == [path]
    assert script.requests == [
        {
            "query": "q",
            "documents": ["a", "b"],
            limit: 2,
            "return_documents": False,
            "model": model,
        }
    ]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("cohere", "/compatibility/v1/chat/completions"),
        ("gemini", "/v1beta/openai/chat/completions"),
    ],
)
def test_answers_come_in_the_form_of_openai(name, path):
    events = [
        {"choices": [{"index": 0, "delta": {"content": "Good "}}]},
        {"choices": [{"index": 0, "delta": {"content": "day."}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    with scripted(Reply(body=body, content_type="text/event-stream")) as script:
        chat = providers.chat_model(name, None, settings(name, script), SWIFT)
        deltas = list(chat.stream(HELLO, temperature=0.0, max_tokens=9))
    assert "".join(delta.text for delta in deltas) == "Good day."
    assert deltas[-1].usage == Usage(7, 3)
    assert script.paths == [path]


@pytest.mark.parametrize("name", ["cohere", "gemini"])
@pytest.mark.parametrize("body", ["{}", "[]", '{"embeddings": null}', '{"embeddings": [7]}', "7"])
def test_a_reply_without_vectors_is_told(name, body):
    with scripted(Reply(body=body)) as script, pytest.raises(ProviderMisbehaved):
        embedded(name, script, ["a"])
