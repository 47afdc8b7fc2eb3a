"""Claims of two documents on one matter that state different figures."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.answering.assessing.editions import repeats
from rag.answering.assessing.resemblance import subject_of
from rag.examination.claims import Claim, Figure
from rag.types import Document

Pair = tuple[int, int]
"""The positions of two documents."""
ALIKE = 0.55
"""Two sentences whose weighted words overlap by less (Dice) are on different matters."""
SAME = 0.8
"""The least likeness of claims of which one has just a figure more."""
COMMON = 60
"""A word in more claims does not make two of them candidates."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two claims, the figures in which they differ, and how alike the rest is, from 0 to 1.

    A figure is None where one of the claims has just a figure more.
    """

    one: Claim
    other: Claim
    figures: tuple[Figure | None, Figure | None]
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
        if likeness < (ALIKE if all(differing) else SAME):
            continue
        if editions and _both_in_one(documents, one, other):
            continue
        pair = Contradiction(one, other, differing, likeness)
        key = id(one), other.document
        if key not in best or likeness > best[key].likeness:
            best[key] = pair
    yield from (pair for pair in _mutual(best) if not _is_settled(pair, agreeing))


def different(
    one: Claim, other: Claim, *, editions: bool = False
) -> tuple[Figure | None, Figure | None] | None:
    """Return the two figures in which claims differ; None unless it is one of each.

    Of editions, figures of a unit that only one of the claims has may come or go. Where one of them
    has just a figure more, the other figure is None: a word may stand in its place.
    """
    if bool(one.row) != bool(other.row):
        return None
    mine = one.figures.keys() - other.figures.keys()
    theirs = other.figures.keys() - one.figures.keys()
    if editions and len(mine) + len(theirs) == 1:
        return next(iter(mine), None), next(iter(theirs), None)
    if editions:
        units = {unit for _, unit in mine} & {unit for _, unit in theirs}
        mine, theirs = (
            {figure for figure in figures if figure[1] in units} for figures in (mine, theirs)
        )
    if len(mine) != 1 or len(theirs) != 1:
        return None
    (first,), (second,) = mine, theirs
    (value, unit), (value2, unit2) = first, second
    if unit != unit2 or value == value2:
        return None
    if unit == "date" and (value[-5:] == value2[-5:] and not (value[:4] and value2[:4])):
        return None
    return first, second


def _both_in_one(documents: Sequence[Document], one: Claim, other: Claim) -> bool:
    """Whether the document of one of two claims has the other claim, too."""
    return any(
        repeats(
            documents[theirs.document].text,
            documents[mine.document].text[mine.start : mine.end],
        )
        for mine, theirs in ((one, other), (other, one))
    )


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
    shared = sum(weights[word] for word in one.words & other.words)
    either = sum(weights[word] for word in one.words) + sum(weights[word] for word in other.words)
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
