"""Answers without a language model: the sentences of the passages that fit the question best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.assessing.editions import (
    day_of,
    differ,
    likeness,
    on_one_matter,
)
from rag.answering.markup import unmarked
from rag.answering.quote_candidates import Candidate, candidates_of, whole_statements
from rag.answering.quoting import in_quotation_marks, with_gap
from rag.answering.reading import PassageReader
from rag.answering.statements.sentences import Statement
from rag.answering.vocabulary import Vocabulary
from rag.answering.words import FIGURE
from rag.lexical.references import reference_of
from rag.protocols import Embedder
from rag.types import Citation, Hit

QUOTES = 3
EMBEDDED_CHARACTERS = 1000
"""Only so much text is embedded for one answer (about 220 tokens), the likeliest sentences first:
it keeps an answer well under a blink."""
COSINE_WEIGHT, WORDS_WEIGHT, PASSAGE_WEIGHT, SCORE_WEIGHT = 0.5, 0.3, 0.3, 0.1
FIRST_BONUS = 0.05
"""For the passage that the search ranks first."""
NAMED_BONUS = 0.2
"""For a row whose first cell the question names, by the share of its words."""
CHECKED_BONUS = 0.1
"""For a sentence with the rare words of the question, or under a heading with all its words."""
CODE_BONUS = 0.15
"""For a sentence that has the codes of the question itself or above it, by their share."""
LENGTH_WEIGHT = 0.04
"""For each factor e of its length: a sentence of three words says little."""
SUPERSEDED, OUTDATED = 0.2, 0.1
"""Subtracted where the edition in force says the same with other figures; where it is at hand."""
RUNNER_UP = 0.85
"""Further quotes must score at least this share of the best one."""
SAME = 0.6
"""Two quotes that share this much of their words (Jaccard) say the same."""


@dataclass(frozen=True, slots=True)
class QuoteSelection:
    """The steps of a selection: ``read`` has all statements, ``telling`` those that stand alone.

    ``scored`` has those that were embedded, best first, ``distinct`` the best of them that say
    different things. ``chosen`` are quoted: the same, with what another edition says.
    """

    reader: PassageReader
    read: Sequence[Candidate]
    telling: Sequence[Candidate]
    scored: Sequence[tuple[float, Candidate]]
    distinct: Sequence[Candidate]
    chosen: Sequence[Candidate]

    @property
    def numbers(self) -> dict[int, int]:
        """The numbers of the quoted passages in the answer, by their place in the hits, from 1."""
        quoted = dict.fromkeys(one.n for one in self.chosen)
        return {n: number for number, n in enumerate(quoted, start=1)}


def quotes(
    question: str,
    hits: Sequence[Hit],
    embedder: Embedder,
    reader: PassageReader | None = None,
    words: Vocabulary | None = None,
) -> tuple[str, tuple[Citation, ...]]:
    """(text, citations): up to three statements of ``hits``, best first, each with its ``[n]``.

    Passages are numbered from 1 in the order in which they are quoted. A statement counts by its
    cosine with the question, the question's words it holds (rare ones count more) and the rank and
    relevance of its passage. A row of a table is one of its own, and wins where the question names
    it. Where editions of a
    document differ, the one in force is quoted first, another one behind it. Headings, running
    heads and marks of Markdown are not quoted; labels that only repeat the question, and what a
    passage cuts off, only where there is nothing else.
    Deterministic. Raises ProviderError when a remote embedder fails.
    """
    return quoted(select(question, hits, embedder, reader, words))


def quoted(selection: QuoteSelection) -> tuple[str, tuple[Citation, ...]]:
    """Return the text of an answer of the chosen statements, and its citations."""
    chosen, numbers = selection.chosen, selection.numbers
    text = "\n\n".join(
        f"{in_quotation_marks(with_gap(one.hit.chunk.text, one.statement))} [{numbers[one.n]}]"
        for one in chosen
    )
    citations: dict[int, Citation] = {}
    for one in chosen:
        n, quote = numbers[one.n], one.statement.quote
        hit = selection.reader.holding(one.hit, one.statement)
        citations.setdefault(n, Citation(n, hit, quote, checked=one.checked))
    return text, tuple(citations.values())


def select(
    question: str,
    hits: Sequence[Hit],
    embedder: Embedder,
    reader: PassageReader | None = None,
    words: Vocabulary | None = None,
) -> QuoteSelection:
    """Choose the statements that ``quotes`` quotes, and keep what became of the others."""
    reader, words = reader or PassageReader(), words or Vocabulary()
    all_candidates = candidates_of(question, hits, reader, words)
    whole = whole_statements(question, words.terms(question), all_candidates, reader)
    whole = _with_editions(whole, question, reader)
    best_score = max((hit.score for hit in hits), default=0.0)
    whole = [replace(one, prior=_prior(one, best_score)) for one in whole]
    # As many candidates as the embedding limit allows, the greatest priors first
    selected, characters = list[Candidate](), 0
    for candidate in sorted(whole, key=lambda one: (-one.prior, one.n, one.statement.start)):
        characters += len(candidate.statement.text)
        if selected and characters > EMBEDDED_CHARACTERS:
            break
        selected.append(candidate)
    scored = _ranked(question, selected, embedder)
    distinct = _distinct(scored)
    if reference_of(question) and len(whole) < len(all_candidates):
        distinct = sorted(whole, key=lambda one: (one.n, one.statement.start))[:QUOTES]
    chosen = _with_others(distinct or _beginning(hits), whole, question, reader)
    return QuoteSelection(reader, all_candidates, whole, scored, distinct, chosen)


def _with_editions(
    candidates: list[Candidate], question: str, reader: PassageReader
) -> list[Candidate]:
    """The candidates with what the edition in force says in their place.

    They have none where the question names a year.
    """
    if day_of(question):
        return candidates
    hits = {one.n: one.hit for one in candidates}
    rivals = dict[int, list[Candidate]]()
    for n, hit in hits.items():
        newer = {other for other in hits if reader.supersedes(hits[other], hit)}
        rivals[n] = [one for one in candidates if one.n in newer]
    return [
        replace(
            one,
            outdated=bool(rivals[one.n]),
            in_force=next((two for two in rivals[one.n] if _supersedes(two, one, reader)), None),
        )
        for one in candidates
    ]


def _supersedes(one: Candidate, other: Candidate, reader: PassageReader) -> bool:
    return (
        reader.supersedes(one.hit, other.hit)
        and on_one_matter(one.words, other.words)
        and differ(one.statement.text, other.statement.text)
        and not _is_repeated(one, other, reader)
    )


def _is_repeated(one: Candidate, other: Candidate, reader: PassageReader) -> bool:
    """Whether the document of one of two statements has the other one, too."""
    return any(
        reader.repeats(a.hit, b.statement.quote, reader.heading(b.hit, b.statement))
        for a, b in ((one, other), (other, one))
    )


def _with_others(
    chosen: list[Candidate], candidates: list[Candidate], question: str, reader: PassageReader
) -> list[Candidate]:
    """The chosen statements; in place of all but the first what another edition says there."""
    best = chosen[0]
    superseded = (one for one in candidates if one.in_force is not None)
    others = [one for one in superseded if _supersedes(best, one, reader)]
    if not others and not day_of(question):
        others = list(_counterparts(best, candidates, reader))
    if not others or any(one in chosen for one in others):
        return chosen
    counterpart = max(others, key=lambda one: _correspondence(one, best))
    return [best, counterpart]


def _counterparts(
    best: Candidate, candidates: list[Candidate], reader: PassageReader
) -> Iterator[Candidate]:
    """Statements of other editions under the same heading with other figures.

    One that is newer, or of which dates do not tell that. Of a passage only the statement counts
    that is most like the best one.
    """
    heading = reader.heading(best.hit, best.statement).casefold()
    alike: dict[int, list[Candidate]] = {}
    for one in candidates:
        if (
            reader.are_named_editions(best.hit, one.hit)
            and reader.heading(one.hit, one.statement).casefold() == heading
        ):
            alike.setdefault(one.n, []).append(one)
    for group in alike.values():
        one = max(group, key=lambda other: _correspondence(other, best))
        if (
            on_one_matter(best.words, one.words)
            and differ(best.statement.text, one.statement.text)
            and not _is_repeated(best, one, reader)
        ):
            yield one


def _correspondence(one: Candidate, other: Candidate) -> tuple[bool, float]:
    """Return how well two statements correspond, as a key: rows of one name more than others."""
    same_name = one.statement.name.casefold() == other.statement.name.casefold()
    return same_name, likeness(one.words, other.words)


def _prior(candidate: Candidate, best: float) -> float:
    hit = candidate.hit
    return (
        WORDS_WEIGHT * candidate.shared
        + PASSAGE_WEIGHT * hit.relevance
        + SCORE_WEIGHT * (hit.score / best if best > 0 else 0.0)
        + (FIRST_BONUS if candidate.n == 1 else 0.0)
        + NAMED_BONUS * candidate.named
        + CODE_BONUS * candidate.coded
        + (CHECKED_BONUS if candidate.checked or candidate.headed else 0.0)
        + LENGTH_WEIGHT * math.log(max(len(candidate.statement.text), 1))
        - (SUPERSEDED if candidate.in_force else OUTDATED if candidate.outdated else 0.0)
    )


def _ranked(
    question: str, candidates: list[Candidate], embedder: Embedder
) -> list[tuple[float, Candidate]]:
    """(score, candidate), best first; ties by passage, then position."""
    query = embedder.embed([question], "query")[0]
    vectors = embedder.embed([one.statement.text for one in candidates], "document")
    scored = [
        (COSINE_WEIGHT * float(vector @ query) + one.prior, one)
        for one, vector in zip(candidates, vectors, strict=True)
    ]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1].n, pair[1].statement.start))


def _distinct(ranked: Sequence[tuple[float, Candidate]]) -> list[Candidate]:
    chosen, least = list[Candidate](), float("-inf")
    for score, candidate in ranked:
        if len(chosen) == QUOTES or score < least:
            break
        if not any(say_the_same(candidate, other) for other in chosen):
            chosen.append(candidate)
            least = max(least, score * RUNNER_UP)
    return chosen


def say_the_same(one: Candidate, other: Candidate) -> bool:
    """Whether two say the same; those with other figures, as of another year, do not."""
    texts = (other.statement.quote, *other.statement.notes)
    inside = one.statement.quote in texts[0] or any(
        one.statement.text in note for note in texts[1:]
    )
    if not inside:
        figures = (set(FIGURE.findall(candidate.statement.text)) for candidate in (one, other))
        if next(figures) != next(figures):
            return False
    either = len(one.words | other.words)
    return inside or (either > 0 and len(one.words & other.words) / either >= SAME)


def _beginning(hits: Sequence[Hit]) -> list[Candidate]:
    """The best passage itself, for passages that hold nothing but headings."""
    text = hits[0].chunk.text.strip()
    lines = (" ".join(line.split()) for line in unmarked(text).splitlines())
    beginning = " · ".join(filter(None, lines)) or " ".join(text.split())
    statement = Statement(beginning, text, hits[0].chunk.text.find(text))
    return [Candidate(1, hits[0], statement, frozenset(), 0.0, 0.0, False)]
