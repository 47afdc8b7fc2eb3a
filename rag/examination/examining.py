"""Examines the texts of documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag.answering.assessing.editions import edition_date, today
from rag.documents.garbled import SURE, broken_characters
from rag.examination.claims import Claim, claims_of
from rag.examination.contradictions import Contradiction, contradictions
from rag.examination.copies import Resemblance, resemblances
from rag.examination.findings import KIND_TITLES, Difference, DocumentFinding, FindingPlace
from rag.types import Document

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
    findings = [
        _contradiction(documents, pair)
        for pair in apart
        if (pair.one.document, pair.other.document) not in editions
    ]
    for pair in alike:
        findings.append(_resemblance(documents, pair, apart, day or today()))
    findings.extend(_unreadable(documents))
    return sorted(_numbered(findings), key=by_kind)


def _numbered(findings: Sequence[DocumentFinding]) -> Iterator[DocumentFinding]:
    """Yield the findings, those with the same texts under numbers of their own."""
    counts = Counter[str]()
    for finding in findings:
        yield replace(finding, number=counts[finding.id])
        counts[finding.id] += 1


def _contradiction(documents: Sequence[Document], pair: Contradiction) -> DocumentFinding:
    difference = _difference(documents, pair)
    one, other = difference.one, difference.other
    return DocumentFinding(
        "contradiction",
        f"{one.document} states {one.value}, {other.document} states {other.value}.",
        (one, other),
        round(pair.likeness, 2),
    )


def _difference(documents: Sequence[Document], pair: Contradiction) -> Difference:
    return Difference(
        _place(documents, pair.one, pair.values[0]), _place(documents, pair.other, pair.values[1])
    )


def _place(documents: Sequence[Document], claim: Claim, value: str) -> FindingPlace:
    return place(documents[claim.document], claim.start, claim.end, value)


def place(document: Document, start: int, end: int, value: str = "") -> FindingPlace:
    """Return a place in a document with its words, on one line."""
    words = " ".join(document.text[start:end].split())
    page = document.page_at(start)
    return FindingPlace(document.id, document.name, start, end, page, words, value)


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
    places = tuple(FindingPlace(one.id, one.name, 0, len(one.text), None, "") for one in two)
    if pair.kind == "copy":
        summary = f"{two[0].name} and {two[1].name} share {pair.share:.0%} of the shorter text."
        return DocumentFinding("copies", summary, places, round(pair.share, 2))
    differences = [
        _difference(documents, one)
        for one in apart
        if (one.one.document, one.other.document) == (pair.one, pair.other)
    ]
    summary = f"{two[0].name} and {two[1].name} are editions of one document." + (
        f" By their dates, {two[0].name} is in force." if has_current else ""
    )
    in_force = two[0].id if has_current else ""
    confidence = min(1.0, 0.6 + pair.share)
    return DocumentFinding(
        "editions", summary, places, round(confidence, 2), in_force, tuple(differences)
    )


def _unreadable(documents: Sequence[Document]) -> Iterator[DocumentFinding]:
    for document in documents:
        pages = [(page.start, page.end, page.confidence) for page in document.pages]
        for start, end, confidence in pages or [(0, len(document.text), None)]:
            sign = broken_characters(document.text[start:end])
            if not sign and confidence is not None and confidence < SURE:
                sign = f"its words were recognised with a confidence of {confidence:.0f} of 100"
            if sign:
                where = place(document, start, min(end, start + 200))
                name = f"Page {where.page} of {document.name}" if where.page else document.name
                yield DocumentFinding(
                    "unreadable", f"{name} is not readable: {sign}.", (where,), 0.9
                )
