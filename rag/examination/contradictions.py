"""Claims of two documents on one matter that state different figures."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.answering.assessing.editions import repeats
from rag.answering.assessing.resemblance import subject_of
from rag.examination.claims import Claim, Figure, words_of
from rag.types import Document

Pair = tuple[int, int]
"""The positions of two documents."""
FigurePair = tuple[Figure | None, Figure | None]
ALIKE = 0.55
"""Two sentences whose weighted words overlap by less (Dice) are on different matters."""
SAME = 0.8
"""The least likeness of claims of editions of which one has just a figure more, of those that
differ in several figures or in a unit, and of clauses that say the same in other sentences."""
PHRASE = 10
"""Sentences of two editions that share so many words in a row are on one matter."""
TIMES = frozenset(
    ("second", "minute", "hour", "workinghour", "businesshour", "day", "workingday", "businessday",
     "calendarday", "week", "month", "year")
)  # fmt: skip
"""Units of time: one edition states hours where another one states days."""
CLAUSE_WORDS = 5
"""A clause with fewer words says nothing by itself."""
COMMON = 60
"""A word in more claims does not make two of them candidates."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two claims, the pairs of figures in which they differ, and how alike the rest is, 0 to 1.

    A figure is None where one of the claims has just a figure more.
    """

    one: Claim
    other: Claim
    figures: Sequence[FigurePair]
    likeness: float


def contradictions(
    documents: Sequence[Document], claims: Sequence[Claim], editions_of: Collection[Pair]
) -> Iterator[Contradiction]:
    """Yield each pair of claims of different documents that contradict, the best partner of each.

    Claims about different things are no contradictions: sister products have other codes in their
    names, and what is written there is on that product alone. Minutes and reports whose names
    differ in numbers alone are a series, and each is on a time of its own. What two by-laws say of
    themselves, such as when they come into force, is on two things.
    """
    weights = _weights(claims)
    subjects = [subject_of(document.name) for document in documents]
    series = [re.sub(r"[\W\d_]+", " ", document.name).casefold() for document in documents]
    pairs = {frozenset(pair) for pair in editions_of}
    best: dict[tuple[int, int], Contradiction] = {}
    agreeing: defaultdict[tuple[int, int], float] = defaultdict(float)
    for one, other in _candidates(claims):
        editions = frozenset((one.document, other.document)) in pairs
        if not editions and series[one.document] == series[other.document]:
            continue
        if not editions and one.own and other.own:
            continue
        if not _on_one_thing(one, other, subjects, editions=editions):
            continue
        differing = different(one, other, editions=editions)
        if not differing and one.figures.keys() == other.figures.keys():
            likeness = _likeness(one, other, weights)
            for key in ((id(one), other.document), (id(other), one.document)):
                agreeing[key] = max(agreeing[key], likeness)
        if not differing:
            continue
        likeness = _likeness(one, other, weights)
        alike = _clause_likeness(one, other, differing, weights) if editions else likeness
        if max(likeness, alike) < (ALIKE if _in_like_units(differing) else SAME) and not (
            editions and _in_like_units(differing) and _share_a_phrase(one, other)
        ):
            continue
        if editions and _both_in_one(documents, one, other):
            continue
        pair = Contradiction(one, other, differing, likeness)
        key = id(one), other.document
        if key not in best or likeness > best[key].likeness:
            best[key] = pair
    yield from (pair for pair in _mutual(best) if not _is_settled(pair, agreeing))


def different(one: Claim, other: Claim, *, editions: bool = False) -> Sequence[FigurePair]:
    """Return the pairs of figures in which claims differ; none unless it is one of each.

    Of editions, as many figures of a unit may differ as both claims have, in their order, and
    figures of a unit that only one of the claims has may come or go. Where one of them has just a
    figure more, the other figure is None: a word may stand in its place. Where the only figure that
    differs has another unit, the two are a pair: a 30-day leave becomes one of 6 weeks.
    """
    if bool(one.row) != bool(other.row):
        return ()
    mine = [figure for figure in one.figures if figure not in other.figures]
    theirs = [figure for figure in other.figures if figure not in one.figures]
    if editions and len(mine) + len(theirs) == 1:
        return ((next(iter(mine), None), next(iter(theirs), None)),)
    if editions and len(mine) == len(theirs) == 1:
        pairs: list[tuple[Figure, Figure]] = [(mine[0], theirs[0])]
    elif editions:
        pairs = list(_of_one_unit(mine, theirs))
    else:
        pairs = [(mine[0], theirs[0])] if len(mine) == len(theirs) == 1 else []
        pairs = [pair for pair in pairs if pair[0][1] == pair[1][1]]
    return tuple(pair for pair in pairs if not _is_one_day(*pair))


def _of_one_unit(
    mine: Sequence[Figure], theirs: Sequence[Figure]
) -> Iterator[tuple[Figure, Figure]]:
    """Yield pairs of figures of each unit that stands in both claims equally often."""
    for unit in dict.fromkeys(unit for _, unit in mine):
        pair = [[figure for figure in side if figure[1] == unit] for side in (mine, theirs)]
        if len(pair[0]) == len(pair[1]):
            yield from zip(*pair, strict=True)


def _is_one_day(one: Figure, other: Figure) -> bool:
    """Whether two figures are one day, of which one names no year."""
    (value, unit), (value2, unit2) = one, other
    yearless = value.startswith("-") or value2.startswith("-")
    return unit == unit2 == "date" and yearless and value[-5:] == value2[-5:]


def _only(figures: Sequence[FigurePair]) -> tuple[Figure, Figure] | None:
    """The two figures of claims that differ in one; None where one of them has just one more."""
    if len(figures) != 1:
        return None
    one, other = figures[0]
    return (one, other) if one and other else None


def _in_like_units(figures: Sequence[FigurePair]) -> bool:
    """Whether claims differ in one figure, of one unit in both or of units of time."""
    if (only := _only(figures)) is None:
        return False
    units = {unit for _, unit in only}
    return len(units) == 1 or units <= TIMES


def _share_a_phrase(one: Claim, other: Claim) -> bool:
    """Whether two sentences have many words in a row in common."""
    mine, theirs = (
        {tuple(words[at : at + PHRASE]) for at in range(len(words) - PHRASE + 1)}
        for words in (claim.text.casefold().split() for claim in (one, other))
    )
    return not mine.isdisjoint(theirs)


def _both_in_one(documents: Sequence[Document], one: Claim, other: Claim) -> bool:
    """Whether the document of one of two claims has the other claim, too."""
    return any(
        repeats(
            documents[theirs.document].text,
            documents[mine.document].text[mine.start : mine.end],
        )
        for mine, theirs in ((one, other), (other, one))
    )


def _clause_likeness(
    one: Claim, other: Claim, figures: Sequence[FigurePair], weights: Mapping[str, float]
) -> float:
    """Return how alike the clauses of two figures are; 0 for short ones, or for several figures."""
    if (only := _only(figures)) is None:
        return 0.0
    words, words2 = words_of(one.clause(only[0])), words_of(other.clause(only[1]))
    enough = min(len(words), len(words2)) >= CLAUSE_WORDS
    return _overlap(words, words2, weights) if enough else 0.0


def _weights(claims: Sequence[Claim]) -> dict[str, float]:
    counts = Counter(word for claim in claims for word in claim.words)
    total = len(claims) + 1
    return {word: math.log(total / count) for word, count in counts.items()}


def _candidates(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield pairs of sentences that share rarer words, and pairs of cells with the same labels."""
    holders: defaultdict[Hashable, list[int]] = defaultdict(list)
    for number, claim in enumerate(claims):
        for key in _keys(claim):
            holders[key].append(number)
    for number, claim in enumerate(claims):
        shared = Counter(
            other
            for key in _keys(claim)
            if len(holders[key]) <= COMMON
            for other in holders[key]
            if other > number and claims[other].document != claim.document
        )
        for other, count in shared.items():
            if count >= 2 or claim.row:
                yield claim, claims[other]


