"""The contracts of lexical search, which the local index implements and a server can implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict, Unpack

from rag.lexical.analyzers import Analyzer
from rag.lexical.explain import Explanation
from rag.lexical.spelling import Correction, Meant
from rag.types import Keys, Scores

Query = str | Mapping[str, float]
"""A question as text, or index terms by how much each counts (1 is once in a question)."""


class Variants(TypedDict):
    """Options for index terms that match a query term besides the term itself."""

    fuzzy: bool
    prefix: bool


class Bm25Options(Variants):
    """The parameters of a BM25 score besides the words."""

    k1: float
    b: float


class LexicalView(Protocol):
    """The lexical index of a build at one moment, with all that retrieval needs."""

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that splits texts into index terms."""

    @property
    def analyzers(self) -> set[str]:
        """The names of those that cut its passages; none where that is not known."""

    def search(
        self, query: Query, k: int, *, allowed: Keys | None = None, **options: Unpack[Bm25Options]
    ) -> tuple[Keys, Scores]:
        """The ``k`` best passages with a score above 0, best first; ties break by key.

        ``allowed`` restricts the result, not the statistics.
        """

    def scores(self, query: Query, keys: Keys, **options: Unpack[Bm25Options]) -> Scores:
        """Return the scores that ``search`` gives to ``keys``, in their order.

        The score of a passage that does not match is 0.
        """

    def explain(self, query: Query, key: int, **options: Unpack[Bm25Options]) -> Explanation:
        """Explain the score of a passage, term by term. Raises NotFound for an unknown key."""

    def frequencies(self, query: Query, **variants: Unpack[Variants]) -> Mapping[str, int]:
        """The index terms that count for a query, by how many passages hold each."""

    def terms(self, question: str) -> dict[str, float]:
        """The index terms of a question, by how often it has them."""

    def matched_spans(
        self, query: Query, text: str, **variants: Unpack[Variants]
    ) -> list[tuple[int, int]]:
        """Return the character spans of the words of ``text`` that match ``query``.

        The spans are disjoint and in order.
        """

    def corrections(self, question: str) -> list[Correction]:
        """Words of a question that no passage has, each with the nearest that one has."""

    def similar_words(self, word: str) -> Mapping[str, int]:
        """Words of passages within one edit of a word in small letters, and itself where a passage
        has it, by how many passages hold its term.
        """


class LexicalServer(Protocol):
    """Passages by build, key and word that a service keeps, for as many processes as ask it.

    A build comes into being with its first passage; one that nobody knows is empty. Every call is
    whole: others see all that it changed, or nothing. Queries are index terms, and BM25 is that of
    ``LexicalIndex``, with the statistics of what the build holds when it is asked. Safe to share
    between threads. All methods raise StorageError where it cannot be reached.
    """

    def keys(self, build: str) -> Keys:
        """All keys of a build, in any order."""

    def upsert(self, build: str, analyzer: str, passages: Sequence[tuple[int, str]]) -> None:
        """Keeps passages: distinct keys and their texts. A key that is there is replaced.

        Texts must become the terms that ``rag.lexical.analyzer(analyzer)`` makes of them, always
        the same one in a build.
        """

    def delete(self, build: str, keys: Keys) -> None:
        """Drops ``keys``; unknown ones are ignored."""

    def drop(self, prefix: str) -> None:
        """Drops every build whose name begins with ``prefix``."""

    def search(
        self,
        build: str,
        terms: Mapping[str, float],
        k: int,
        *,
        allowed: Keys | None = None,
        **options: Unpack[Bm25Options],
    ) -> tuple[Keys, Scores]:
        """Search as ``LexicalView.search`` does."""

    def scores(
        self, build: str, terms: Mapping[str, float], keys: Keys, **options: Unpack[Bm25Options]
    ) -> Scores:
        """Return scores as ``LexicalView.scores`` does; unknown keys have the score 0."""

    def explain(
        self, build: str, terms: Mapping[str, float], key: int, **options: Unpack[Bm25Options]
    ) -> Explanation:
        """Explain a score as ``LexicalView.explain`` does."""

    def frequencies(
        self, build: str, terms: Mapping[str, float], **variants: Unpack[Variants]
    ) -> Mapping[str, int]:
        """Return frequencies as ``LexicalView.frequencies`` does."""

    def meant(self, build: str, term: str) -> Meant | None:
        """The nearest term of an unknown one; None where it is known, or nothing is near."""

    def similar_words(self, build: str, word: str) -> Mapping[str, int]:
        """Return similar words as ``LexicalView.similar_words`` does."""
