"""Findings of an examination: what they are about, with the words that show it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from rag.answering.markup import unmarked

FindingKind = Literal[
    "editions", "copies", "hub", "unanswered", "unreached", "unreadable", "unread"
]
KIND_TITLES: dict[FindingKind, str] = {
    "editions": "Editions of one document",
    "copies": "Copies",
    "unreadable": "Unreadable page",
    "unread": "Parts that were not read",
    "hub": "Passage that answers everything",
    "unanswered": "Question with a doubtful or refused answer",
    "unreached": "Document that no question reaches",
}
"""Titles by kind, in the order in which findings are shown."""


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """A place in a document, with its words; ``page`` is None for text without pages."""

    document_id: str
    document: str
    start: int
    end: int
    page: int | None
    text: str

    @property
    def words(self) -> str:
        """The words without the marks of Markdown."""
        return unmarked(self.text)


@dataclass(frozen=True, slots=True)
class DocumentFinding:
    """One finding; ``confidence`` is from 0 to 1.

    ``places`` are two or more for editions (the one in force first) and copies, none for a question
    without an answer, and one for all other kinds. ``in_force`` is the id of the document that the
    names say is the newest, "" if they do not tell. ``question`` was asked in a chat; ``nearest``
    is the passage that its doubtful answer quotes first, which is no part of the ``id``.
    ``number`` tells findings apart whose texts are the same, from 0.
    """

    kind: FindingKind
    summary: str
    places: tuple[FindingPlace, ...]
    confidence: float
    in_force: str = ""
    number: int = 0
    question: str = ""
    nearest: FindingPlace | None = None

    @property
    def id(self) -> str:
        """A name that stays as long as the texts of the finding stay."""
        texts = [
            part
            for place in self.places
            for part in (place.document, place.text or place.document_id, "")
        ]
        if self.number:
            texts = [*texts, str(self.number)]
        if self.question:
            texts = [*texts, self.question]
        return hashlib.sha256(repr((self.kind, *texts)).encode()).hexdigest()[:16]
