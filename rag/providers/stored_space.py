"""Vectors of a store that were made elsewhere, with the model that embeds questions for them."""

from __future__ import annotations

from collections.abc import Sequence

from rag.protocols import Embedder, InputType, Tokenizer
from rag.types import Vectors


class StoredSpace:
    """An embedder with a vector space of its own: its stored vectors are never those of the model.

    New texts, such as those of edited passages, are embedded by the model.
    """

    def __init__(self, model: Embedder, space: str) -> None:
        self._model = model
        self._space = space

    @property
    def id(self) -> str:
        """The id of the model and the space."""
        return f"{self._model.id}#{self._space}"

    @property
    def dimension(self) -> int:
        """Length of a vector. Raises ProviderError."""
        return self._model.dimension

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""
        return self._model.tokenizer

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors of the model, see ``Embedder``."""
        return self._model.embed(texts, input_type)
