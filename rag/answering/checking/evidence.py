"""Evidence of a cited passage for checking claims: words, numbers, names and statements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.answering.checking.figures import KnownFigures
from rag.answering.reading import PassageReader
from rag.answering.support import terms_of
from rag.answering.vocabulary import Terms, Vocabulary
from rag.answering.words import WORD
from rag.types import Citation

_JOINED = re.compile(r"[-_]+")

NEAR = 0.9
"""Statements with so much of the words that the best one has say it just as well."""
SAYS = 0.5
"""The least share of a sentence's words that a statement has which says the same of something."""


@dataclass(frozen=True)
class StatementTerms:
    """A statement with its words and figures."""

    text: str
    terms: Terms

    @cached_property
    def figures(self) -> KnownFigures:
        """Its numbers."""
        return KnownFigures(self.text)


@dataclass(frozen=True)
class Evidence:
    """The passage behind a citation, with what stands over it: document, headings, columns."""

    text: str
    terms: Terms
    statements: Sequence[StatementTerms]

    @classmethod
    def of(cls, citation: Citation, reader: PassageReader, words: Vocabulary) -> Evidence:
        """Return the evidence of a citation."""
        hit = citation.hit
        statements = reader.statements(hit)
        above = [
            *(hit.chunk.heading, hit.chunk.context, hit.document),
            *(_JOINED.sub(" ", hit.document), reader.context(hit), reader.labels(hit)),
        ]
        if hit.chunk.page is not None:
            above.append(f"page {citation.page or hit.chunk.page}")
        compared = [
            StatementTerms(
                f"{statement.text} {statement.caption}".strip(), terms_of(statement, words)
            )
            for statement in statements
        ]
        joined = [entry.text for entry in compared]  # with columns, leads and notes
        text = "\n".join(filter(None, [hit.chunk.text, citation.quote, *joined, *above]))
        return cls(text, words.terms(text).union(*(entry.terms for entry in compared)), compared)

    @classmethod
    def together(cls, several: Sequence[Evidence]) -> Evidence:
        """Return the combined evidence of several passages."""
        if len(several) == 1:
            return several[0]
        return cls(
            "\n".join(evidence.text for evidence in several),
            frozenset[str]().union(*(evidence.terms for evidence in several)),
            [one for evidence in several for one in evidence.statements],
        )

    def nearest(self, weights: Mapping[str, float]) -> Sequence[StatementTerms]:
        """The statements that hold most of some weighted words, and about as much as the best."""
        shares = [
            sum(weights[term] for term in weights if term in one.terms) for one in self.statements
        ]
        best = max(shares, default=0.0)
        least = max(NEAR * best, SAYS * sum(weights.values()))
        return [
            one
            for one, share in zip(self.statements, shares, strict=True)
            if share and share >= least
        ]

    @cached_property
    def figures(self) -> KnownFigures:
        """Its numbers."""
        return KnownFigures(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words as they are written, without case."""
        return frozenset(WORD.findall(self.text.casefold()))
