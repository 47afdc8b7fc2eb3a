"""Evidence that a quote answers a question, as figures between 0 and 1 that a model weighs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.answering.assessing.key_terms import KeyTerm, key_terms
from rag.answering.reading import PassageReader
from rag.answering.sentences import Statement
from rag.answering.support import terms_of
from rag.answering.vocabulary import Terms, Vocabulary
from rag.protocols import Embedder
from rag.types import Citation, Trace

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class QuoteEvidence:
    """Figures that speak for an answer, and the terms that it lacks.

    ``figures`` are by the names that a model knows. ``missing`` are the key terms that neither the
    quotes nor what stands above them has, the heaviest first.
    """

    figures: Mapping[str, float]
    missing: tuple[KeyTerm, ...] = ()


class EvidenceReader:
    """Collects the evidence of answers from one index."""

    def __init__(self, embedder: Embedder, reader: PassageReader, words: Vocabulary) -> None:
        self._embedder = embedder
        self._reader = reader
        self._words = words

    def read(self, trace: Trace, citations: Sequence[Citation]) -> QuoteEvidence:
        """Hold the quotes of an answer against its question."""
        question = trace.searched
        wanted = key_terms(question, self._words)
        first = citations[0]
        quotes = [self._quoted(citation) for citation in citations]
        said = terms_of(quotes[0], self._words)
        all_said = frozenset[str]().union(*(terms_of(quote, self._words) for quote in quotes))
        above = self._words.terms(self._reader.context(first.hit))
        passage = self._words.terms(f"{first.hit.chunk.text} {first.hit.chunk.context}") | above
        anywhere = passage.union(
            *(
                self._words.terms(f"{hit.chunk.text} {self._reader.context(hit)}")
                for hit in trace.hits
            )
        )
        vectors = self._embedder.embed([quotes[0].text], "document")
        query = self._embedder.embed([question], "query")[0]
        dense = [hit.parts.get("dense", hit.relevance) for hit in trace.hits] or [0.0]
        own = first.hit.parts.get("dense", first.hit.relevance)
        soft = self._soft(wanted, quotes[0], above)
        lacking = [term for term in wanted if not term.borne_out(all_said | above)]
        figures = {
            "said": _share(wanted, said),
            "above": _share(wanted, said | above),
            "together": _share(wanted, all_said | above),
            "passage": _share(wanted, passage),
            "anywhere": _share(wanted, anywhere),
            "unknown": sum(term.share for term in wanted if not term.known),
            "heaviest_missing": max(
                (t.share for t in wanted if not t.borne_out(passage)), default=0.0
            ),
            "named_missing": _share([t for t in wanted if t.kind != "word"], frozenset())
            if False
            else sum(
                t.share for t in wanted if t.kind != "word" and not t.borne_out(all_said | above)
            ),
            "code_missing": float(
                any(
                    t.kind in ("code", "figure") and not t.borne_out(all_said | passage)
                    for t in wanted
                )
            ),
            "soft": soft[0],
            "soft_least": soft[1],
            "cosine": float(vectors[0] @ query),
            "dense": float(own),
            "lead": float(max(dense) - np.median(dense)),
            "first": float(bool(trace.hits) and first.hit.chunk.key == trace.hits[0].chunk.key),
            "terms": float(len(wanted)),
            "checked": float(first.checked),
        }
        return QuoteEvidence(figures, tuple(sorted(lacking, key=lambda term: -term.weight)))

    def _quoted(self, citation: Citation) -> Statement:
        for statement in self._reader.statements(citation.hit):
            if statement.quote == citation.quote:
                return statement
        return Statement(citation.quote or citation.hit.chunk.text, citation.quote, 0)

    def _soft(
        self, wanted: Sequence[KeyTerm], quote: Statement, above: Terms
    ) -> tuple[float, float]:
        said = terms_of(quote, self._words) | above
        absent = [term for term in wanted if not term.borne_out(said)]
        if not absent:
            return 1.0, 1.0
        there = sorted(
            {
                word.casefold()
                for word in _WORD.findall(f"{quote.text} {quote.caption}")
                if len(word) > 2 and self._words.terms(word) & said
            }
        )
        if not there:
            return 1 - sum(term.share for term in absent), 0.0
        known = self._embedder.embed(there, "document")
        asked = self._embedder.embed([term.text.casefold() for term in absent], "document")
        near = np.clip((asked @ known.T).max(axis=1), 0, 1)
        gain = sum(term.share * float(value) for term, value in zip(absent, near, strict=True))
        return 1 - sum(term.share for term in absent) + gain, float(near.min())


def _share(wanted: Sequence[KeyTerm], terms: Terms) -> float:
    return sum(term.share * term.borne_out(terms) for term in wanted)
