"""A build whose words are on a server, used like an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from rag.errors import NotFound
from rag.lexical import (
    Analyzer,
    Bm25Options,
    Correction,
    Explanation,
    LexicalServer,
    Query,
    Variants,
    analyzer,
)
from rag.lexical.analyzers import AUTO
from rag.lexical.explain import term_spans
from rag.lexical.spelling import corrections
from rag.stores.build_snapshots import BuildSnapshot
from rag.types import Keys, Scores


@dataclass(frozen=True, eq=False)
class RemoteLexicalIndex:
    """The words of a build on ``server`` as one moment holds them; cutting texts is done here.

    Passages of other moments are not found, but count in the statistics while the server has them.
    """

    server: LexicalServer
    analyzer: Analyzer
    snapshot: BuildSnapshot

    @classmethod
    def empty(cls, server: LexicalServer, build: str, analyzer_name: str) -> RemoteLexicalIndex:
        """A build anew; what the server has of it is replaced, and then deleted. StorageError."""
        return cls(server, analyzer(analyzer_name), BuildSnapshot.of(server, build))

    @classmethod
    def load(
        cls, server: LexicalServer, build: str, analyzer_name: str, folder: Path | str
    ) -> RemoteLexicalIndex:
        """Load an index that ``save`` wrote.

        Raises OSError, or ValueError if the server has lost rows.
        """
        return cls(server, analyzer(analyzer_name), BuildSnapshot.load(server, build, folder))

    def added(self, items: Iterable[tuple[int, str]]) -> RemoteLexicalIndex:
        """A later moment that also holds ``items``, (key, text); a later text of a key counts."""
        passages = dict(items)
        if passages:
            self.server.upsert(self.snapshot.build, self.analyzer.name, list(passages.items()))
        return replace(self, snapshot=self.snapshot.plus(np.array(list(passages), np.int64)))

    @property
    def analyzers(self) -> set[str]:
        """The name of the analyzer of all passages.

        Empty if each passage has its own, because the server does not report it.
        """
        return {self.analyzer.name} - {AUTO}

    @property
    def has_words(self) -> bool:
        """Whether passages need not be cut again to know their words: the server knows them."""
        return True

    @property
    def bytes(self) -> int:
        """About how much memory of this process it takes: the words are elsewhere."""
        return self.snapshot.keys.nbytes

    def removed(self, keys: Keys) -> RemoteLexicalIndex:
        """A later moment without ``keys``; ``moment.tidy`` deletes them when nobody reads them."""
        return replace(self, snapshot=self.snapshot.minus(np.asarray(keys, dtype=np.int64)))

    def search(
        self, query: Query, k: int, *, allowed: Keys | None = None, **options: Unpack[Bm25Options]
    ) -> tuple[Keys, Scores]:
        """The ``k`` best of this moment with a score above 0, best first; ties break by key."""
        build, terms, choice = self.snapshot.build, self._terms(query), self.snapshot.among(allowed)
        return self.snapshot.first(
            k, lambda n: self.server.search(build, terms, n, allowed=choice, **options)
        )

    def scores(self, query: Query, keys: Keys, **options: Unpack[Bm25Options]) -> Scores:
        """Return the ``search`` scores of ``keys``, in order; 0 for keys that do not match."""
        scores = self.server.scores(self.snapshot.build, self._terms(query), keys, **options)
        return np.where(self.snapshot.holds(keys), scores, 0.0)

    def explain(self, query: Query, key: int, **options: Unpack[Bm25Options]) -> Explanation:
        """Explain the score of a passage. Raises NotFound for a missing key."""
        if not self.snapshot.holds(np.array([key])).all():
            raise NotFound(f"The words of passage {key:016x} are not on the server.", "Ask again.")
        return self.server.explain(self.snapshot.build, self._terms(query), key, **options)

    def frequencies(self, query: Query, **variants: Unpack[Variants]) -> Mapping[str, int]:
        """The index terms that count for a query, by how many passages hold each."""
        return self.server.frequencies(self.snapshot.build, self._terms(query), **variants)

    def matched_spans(
        self, query: Query, text: str, **variants: Unpack[Variants]
    ) -> list[tuple[int, int]]:
        """Return the spans of words in ``text`` that count for ``query``: disjoint, in order.

        Spans are in characters.
        """
        return term_spans(self.analyzer, text, self.frequencies(query, **variants))

    def terms(self, question: str) -> dict[str, float]:
        """The index terms of a question, by how often it has them."""
        return dict(Counter(self.analyzer.query_tokens(question)))

    def corrections(self, question: str) -> list[Correction]:
        """Words of a question that no passage has, each with the nearest that one has."""
        build = self.snapshot.build
        return corrections(question, self.analyzer, lambda term: self.server.meant(build, term))

    def similar_words(self, word: str) -> Mapping[str, int]:
        """Words of passages within one edit of a word, and itself, by how many passages hold it."""
        return self.server.similar_words(self.snapshot.build, word)

    def save(self, folder: Path | str) -> None:
        """Notes what is on the server in an existing, empty folder. Raises OSError."""
        self.snapshot.save(folder)

    def _terms(self, query: Query) -> Mapping[str, float]:
        return self.terms(query) if isinstance(query, str) else query
