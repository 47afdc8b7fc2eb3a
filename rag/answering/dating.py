"""The edition of a document that a question with a date is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.answering.assessing.editions import asks_today, family, moment_of, superseded
from rag.answering.languages import pattern
from rag.answering.reading import PassageReader
from rag.types import Hit

_OVER_TIME = pattern("over_time")
"""Such a question is about several editions."""


@dataclass(frozen=True, slots=True)
class Dated:
    """The passages of the editions that are in force; ``reason`` names those that are not."""

    hits: tuple[Hit, ...]
    reason: str
    document: str
    """The edition that is in force."""


def dated(question: str, hits: Sequence[Hit], reader: PassageReader) -> Dated | None:
    """The passages that are in force when the question says; None where it makes no difference.

    A question without a date and without a word such as "currently" is answered by all editions,
    the newest first.
    """
    moment = moment_of(question)
    if not (moment or asks_today(question)) or _OVER_TIME.search(question):
        return None
    by_name = {hit.document: hit for hit in hits}
    left_out = superseded(
        {name: reader.edition_date(hit) for name, hit in by_name.items()},
        moment or reader.day,
        lambda one, other: not reader.are_of_occasions(by_name[one], by_name[other]),
    )
    kept = tuple(hit for hit in hits if hit.document not in left_out)
    if not left_out:
        return None
    used = next(hit.document for hit in kept if family(hit.document) == family(left_out[0]))
    return Dated(kept, edition_words(used, left_out, moment), used)


def edition_words(used: str, left_out: Sequence[str], moment: str = "") -> str:
    """Say which edition of a document is used; "" where it has no other."""
    others = [name for name in left_out if family(name) == family(used)]
    if not others:
        return ""
    preposition = "on" if moment.count("-") == 2 else "in"
    when = f" {preposition} {moment}" if moment else ""
    verb = "is" if len(others) == 1 else "are"
    return f"{used} is the edition in force{when}; {', '.join(others)} {verb} left out."
