"""Live traffic of other systems: retrievals as their traces tell of them."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any

from rag.errors import InvalidInput, NotFound
from rag.input_rules import LONGEST_QUESTION
from rag.lexical.letters import letters_of
from rag.operation import ALL, operation
from rag.questions.edits import collect_questions
from rag.questions.sets import checked_name
from rag.results import SystemSource
from rag.runs.evaluator import DEFAULT_CUTOFFS
from rag.services import Services
from rag.storage import Connection, bases
from rag.storage import questions as question_rows
from rag.storage.labels import FROM_USERS
from rag.storage.quality import traffic
from rag.storage.quality.traffic import SpanRow
from rag.systems.alignment import AlignedText
from rag.systems.hops import redundant_hops
from rag.systems.measuring import Locator, SystemEvaluation, SystemRuns
from rag.systems.returned import Returned, ReturnedText
from rag.systems.traces import ReceivedSpan, ReceivedSpans
from rag.types import ProgressCallback

MOST_SPANS = 5_000
"""The newest spans of a system that are looked at."""
_MOST_RESULTS = 100  # of a retrieval
_LONGEST_RESULT = 20_000  # characters that are stored of a result
_LONGEST_STORED = LONGEST_QUESTION + 1  # one more: what is cut is no question of a set
_MOST_LOCATORS = 2
_FASTEST_CLOCK = timedelta(days=1)  # later spans would be the newest for ever
_UNSTORED = 100  # spans that are read for nothing cost as much as one that is stored


@dataclass(frozen=True, slots=True)
class Reception:
    """The outcome of receiving the spans of a request; ``stored`` leaves out those that were there.

    ``rejected`` counts those without a question or texts, and ``over_budget`` those that the
    budget of the day has no room for.
    """

    stored: int
    rejected: int
    over_budget: int

    @property
    def message(self) -> str:
        """The reasons why spans aren't stored, or ""."""
        reasons = [
            f"{self.rejected} without a question or texts" * bool(self.rejected),
            f"{self.over_budget} beyond the budget of today" * bool(self.over_budget),
        ]
        return ", ".join(filter(None, reasons))


@dataclass(frozen=True, slots=True)
class TrafficSystem:
    """The traffic of a system, by the name of its service.

    A request is a trace; ``multi_hop`` counts those with several retrievals. ``mean_hops`` is over
    these, 0 without any, and ``redundant_calls`` are their retrievals that returned nothing new.
    """

    name: str
    retrievals: int
    requests: int
    questions: int
    first: datetime
    last: datetime
    multi_hop: int
    mean_hops: float
    redundant_calls: int
    has_text: bool


@dataclass(frozen=True, slots=True)
class TrafficQuestion:
    """A question of a system; ``text`` is "" where text isn't stored."""

    text: str
    requests: int
    retrievals: int
    results: int
    last: datetime


@dataclass(slots=True)
class _Request:
    """A trace: the span that has the question, and the retrievals in their order."""

    top: SpanRow
    hops: list[SpanRow]


BaseKey = tuple[str, int]
"""The home of a knowledge base, and its id."""


