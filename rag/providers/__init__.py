"""Embedding and chat models behind three protocols; which there are is data, in ``table``."""

from rag.providers.endpoint import Patience
from rag.providers.making import chat_model, embedder, require_embedder
from rag.providers.probing import ProviderStatus, check, statuses
from rag.providers.table import ROWS, ProviderRow, default_threshold

__all__ = [
    "ROWS",
    "Patience",
    "ProviderRow",
    "ProviderStatus",
    "chat_model",
    "check",
    "default_threshold",
    "embedder",
    "require_embedder",
    "statuses",
]
