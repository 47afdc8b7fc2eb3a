"""Findings of an examination: what they are about, and those on what questions reach."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import prod
from typing import Literal

from rag.answering.markup import unmarked
from rag.storage.conversations.feedback import ChatQuestion
from rag.storage.conversations.turns import StoredCitation
from rag.storage.documents import DocumentInfo
from rag.types import Chunk, percent

FindingKind = Literal[
    "editions", "copies", "hub", "unanswered", "unreached", "unreadable", "unread"
]
KIND_TITLES: dict[FindingKind, str] = {
    "editions": "Editions of one document",
    "copies": "Copies",
    "unreadable": "Unreadable page",
    "unread": "Parts that were not read",
    "hub": "Passage that answers everything",
    "unanswered": "Question with a doubtful or refused answer",
    "unreached": "Document that no question reaches",
}
"""Titles by kind, in the order in which findings are shown."""


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """A place in a document, with its words; ``page`` is None for text without pages."""

    document_id: str
    document: str
    start: int
    end: int
    page: int | None
    text: str

    @property
    def words(self) -> str:
        """The words without the marks of Markdown."""
        return unmarked(self.text)


@dataclass(frozen=True, slots=True)
class DocumentFinding:
    """One finding; ``confidence`` is from 0 to 1.

    ``places`` are two or more for editions (the one in force first) and copies, none for a question
    without an answer, and one for all other kinds. ``in_force`` is the id of the document that the
    names say is the newest, "" if they do not tell. ``question`` was asked in a chat; ``nearest``
    is the passage that its doubtful answer quotes first, which is no part of the ``id``.
    ``number`` tells findings apart whose texts are the same, from 0.
    """

    kind: FindingKind
    summary: str
    places: tuple[FindingPlace, ...]
    confidence: float
    in_force: str = ""
    number: int = 0
    question: str = ""
    nearest: FindingPlace | None = None

    @property
    def id(self) -> str:
        """A name that stays as long as the texts of the finding stay."""
        texts = [
            part
            for place in self.places
            for part in (place.document, place.text or place.document_id, "")
        ]
        if self.number:
            texts = [*texts, str(self.number)]
        if self.question:
            texts = [*texts, self.question]
        return hashlib.sha256(repr((self.kind, *texts)).encode()).hexdigest()[:16]


DEPTH = 10
"""First results of a question that are looked at."""
UNLIKELY = 0.05
"""A document is unreached only if chance alone leaves it out more rarely."""
LEAST_QUESTIONS = 20
"""With fewer questions, a run says nothing about passages that are everywhere."""
HUB_SHARE = 0.1
"""The least share of questions that have a hub among their first results."""
HUB_FACTOR = 5
"""A hub is so many times as frequent as by chance, or more."""


@dataclass(frozen=True, slots=True)
class RunReach:
    """The first results of a run: (passage or document id, grade) by question.

    ``rankings`` has an entry for each of ``questions``. ``passages`` are those of the rankings that
    are stored, by id. ``in_documents`` is the number of passages by document, in the whole index.
    ``searched`` counts the documents of the run, also those that were left out of search since.
    """

    created: datetime
    questions: Sequence[str]
    rankings: Sequence[Sequence[tuple[str, int]]]
    passages: Mapping[str, Chunk]
    in_documents: Mapping[str, int]
    searched: int

    def documents(self, ranking: Sequence[tuple[str, int]]) -> set[str]:
        """Return the ids of the documents of a ranking; "" is all that is not stored any more."""
        ids = {
            chunk.document_id if (chunk := self.passages.get(name)) else name for name, _ in ranking
        }
        return {name if name in self.in_documents else "" for name in ids}


def unreached(
    documents: Sequence[DocumentInfo], runs: Sequence[RunReach], labelled: Collection[str]
) -> Iterator[DocumentFinding]:
    """Yield the documents that are in no label and among the first results of no question.

    Rankings that are older than a document say nothing about it, and one without passages cannot be
    reached. With few questions, chance leaves documents out too: those are not shown.
    """
    reached = set(labelled)
    for run in runs:
        reached.update(*map(run.documents, run.rankings))
    chance_of_runs = cache(lambda since: _chance([runs[number] for number in since]))
    for document in documents:
        since = tuple(number for number, run in enumerate(runs) if document.added <= run.created)
        questions, chance = chance_of_runs(since)
        indexed = all(runs[number].in_documents.get(document.id) for number in since)
        if document.id in reached or not questions or not indexed or chance > UNLIKELY:
            continue
        yield DocumentFinding(
            "unreached",
            f"{document.name} is among the first {DEPTH} results of none of {questions:,} "
            f"questions, and no label is in it.",
            (FindingPlace(document.id, document.name, 0, document.characters, None, ""),),
            round(1 - chance, 2),
        )


def _chance(runs: Sequence[RunReach]) -> tuple[int, float]:
    """Return the number of questions of some runs, and the chance of a document in no ranking.

    A question that several sets have counts once, as the first of the runs ranked it.
    """
    chances: dict[str, float] = {}
    for run in runs:
        total = max(run.searched, 1)
        for question, ranking in zip(run.questions, run.rankings, strict=True):
            chance = max(0.0, 1 - len(run.documents(ranking)) / total)
            chances.setdefault(_folded(question), chance)
    return len(chances), prod(chances.values())


def _folded(question: str) -> str:
    return " ".join(question.split()).casefold()


def hubs(run: RunReach, names: Mapping[str, str]) -> Iterator[DocumentFinding]:
    """Yield the passages that are among the first results of unusually many questions.

    Questions that a passage is labelled for do not count. ``names`` are those of documents, by id.
    """
    questions, passages = len(run.rankings), sum(run.in_documents.values())
    if questions < LEAST_QUESTIONS or not passages:
        return
    results = sum(name in run.passages for ranking in run.rankings for name, _ in ranking)
    expected = results / questions / passages
    counts = Counter(
        name
        for ranking in run.rankings
        for name, grade in ranking
        if grade <= 0 and name in run.passages
    )
    for name, count in counts.most_common():
        share, chunk = count / questions, run.passages[name]
        if share < max(HUB_SHARE, HUB_FACTOR * expected):
            return
        where = names.get(chunk.document_id)
        if where is None:
            continue
        text = " ".join(chunk.text.split())
        yield DocumentFinding(
            "hub",
            f"A passage of {where} is among the first {DEPTH} results of {count:,} of "
            f"{questions:,} questions ({percent(share)}) that it is not labelled for. By chance, "
            f"that would be {percent(expected, 1)}.",
            (FindingPlace(chunk.document_id, where, chunk.start, chunk.end, chunk.page, text),),
            round(1 - expected / share, 2),
        )


def unanswered(
    questions: Sequence[ChatQuestion], unanswerable: Sequence[str] = ()
) -> Iterator[DocumentFinding]:
    """Yield the questions of chats, newest first, whose newest answer is refused or doubtful.

    Those that a question set records as ``unanswerable`` are rightly so.
    """
    expected = set(map(_folded, unanswerable))
    by_words: dict[str, list[ChatQuestion]] = {}
    for question in questions:
        by_words.setdefault(_folded(question.question), []).append(question)
    for words, same in by_words.items():
        newest = same[0]
        if not newest.flagged or words in expected:
            continue
        refused = newest.status == "refused"
        outcome = "was refused an answer" if refused else "got a doubtful answer"
        flagged = sum(question.flagged for question in same)
        times = f" {flagged} of {len(same)} answers were refused or doubtful." * (len(same) > 1)
        yield DocumentFinding(
            "unanswered",
            f"“{newest.question}” {outcome} in the chat.{times}",
            (),
            round(flagged / len(same), 2),
            question=newest.question,
            nearest=None if refused or newest.nearest is None else _place(newest.nearest),
        )


def _place(citation: StoredCitation) -> FindingPlace:
    """The passage of a citation, with the words that are quoted from it."""
    return FindingPlace(
        citation.document_id,
        citation.document,
        citation.start,
        citation.end,
        citation.page,
        citation.quote or citation.text,
    )
