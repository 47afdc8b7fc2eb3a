"""Questions and what is relevant to them."""

from __future__ import annotations

from dataclasses import dataclass

MISLEADING = -1
"""The grade of what is on the topic and would make an answer wrong."""
LOST = "lost:"
"""What the document id of lost evidence begins with; a SHA-256 never does."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The location of an answer: a span of a document, with a grade (1 relevant, 2 highly, ...).

    Grade 0 says that it is not relevant, ``MISLEADING`` that it would make an answer wrong.
    ``nugget`` names the part of the answer that it has, where the answer consists of several.

    If ``end`` is None, the whole document is relevant: the label names the document, not the
    location. ``quote`` is the text of the span, stored to locate it again in a new version.
    Evidence that is in no current document is ``lost``: it counts as relevant and is never
    retrieved.
    """

    document_id: str
    start: int
    end: int | None
    grade: int = 1
    quote: str = ""
    nugget: str = ""

    @property
    def lost(self) -> bool:
        """Whether its document is gone, or never came; ``document_id`` then names it by name."""
        return self.document_id.startswith(LOST)


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question; ``answerable`` False says that the documents do not answer it.

    ``group`` is what somebody said it belongs to, ``answer`` what a right answer says; "" where
    nobody did.
    """

    id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    answerable: bool = True
    tags: tuple[str, ...] = ()
    group: str = ""
    answer: str = ""
