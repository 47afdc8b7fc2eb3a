"""Twenty sets of short documents with questions that they answer, and near misses.

A file has documents behind lines ``==== NAME`` and, last, its questions: ``+ QUESTION => WORDS``
with words that the quotes of a right answer have, and ``- QUESTION`` where only a doubtful or
refused answer is right. ``KEPT`` are sets on which no rule or weight was chosen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rag.types import Citation

SETS = (
    "bikes",
    "dentist",
    "cloud",
    "pool_de",
    "school_es",
    "ferry",
    "drones",
    "hostel_de",
    "handbook",
    "ovens",
)
KEPT = (
    "museum",
    "appliances",
    "coworking",
    "camp_de",
    "clinic_zh",
    "village",
    "clinic",
    "college",
    "gym_es",
    "runbooks",
)
_FOLDER = Path(__file__).parent
_BETWEEN_WORDS = re.compile(r"[|,*`\s]+")
_SECTION = re.compile(r"^==== (.+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question with words of its answer; "" where the documents have none."""

    text: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """Documents by name, and questions about them."""

    name: str
    files: dict[str, bytes]
    questions: tuple[SetQuestion, ...]


def read_set(name: str) -> DocumentSet:
    """Read a set by its name."""
    _, *parts = _SECTION.split((_FOLDER / f"{name}.txt").read_text("utf-8"))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    lines = sections.pop("QUESTIONS").splitlines()
    questions = tuple(SetQuestion(*line[2:].split(" => ", 1)) for line in lines)
    return DocumentSet(name, {key: text.encode() for key, text in sections.items()}, questions)


def has_words(citation: Citation, question: SetQuestion) -> bool:
    """Whether a quote has the words of an answer, white space and marks of tables aside."""
    return bool(question.words) and _words(question.words) in _words(citation.quote)


def _words(text: str) -> str:
    return " ".join(_BETWEEN_WORDS.sub(" ", text).split())
