"""Editions of one document whose names do not tell: most of their texts is the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from rag.answering.assessing.editions import (
    are_editions,
    are_of_other_periods,
    edition_date,
    family,
    is_report,
    names_day,
    words_of,
)
from rag.answering.words import LETTERS
from rag.types import name_stem

SERIES = 0.3
"""Documents with names of editions that share less of their words (Jaccard) are a series."""
ALIKE = 0.6
"""Of the longer text, the least share of its runs of words that another edition has, too."""
DIFFERENT = 0.1
"""Texts that share less than this are on different occasions, whatever their names say."""
FEWEST_RUNS = 50
"""A text of fewer runs does not tell."""
RUN = 6
"""Words of a run."""
CODE = re.compile(
    r"\b(?=[\w./-]{0,40}?[A-Za-z])(?=[\w./-]{0,40}?\d)[A-Za-z0-9]+(?:[-/][A-Za-z0-9]+)*\b"
)
_NO_CODE = re.compile(r"\d+(?:[a-zA-Z]{1,3}|[a-z]{5,}|/[a-zA-Z]+|[a-z]?(?:-[a-z]+)+)")
"""A figure with its unit or ending, and a name such as "37signals"."""


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
    words = LETTERS.findall(text.casefold())
    return frozenset(hash(tuple(words[at : at + RUN])) for at in range(len(words) - RUN + 1))


def may_be_editions(one: str, other: str) -> bool:
    """Whether nothing in two names of documents says that they are on different things.

    Sister products have other codes in their names, and each report is on a period of its own.
    """
    if (is_report(one) or is_report(other)) and family(one) != family(other):
        return False
    return bool(family(one) and family(other)) and subject_of(one) == subject_of(other)


def overlap(shared: int, one: int, other: int) -> float:
    """Return the share of runs that the longer of two texts has in common with the other one."""
    return shared / max(one, other) if min(one, other) >= FEWEST_RUNS else 0.0


def edition_kind(
    names: tuple[str, str],
    titles: tuple[str, str],
    share: Callable[[], float],
    runs: Callable[[], tuple[int, int, int]],
) -> Literal["name", "text", ""]:
    """Return what makes two documents editions of one: their names, their texts, or nothing.

    By names that differ in a date, version or status, they are editions if they share enough of
    their words; by other names, if most of their runs of words are the same. ``share`` is the
    Jaccard index of their words, ``runs`` the number of common runs and of those of each. Reports
    on different periods, sister products, and two occasions that are named by their days are none.
    """
    if are_of_other_periods(*names) or are_of_other_periods(*titles):
        return ""
    if are_editions(*names):
        of_occasions = all(map(names_day, names)) and are_different(*runs())
        return "name" if share() >= SERIES and not of_occasions else ""
    return "text" if may_be_editions(*names) and overlap(*runs()) >= ALIKE else ""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text without its codes and figures."""
    return frozenset(LETTERS.findall(CODE.sub(" ", text).casefold()))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the words of two texts that both have; 0 for no words."""
    return len(one & other) / max(len(one | other), 1)


def may_supersede(one: str, other: str) -> bool:
    """Whether two names of documents have the same words, and dates that tell which one is newer.

    Contracts of two persons have most of their texts in common, but neither supersedes the other.
    """
    dates = edition_date(one), edition_date(other)
    dated = dates[0].is_newer_than(dates[1]) or dates[1].is_newer_than(dates[0])
    words = words_of(one)
    return dated and bool(words) and words == words_of(other) and may_be_editions(one, other)


def are_different(shared: int, one: int, other: int) -> bool:
    """Whether two texts, both long enough to tell, have hardly any runs of words in common."""
    return min(one, other) >= FEWEST_RUNS and overlap(shared, one, other) < DIFFERENT
