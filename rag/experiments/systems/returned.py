"""Results of a system, before they are located in our documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ReturnedText:
    """One result of a system; ``text`` is "" where the system sent none.

    ``score`` is the system's own, on its own scale. ``id`` is its id, which is not one of ours.
    """

    text: str
    score: float | None = None
    id: str = ""
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Returned:
    """The results for one question, best first.

    ``question_id`` is "" where it isn't given. Retrievals with the same ``trace`` served one
    request; ``hop`` counts them from 0. ``request`` are the words of that request, "" where the
    file does not have them. ``references`` are texts that the file itself names as the right ones.
    """

    question: str
    texts: tuple[ReturnedText, ...]
    hop: int = 0
    question_id: str = ""
    trace: str = ""
    references: tuple[str, ...] = ()
    request: str = ""
