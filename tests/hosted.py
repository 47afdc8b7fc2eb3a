"""Hosted services at a scripted server."""

import json
from typing import Any

from rag import Message, Settings, providers
from rag.providers import RetryPolicy
from tests.servers import Reply, Script

SWIFT = RetryPolicy(timeout=60, tries=1)
HELLO = [Message("system", "Be brief."), Message("user", "Hello?")]
BASES = {
    "cohere": "COHERE_BASE_URL",
    "gemini": "GEMINI_BASE_URL",
    "vertex": "VERTEX_BASE_URL",
    "jina": "JINA_BASE_URL",
    "voyage": "VOYAGE_BASE_URL",
    "bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
}
KEYS = {name: f"{name.upper()}_API_KEY" for name in ("cohere", "gemini", "jina", "voyage")}


def settings(name: str, script: Script, path: str = "") -> Settings:
    keys = {KEYS[name]: "secret-key"} if name in KEYS else {}
    cloud = {"GOOGLE_CLOUD_PROJECT": "project", "AWS_REGION": "eu-central-1"}
    return Settings.from_env({BASES[name.partition(":")[0]]: script.url + path, **keys, **cloud})


def embedded(name: str, script: Script, texts: list[str], path: str = "") -> list[list[float]]:
    """The vectors of ``texts`` as a question's, then those of the first as a passage's."""
    model = providers.embedder(name, settings(name, script, path), SWIFT)
    rows: list[list[float]] = model.embed(texts, "query").tolist()
    model.embed(texts[:1], "document")
    return rows


def answered(body: Any) -> Reply:
    return Reply(body=json.dumps(body))
