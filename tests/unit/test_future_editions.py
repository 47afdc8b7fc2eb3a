"""Editions that apply only from a later day on: neither in force today nor the newest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag import Chunk, Citation, Document, Hit
from rag.answering import PassageReader, Vocabulary, extractive, quotes, reading
from rag.answering.assessing.conflicts import conflict_words, disagreeing, outdated_words
from rag.answering.extractive import dated
from rag.providers.minilm import HashingEmbedder
from rag.readers import read_text

TODAY = "2026-11-25"
TEXT = "Valid from 1 January {year}.\n\nEverybody has {days} days of annual leave per year.\n"
EDITIONS = {
    f"leave-{year}.md": TEXT.format(year=year, days=days) for year, days in ((2025, 25), (2027, 30))
}
QUESTION = "How many days of annual leave per year does everybody have"


class _Stored:
    def document(self, hit: Hit) -> Document | None:
        return Document(hit.document, hit.document, "", "text/markdown", EDITIONS[hit.document])


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
def test_editions_disagree_only_where_the_statements_most_alike_do(weeks, quote, editions):
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
def test_the_current_edition_is_the_one_that_applies_today(day, used):
    chosen = dated(f"{QUESTION} currently?", _hits(), _reader(day))
    assert [hit.document for hit in chosen.hits] == [used]
    assert chosen.reason.startswith(f"{used} is the edition in force; ")


def test_a_question_about_a_later_year_is_answered_by_its_edition():
    chosen = dated(f"{QUESTION} in 2027?", _hits(), _reader(TODAY))
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
def test_a_conflict_names_the_day_from_which_an_edition_applies(day, first, words):
    reader = _reader(day)
    text, citations = quotes(f"{QUESTION}?", _hits(), HashingEmbedder(), reader)
    assert first in text.split("[1]", maxsplit=1)[0]
    assert conflict_words(disagreeing(citations, reader, Vocabulary(), QUESTION), day) == words


REST = " ".join(f"The {one} {other} is open." for one in "klmnop" for other in "qrstuvwx")


class _Read:
    """Documents by name, with their headings."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def document(self, hit: Hit) -> Document | None:
        return read_text(self._texts[hit.document], hit.document)


def _passages(*texts: tuple[str, str]) -> list[Hit]:
    return [
        Hit(Chunk(n, name, 0, len(text), text, 0), name, n, 1.0, 0.9, {})
        for n, (name, text) in enumerate(texts, start=1)
    ]


CONTRACTS = {
    "contract-anna-miller.md": f"Valid from 1 March 2022. The salary is 4,100 euros. {REST}",
    "contract-bert-jones.md": f"Valid from 1 May 2025. The salary is 5,300 euros. {REST}",
}


def test_contracts_of_two_persons_do_not_supersede_each_other(monkeypatch):
    compared = list[object]()

    def on_one_matter(*terms: object) -> bool:
        compared.append(terms)
        return True

    monkeypatch.setattr(extractive, "on_one_matter", on_one_matter)
    first, other = _passages(*CONTRACTS.items())
    hits = [first, replace(other, relevance=0.6)]
    reader, question = PassageReader(_Read(CONTRACTS), TODAY), "What is the salary?"
    _, citations = quotes(question, hits, HashingEmbedder(), reader)
    assert citations[0].hit.document == "contract-anna-miller.md"
    assert "4,100" in citations[0].quote
    editions = disagreeing(citations, reader, Vocabulary(), question)
    assert [edition.in_force for edition in editions] == [False, False]
    assert compared == []  # documents that are no editions are not compared by statement


def test_the_words_of_an_edition_are_read_once(monkeypatch):
    texts = {
        f"{name}.md": f"The salary is {at} euros. {REST}"
        for at, name in enumerate(("ord-7-fees-2016", "FEES_2017_-_Ord_8", "ord-9-fees-2018"))
    }
    read = list[str]()

    def word_runs(text: str) -> frozenset[int]:
        read.append(text)
        return frozenset(range(99))

    monkeypatch.setattr(reading, "word_runs", word_runs)
    reader, hits = PassageReader(_Read(texts), TODAY), _passages(*texts.items())
    for _ in range(2):
        assert [[reader.supersedes(one, other) for other in hits] for one in hits] == [
            [False, False, False],
            [True, False, False],
            [True, True, False],
        ]
    assert sorted(read) == sorted(read_text(text, name).text for name, text in texts.items())


def test_documents_of_unrelated_names_are_told_apart_unread(monkeypatch):
    asked = list[str]()
    monkeypatch.setattr(_Read, "document", lambda _self, hit: asked.append(hit.document))
    names = ("expenses.md", "security.md", "glossary.md")
    hits, reader = _passages(*((name, REST) for name in names)), PassageReader(_Read({}), TODAY)
    assert not any(reader.are_named_editions(hits[0], other) for other in hits)
    assert asked == []


HELMETS = (
    ("leave-2020.md", "Employees who cycle to work get a helmet with a reflector."),
    ("leave-2024.md", "Parents get ten days for a sick child."),
    ("leave-2024.md", "Employees who cycle to work receive a helmet with a reflector."),
)


@pytest.mark.parametrize(
    ("passages", "words"),
    [
        (3, ""),
        (
            2,
            "The quote is from the edition of 2020, leave-2020.md; the newer edition, "
            "leave-2024.md, does not have these words.",
        ),
    ],
)
def test_a_line_that_another_passage_of_the_newer_edition_has_in_other_words_is_not_outdated(
    passages, words
):
    first, *others = _passages(*HELMETS)[:passages]
    citation = Citation(1, first, first.chunk.text)
    assert outdated_words(citation, others, PassageReader(day=TODAY), Vocabulary()) == words


def test_words_that_a_newer_edition_has_elsewhere_are_lacking_under_their_heading():
    pays = "The company pays 75% of the premium."
    texts = {
        "benefits-2020.md": f"# Benefits\n\n## Dental\n\n{pays}\n",
        "benefits-2024.md": f"# Benefits\n\n## Dental\n\nNone.\n\n## Medical\n\n{pays}\n",
    }
    first, other = (
        Hit(Chunk(n, name, 0, len(text), text, 0), name, n, 1.0, 0.9, {})
        for n, name in enumerate(texts, start=1)
        for text in [read_text(texts[name], name).text]
    )
    later = Hit(Chunk(2, other.document, 0, 5, "None.", 0), other.document, 2, 1.0, 0.9, {})
    words = outdated_words(
        Citation(1, first, pays), [later], PassageReader(_Read(texts), TODAY), Vocabulary()
    )
    assert words.endswith("benefits-2024.md, does not have these words under “Dental”.")


def test_the_date_in_a_name_is_no_word_of_its_passages():
    (hit,) = _passages(("bonus-2026-03-31.md", "The company pays a bonus."))
    assert PassageReader().context(hit) == "bonus 2026 03 31"
