"""Questions asked as each user, and the results that the user must not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rag.systems.alignment import MOST_EQUAL, AlignedText
from rag.systems.callables import FailedRetrieval
from rag.systems.evaluate_job import ask_all
from rag.systems.permissions.canaries import Canaries
from rag.systems.permissions.report import Leak, LeakKind, UserTally
from rag.systems.returned import Returned, ReturnedText
from rag.types import ProgressCallback, Question

MOST_LISTED = 1000
_LONGEST_TEXT = 400
RANK = "rank"
"""The metadata of a result with another rank than its place."""

Places = Callable[[ReturnedText], Sequence[AlignedText]]


@dataclass(frozen=True, slots=True)
class UserSearch:
    """The way in which some users search: all of them send the same request."""

    users: tuple[str, ...]
    ask: Callable[[str], Returned]


@dataclass
class Findings:
    """Leaks and tallies so far, and the documents and numbers of canaries that came back."""

    leaks: list[tuple[Leak, AlignedText | None]] = field(default_factory=list)
    tallies: dict[str, UserTally] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)
    canaries: set[int] = field(default_factory=set)
    leak_count: int = 0
    results: int = 0
    unlocated: int = 0


def audit(
    searches: Sequence[UserSearch],
    questions: Sequence[Question],
    readers: Mapping[str, frozenset[str]],
    canaries: Canaries,
    places: Places,
    on_progress: ProgressCallback,
) -> Findings:
    """Ask all questions as each user, and compare the results with those who may read them.

    A text that is in several documents alike is no leak if the user may see one of them. A user
    whose first questions all fail is left out with the error. Raises FailedRetrieval if that
    happens to all users, and what ``on_progress`` raises.
    """
    findings, failure = Findings(), None
    total = len(searches) * len(questions)
    texts = {question.id: question.text for question in questions}
    for number, search in enumerate(searches):

        def on_question(done: int, _total: int, number: int = number) -> None:
            on_progress(number * len(questions) + done, total)

        try:
            answers = ask_all(search.ask, questions, on_question)
        except FailedRetrieval as error:
            failure = error
            for user in search.users:
                row = UserTally(user, len(questions), 0, 0, len(questions), error.message)
                findings.tallies[user] = row
            continue
        for user in search.users:
            leaks = results = 0
            for returned in answers.retrievals:
                question = texts[returned.question_id]
                results += len(returned.texts)
                leaks += _judge(findings, user, question, returned.texts, readers, canaries, places)
            errors = answers.errors
            findings.tallies[user] = UserTally(
                user, len(questions), results, leaks, len(errors), next(iter(errors.values()), "")
            )
            findings.results += results
    if failure is not None and all(
        row.errors == len(questions) for row in findings.tallies.values()
    ):
        raise failure
    return findings


def _judge(
    findings: Findings,
    user: str,
    question: str,
    texts: Sequence[ReturnedText],
    readers: Mapping[str, frozenset[str]],
    canaries: Canaries,
    places: Places,
) -> int:
    """Note the leaks in the results of one question; return their number."""
    leaks = 0
    for place, text in enumerate(texts, start=1):
        located = places(text)
        ids = {one.document_id for one in located} & readers.keys()
        words = canaries.in_text(text.text)
        findings.reached |= ids
        findings.canaries.update(words)
        readable = any(user in readers[name] for name in ids)
        hidden = bool(ids) and not readable and len(located) < MOST_EQUAL
        spoken = [number for number in words if not canaries.allows(number, user)]
        if not hidden and not spoken:
            findings.unlocated += not ids or (not readable and len(located) >= MOST_EQUAL)
            continue
        leaks += 1
        if len(findings.leaks) < MOST_LISTED:
            first = located[0] if located else None
            shown = " ".join((text.text or text.id or text.title).split())[:_LONGEST_TEXT]
            rank = int(text.metadata.get(RANK, place))
            kind: LeakKind = "document" if hidden else "passage"
            method = first.method if first else ""
            leak = Leak(user, question, rank, kind, "", None, shown, method)
            findings.leaks.append((leak, first))
    findings.leak_count += leaks
    return leaks
