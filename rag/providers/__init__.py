"""Embedding, chat and reranking models behind protocols; which there are is in ``table.toml``."""

from rag.providers.endpoint import Clients, RetryPolicy
from rag.providers.local_servers import (
    WORDING,
    LocalServer,
    find_local_servers,
    parameters,
)
from rag.providers.making import (
    CHAT_RETRIES,
    STEP_RETRIES,
    StoredSpace,
    chat_model,
    decision_model,
    embedder,
    model_key,
    require_embedder,
    reranker,
)
from rag.providers.prices import Price, embedding_price_of, price_of, read_prices
from rag.providers.probing import ProviderStatus, check, reranks_here, statuses
from rag.providers.table import (
    ROWS,
    ProviderRow,
    Variables,
    default_dense_weight,
    default_threshold,
    is_local,
    languages,
    may_cost,
    multilingual_embedders,
    tokens_read,
    vector_space,
)

__all__ = [
    "CHAT_RETRIES",
    "ROWS",
    "STEP_RETRIES",
    "WORDING",
    "Clients",
    "LocalServer",
    "Price",
    "ProviderRow",
    "ProviderStatus",
    "RetryPolicy",
    "StoredSpace",
    "Variables",
    "chat_model",
    "check",
    "decision_model",
    "default_dense_weight",
    "default_threshold",
    "embedder",
    "embedding_price_of",
    "find_local_servers",
    "is_local",
    "languages",
    "may_cost",
    "model_key",
    "multilingual_embedders",
    "parameters",
    "price_of",
    "read_prices",
    "require_embedder",
    "reranker",
    "reranks_here",
    "statuses",
    "tokens_read",
    "vector_space",
]
