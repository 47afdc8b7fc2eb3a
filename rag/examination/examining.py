"""Examination of the texts of documents."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Literal

import numpy as np

from rag.answering.assessing.editions import (
    EditionDate,
    are_editions,
    are_of_other_periods,
    edition_date,
    today,
)
from rag.answering.assessing.resemblance import (
    ALIKE,
    RUN,
    may_be_editions,
    may_supersede,
    overlap,
    subject_of,
    word_runs,
)
from rag.chunking.contexts import title_of
from rag.documents.garbled import SURE, broken_characters
from rag.examination.claims import Claim, Figure, claims_of, stems_of
from rag.examination.contradictions import Contradiction, contradictions
from rag.examination.findings import KIND_TITLES, Difference, DocumentFinding, FindingPlace
from rag.types import Document, page_name, percent

_ORDER = list(KIND_TITLES)


def by_kind(finding: DocumentFinding) -> tuple[int, float, str]:
    """Return the key by which findings are sorted: by kind, the surest first."""
    return _ORDER.index(finding.kind), -finding.confidence, finding.summary


def examine(documents: Sequence[Document], day: str = "") -> list[DocumentFinding]:
    """Return findings: contradictions, editions, copies and unreadable pages, the surest first.

    ``day`` is the ISO date on which an edition is in force or not, "" for today.
    """
    alike = list(resemblances(documents))
    editions = {(pair.one, pair.other) for pair in alike if pair.kind == "edition"}
    claims = [
        claim
        for position, document in enumerate(documents)
        for claim in claims_of(position, document)
    ]
    apart = list(contradictions(documents, claims, editions))
    between = defaultdict[tuple[int, int], list[Contradiction]](list)
    for pair in apart:
        between[pair.one.document, pair.other.document].append(pair)
    findings = [
        _resemblance(documents, two, between[two.one, two.other], day or today()) for two in alike
    ]
    # What an edition said that is no longer in force contradicts nobody but the one that is.
    superseded = {
        place.document_id
        for finding in findings
        if finding.in_force
        for place in finding.places
        if place.document_id != finding.in_force
    }
    findings += [
        finding
        for two, pairs in between.items()
        if two not in editions and superseded.isdisjoint(documents[one].id for one in two)
        for finding in _contradictions(documents, pairs)
    ]
    findings.extend(_unreadable(documents))
    return sorted(_numbered(findings), key=by_kind)


def _numbered(findings: Sequence[DocumentFinding]) -> Iterator[DocumentFinding]:
    """Yield the findings, those with the same texts under numbers of their own."""
    counts = Counter[str]()
    for finding in findings:
        yield replace(finding, number=counts[finding.id])
        counts[finding.id] += 1


MOST_ALONE = 3
"""Two documents that contradict in more places are one finding."""


def _contradictions(
    documents: Sequence[Document], pairs: Sequence[Contradiction]
) -> Iterator[DocumentFinding]:
    """Yield the findings on contradictions between two documents, the same words once."""
    same = defaultdict[tuple[str, ...], list[Difference]](list)
    likeness = dict[tuple[str, ...], float]()
    for pair in pairs:
        for difference in _differences(documents, pair):
            same[difference.words].append(difference)
            likeness[difference.words] = max(pair.likeness, likeness.get(difference.words, 0))
    if len(same) > MOST_ALONE:
        places = tuple(map(_whole, _both(documents, pairs[0])))
        summary = (
            f"{places[0].document} and {places[1].document} state different figures in "
            f"{len(same)} places."
        )
        everything = tuple(one for differences in same.values() for one in differences)
        confidence = round(max(likeness.values()), 2)
        yield DocumentFinding("contradiction", summary, places, confidence, "", everything)
        return
    for words, differences in same.items():
        one, other = differences[0].one, differences[0].other
        yield DocumentFinding(
            "contradiction",
            f"{one.document} states {one.value}, {other.document} states {other.value}.",
            (one, other),
            round(likeness[words], 2),
            differences=tuple(differences) if len(differences) > 1 else (),
        )


def _both(documents: Sequence[Document], pair: Contradiction) -> tuple[Document, Document]:
    return documents[pair.one.document], documents[pair.other.document]


def _whole(document: Document) -> FindingPlace:
    return FindingPlace(document.id, document.name, 0, len(document.text), None, "")


def _differences(documents: Sequence[Document], pair: Contradiction) -> Iterator[Difference]:
    for one, other in pair.figures:
        yield Difference(_place(documents, pair.one, one), _place(documents, pair.other, other))


def _place(documents: Sequence[Document], claim: Claim, figure: Figure | None) -> FindingPlace:
    where = place(documents[claim.document], claim.start, claim.end)
    if figure is None:
        return where
    value, unit = figure
    compared = value if unit == "date" else f"{value} {unit}".strip()
    return replace(where, value=" ".join(claim.figures[figure].split()), compared=compared)


def place(document: Document, start: int, end: int) -> FindingPlace:
    """Return a place in a document with its words, on one line."""
    words = " ".join(document.text[start:end].split())
    page = document.page_at(start)
    return FindingPlace(document.id, document.name, start, end, page, words)


def _resemblance(
    documents: Sequence[Document], pair: Resemblance, apart: Sequence[Contradiction], day: str
) -> DocumentFinding:
    two = sorted(
        (documents[pair.one], documents[pair.other]),
        key=lambda document: edition_date(document.name, document.text).order,
        reverse=True,
    )
    newest, older = (edition_date(document.name, document.text) for document in two)
    has_current = newest.prevails_over(older, day)
    if older.prevails_over(newest, day):
        two, has_current = two[::-1], True
    places = tuple(map(_whole, two))
    dated = has_current or _tell(newest, older)
    has_no_order = not pair.by_name and not dated and not apart
    if pair.kind == "copy" or (has_no_order and pair.copied >= COPY):
        summary = (
            f"{two[0].name} and {two[1].name} share {_percent(pair.copied)} of the shorter text."
        )
        return DocumentFinding("copies", summary, places, round(pair.copied, 2))
    differences = {one.words: one for pair in apart for one in _differences(documents, pair)}
    if pair.by_name:
        summary = f"{two[0].name} and {two[1].name} are editions of one document."
    else:
        summary = (
            f"{two[0].name} and {two[1].name} look like two editions of one document: "
            f"{_percent(pair.share)} of their runs of {RUN} words, without figures, are the same."
        )
    if not pair.by_name:
        has_current = has_current and may_supersede(two[0].name, two[1].name)
    if has_current:
        is_by_date = newest.is_dated_apart_from(older) or newest.is_later_than(day)
        signs = "dates" if is_by_date or older.is_later_than(day) else "versions"
        summary += f" By their {signs}, {two[0].name} is in force."
    in_force = two[0].id if has_current else ""
    confidence = round(min(1.0, 0.6 + pair.share), 2)
    return DocumentFinding(
        "editions", summary, places, confidence, in_force, tuple(differences.values())
    )


def _percent(share: float) -> str:
    """Write a share; no more than 99% where something differs."""
    return percent(share if share == 1.0 else min(share, 0.99))


def _tell(one: EditionDate, other: EditionDate) -> bool:
    """Whether dates tell which of two editions is the newer one."""
    return one.is_newer_than(other) or other.is_newer_than(one)


def _unreadable(documents: Sequence[Document]) -> Iterator[DocumentFinding]:
    for document in documents:
        pages = [(page.start, page.end, page.confidence) for page in document.pages]
        for start, end, confidence in pages or [(0, len(document.text), None)]:
            sign = broken_characters(document.text[start:end])
            if not sign and confidence is not None and confidence < SURE:
                sign = f"its words were recognised with a confidence of {confidence:.0f} of 100"
            if sign:
                where = place(document, start, min(end, start + 200))
                page = page_name(document.name, where.page, document.heading_at(start))
                name = f"{page[:1].upper()}{page[1:]} of {document.name}" if page else document.name
                yield DocumentFinding(
                    "unreadable", f"{name} is not readable: {sign}.", (where,), 0.9
                )


EDITION = 0.3
"""Documents with names of editions that share less of their words (Jaccard) are a series."""
COPY = 0.6
"""Of the shorter document, the share of its runs of words that a copy has too."""
MOST_SHARING = 100
"""What more documents have alike is boilerplate, and does not make copies."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Resemblance:
    """Two documents by position, and how much of them is the same, from 0 to 1.

    ``by_name`` is whether their names are those of editions. ``copied`` is the share of the shorter
    text that the other one has, too.
    """

    kind: Literal["edition", "copy"]
    one: int
    other: int
    share: float
    by_name: bool = False
    copied: float = 0.0


