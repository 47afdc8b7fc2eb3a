"""Providers that point at a scripted server."""

from rag import Message, Settings, providers
from rag.protocols import ChatModel, Embedder
from rag.providers import RetryPolicy
from rag.types import Delta
from tests.servers import Script

KEY = "sk-secret-0123456789"
SWIFT = RetryPolicy(timeout=60, tries=3, first_wait=0.001)
HELLO = [Message("system", "Be brief."), Message("user", "Hello?")]


def settings(script: Script | None = None) -> Settings:
    url = script.url if script else "http://127.0.0.1:9"
    return Settings.from_env(
        {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{url}/v1",
            "AZURE_OPENAI_API_KEY": KEY,
            "AZURE_OPENAI_ENDPOINT": url,
            "OLLAMA_HOST": url,
        }
    )


def embedder(
    script: Script | None, name: str = "openai:m", retry_policy: RetryPolicy = SWIFT
) -> Embedder:
    return providers.embedder(name, settings(script), retry_policy)


def chat(
    script: Script | None, provider: str = "openai", retry_policy: RetryPolicy = SWIFT
) -> ChatModel:
    model = providers.chat_model(provider, "m", settings(script), retry_policy)
    assert model is not None
    return model


def say(model: ChatModel) -> list[Delta]:
    return list(model.stream(HELLO, temperature=0.0, max_tokens=9))
