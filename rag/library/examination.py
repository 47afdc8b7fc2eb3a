"""An examination of documents: editions, copies, unreadable pages, and what no question reaches."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import combinations
from math import prod
from typing import Literal, get_args

import numpy as np

from rag.answering.assessing.editions import (
    RUN,
    EditionDate,
    are_editions,
    are_of_other_periods,
    edition_date,
    edition_kind,
    figures_of,
    jaccard,
    may_supersede,
    overlap,
    subject_of,
    today,
    word_runs,
    word_set,
)
from rag.answering.markup import unmarked
from rag.chunking.contexts import title_of
from rag.errors import InvalidInput, NotFound
from rag.input_rules import storable
from rag.library.documents.passage_edits import PassageEdits
from rag.library.documents.reading_again import SURE, broken_characters, unread_words
from rag.operation import ALL, operation
from rag.services.services import SizedCache
from rag.storage import (
    Connection,
    Database,
    bases,
    builds,
    documents,
    labels,
    passages,
    questions,
    runs,
)
from rag.storage.conversations import Scope, feedback
from rag.storage.conversations.feedback import ChatQuestion
from rag.storage.conversations.turns import StoredCitation
from rag.storage.documents import DocumentInfo
from rag.storage.quality import decisions as settlements
from rag.storage.quality.decisions import SettlementData, SettlementDecision
from rag.types import Chunk, Document, page_name, percent
from rag.types.results import Run

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
class FindingPlaceData:
    """A place in a document, with its words."""

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
    places: tuple[FindingPlaceData, ...]
    confidence: float
    in_force: str = ""
    number: int = 0
    question: str = ""
    nearest: FindingPlaceData | None = None

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
LEAST_QUESTIONS = 100
"""With fewer questions, a run says nothing about passages that are everywhere.

