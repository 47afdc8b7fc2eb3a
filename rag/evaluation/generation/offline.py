"""Test queries cut from the text itself, without a language model.

They are what they are: a sentence with a gap, a sentence's rarest words, or a heading. All of them
use the words of their passage, so they flatter search by words; their leak score says how much.
They serve to try a recipe on documents that nobody has asked about yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.answering.statements.sentences import Statement, statements
from rag.answering.words import content_words
from rag.evaluation.generation.drafts import Draft, OfflineKind, Rarity, draft
from rag.types import Chunk

GAP = "[…]"
_FIGURE = re.compile(r"(?<![\w.,])[€$£]?\d[\d.,:]*(?<=\d)\s?%?")
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_SHORTEST, _LONGEST = 40, 300  # characters of a sentence
_KEYWORDS = 5
_FEWEST_KEYWORDS = 3


def cut_question(kind: OfflineKind, passage: Chunk, rarity: Rarity) -> Draft | None:
    """A test query from one passage, with its source as evidence; None where it has none to give.

    ``cloze``: the sentence with the best figure or rare word left out. ``keywords``: the rarest
    words of that sentence, in order. ``heading``: the heading that the passage stands under.
    """
    if kind == "heading":
        return _from_heading(passage, rarity)
    best = max(_gaps(passage.text, rarity), key=lambda gap: gap.worth, default=None)
    if best is None:
        return None
    start = best.statement.start
    span = (start, start + len(best.statement.quote))
    text = best.cloze if kind == "cloze" else _keywords(best, rarity)
    return draft(kind, text, [passage], [span], rarity) if text else None


@dataclass(frozen=True, slots=True)
class _Gap:
    """A term of a statement that could be asked for; ``start`` is within the statement's text."""

    statement: Statement
    start: int
    term: str
    worth: float

    @property
    def cloze(self) -> str:
        text = self.statement.text
        return f"{text[: self.start]}{GAP}{text[self.start + len(self.term) :]}"


def _gaps(text: str, rarity: Rarity) -> Iterator[_Gap]:
    """Figures count double: what they say cannot be guessed."""
    read = 0
    for statement in statements(text):
        # One that leans on the sentence before repeats it; that one can do without.
        again = statement.start < read
        read = max(read, statement.start + len(statement.quote))
        if again or not _SHORTEST <= len(statement.text) <= _LONGEST:
            continue
        telling = content_words(statement.text)
        common = sum(map(rarity.weight, telling)) / max(len(telling), 1)
        for match in _FIGURE.finditer(statement.text):
            yield _Gap(statement, match.start(), match.group().rstrip(), 2 * common)
        for match in _WORD.finditer(statement.text):
            stems = content_words(match.group()) & telling
            weight = max(map(rarity.weight, stems), default=0.0)
            if weight > common:
                yield _Gap(statement, match.start(), match.group(), weight)


def _keywords(gap: _Gap, rarity: Rarity) -> str:
    telling = content_words(gap.statement.text)
    words = {
        match.group(): max(map(rarity.weight, content_words(match.group()) & telling), default=0.0)
        for match in _WORD.finditer(gap.statement.text)
        if match.group() != gap.term
    }
    rare = sorted((word for word in words if words[word] > 0), key=lambda word: -words[word])
    chosen = set(rare[:_KEYWORDS])
    if len(chosen) < _FEWEST_KEYWORDS:
        return ""
    return " ".join(word for word in words if word in chosen)


def _from_heading(passage: Chunk, rarity: Rarity) -> Draft | None:
    parts = [part.strip() for part in passage.heading.split(" > ") if part.strip()]
    text = ": ".join(dict.fromkeys(parts[-2:]))
    if not content_words(text):
        return None
    return draft("heading", text, [passage], [(0, len(passage.text))], rarity)
