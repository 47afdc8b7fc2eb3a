"""Protocols of the adapters: contracts that make models and stores interchangeable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from rag.types import Delta, Keys, Message, Scores, StatedProbability, Vectors

InputType = Literal["query", "document"]


class Tokenizer(Protocol):
    """Cuts text into the tokens that an embedder counts."""

    def count(self, text: str) -> int:
        """Number of tokens, without the special ones that a model adds around a text."""
        ...

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        """Character spans of the tokens, shape (tokens, 2), increasing and within ``text``."""
        ...


class Embedder(Protocol):
    """A model that turns texts into unit vectors. Stateless to its callers and safe to share
    between threads.
    """

    @property
    def id(self) -> str:
        """Names the vector space in the cache: two embedders share an id only if vectors agree."""

    @property
    def dimension(self) -> int:
        """Length of a vector. A remote embedder may ask its server once to learn it."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer for chunk sizes in tokens."""

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), dimension), float32, in the order of ``texts``.

        Raises ProviderError when a remote model fails or answers another dimension.
        """
        ...


class ChatModel(Protocol):
    """A language model behind some wire format."""

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        """The reply, piece by piece. Raises ProviderError, also in the middle of a reply."""
        ...


class Reranker(Protocol):
    """A model that reads a question and passages together, and says how well they fit."""

    def scores(self, question: str, texts: Sequence[str]) -> Scores:
        """One score for each of ``texts``, shape (len(texts),), in their order; higher is better.

        Scores compare within one call, not between questions. Raises ProviderError.
        """
        ...


class DecisionModel(Protocol):
    """A model that answers yes-or-no questions about a text by a probability."""

    def decide(self, question: str, text: str) -> StatedProbability:
        """The probability of yes. Raises ProviderError."""
        ...


class VectorView(Protocol):
    """A search view of a build's vectors at one moment."""

    @property
    def exact(self) -> bool:
        """Whether a search finds the very nearest, so that a deep one answers every shallower."""

    def __len__(self) -> int:
        """Number of vectors that can be found."""

    def search(self, query: Vectors, k: int, allowed: Keys | None = None) -> tuple[Keys, Scores]:
        """The k nearest to one ``query`` (shape (dimension,)) by cosine, best first.

        Ties break by key. ``allowed`` restricts the search; the result is then exact. Nobody asks
        for all: who needs every cosine fetches vectors in blocks.
        """

    def vectors(self, keys: Keys) -> Vectors:
        """Stored vectors of ``keys``, in their order. Raises KeyError for an unknown key."""


class VectorIndex(VectorView, Protocol):
    """A view that is a value: ``added`` and ``removed`` leave the receiver as it was.

    Searches of a snapshot that is in use therefore never see a half-applied change.
    """

    @property
    def bytes(self) -> int:
        """About how much memory of this process it takes."""
        ...

    def added(self, keys: Keys, vectors: Vectors) -> VectorIndex:
        """An index that also holds ``vectors``; a key that is present already is replaced."""

    def removed(self, keys: Keys) -> VectorIndex:
        """An index without ``keys``; unknown ones are ignored. A removed vector is never found."""

    @property
    def settled(self) -> bool:
        """Whether searches are as quick as they get."""

    def settle(self) -> None:
        """Make what searches are quick by, such as a graph; may take minutes.

        Others search meanwhile, as exactly as ever and more slowly.
        """

    def save(self, folder: str) -> None:
        """Settle, and write into an existing, empty folder what the next start needs."""


class VectorServer(Protocol):
    """Vectors by build and key that a service keeps, for as many processes as ask it.

    A build comes into being with its first vector; one that nobody knows is empty. Every call is
    whole: others see all that it changed, or nothing. Safe to share between threads. Addresses
    and keys are handed to the constructor. All methods raise StorageError where it cannot be
    reached.
    """

    @property
    def exact(self) -> bool:
        """Whether a search finds the very nearest."""

    def keys(self, build: str) -> Keys:
        """All keys of a build, in any order."""
        ...

    def upsert(self, build: str, keys: Keys, vectors: Vectors) -> None:
        """Keep ``vectors``, shape (n, dimension), to the last bit; keys are distinct.

        A key that is there already is replaced. Raises InvalidInput for another dimension than
        that of the build.
        """

    def delete(self, build: str, keys: Keys) -> None:
        """Drop ``keys``; unknown ones are ignored."""

    def drop(self, prefix: str) -> None:
        """Drop every build whose name begins with ``prefix``."""

    def settle(self, build: str) -> None:
        """Make what searches of a build that has grown are quick by; may take minutes."""

    def search(
        self, build: str, query: Vectors, k: int, allowed: Keys | None = None
    ) -> tuple[Keys, Scores]:
        """The k nearest by cosine, best first, ties by key; ``allowed`` as in ``VectorView``.

        Raises InvalidInput for a query of another dimension than that of the build.
        """
        ...

    def vectors(self, build: str, keys: Keys) -> Vectors:
        """Vectors of one ``keys`` or more, in their order. Raises KeyError for an unknown key."""
        ...