Of 100 samples of 20 questions, 98 to 100 have a passage that is no hub of all questions (of three
collections); of 100 samples of 100 questions, none to two (of two).
"""
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
            (FindingPlaceData(document.id, document.name, 0, document.characters, None, ""),),
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
            (FindingPlaceData(chunk.document_id, where, chunk.start, chunk.end, chunk.page, text),),
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


def _place(citation: StoredCitation) -> FindingPlaceData:
    """The passage of a citation, with the words that are quoted from it."""
    return FindingPlaceData(
        citation.document_id,
        citation.document,
        citation.start,
        citation.end,
        citation.page,
        citation.quote or citation.text,
    )


_ORDER = list(KIND_TITLES)


def by_kind(finding: DocumentFinding) -> tuple[int, float, str]:
    """Return the key by which findings are sorted: by kind, the surest first."""
    return _ORDER.index(finding.kind), -finding.confidence, finding.summary


def examine(documents: Sequence[Document], day: str = "") -> list[DocumentFinding]:
    """Return findings: editions, copies, unreadable pages and unread parts, the surest first.

    ``day`` is the ISO date on which an edition is in force or not, "" for today.
    """
    date = cache(lambda position: edition_date(documents[position].name, documents[position].text))
    pairs: dict[str, list[Resemblance]] = {"edition": [], "copy": []}
    for pair in resemblances(documents):
        pairs[pair.kind].append(pair)
    copies = _by_folder(documents, _groups(pairs["copy"]))
    findings = [_copies(documents, date, group) for group in copies]
    findings += [
        _editions(documents, date, group, day or today()) for group in _groups(pairs["edition"])
    ]
    findings.extend(_unreadable(documents))
    findings.extend(_unread(documents))
    return sorted(_numbered(findings), key=by_kind)


def _numbered(findings: Sequence[DocumentFinding]) -> Iterator[DocumentFinding]:
    """Yield the findings, those with the same texts under numbers of their own."""
    counts = Counter[str]()
    for finding in findings:
        yield replace(finding, number=counts[finding.id])
        counts[finding.id] += 1


def place(document: Document, start: int, end: int) -> FindingPlaceData:
    """Return a place in a document with its words, on one line."""
    words = " ".join(document.text[start:end].split())
    page = document.page_at(start)
    return FindingPlaceData(document.id, document.name, start, end, page, words)


def _groups(pairs: Sequence[Resemblance]) -> list[list[Resemblance]]:
    """Return the pairs of each group of documents that are alike, some of them by way of others."""
    groups: dict[int, frozenset[int]] = {}
    for pair in pairs:
        group = groups.get(pair.one, frozenset((pair.one,)))
        if pair.other not in group:
            group |= groups.get(pair.other, frozenset((pair.other,)))
            groups |= dict.fromkeys(group, group)
    members = defaultdict[frozenset[int], list[Resemblance]](list)
    for pair in pairs:
        members[groups[pair.one]].append(pair)
    return list(members.values())


def _by_folder(
    documents: Sequence[Document], groups: Sequence[list[Resemblance]]
) -> list[list[Resemblance]]:
    """Return the groups, those of one folder as one: a series such as release notes."""
    merged: dict[object, list[Resemblance]] = {}
    for number, group in enumerate(groups):
        folder = _folder([documents[at] for pair in group for at in (pair.one, pair.other)])
        merged.setdefault(folder or number, []).extend(group)
    return list(merged.values())


def _folder(group: Sequence[Document]) -> str:
    """The folder that all documents of a group are in; "" for none."""
    folders = {document.name.rpartition("/")[0] for document in group}
    return folders.pop() if len(folders) == 1 else ""


def _newest_first(pairs: Sequence[Resemblance], date: Callable[[int], EditionDate]) -> list[int]:
    positions = sorted({position for pair in pairs for position in (pair.one, pair.other)})
    return sorted(positions, key=lambda position: date(position).order, reverse=True)


def _copies(
    documents: Sequence[Document], date: Callable[[int], EditionDate], pairs: Sequence[Resemblance]
) -> DocumentFinding:
    group = [documents[position] for position in _newest_first(pairs, date)]
    least = min(pair.copied for pair in pairs)
    if len(group) == 2:
        summary = f"{_names(group)} share {_percent(least)} of the shorter text."
    else:
        folder = _folder(group)
        named = f"{len(group)} documents in {folder}/" if folder else _names(group)
        summary = (
            f"{named} are near copies: each shares {_percent(least)} or more of the shorter "
            "text with another one."
        )
    return DocumentFinding("copies", summary, tuple(map(_whole, group)), round(least, 2))


def _editions(
    documents: Sequence[Document],
    date: Callable[[int], EditionDate],
    pairs: Sequence[Resemblance],
    day: str,
) -> DocumentFinding:
    order = _newest_first(pairs, date)
    newest = next(
        (
            one
            for one in order
            if all(date(one).prevails_over(date(other), day) for other in order if other != one)
        ),
        None,
    )
    if newest is not None:
        order = [newest, *(one for one in order if one != newest)]
    group = [documents[position] for position in order]
    least = min(pair.share for pair in pairs)
    if all(pair.by_name for pair in pairs):
        summary = f"{_names(group)} are editions of one document."
    else:
        count, more = ("two ", "") if len(group) == 2 else ("", " or more")
        summary = (
            f"{_names(group)} look like {count}editions of one document: {_percent(least)}{more} "
            f"of their runs of {RUN} words, without figures, are the same."
        )
    names = [document.name for document in group]
    in_force = ""
    if newest is not None and all(
        are_editions(names[0], name) or may_supersede(names[0], name) for name in names[1:]
    ):
        first, *others = (date(position) for position in order)
        is_by_date = first.is_later_than(day) or any(
            first.is_dated_apart_from(other) or other.is_later_than(day) for other in others
        )
        summary += f" By their {'dates' if is_by_date else 'versions'}, {names[0]} is in force."
        in_force = group[0].id
    confidence = round(min(1.0, 0.6 + least), 2)
    return DocumentFinding("editions", summary, tuple(map(_whole, group)), confidence, in_force)


def _whole(document: Document) -> FindingPlaceData:
    return FindingPlaceData(document.id, document.name, 0, len(document.text), None, "")


def _names(group: Sequence[Document]) -> str:
    """Name two documents of a group, and count the others."""
    first, second, *others = (document.name for document in group)
    return f"{first}, {second} and {len(others)} more" if others else f"{first} and {second}"


def _percent(share: float) -> str:
    """Write a share; no more than 99% where something differs."""
    return percent(share if share == 1.0 else min(share, 0.99))


def _unreadable(documents: Sequence[Document]) -> Iterator[DocumentFinding]:
    for document in documents:
        pages = [(page.start, page.end, page.confidence) for page in document.pages]
        for start, end, confidence in pages or [(0, len(document.text), None)]:
            sign = broken_characters(document.text[start:end])
            if not sign and confidence is not None and confidence < SURE:
                sign = f"its words were recognised with a confidence of {confidence:.0f} of 100"
            if sign:
                where = place(document, start, min(end, start + 200))
                page = page_name(document.name, where.page, document.heading_at(start))
                name = f"{page[:1].upper()}{page[1:]} of {document.name}" if page else document.name
                yield DocumentFinding(
                    "unreadable", f"{name} is not readable: {sign}.", (where,), 0.9
                )


def _unread(documents: Sequence[Document]) -> Iterator[DocumentFinding]:
    """Yield the documents whose reader left parts out, each with the words behind the first one."""
    for document in documents:
        if words := unread_words(document):
            omissions = document.receipt.left_out if document.receipt else ()
            start = min((omission.start for omission in omissions), default=0)
            where = place(document, start, min(start + 200, len(document.text)))
            yield DocumentFinding("unread", f"{document.name}: {words}.", (where,), 1.0)


COPY = 0.6
"""Of the shorter document, the share of its runs of words that a copy has too."""
MOST_SHARING = 100
"""What more documents have alike is boilerplate, and does not make copies."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Resemblance:
    """Two documents by position, and how much of them is the same, from 0 to 1.

    ``by_name`` is whether their names are those of editions. ``copied`` is the share of the shorter
    text that the other one has, too.
    """

    kind: Literal["edition", "copy"]
    one: int
    other: int
    share: float
    by_name: bool = False
    copied: float = 0.0


