"""Model servers on this computer: known by what they answer, with the models that they offer."""

import gc
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag import LocalServer, Settings, Workspace
from rag.__main__ import main
from rag.providers import local_servers
from tests.servers import Reply, Script, scripted
from tests.verbs import output_of

VARIABLES = {
    "ollama": "OLLAMA_HOST",
    "lmstudio": "TOUCHSTONE_LM_STUDIO_URL",
    "llamacpp": "TOUCHSTONE_LLAMA_CPP_URL",
    "vllm": "TOUCHSTONE_VLLM_URL",
    "docker": "TOUCHSTONE_DOCKER_MODELS_URL",
}
KINDS = {"qwen3:1.7b": ["completion", "tools"], "qwen3-embedding": ["embedding"]}
ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "ollama": {
        "/api/version": {"version": "0.12.3"},
        "/api/tags": {
            "models": [
                {"name": "qwen3:1.7b", "details": {"family": "qwen3"}},
                {"name": "smollm2:135m", "details": {"family": "llama"}},
                {"name": "qwen3-embedding", "details": {"family": "qwen3"}},
                {"name": "nomic-embed-text", "details": {"family": "nomic-bert"}},
                {"name": "gpt-oss:120b-cloud", "remote_host": "https://ollama.com:443"},
            ]
        },
    },
    "lmstudio": {
        "/api/v0/models": {
            "data": [
                {"id": "gemma-3", "type": "vlm", "state": "not-loaded"},
                {"id": "text-embedding-x", "type": "embeddings", "state": "not-loaded"},
                {"id": "qwen3-4b", "type": "llm", "state": "loaded"},
            ]
        }
    },
    "llamacpp": {
        "/health": {"status": "ok"},
        "/props": {"default_generation_settings": {}, "model_path": "/m/qwen.gguf"},
        "/v1/models": {"data": [{"id": "/cache/2e5f/qwen-instruct.gguf"}]},
    },
    "vllm": {
        "/version": {"version": "0.9.1"},
        "/v1/models": {
            "data": [
                {"id": "Qwen/Qwen3-8B", "owned_by": "vllm"},
                {"id": "BAAI/bge-m3", "owned_by": "vllm"},
            ]
        },
    },
    "docker": {"/engines/v1/models": {"object": "list", "data": [{"id": "ai/smollm2"}]}},
}
EXPECTED = {
    "ollama": (("qwen3:1.7b",), ("qwen3-embedding", "nomic-embed-text")),
    "lmstudio": (("qwen3-4b", "gemma-3"), ("text-embedding-x",)),
    "llamacpp": (("/cache/2e5f/qwen-instruct.gguf",), ()),
    "vllm": (("Qwen/Qwen3-8B",), ("BAAI/bge-m3",)),
    "docker": (("ai/smollm2",), ()),
}
SPRING = {"/health": {"status": "UP"}, "/version": {"version": "2.1"}, "/props": {"java": "21"}}
"""A program on a usual port that is no model server."""


@contextmanager
def answering(answers: Mapping[str, Any]) -> Iterator[Script]:
    with scripted() as script:

        def reply(path: str) -> Reply:
            if path == "/api/show":
                kind = KINDS.get(script.requests[-1]["model"])
                return Reply(body=json.dumps({"capabilities": kind} if kind else {}))
            if path in answers:
                return Reply(body=json.dumps(answers[path]))
            return Reply(200, "<!doctype html><title>Apache Tomcat</title>")

        script.reply_to = reply
        yield script


def found(home: Path, environ: Mapping[str, str]) -> list[LocalServer]:
    workspace = Workspace(Settings.from_env(environ, home=home))
    try:
        return workspace.local_servers()
    finally:
        workspace.close()


@pytest.fixture(autouse=True)
def _nothing_at_usual_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    usual(monkeypatch, "http://127.0.0.1:9")


