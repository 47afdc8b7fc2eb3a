"""Examination of the texts of documents."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Literal

import numpy as np

from rag.answering.assessing.editions import (
    RUN,
    EditionDate,
    are_editions,
    are_of_other_periods,
    edition_date,
    edition_kind,
    figures_of,
    jaccard,
    may_supersede,
    overlap,
    subject_of,
    today,
    word_runs,
    word_set,
)
from rag.chunking.contexts import title_of
from rag.library.documents.reading_again import SURE, broken_characters, unread_words
from rag.library.examination.findings import KIND_TITLES, DocumentFinding, FindingPlace
from rag.types import Document, page_name, percent

_ORDER = list(KIND_TITLES)


def by_kind(finding: DocumentFinding) -> tuple[int, float, str]:
    """Return the key by which findings are sorted: by kind, the surest first."""
    return _ORDER.index(finding.kind), -finding.confidence, finding.summary


def examine(documents: Sequence[Document], day: str = "") -> list[DocumentFinding]:
    """Return findings: editions, copies, unreadable pages and unread parts, the surest first.

    ``day`` is the ISO date on which an edition is in force or not, "" for today.
    """
    date = cache(lambda position: edition_date(documents[position].name, documents[position].text))
    pairs: dict[str, list[Resemblance]] = {"edition": [], "copy": []}
    for pair in resemblances(documents):
        pairs[pair.kind].append(pair)
    copies = _by_folder(documents, _groups(pairs["copy"]))
    findings = [_copies(documents, date, group) for group in copies]
    findings += [
        _editions(documents, date, group, day or today()) for group in _groups(pairs["edition"])
    ]
    findings.extend(_unreadable(documents))
    findings.extend(_unread(documents))
    return sorted(_numbered(findings), key=by_kind)


def _numbered(findings: Sequence[DocumentFinding]) -> Iterator[DocumentFinding]:
    """Yield the findings, those with the same texts under numbers of their own."""
    counts = Counter[str]()
    for finding in findings:
        yield replace(finding, number=counts[finding.id])
        counts[finding.id] += 1


def place(document: Document, start: int, end: int) -> FindingPlace:
    """Return a place in a document with its words, on one line."""
    words = " ".join(document.text[start:end].split())
    page = document.page_at(start)
    return FindingPlace(document.id, document.name, start, end, page, words)


def _groups(pairs: Sequence[Resemblance]) -> list[list[Resemblance]]:
    """Return the pairs of each group of documents that are alike, some of them by way of others."""
    groups: dict[int, frozenset[int]] = {}
    for pair in pairs:
        group = groups.get(pair.one, frozenset((pair.one,)))
        if pair.other not in group:
            group |= groups.get(pair.other, frozenset((pair.other,)))
            groups |= dict.fromkeys(group, group)
    members = defaultdict[frozenset[int], list[Resemblance]](list)
    for pair in pairs:
        members[groups[pair.one]].append(pair)
    return list(members.values())


def _by_folder(
    documents: Sequence[Document], groups: Sequence[list[Resemblance]]
) -> list[list[Resemblance]]:
    """Return the groups, those of one folder as one: a series such as release notes."""
    merged: dict[object, list[Resemblance]] = {}
    for number, group in enumerate(groups):
        folder = _folder([documents[at] for pair in group for at in (pair.one, pair.other)])
        merged.setdefault(folder or number, []).extend(group)
    return list(merged.values())


def _folder(group: Sequence[Document]) -> str:
    """The folder that all documents of a group are in; "" for none."""
    folders = {document.name.rpartition("/")[0] for document in group}
    return folders.pop() if len(folders) == 1 else ""


def _newest_first(pairs: Sequence[Resemblance], date: Callable[[int], EditionDate]) -> list[int]:
    positions = sorted({position for pair in pairs for position in (pair.one, pair.other)})
    return sorted(positions, key=lambda position: date(position).order, reverse=True)


def _copies(
    documents: Sequence[Document], date: Callable[[int], EditionDate], pairs: Sequence[Resemblance]
) -> DocumentFinding:
    group = [documents[position] for position in _newest_first(pairs, date)]
    least = min(pair.copied for pair in pairs)
    if len(group) == 2:
        summary = f"{_names(group)} share {_percent(least)} of the shorter text."
    else:
        folder = _folder(group)
        named = f"{len(group)} documents in {folder}/" if folder else _names(group)
        summary = (
            f"{named} are near copies: each shares {_percent(least)} or more of the shorter "
            "text with another one."
        )
    return DocumentFinding("copies", summary, tuple(map(_whole, group)), round(least, 2))


def _editions(
    documents: Sequence[Document],
    date: Callable[[int], EditionDate],
    pairs: Sequence[Resemblance],
    day: str,
) -> DocumentFinding:
    order = _newest_first(pairs, date)
    newest = next(
        (
            one
            for one in order
            if all(date(one).prevails_over(date(other), day) for other in order if other != one)
        ),
        None,
    )
    if newest is not None:
        order = [newest, *(one for one in order if one != newest)]
    group = [documents[position] for position in order]
    least = min(pair.share for pair in pairs)
    if all(pair.by_name for pair in pairs):
        summary = f"{_names(group)} are editions of one document."
    else:
        count, more = ("two ", "") if len(group) == 2 else ("", " or more")
        summary = (
            f"{_names(group)} look like {count}editions of one document: {_percent(least)}{more} "
            f"of their runs of {RUN} words, without figures, are the same."
        )
    names = [document.name for document in group]
    in_force = ""
    if newest is not None and all(
        are_editions(names[0], name) or may_supersede(names[0], name) for name in names[1:]
    ):
        first, *others = (date(position) for position in order)
        is_by_date = first.is_later_than(day) or any(
            first.is_dated_apart_from(other) or other.is_later_than(day) for other in others
        )
        summary += f" By their {'dates' if is_by_date else 'versions'}, {names[0]} is in force."
        in_force = group[0].id
    confidence = round(min(1.0, 0.6 + least), 2)
    return DocumentFinding("editions", summary, tuple(map(_whole, group)), confidence, in_force)


def _whole(document: Document) -> FindingPlace:
    return FindingPlace(document.id, document.name, 0, len(document.text), None, "")


def _names(group: Sequence[Document]) -> str:
    """Name two documents of a group, and count the others."""
    first, second, *others = (document.name for document in group)
    return f"{first}, {second} and {len(others)} more" if others else f"{first} and {second}"


def _percent(share: float) -> str:
    """Write a share; no more than 99% where something differs."""
    return percent(share if share == 1.0 else min(share, 0.99))


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


def _unread(documents: Sequence[Document]) -> Iterator[DocumentFinding]:
    """Yield the documents whose reader left parts out, each with the words behind the first one."""
    for document in documents:
        if words := unread_words(document):
            omissions = document.receipt.left_out if document.receipt else ()
            start = min((omission.start for omission in omissions), default=0)
            where = place(document, start, min(start + 200, len(document.text)))
            yield DocumentFinding("unread", f"{document.name}: {words}.", (where,), 1.0)


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
    words = cache(lambda position: word_set(documents[position].text))
    figures = cache(lambda position: figures_of(documents[position].text))
    codes = [subject_of(document.name) for document in documents]
    near, sizes = _sharing(_runs(document.text) for document in documents)
    near_plain, plain_sizes = _sharing(word_runs(document.text) for document in documents)
    titles = [title_of(document) for document in documents]
    for one, other in combinations(range(len(documents)), 2):
        names = documents[one].name, documents[other].name
        pair_titles = titles[one], titles[other]
        runs = near_plain[one, other], plain_sizes[one], plain_sizes[other]
        share = partial(lambda one, other: jaccard(words(one), words(other)), one, other)
        kind = edition_kind(names, pair_titles, share, partial(tuple[int, int, int], runs))
        equal = near[one, other] == sizes[one] == sizes[other]
        if kind == "name":
            yield Resemblance("edition", one, other, share(), by_name=True)
            continue
        of_periods = are_of_other_periods(*names) or are_of_other_periods(*pair_titles)
        if are_editions(*names) and not of_periods:
            continue  # a series
        if codes[one] != codes[other] and codes[one] and codes[other]:
            continue
        fewest = min(sizes[one], sizes[other])
        same = near[one, other] / fewest if fewest else 0.0
        if kind == "text" and figures(one) != figures(other):  # copies say the same
            yield Resemblance("edition", one, other, overlap(*runs), copied=same)
        elif same >= COPY and (equal or not of_periods):
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
