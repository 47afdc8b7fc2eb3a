"""Answers without a language model: the sentences of the passages that fit the question best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.sentences import Statement, statements
from rag.answering.words import content_words, rarities
from rag.protocols import Embedder
from rag.types import Citation, Hit

QUOTES = 3
EMBEDDED_CHARACTERS = 1600
"""Only so much text is embedded for one answer (about 350 tokens), the likeliest sentences first:
it keeps an answer well under a blink."""
COSINE_WEIGHT, WORDS_WEIGHT, PASSAGE_WEIGHT = 0.5, 0.35, 0.15
FIGURE_BONUS = 0.08
"""For a sentence with a figure, when the question asks for one."""
RUNNER_UP = 0.85
"""Further quotes must score at least this share of the best one."""
SAME = 0.6
"""Two quotes that share this much of their words (Jaccard) say the same."""

_ASKS_FIGURE = re.compile(
    r"\b(?:how (?:long|many|much|often|far|old|high|large|big|soon|late)|when|which year"
    r"|what (?:is the )?(?:price|cost|limit|maximum|minimum|deadline|amount|number|share|date))\b",
    re.IGNORECASE,
)
_HOW = re.compile(r"\bhow (?:long|many|much|often|soon|late)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty"
    r"|fifty|hundred|thousand|half|daily|weekly|monthly|yearly|annually|once|twice)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    n: int
    hit: Hit
    statement: Statement
    words: frozenset[str]
    shared: float
    """Share of the question's words that it holds, weighted by rarity; 0 to 1."""


def quotes(
    question: str, hits: Sequence[Hit], embedder: Embedder
) -> tuple[str, tuple[Citation, ...]]:
    """(text, citations): up to three sentences of ``hits``, best first, each with its ``[n]``.

    A sentence counts by its cosine with the question, the question's words it holds (rare ones
    count more) and the relevance of its passage. Deterministic. Raises ProviderError when a
    remote embedder fails.
    """
    candidates = _likeliest(_candidates(question, hits))
    chosen = _distinct(_ranked(question, candidates, embedder)) or _beginning(hits)
    text = "\n\n".join(f"“{found.statement.text}” [{found.n}]" for found in chosen)
    citations: dict[int, Citation] = {}
    for found in chosen:
        citations.setdefault(found.n, Citation(found.n, found.hit, found.statement.quote))
    return text, tuple(citations.values())


def _candidates(question: str, hits: Sequence[Hit]) -> list[_Candidate]:
    wanted = content_words(_HOW.sub(" ", question))
    found = [
        (n, hit, statement, content_words(statement.text))
        for n, hit in enumerate(hits, start=1)
        for statement in statements(hit.chunk.text)
    ]
    rarity = rarities(words for *_, words in found)
    total = sum(rarity.get(word, 0.0) for word in wanted) or 1.0
    return [
        _Candidate(n, hit, statement, words, sum(rarity[w] for w in sorted(wanted & words)) / total)
        for n, hit, statement, words in found
    ]


def _likeliest(candidates: list[_Candidate]) -> list[_Candidate]:
    """As many as may be embedded, by words shared, then by rank of their passage."""
    kept, characters = list[_Candidate](), 0
    for candidate in sorted(candidates, key=lambda one: (-one.shared, one.n, one.statement.start)):
        characters += len(candidate.statement.text)
        if kept and characters > EMBEDDED_CHARACTERS:
            break
        kept.append(candidate)
    return kept


def _ranked(
    question: str, candidates: list[_Candidate], embedder: Embedder
) -> Iterator[tuple[float, _Candidate]]:
    """(score, candidate), best first; ties by passage, then position."""
    query = embedder.embed([question], "query")[0]
    vectors = embedder.embed([one.statement.text for one in candidates], "document")
    asks_figure = bool(_ASKS_FIGURE.search(question))
    scored = [
        (_score(one, float(vector @ query), asks_figure), one)
        for one, vector in zip(candidates, vectors, strict=True)
    ]
    return iter(sorted(scored, key=lambda pair: (-pair[0], pair[1].n, pair[1].statement.start)))


def _score(candidate: _Candidate, cosine: float, asks_figure: bool) -> float:
    has_figure = asks_figure and _FIGURE.search(candidate.statement.text) is not None
    return (
        COSINE_WEIGHT * cosine
        + WORDS_WEIGHT * candidate.shared
        + PASSAGE_WEIGHT * candidate.hit.relevance
        + (FIGURE_BONUS if has_figure else 0.0)
    )


def _distinct(ranked: Iterator[tuple[float, _Candidate]]) -> list[_Candidate]:
    chosen, least = list[_Candidate](), float("-inf")
    for score, candidate in ranked:
        if len(chosen) == QUOTES or score < least:
            break
        if not any(_same(candidate, other) for other in chosen):
            chosen.append(candidate)
            least = max(least, score * RUNNER_UP)
    return chosen


def _same(one: _Candidate, other: _Candidate) -> bool:
    inside = one.statement.quote in other.statement.quote
    either = len(one.words | other.words)
    return inside or (either > 0 and len(one.words & other.words) / either >= SAME)


def _beginning(hits: Sequence[Hit]) -> list[_Candidate]:
    """The best passage itself, for passages that hold nothing but headings."""
    text = hits[0].chunk.text.strip()
    statement = Statement(" ".join(text.split()), text, hits[0].chunk.text.find(text))
    return [_Candidate(1, hits[0], statement, content_words(text), 0.0)]