def usual(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Move the usual addresses of all servers to one."""
    rows = [
        replace(row, local_url=f"{url}/v1", base_url=f"{url}/v1" if row.base_url else "")
        for row in local_servers.ROWS
    ]
    monkeypatch.setattr(local_servers, "ROWS", rows)
    monkeypatch.setattr(local_servers, "GUESSED_SECONDS", 5.0)


@pytest.mark.parametrize("provider", EXPECTED)
def test_a_server_is_known_by_its_answers(tmp_path, provider):
    chat, embedding = EXPECTED[provider]
    path = {"docker": "/engines/v1", "ollama": ""}.get(provider, "/v1")
    with answering(ANSWERS[provider]) as script:
        (server,) = found(tmp_path, {VARIABLES[provider]: script.url + path})
        assert (server.provider, server.address, server.configured) == (provider, script.url, True)
        assert (server.chat_models, server.embedding_models) == (chat, embedding)


def test_a_model_that_is_too_small_to_word_quotes_is_not_offered(tmp_path, capsys, monkeypatch):
    with answering(ANSWERS["ollama"]) as script:
        monkeypatch.setenv("OLLAMA_HOST", script.url)
        monkeypatch.setenv("TOUCHSTONE_FIND_MODELS", "1")
        (server,) = found(tmp_path, {"OLLAMA_HOST": script.url})
        assert (server.chat_models, server.too_small) == (("qwen3:1.7b",), ("smollm2:135m",))
        assert main(["models", "--home", str(tmp_path)]) == 0
    assert "answer.model=smollm2" not in capsys.readouterr().out


@pytest.mark.parametrize("provider", EXPECTED)
def test_another_program_at_the_address_of_a_server_is_not_offered(tmp_path, provider):
    with answering(SPRING) as script:
        assert found(tmp_path, {VARIABLES[provider]: f"{script.url}/v1"}) == []


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500),
        Reply(body="[" * 100_000),
        Reply(body="[1, 2]"),
        Reply(body='{"version": 3, "models": 4, "data": {"id": 1}, "status": 1, "object": "list"}'),
        Reply(cut=True),
        Reply(body=b"\xff" * 3_000_000),
        Reply(302, headers={"Location": "/api/version"}),
    ],
)
def test_answers_without_sense_are_no_models(tmp_path, reply):
    gc.collect()  # within the nested answer, finalizers of other tests would have no stack left
    with scripted(reply) as script:
        environ = dict.fromkeys(VARIABLES.values(), f"{script.url}/v1")
        assert [server.chat_models for server in found(tmp_path, environ)] in ([], [()])


def test_a_key_goes_to_an_address_that_was_set_alone(tmp_path, monkeypatch):
    key = {"TOUCHSTONE_VLLM_API_KEY": "very-secret"}
    with answering(ANSWERS["vllm"]) as script:
        usual(monkeypatch, script.url)
        (server,) = found(tmp_path / "usual", key)
        assert (server.provider, server.configured) == ("vllm", False)
        assert not any("authorization" in headers for headers in script.headers)
        (server,) = found(tmp_path / "set", {**key, VARIABLES["vllm"]: f"{script.url}/v1"})
        assert server.configured
        assert any(
            headers.get("authorization") == "Bearer very-secret" for headers in script.headers
        )


def test_nothing_is_asked_where_it_is_turned_off(tmp_path):
    with answering(ANSWERS["vllm"]) as script:
        environ = {VARIABLES["vllm"]: f"{script.url}/v1", "TOUCHSTONE_FIND_MODELS": "0"}
        assert (found(tmp_path, environ), script.paths) == ([], [])


@pytest.mark.server
def test_real_servers_are_found_by_the_command(
    model_server, ollama_proxy, home, capsys, monkeypatch
):
    monkeypatch.setattr(local_servers, "CONFIGURED_SECONDS", 60.0)  # on a busy machine
    monkeypatch.setenv("TOUCHSTONE_FIND_MODELS", "1")
    monkeypatch.setenv("TOUCHSTONE_LLAMA_CPP_URL", f"{model_server}/v1")
    monkeypatch.setenv("OLLAMA_HOST", ollama_proxy)
    servers = {row["provider"]: row for row in output_of(capsys, "models")["servers"]}
    assert servers["llamacpp"]["too_small"]
    assert not servers["llamacpp"]["chat_models"]
    assert servers["ollama"]["chat_models"]
    assert main(["models"]) == 0
    assert "--set answer.provider=ollama" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("provider", "model", "answers", "size"),
    [
        ("ollama", "phi", {"/api/show": {"details": {"parameter_size": "3.8B"}}}, 3.8e9),
        ("ollama", "qwen3:1.7b", {}, 1.7e9),
        (
            "lmstudio",
            "phi",
            {"/api/v1/models": {"models": [{"key": "phi", "params_string": "14B"}]}},
            14e9,
        ),
        (
            "llamacpp",
            "m",
            {"/v1/models": {"data": [{"id": "m", "meta": {"n_params": 494e6}}]}},
            494e6,
        ),
        ("llamacpp", "m", {"/props": {"model_path": "/70b/smollm2-135M-Q4.gguf"}}, 135e6),
        ("vllm", "mistralai/Mixtral-8x7B-Instruct-v0.1", {}, 56e9),
        ("vllm", "org/chat-1m", {}, None),
        (
            "vllm",
            "phi-4",
            {"/v1/models": {"data": [{"id": "phi-4", "meta": {"n_params": True}}]}},
            None,
        ),
    ],
)
def test_the_size_of_a_model_is_what_its_server_or_its_name_tells(
    tmp_path: Path, provider: str, model: str, answers: dict[str, Any], size: float | None
) -> None:
    with scripted() as script:
        script.reply_to = lambda path: (
            Reply(body=json.dumps(answers[path])) if path in answers else Reply(404)
        )
        path = "" if provider == "ollama" else "/v1"
        settings = Settings.from_env({VARIABLES[provider]: script.url + path}, home=tmp_path)
        assert local_servers.parameters(provider, model, settings) == size
