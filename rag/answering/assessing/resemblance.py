"""Editions of one document whose names do not tell: most of their texts is the same."""

from __future__ import annotations

import re

from rag.answering.assessing.editions import edition_date, family
from rag.types import Document, name_stem

ALIKE = 0.6
"""Of the longer text, the least share of its runs of words that another edition has, too."""
FEWEST_RUNS = 50
"""A text of fewer runs does not tell."""
RUN = 6
CODE = re.compile(
    r"\b(?=[\w./-]{0,40}?[A-Za-z])(?=[\w./-]{0,40}?\d)[A-Za-z0-9]+(?:[-/][A-Za-z0-9]+)*\b"
)
_NO_CODE = re.compile(r"\d+(?:st|nd|rd|th|[a-zA-Z]{1,3}|[a-z]{5,}|/[a-zA-Z]+|[a-z]?(?:-[a-z]+)+)")
"""A figure with its unit or ending, and a name such as "37signals"."""
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_LENGTH = 0.5
"""Of the longer text. Comparing runs takes long, and a shorter one cannot share enough of them."""


def codes_of(text: str) -> frozenset[str]:
    """Return the codes of a text: words that mix letters and digits, such as ``CV-118``."""
    return frozenset(
        match[0].casefold().replace("-", "")
        for match in CODE.finditer(text)
        if not _NO_CODE.fullmatch(match[0])
    )


def subject_of(name: str) -> frozenset[str]:
    """Return the codes in a document's name: ``corvane-c16-manual.pdf`` is on the C16."""
    return codes_of(re.sub(r"[-_]", " ", name_stem(name)))


def word_runs(text: str) -> frozenset[int]:
    """Return the runs of six words of a text, without its figures, as hashes."""
    words = _WORD.findall(text.casefold())
    return frozenset(hash(tuple(words[at : at + RUN])) for at in range(len(words) - RUN + 1))


def may_be_editions(one: str, other: str) -> bool:
    """Whether nothing in two names of documents says that they are on different things.

    Sister products have other codes in their names, and minutes are a series.
    """
    return bool(family(one) and family(other)) and subject_of(one) == subject_of(other)


def overlap(shared: int, one: int, other: int) -> float:
    """Return the share of runs that the longer of two texts has in common with the other one."""
    return shared / max(one, other) if min(one, other) >= FEWEST_RUNS else 0.0


def look_like_editions(one: Document, other: Document) -> bool:
    """Whether most of two texts is the same, and their dates tell which one is newer."""
    sizes = sorted((len(one.text), len(other.text)))
    dates = [edition_date(document.name, document.text) for document in (one, other)]
    if not may_be_editions(one.name, other.name) or sizes[0] < _LEAST_LENGTH * sizes[1]:
        return False
    if not (dates[0].is_newer_than(dates[1]) or dates[1].is_newer_than(dates[0])):
        return False
    mine, theirs = word_runs(one.text), word_runs(other.text)
    return overlap(len(mine & theirs), len(mine), len(theirs)) >= ALIKE