class Traffic:
    """The traffic of other systems that one knowledge base received."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id
        self._runs = SystemRuns(services, base_id)

    @operation("editor")
    def remaining(self) -> int:
        """Return the number of spans that the budget of today (UTC) has room for."""
        with self._services.database.read() as connection:
            return self._remaining(connection)

    def _remaining(self, connection: Connection) -> int:
        midnight = _midnight()
        received = traffic.received_since(connection, self._base_id, midnight)
        unstored = _unstored.since(self._key, midnight) // _UNSTORED
        return max(self._services.settings.traffic_budget - received - unstored, 0)

    @property
    def _key(self) -> BaseKey:
        return str(self._services.settings.home), self._base_id

    @operation("editor")
    def receive(self, received: ReceivedSpans) -> Reception:
        """Store spans that the budget has room for; those that are stored stay as they are.

        All others were read too, and a hundred of them cost as much as one that is stored.
        """
        now = datetime.now(UTC)
        if self._services.settings.traffic_text:
            rows = [
                _row(
                    span,
                    now,
                    span.retrieval.question[:_LONGEST_STORED],
                    list(map(_with_text, _results(span))),
                )
                for span in received.spans
            ]
        else:
            located = _located(self._services, self._base_id, received.spans)
            rows = [
                _row(span, now, "", list(map(_without_text, _results(span), places)))
                for span, places in zip(received.spans, located, strict=True)
            ]
        stored = left_out = 0
        if rows:
            with self._services.database.write() as connection:
                bases.hold(connection, self._base_id)  # others spend the same budget
                remaining = self._remaining(connection)
                stored, left_out = traffic.add(connection, self._base_id, rows, remaining)
        _unstored.add(self._key, _midnight(), received.read - stored)
        return Reception(stored, received.rejected, received.left_out + left_out)

    @operation("viewer")
    def list_all(self) -> list[TrafficSystem]:
        """The systems that sent traces, by name. Their requests are the newest ones."""
        with self._services.database.read() as connection:
            counts = traffic.counts(connection, self._base_id)
            spans = {
                item.system: traffic.newest(connection, self._base_id, item.system, MOST_SPANS)
                for item in counts
            }
        systems = []
        for item in counts:
            requests = _requests(spans[item.system])
            hops = [[span.items or () for span in request.hops] for request in requests]
            several = [calls for calls in hops if len(calls) > 1]
            systems.append(
                TrafficSystem(
                    item.system,
                    item.retrievals,
                    item.traces,
                    len({request.top.digest for request in requests}),
                    _moment(item.first),
                    _moment(item.last),
                    len(several),
                    fmean(map(len, several)) if several else 0.0,
                    sum(map(redundant_hops, several)),
                    any(request.top.question for request in requests),
                )
            )
        return systems

    @operation("labeller")
    def questions(self, system: str) -> list[TrafficQuestion]:
        """The questions of a system, the newest first. Raises NotFound."""
        by_digest: dict[str, list[_Request]] = {}
        for request in self._requests_of(system):
            by_digest.setdefault(request.top.digest, []).append(request)
        questions = [
            TrafficQuestion(
                requests[-1].top.question,
                len(requests),
                sum(len(request.hops) for request in requests),
                sum(len(span.items or ()) for span in requests[-1].hops),
                _moment(requests[-1].top.started),
            )
            for requests in by_digest.values()
        ]
        return sorted(questions, key=lambda question: question.last, reverse=True)

    @operation("labeller", audit="labels")
    def collect(self, system: str, set_name: str) -> int:
        """Add the questions of a system to a set, which is created if there is none.

        Returns the number that the set did not have. Raises NotFound, InvalidInput where text
        isn't stored.
        """
        texts = {request.top.question for request in self._requests_of(system)} - {""}
        if not texts:
            raise InvalidInput(
                f"No question of {system!r} is stored as text.",
                "Set TOUCHSTONE_TRAFFIC_TEXT=1 to store the text of new traffic.",
            )
        with self._services.database.write() as connection:
            set_id, created = question_rows.ensure(
                connection, self._base_id, checked_name(set_name)
            )
            added = collect_questions(connection, set_id, sorted(texts), FROM_USERS)
            if added and not created:
                question_rows.count_versions(connection, [set_id])
        return added

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def evaluate(
        self,
        set_name: str,
        system: str,
        cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> SystemEvaluation:
        """Measure the traffic of a system on a set, and store the run.

        Each question of the set has the retrievals of its newest request, which are hops of one
        ranking. Raises as ``SystemRuns.evaluate``, and NotFound for a system without traffic.
        """
        ids = {_digest(item.text): item.id for item in self._runs.questions(set_name)}
        newest = {request.top.digest: request.top.trace for request in self._requests_of(system)}
        traces = {trace for digest, trace in newest.items() if digest in ids}
        with self._services.database.read() as connection:
            rows = traffic.of_traces(connection, self._base_id, system, traces)
        # Spans may come between the two readings, with another question at the top of a trace.
        requests = {request.top.digest: request for request in _requests(rows)}
        retrievals = [
            Returned(
                request.top.question,
                tuple(map(_returned, span.results)),
                hop=number,
                question_id=ids[digest],
                trace=span.trace,
            )
            for digest, request in requests.items()
            if digest in ids
            for number, span in enumerate(request.hops)
        ]
        spans = "\n".join(f"{row.trace} {row.span}" for row in rows)
        source = SystemSource("traces", system, hashlib.sha256(spans.encode()).hexdigest())
        return self._runs.evaluate(set_name, retrievals, source, cutoffs, on_progress)

    @operation("editor", audit="tools", audited_arguments=ALL)
    def remove(self, system: str) -> int:
        """Delete the traffic of a system; its runs stay. Returns the number of spans."""
        with self._services.database.write() as connection:
            removed = traffic.remove(connection, self._base_id, system)
        if not removed:
            raise _no_traffic(system)
        return removed

    def _requests_of(self, system: str) -> list[_Request]:
        """Return the newest requests of a system, the oldest of them first. Raises NotFound."""
        with self._services.database.read() as connection:
            rows = traffic.newest(connection, self._base_id, system, MOST_SPANS)
        if not rows:
            raise _no_traffic(system)
        return _requests(rows)


def _midnight() -> datetime:
    """Return the beginning of today (UTC)."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