def resemblances(documents: Sequence[Document]) -> Iterator[Resemblance]:
    """Yield editions and copies. Sister documents, whose names have other codes, are neither.

    Reports on different periods, by their names or titles, share much and replace nothing.
    """
    words = cache(lambda position: stems_of(documents[position].text))
    codes = [subject_of(document.name) for document in documents]
    near, sizes = _sharing(_runs(document.text) for document in documents)
    near_plain, plain_sizes = _sharing(word_runs(document.text) for document in documents)
    titles = [title_of(document) for document in documents]
    for one, other in combinations(range(len(documents)), 2):
        names = documents[one].name, documents[other].name
        of_other_periods = are_of_other_periods(*names) or are_of_other_periods(
            titles[one], titles[other]
        )
        if not of_other_periods and are_editions(*names):
            either = len(words(one) | words(other))
            share = len(words(one) & words(other)) / either if either else 0.0
            if share >= EDITION:
                yield Resemblance("edition", one, other, share, by_name=True)
            continue
        if codes[one] != codes[other] and codes[one] and codes[other]:
            continue
        fewest = min(sizes[one], sizes[other])
        same = near[one, other] / fewest if fewest else 0.0
        equal = near[one, other] == sizes[one] == sizes[other]
        alike = overlap(near_plain[one, other], plain_sizes[one], plain_sizes[other])
        if of_other_periods:
            if equal:
                yield Resemblance("copy", one, other, same, copied=same)
        elif alike >= ALIKE and not equal and may_be_editions(*names):
            yield Resemblance("edition", one, other, alike, copied=same)
        elif same >= COPY:
            yield Resemblance("copy", one, other, same, copied=same)


def _sharing(runs: Iterable[frozenset[int]]) -> tuple[Counter[tuple[int, int]], list[int]]:
    """Count the runs of words that pairs of documents share, and those of each document.

    Arrays, because sets of the runs of all documents take ten times the memory.
    """
    arrays = [np.fromiter(own, np.int64, len(own)) for own in runs]
    sizes = [len(own) for own in arrays]
    owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    everything = np.concatenate([np.empty(0, np.int64), *arrays])
    del arrays
    order = np.argsort(everything, kind="stable")
    owners, everything = owners[order], everything[order]
    starts = np.flatnonzero(np.diff(everything, prepend=everything[:1] - 1))
    counts = np.diff(starts, append=len(everything))
    telling = (counts > 1) & (counts <= MOST_SHARING)
    shared = zip(starts[telling].tolist(), counts[telling].tolist(), strict=True)
    return Counter(
        pair
        for start, count in shared
        for pair in combinations(owners[start : start + count].tolist(), 2)
    ), sizes


def _runs(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    return frozenset(hash(tuple(words[at : at + RUN])) for at in range(len(words) - RUN + 1))