def resemblances(documents: Sequence[Document]) -> Iterator[Resemblance]:
    """Yield editions and copies. Sister documents, whose names have other codes, are neither.

    Reports on different periods, by their names or titles, share much and replace nothing.
    """
    words = cache(lambda position: word_set(documents[position].text))
    figures = cache(lambda position: figures_of(documents[position].text))
    codes = [subject_of(document.name) for document in documents]
    near, sizes = _sharing(_runs(document.text) for document in documents)
    near_plain, plain_sizes = _sharing(word_runs(document.text) for document in documents)
    titles = [title_of(document) for document in documents]
    for one, other in combinations(range(len(documents)), 2):
        names = documents[one].name, documents[other].name
        pair_titles = titles[one], titles[other]
        runs = near_plain[one, other], plain_sizes[one], plain_sizes[other]
        share = partial(lambda one, other: jaccard(words(one), words(other)), one, other)
        kind = edition_kind(names, pair_titles, share, partial(tuple[int, int, int], runs))
        equal = near[one, other] == sizes[one] == sizes[other]
        if kind == "name":
            yield Resemblance("edition", one, other, share(), by_name=True)
            continue
        of_periods = are_of_other_periods(*names) or are_of_other_periods(*pair_titles)
        if are_editions(*names) and not of_periods:
            continue  # a series
        if codes[one] != codes[other] and codes[one] and codes[other]:
            continue
        fewest = min(sizes[one], sizes[other])
        same = near[one, other] / fewest if fewest else 0.0
        if kind == "text" and figures(one) != figures(other):  # copies say the same
            yield Resemblance("edition", one, other, overlap(*runs), copied=same)
        elif same >= COPY and (equal or not of_periods):
            yield Resemblance("copy", one, other, same, copied=same)