class UnstoredSpans:
    """Counts the spans of today that this process read and didn't store, by knowledge base."""

    def __init__(self) -> None:
        self._spans = Counter[BaseKey]()
        self._midnight = datetime.min.replace(tzinfo=UTC)
        self._lock = threading.Lock()

    def add(self, base: BaseKey, midnight: datetime, spans: int) -> None:
        """Count spans of the day that began at ``midnight``."""
        with self._lock:
            self._begin(midnight)
            self._spans[base] += spans

    def since(self, base: BaseKey, midnight: datetime) -> int:
        """Return the number of spans of that day."""
        with self._lock:
            self._begin(midnight)
            return self._spans[base]

    def _begin(self, midnight: datetime) -> None:
        if midnight > self._midnight:
            self._spans.clear()
            self._midnight = midnight


_unstored = UnstoredSpans()


def _no_traffic(system: str) -> NotFound:
    return NotFound(
        f"No system named {system!r} sent traces.",
        "`python -m rag traffic KB` lists those that did.",
    )


def _requests(rows: Sequence[SpanRow]) -> list[_Request]:
    """Return the traces with a retrieval. The question is that of the request above, if stored."""
    by_trace: dict[str, list[SpanRow]] = {}
    for row in rows:
        by_trace.setdefault(row.trace, []).append(row)
    requests = []
    for spans in by_trace.values():
        hops = [span for span in spans if span.items is not None]
        if hops:
            requests.append(_Request(next((s for s in spans if s.items is None), hops[0]), hops))
    return sorted(requests, key=lambda request: (request.hops[0].started, request.top.trace))


def _row(span: ReceivedSpan, now: datetime, question: str, results: Sequence[Any]) -> SpanRow:
    retrieval = span.retrieval
    return SpanRow(
        trace=retrieval.trace,
        span=span.id,
        system=span.service,
        started=min(span.started, int((now + _FASTEST_CLOCK).timestamp()) * 10**9)
        or int(now.timestamp() * 1e9),
        received=now,
        question=question,
        digest=_digest(retrieval.question),
        items=list(map(_item, _results(span))) if span.retrieves else None,
        results=results,
    )


def _results(span: ReceivedSpan) -> Sequence[ReturnedText]:
    return span.retrieval.texts[:_MOST_RESULTS]


def _with_text(text: ReturnedText) -> dict[str, Any]:
    """Return what is stored of a result with its text."""
    return {
        "text": text.text[:_LONGEST_RESULT],
        "score": text.score,
        "id": text.id,
        "title": text.title,
        "metadata": dict(text.metadata),
    }


def _without_text(text: ReturnedText, place: AlignedText) -> dict[str, Any]:
    """Return what is stored of a result without its text."""
    placed = list(astuple(place)) if place.document_id else None
    return {"score": text.score, "id": _item(text), "place": placed}


def _returned(result: Mapping[str, Any]) -> ReturnedText:
    """The reverse of both."""
    place = result.get("place")
    fields = {name: value for name, value in result.items() if name not in ("text", "place")}
    return ReturnedText(
        result.get("text", ""), place=AlignedText(*place) if place else None, **fields
    )


def _item(text: ReturnedText) -> str:
    """Identify a result by a digest: by its text, since one without ids is as good as another."""
    return hashlib.sha256((text.text or text.id or text.title).encode()).hexdigest()[:16]


def _digest(question: str) -> str:
    """Identify a question by its letters, as ``match_questions`` does."""
    return hashlib.sha256((letters_of(question).text or question).encode()).hexdigest()


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


_locators: OrderedDict[tuple[str, int, int], Locator] = OrderedDict()
_turn = threading.Lock()  # a locator is not for several threads at once


def _located(
    services: Services, base_id: int, spans: Sequence[ReceivedSpan]
) -> Iterator[list[AlignedText]]:
    """Generate the places of the results of each span.

    The index of the documents is kept for the next request; the texts are not.
    """
    with _turn:
        with services.database.read() as connection:
            key = str(services.settings.home), base_id, bases.version(connection, base_id)
        if key not in _locators:
            _locators[key] = Locator(services, base_id)
        _locators.move_to_end(key)
        while len(_locators) > _MOST_LOCATORS:
            _locators.popitem(last=False)
        locator = _locators[key]
        places = [[locator.locate(text) for text in _results(span)] for span in spans]
        locator.forget()
    yield from places
