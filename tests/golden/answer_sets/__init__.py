"""Twenty sets of short documents with questions that they answer, and near misses.

A file has documents behind lines ``==== NAME`` and, last, its questions. ``+ QUESTION => WORDS =>
VALUE / VALUE`` has words that the quotes of a right answer have, and the least that a sentence must
say to be right, in the ways of writing it. ``- QUESTION`` is one where only a doubtful or refused
answer is right. ``KEPT`` are sets on which no rule or weight was chosen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rag import Citation

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
    """A question with words of its answer; "" where the documents have none.

    ``value`` is the least that makes an answer right, its ways of writing between slashes.
    """

    text: str
    words: str = ""
    value: str = ""


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
    questions = tuple(SetQuestion(*line[2:].split(" => ", 2)) for line in lines)
    return DocumentSet(name, {key: text.encode() for key, text in sections.items()}, questions)


def has_words(citation: Citation, question: SetQuestion) -> bool:
    """Whether a quote has the words of an answer, white space and marks of tables aside."""
    return bool(question.words) and _words(question.words) in _words(citation.quote)


def has_value(text: str, question: SetQuestion) -> bool:
    """Whether a text has the least value that answers a question; no other number that has it."""
    return any(_value(way).search(text) for way in question.value.split(" / ") if way)


def _value(way: str) -> re.Pattern[str]:
    before = r"(?<![a-zß-ÿ\d])(?<!\d[.,:])" if way[0].isascii() else ""
    after = r"(?!\d|[.,:]\d*[1-9]|[.,]\d{3})" if way[-1].isdigit() else ""
    return re.compile(before + re.escape(way) + after, re.IGNORECASE)


def _words(text: str) -> str:
    return " ".join(_BETWEEN_WORDS.sub(" ", text).split())