def _keys(claim: Claim) -> Collection[Hashable]:
    return [(claim.row, claim.column)] if claim.row else claim.words


def _on_one_thing(
    one: Claim, other: Claim, subjects: Sequence[frozenset[str]], *, editions: bool
) -> bool:
    """Whether claims name the same things, as far as codes tell.

    A document whose name has a code is on that thing, unless a claim names another.
    """
    if editions:
        return one.names == other.names
    mine, theirs = subjects[one.document], subjects[other.document]
    if mine and theirs and not mine & theirs:
        named = mine | theirs
        return bool(one.names & other.names & named)
    if mine != theirs:
        subject, names = (mine, other.names) if mine else (theirs, one.names)
        if not subject & names:
            return False
    return not (one.names and other.names) or bool(one.names & other.names)


def _likeness(one: Claim, other: Claim, weights: dict[str, float]) -> float:
    return _overlap(one.words, other.words, weights)


def _overlap(
    words: Collection[str], others: Collection[str], weights: Mapping[str, float]
) -> float:
    shared = sum(weights.get(word, 0.0) for word in words if word in others)
    either = sum(weights.get(word, 0.0) for side in (words, others) for word in side)
    return 2 * shared / either if either else 0.0


def _is_settled(pair: Contradiction, agreeing: Mapping[tuple[int, int], float]) -> bool:
    """Whether a claim that is more like one of the two has the same figures."""
    keys = (id(pair.one), pair.other.document), (id(pair.other), pair.one.document)
    return any(agreeing[key] > pair.likeness for key in keys if key in agreeing)


def _mutual(best: dict[tuple[int, int], Contradiction]) -> Iterator[Contradiction]:
    """Yield each contradiction whose other claim has no better partner in that document."""
    backwards: dict[tuple[int, int], float] = {}
    for pair in best.values():
        key = id(pair.other), pair.one.document
        backwards[key] = max(backwards.get(key, 0.0), pair.likeness)
    for pair in best.values():
        if pair.likeness >= backwards[id(pair.other), pair.one.document]:
            yield pair
