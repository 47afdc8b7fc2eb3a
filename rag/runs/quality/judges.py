"""Judges by name: a chat model as "provider:model"."""

from __future__ import annotations

from rag.errors import InvalidInput
from rag.protocols import ChatModel
from rag.services import Services


def judge_named(services: Services, name: str) -> ChatModel:
    """The chat model that "provider:model" names. Raises InvalidInput, ProviderError."""
    provider, _, model = name.partition(":")
    chat = services.models.chat(provider, model or None)
    if chat is None:
        raise InvalidInput(
            f"{name!r} is no language model, and cannot judge.",
            "Name a chat provider and its model, such as ollama:llama3.2 (see Settings).",
        )
    return chat
