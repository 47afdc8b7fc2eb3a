"""Answers without a language model: the sentences that fit best, and what became of the others."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.asked_values import asked_value
from rag.answering.assessing.editions import (
    asks_today,
    day_of,
    differ,
    family,
    likeness,
    moment_of,
    on_one_matter,
    superseded,
)
from rag.answering.citations import in_quotation_marks, with_gap
from rag.answering.languages import any_of, pattern
from rag.answering.markup import unmarked
from rag.answering.quote_candidates import Candidate, candidates_of, whole_statements
from rag.answering.reading import PassageReader
from rag.answering.statements.sentences import Statement, plain_words
from rag.answering.vocabulary import Vocabulary, terms_of
from rag.answering.words import FIGURE
from rag.lexical.references import Reference, reference_of
from rag.protocols import Embedder
from rag.types import Citation, Hit, Trace
from rag.types.answers import told_apart

_PROCEDURE = re.compile(rf"\W{{0,3}}{any_of('procedure')}", re.IGNORECASE)

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
    chosen = _with_rest(chosen, question, reader, words)
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


def _with_rest(
    chosen: list[Candidate], question: str, reader: PassageReader, words: Vocabulary
) -> list[Candidate]:
    """The chosen statements, the best one with its steps or its list where it is asked for those.

    A question for a procedure is answered by its steps, see ``sentences.procedure_of``. The list of
    an item is asked for if the item has no word of the question but those of the line or heading
    above it, and the list behind a sentence if that has no value of the asked kind.
    """
    best, asked = chosen[0], asked_value(question)
    statement = best.statement
    is_step = statement.kind in ("prose", "code block") or (best.headed and statement.kind != "row")
    if not asked and _PROCEDURE.match(question) and is_step:
        steps = reader.procedure_of(best.hit, statement, headed=best.headed)
        return _with_whole(chosen, steps, words)
    if statement.kind not in ("item", "prose") or (asked and asked.is_in(statement.text)):
        return chosen
    if statement.kind == "item":
        item = plain_words(statement.quote)
        lead = statement.text.rpartition(item)[0]
        above = words.terms(f"{lead} {reader.heading(best.hit, statement)}")
        asked_words = words.terms(question) & (above | words.terms(item))
        if not asked_words or not asked_words <= above:
            return chosen
    return _with_whole(chosen, reader.list_of(best.hit, statement), words)


def _with_whole(
    chosen: list[Candidate], whole: Statement | None, words: Vocabulary
) -> list[Candidate]:
    """The chosen statements, the best one with what it is part of."""
    if whole is None:
        return chosen
    best = chosen[0]
    others = [one for one in chosen if one.statement.quote not in whole.quote]
    return [replace(best, statement=whole, words=terms_of(whole, words)), *others]


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
    quotes = one.statement.quote, other.statement.quote
    inside = (
        quotes[0] in quotes[1]
        or quotes[1] in quotes[0]
        or _overlap(one, other)
        or any(one.statement.text in note for note in other.statement.notes)
    )
    if not inside:
        figures = (set(FIGURE.findall(candidate.statement.text)) for candidate in (one, other))
        if next(figures) != next(figures):
            return False
    either = len(one.words | other.words)
    return inside or (either > 0 and len(one.words & other.words) / either >= SAME)


def _overlap(one: Candidate, other: Candidate) -> bool:
    """Whether two quotes have words of one place in common, as a sentence that both need."""
    pair = one, other
    starts = [each.hit.chunk.start + each.statement.start for each in pair]
    ends = [start + len(each.statement.quote) for start, each in zip(starts, pair, strict=True)]
    documents = {(each.hit.base, each.hit.chunk.document_id) for each in pair}
    return len(documents) == 1 and max(starts) < min(ends)


def _beginning(hits: Sequence[Hit]) -> list[Candidate]:
    """The best passage itself, for passages that hold nothing but headings."""
    text = hits[0].chunk.text.strip()
    lines = (" ".join(line.split()) for line in unmarked(text).splitlines())
    beginning = " · ".join(filter(None, lines)) or " ".join(text.split())
    statement = Statement(beginning, text, hits[0].chunk.text.find(text))
    return [Candidate(1, hits[0], statement, frozenset(), 0.0, 0.0, False)]


_OVER_TIME = pattern("over_time")
"""Such a question is about several editions."""


@dataclass(frozen=True, slots=True)
class Dated:
    """The passages of the editions that are in force; ``reason`` names those that are not."""

    hits: tuple[Hit, ...]
    reason: str
    document: str
    """The edition that is in force."""


def dated(question: str, hits: Sequence[Hit], reader: PassageReader) -> Dated | None:
    """The passages that are in force when the question says; None where it makes no difference.

    A question without a date and without a word such as "currently" is answered by all editions,
    the newest first.
    """
    moment = moment_of(question)
    if not (moment or asks_today(question)) or _OVER_TIME.search(question):
        return None
    by_name = {hit.document: hit for hit in hits}
    left_out = superseded(
        {name: reader.edition_date(hit) for name, hit in by_name.items()},
        moment or reader.day,
        lambda one, other: not reader.are_of_occasions(by_name[one], by_name[other]),
    )
    kept = tuple(hit for hit in hits if hit.document not in left_out)
    if not left_out:
        return None
    used = next(hit.document for hit in kept if family(hit.document) == family(left_out[0]))
    return Dated(kept, edition_words(used, left_out, moment), used)


def edition_words(used: str, left_out: Sequence[str], moment: str = "") -> str:
    """Say which edition of a document is used; "" where it has no other."""
    others = [name for name in left_out if family(name) == family(used)]
    if not others:
        return ""
    preposition = "on" if moment.count("-") == 2 else "in"
    when = f" {preposition} {moment}" if moment else ""
    verb = "is" if len(others) == 1 else "are"
    return f"{used} is the edition in force{when}; {', '.join(others)} {verb} left out."


_OLD = "; the edition in force has other figures"


@dataclass(frozen=True, slots=True)
class QuoteFate:
    """``number`` is that of the quote in the answer, 0 for none; ``reason`` is why there is none.

    ``reason`` is "" for a passage that is quoted. ``quote`` has its words that are quoted first,
    and ``folded`` says that another quote stands as the answer.
    """

    number: int
    reason: str = ""
    quote: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class ChosenQuotes:
    """The sentences of an answer of quotes, chosen from ``hits``.

    ``edition`` is the one in force where a question has a date.
    """

    hits: Sequence[Hit]
    selection: QuoteSelection
    edition: Dated | None = None


def choose_quotes(
    trace: Trace, embedder: Embedder, reader: PassageReader, words: Vocabulary
) -> ChosenQuotes:
    """Choose what an answer to the question of ``trace`` quotes of ``trace.context``.

    Raises ProviderError when a remote embedder fails.
    """
    edition = dated(trace.corrected, trace.context, reader)
    hits = edition.hits if edition else trace.context
    reference = reference_of(trace.corrected)
    if reference and not any(_is_part(hit, reference, reader) for hit in hits):
        parts = (hit for hit in trace.candidates if _is_part(hit, reference, reader))
        hits = (*hits, *itertools.islice(parts, 1))  # however far its words are from the question
    selection = select(trace.corrected, hits, embedder, reader, words)
    return ChosenQuotes(hits, selection, edition)


def _is_part(hit: Hit, reference: Reference, reader: PassageReader) -> bool:
    """Whether a passage has a statement of the part that a question asks for."""
    return any(reader.is_part(reference, hit, one) for one in reader.statements(hit))


def quote_fates(trace: Trace, choice: ChosenQuotes) -> dict[int, QuoteFate]:
    """Return what became of the passages of ``trace.context``, by their keys."""
    in_force = choice.edition.document if choice.edition else ""
    left_out = QuoteFate(0, f"of the editions, {in_force} is in force")
    return dict.fromkeys((hit.chunk.key for hit in trace.context), left_out) | {
        hit.chunk.key: _fate(n, choice.selection) for n, hit in enumerate(choice.hits, start=1)
    }


def _fate(n: int, selection: QuoteSelection) -> QuoteFate:
    """Return the fate of the ``n``-th passage: that of its best sentence."""
    if number := selection.numbers.get(n):
        chosen = next(one for one in selection.chosen if one.n == n)
        return QuoteFate(number, quote=chosen.statement.quote)
    return QuoteFate(0, next(_reasons(n, selection)))


def _reasons(n: int, selection: QuoteSelection) -> Iterator[str]:
    better = list[float]()
    for score, one in selection.scored:
        is_distinct = one in selection.distinct
        if one.n != n:
            better += [score] if is_distinct else []
            continue
        superseded = _OLD if one.in_force else ""
        least = RUNNER_UP * better[0] if better else 0.0
        if is_distinct:
            yield "gives way to what another edition says"
        elif len(better) >= QUOTES:
            yield f"{QUOTES} sentences score higher{superseded}"
        elif score < least:
            best, limit = told_apart(score, least, 2)
            yield f"its best sentence scores {best}, below {limit}{superseded}"
        else:
            twin = next(other for other in selection.distinct if say_the_same(one, other))
            number = selection.numbers.get(twin.n)
            yield f"says the same as {f'[{number}]' if number else 'a better sentence'}"
    if own := [one for one in selection.telling if one.n == n]:
        superseded = _OLD if max(own, key=lambda one: one.prior).in_force else ""
        yield f"by words and rank, sentences of other passages fit better{superseded}"
    if any(one.n == n for one in selection.read):
        yield "no sentence stands alone: each is cut off, asks, or repeats the question"
    yield "it has no sentence to quote"