def _sharing(runs: Iterable[frozenset[int]]) -> tuple[Counter[tuple[int, int]], list[int]]:
    """Count the runs of words that pairs of documents share, and those of each document.

    Arrays, because sets of the runs of all documents take ten times the memory.
    """
    arrays = [np.fromiter(own, np.int64, len(own)) for own in runs]
    sizes = [len(own) for own in arrays]
    owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    everything = np.concatenate([np.empty(0, np.int64), *arrays])
    del arrays
    order = np.argsort(everything, kind="stable")
    owners, everything = owners[order], everything[order]
    starts = np.flatnonzero(np.diff(everything, prepend=everything[:1] - 1))
    counts = np.diff(starts, append=len(everything))
    telling = (counts > 1) & (counts <= MOST_SHARING)
    shared = zip(starts[telling].tolist(), counts[telling].tolist(), strict=True)
    return Counter(
        pair
        for start, count in shared
        for pair in combinations(owners[start : start + count].tolist(), 2)
    ), sizes


def _runs(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    return frozenset(hash(tuple(words[at : at + RUN])) for at in range(len(words) - RUN + 1))


LONGEST_REASON = 500
MOST_QUESTIONS = 2000
"""Newest questions of chats that are looked at."""

_texts = SizedCache[list[DocumentFinding]](20_000)


@dataclass(frozen=True, slots=True)
class Examination:
    """Open findings, and the settled ones with their decisions."""

    documents: int
    open: tuple[DocumentFinding, ...]
    settled: tuple[tuple[DocumentFinding, SettlementData], ...]


class Examinations:
    """The examinations of the documents of one knowledge base."""

    def __init__(self, database: Database, scope: Scope, edits: PassageEdits) -> None:
        self._database = database
        self._scope = scope
        self._base_id = scope.base_id
        self._edits = edits

    @operation("viewer")
    def examine(self) -> Examination:
        """Examine all documents, and what questions reach of them.

        A settled finding is open again when one of its texts changes. Of the questions of chats,
        the visitor's own ones are looked at.
        """
        with self._database.read() as connection:
            count = documents.count(connection, self._base_id)
            decisions = settlements.settlements(connection, self._base_id)
        findings = self._findings()
        return Examination(
            count,
            tuple(finding for finding in findings if finding.id not in decisions),
            tuple(
                (finding, decisions[finding.id]) for finding in findings if finding.id in decisions
            ),
        )

    @operation("editor", audit="documents", audited_arguments=ALL)
    def settle(
        self, finding_id: str, decision: SettlementDecision, document: str = "", reason: str = ""
    ) -> None:
        """Settle a finding.

        ``keep`` needs the id or name of the document that is right: the other editions or copies
        are excluded from passages. ``both`` needs a reason. Raises NotFound, InvalidInput.
        """
        finding = self._finding(finding_id)
        reason = " ".join(storable(reason).split())
        if decision not in get_args(SettlementDecision):
            raise InvalidInput(f"No decision is called {decision!r}.", "Use keep, both or ignore.")
        if len(reason) > LONGEST_REASON:
            raise InvalidInput(
                f"A reason has at most {LONGEST_REASON} characters.", "Shorten the reason."
            )
        if decision == "both" and not reason:
            raise InvalidInput("A reason is missing.", "Say why both are right.")
        kept = _kept(finding, document) if decision == "keep" else None
        name = "" if kept is None else kept.document
        if self._settled(finding.id) not in (None, (decision, name, reason)):
            raise InvalidInput("This finding is settled already.", "Reopen it first.")
        if kept is not None:
            for place in finding.places:
                span = self._visible(place)
                done = any(
                    stored.kind == "exclude" and stored.start <= span[0] and stored.end >= span[1]
                    for stored in self._edits.passage_edits(place.document_id)
                )
                if place.document_id != kept.document_id and not done:
                    self._edits.edit_passages(place.document_id, "exclude", span)
        try:
            self._database.execute(
                settlements.settle, self._base_id, finding.id, decision, name, reason
            )
        except InvalidInput:  # somebody was quicker, and may keep the other document
            earlier = self._settled(finding.id)
            if kept is not None and (earlier is None or earlier[:2] != ("keep", name)):
                self._include_others(finding, name)
            raise

    @operation("editor", audit="documents", audited_arguments=ALL)
    def reopen(self, finding_id: str) -> None:
        """Undo a decision, and remove the exclusions of text that came with it.

        Raises NotFound.
        """
        settled = self._database.fetch(settlements.settlements, self._base_id).get(finding_id)
        if settled is None:
            raise NotFound("This finding is not settled.", "Examine the documents again.")
        if settled.decision == "keep":
            for finding in self._findings():
                if finding.id == finding_id:
                    self._include_others(finding, settled.document)
        self._database.execute(settlements.reopen_finding, self._base_id, finding_id)

    def _settled(self, finding_id: str) -> tuple[str, str, str] | None:
        """Return the decision about a finding, the document that is kept, and the reason."""
        row = self._database.fetch(settlements.settlements, self._base_id).get(finding_id)
        return None if row is None else (row.decision, row.document, row.reason)

    def _include_others(self, finding: DocumentFinding, kept: str) -> None:
        for place in finding.places:
            for stored in self._edits.passage_edits(place.document_id):
                same = stored.kind == "exclude" and (stored.start, stored.end)
                if place.document != kept and same == self._visible(place):
                    self._edits.remove_edit(stored.id)

    def _visible(self, place: FindingPlaceData) -> tuple[int, int]:
        """Return the span of a place without white space at its ends, as edits have it."""
        with self._database.read() as connection:
            where = place.document_id, place.start, place.end
            words = documents.stretch(connection, self._base_id, *where)
        start = place.start + len(words) - len(words.lstrip())
        return start, start + len(words.strip())

    def _finding(self, finding_id: str) -> DocumentFinding:
        for finding in self._findings():
            if finding.id == finding_id:
                return finding
        raise NotFound("No finding has this id.", "Examine the documents again.")

    def _findings(self) -> list[DocumentFinding]:
        with self._database.read() as connection:
            findings = [*self._of_texts(connection), *self._of_questions(connection)]
        return sorted(findings, key=by_kind)

    def _of_texts(self, connection: Connection) -> Sequence[DocumentFinding]:
        """Return the findings of the texts alone, which are dear, and stay while the texts stay."""
        base_id = self._base_id
        ids = documents.ids_by_name(connection, base_id)
        version = bases.version(connection, base_id)

        def read() -> list[DocumentFinding]:
            return examine([documents.get(connection, base_id, ids[name]) for name in sorted(ids)])

        key = str(connection.engine.url), base_id, version, *sorted(ids.items())
        return _texts.get(key, read)

    def _of_questions(self, connection: Connection) -> Iterator[DocumentFinding]:
        base_id = self._base_id
        rows = documents.list_documents(connection, base_id)
        newest = (_reach(connection, base_id, run) for run in _newest(connection, base_id))
        measured = [reach for reach in newest if reach.in_documents]
        if measured:
            labelled = labels.labelled_documents(connection, base_id)
            yield from unreached(rows, measured, labelled)
            yield from hubs(measured[0], {row.id: row.name for row in rows})
        asked = feedback.chat_questions(connection, self._scope, MOST_QUESTIONS)
        yield from unanswered(asked, questions.unanswerable(connection, base_id))


def _newest(connection: Connection, base_id: int) -> list[Run]:
    """Return the newest run of each question set, the newest first.

    Other systems and recipes with a filter do not say what is reached here.
    """
    newest: dict[str, Run] = {}
    for run in runs.list_runs(connection, base_id):
        if run.recipe and not run.filter_digest:
            newest.setdefault(run.question_set, run)
    return list(newest.values())


def _reach(connection: Connection, base_id: int, run: Run) -> RunReach:
    results = runs.results(connection, run.id, DEPTH)
    rankings = [[(name, grade) for name, _, grade in result.ranking] for result in results]
    ids = {name for ranking in rankings for name, _ in ranking}
    stored = passages.passages_by_id(connection, base_id, run.cut, ids)
    cut = builds.cut_id(connection, base_id, run.cut)
    counts = {} if cut is None else passages.counts(connection, base_id, cut)
    texts = [result.text for result in results]
    return RunReach(run.created, texts, rankings, stored, counts, run.documents)


def _kept(finding: DocumentFinding, document: str) -> FindingPlaceData:
    places = [place for place in finding.places if document in (place.document_id, place.document)]
    if len(finding.places) < 2 or len(places) != 1:
        names = ", ".join(place.document for place in finding.places)
        raise InvalidInput("The document to keep is missing.", f"Choose one of: {names}.")
    return places[0]
