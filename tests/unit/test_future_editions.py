"""Editions that apply only from a later day on: neither in force today nor the newest."""

from __future__ import annotations

from typing import ClassVar

import pytest

from rag.answering.assessing.conflicts import conflict_words, disagreeing
from rag.answering.assessing.editions import edition_date, superseded
from rag.answering.comparing.dating import dated
from rag.answering.extractive import quotes
from rag.answering.reading import PassageReader
from rag.answering.vocabulary import Vocabulary
from rag.providers.hashing import HashingEmbedder
from rag.types import Chunk, Citation, Document, Hit

TODAY = "2026-11-25"
TEXT = "Valid from 1 January {year}.\n\nEverybody has {days} days of annual leave per year.\n"
EDITIONS = {
    f"leave-{year}.md": TEXT.format(year=year, days=days) for year, days in ((2025, 25), (2027, 30))
}
QUESTION = "How many days of annual leave per year does everybody have"


class _Stored:
    def document(self, hit: Hit) -> Document | None:
        return Document(hit.document, hit.document, "", "text/markdown", EDITIONS[hit.document])

    outline = document


def _hits() -> list[Hit]:
    return [
        Hit(Chunk(key, name, 0, len(text), text, 0), name, key, 1.0, 0.9, {})
        for key, (name, text) in enumerate(reversed(EDITIONS.items()), start=1)
    ]


def _reader(day: str) -> PassageReader:
    return PassageReader(_Stored(), day)


@pytest.mark.parametrize(
    ("weeks", "quote", "editions"),
    [
        (6, "Carers may add 8 weeks of leave unpaid.", []),
        (6, "Carers have over 9 weeks of leave at full salary.", ["2026", "2025"]),
        (
            9,
            "Carers have up to 9 weeks of leave at full salary.",
            ["2026", "2025"],
        ),
    ],
)
def test_editions_disagree_only_where_the_statements_most_alike_do(
    weeks: int, quote: str, editions: list[str]
) -> None:
    new = "Carers have up to 6 weeks of leave at full pay."
    old = (
        f"Carers have up to {weeks} weeks of leave at full salary."
        " Carers have over 9 weeks of leave at full salary."
        " Carers may add 8 weeks of leave unpaid."
    )
    citations = [
        Citation(n, Hit(Chunk(n, name, 0, len(text), text, 0), name, n, 1.0, 0.9, {}), cited)
        for n, name, text, cited in (
            (1, "leave-2026.md", new, new),
            (2, "leave-2025.md", old, quote),
        )
    ]
    question = "How many weeks of leave do carers have?"
    conflict = disagreeing(citations, PassageReader(day=TODAY), Vocabulary(), question)
    assert [edition.day for edition in conflict] == editions


@pytest.mark.parametrize(
    ("day", "used"), [(TODAY, "leave-2025.md"), ("2027-01-01", "leave-2027.md")]
)
def test_the_current_edition_is_the_one_that_applies_today(day: str, used: str) -> None:
    chosen = dated(f"{QUESTION} currently?", _hits(), _reader(day))
    assert chosen is not None
    assert [hit.document for hit in chosen.hits] == [used]
    assert chosen.reason.startswith(f"{used} is the edition in force; ")


def test_a_question_about_a_later_year_is_answered_by_its_edition() -> None:
    chosen = dated(f"{QUESTION} in 2027?", _hits(), _reader(TODAY))
    assert chosen is not None
    assert [hit.document for hit in chosen.hits] == ["leave-2027.md"]


@pytest.mark.parametrize(
    ("day", "first", "words"),
    [
        (
            TODAY,
            "25 days",
            "leave-2025.md (2025-01-01) and leave-2027.md (from 2027-01-01 on) give different"
            " figures. leave-2025.md is in force today.",
        ),
        (
            "2028-01-01",
            "30 days",
            "leave-2027.md (2027-01-01) and leave-2025.md (2025-01-01) give different figures."
            " leave-2027.md is the newest.",
        ),
    ],
)
def test_a_conflict_names_the_day_from_which_an_edition_applies(
    day: str, first: str, words: str
) -> None:
    reader = _reader(day)
    text, citations = quotes(f"{QUESTION}?", _hits(), HashingEmbedder(), reader)
    assert first in text.split("[1]", maxsplit=1)[0]
    assert conflict_words(disagreeing(citations, reader, Vocabulary(), QUESTION), day) == words


def test_of_two_later_editions_neither_is_in_force() -> None:
    one, other = (edition_date(f"leave-{year}.md") for year in (2027, 2028))
    assert not one.prevails_over(other, TODAY)
    assert not other.prevails_over(one, TODAY)
    assert superseded({"leave-2027.md": one, "leave-2028.md": other}, TODAY) == ()


REST = " ".join(f"The {one} {other} is open." for one in "klmnop" for other in "qrstuvwx")


class _Tariffs:
    """Two editions whose names do not tell it."""

    texts: ClassVar = {
        "ord-12621-fees-2017.md": f"The loader costs 872.00 an hour of work. {REST}",
        "FEES_2018_-_Ord._12754.md": f"The loader costs 1045.00 an hour of work. {REST}",
    }

    def document(self, hit: Hit) -> Document | None:
        return Document(hit.document, hit.document, "", "text/markdown", self.texts[hit.document])

    outline = document


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        (
            REST,
            "FEES_2018_-_Ord._12754.md and ord-12621-fees-2017.md give different figures."
            " FEES_2018_-_Ord._12754.md is the newest.",
        ),
        ("Another law is about something else.", ""),
    ],
)
def test_texts_that_are_mostly_the_same_disagree_as_editions(
    rest: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, _ = _Tariffs.texts
    texts = {**_Tariffs.texts, old: _Tariffs.texts[old].replace(REST, rest)}
    monkeypatch.setattr(_Tariffs, "texts", texts)
    hits = [
        Hit(Chunk(n, name, 0, 42, text[:42], 0), name, n, 1.0, 0.9, {})
        for n, (name, text) in enumerate(texts.items(), start=1)
    ]
    reader, question = PassageReader(_Tariffs(), TODAY), "What does an hour of the loader cost?"
    _, citations = quotes(question, hits, HashingEmbedder(), reader)
    conflict = disagreeing(citations, reader, Vocabulary(), question)
    assert (conflict_words(conflict, TODAY) if conflict else "") == words
