"""Answers without a language model: the sentences of the passages that fit the question best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.markup import unmarked
from rag.answering.running_heads import blanked, running_lines
from rag.answering.sentences import Statement, statements
from rag.answering.sources import Sources
from rag.answering.words import content_words, rarities
from rag.protocols import Embedder
from rag.types import Citation, Hit, Span

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
CUT_WORDS = 8
"""A sentence of so many words without an end was cut off by its passage."""

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


_CODE = re.compile(r"\b[A-Z]+[-./]?\d[\w./-]*\w|\b[A-Z]+\d\b")
_ENDS = re.compile(r"[.!?:;…。！？)\]\"'”’»]$")
_LOWER = re.compile(r"[a-zß-ÿ]|[)\]},;:.!?%]")
"""What no sentence begins with: the rest of one that an earlier passage has."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    n: int
    hit: Hit
    statement: Statement
    words: frozenset[str]
    shared: float
    """Share of the question's words that it holds, weighted by rarity; 0 to 1."""


def quotes(
    question: str, hits: Sequence[Hit], embedder: Embedder, sources: Sources | None = None
) -> tuple[str, tuple[Citation, ...]]:
    """(text, citations): up to three sentences of ``hits``, best first, each with its ``[n]``.

    Passages are numbered from 1 in the order in which they are quoted. A sentence counts by its
    cosine with the question, the question's words it holds (rare ones count more) and the relevance
    of its passage. Running heads and marks of Markdown are not quoted; labels that only repeat the
    question, and what a passage cuts off, only where there is nothing else.
    Deterministic. Raises ProviderError when a remote embedder fails.
    """
    candidates = _likeliest(_telling(question, _candidates(question, hits, sources)))
    chosen = _distinct(_ranked(question, candidates, embedder)) or _beginning(hits)
    numbers: dict[int, int] = {}
    for found in chosen:
        numbers.setdefault(found.n, len(numbers) + 1)
    text = "\n\n".join(f"“{found.statement.text}” [{numbers[found.n]}]" for found in chosen)
    citations: dict[int, Citation] = {}
    for found in chosen:
        n = numbers[found.n]
        citations.setdefault(n, Citation(n, found.hit, found.statement.quote))
    return text, tuple(citations.values())


def _candidates(question: str, hits: Sequence[Hit], sources: Sources | None) -> list[_Candidate]:
    wanted = content_words(_HOW.sub(" ", question))
    texts = _without_heads(hits, sources)
    found = [
        (n, hit, statement, content_words(statement.text))
        for n, (hit, text) in enumerate(zip(hits, texts, strict=True), start=1)
        for statement in statements(text)
    ]
    rarity = rarities(words for *_, words in found)
    total = sum(rarity.get(word, 0.0) for word in wanted) or 1.0
    return [
        _Candidate(n, hit, statement, words, sum(rarity[w] for w in sorted(wanted & words)) / total)
        for n, hit, statement, words in found
    ]


def _without_heads(hits: Sequence[Hit], sources: Sources | None) -> Iterator[str]:
    """The texts of hits with the lines blank that their documents repeat on their pages."""
    running: dict[str, list[Span]] = {}
    for hit in hits:
        name = hit.chunk.document_id
        if name not in running:
            document = sources.document(hit) if sources else None
            running[name] = running_lines(document) if document else []
        yield blanked(hit.chunk, running[name])


def _telling(question: str, candidates: list[_Candidate]) -> list[_Candidate]:
    """Those that say something of their own, and say it whole; all where there are none."""
    asked, codes = content_words(question), set(_CODE.findall(question.upper()))
    new = [
        one
        for one in candidates
        if (one.words - asked or _ENDS.search(one.statement.text))
        and not (codes and _is_of_another(one, codes))
    ] or candidates
    return [one for one in new if not _is_cut(one)] or new


def _is_of_another(candidate: _Candidate, codes: set[str]) -> bool:
    """Whether it is the entry of a code that was not asked for: HV-601 does not answer HV-612."""
    return candidate.statement.kind == "entry" and codes.isdisjoint(
        _CODE.findall(candidate.statement.text.upper())
    )


def _is_cut(candidate: _Candidate) -> bool:
    """Whether a sentence began before its passage, or goes on after it."""
    quote, passage = candidate.statement.quote, candidate.hit.chunk.text
    if candidate.statement.kind != "prose":
        return False
    first = not passage[: candidate.statement.start].strip()
    if first and candidate.hit.chunk.start and _LOWER.match(quote):
        return True
    last = not passage[candidate.statement.start + len(quote) :].strip()
    return last and len(quote.split()) >= CUT_WORDS and not _ENDS.search(unmarked(quote))


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
    lines = (" ".join(line.split()) for line in unmarked(text).splitlines())
    said = " · ".join(filter(None, lines)) or " ".join(text.split())
    statement = Statement(said, text, hits[0].chunk.text.find(text))
    return [_Candidate(1, hits[0], statement, content_words(text), 0.0)]
