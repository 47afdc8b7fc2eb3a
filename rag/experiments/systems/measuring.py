"""Runs of what another system returned, measured by the labels of a question set."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from statistics import fmean

import numpy as np

from rag.chunking import estimates
from rag.errors import InvalidInput
from rag.evaluation.judging import Judged, judged_units
from rag.evaluation.measuring import measured, with_figures
from rag.evaluation.relevance import judged_by_document, uncovered_labels
from rag.evaluation.span_metrics import span_figures
from rag.experiments.runs.differences import edits_environment
from rag.experiments.runs.evaluator import (
    DEFAULT_CUTOFFS,
    Evaluation,
    Evaluator,
    code_and_machine,
    new_run_id,
    store_run,
)
from rag.experiments.runs.gate import GateResult, TrafficTrace, checked
from rag.experiments.systems.alignment import AlignedText, Aligner, Method, Source
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.lexical.letters import letters_of
from rag.library.documents.stored import documents_hash
from rag.operation import operation
from rag.services.services import Services
from rag.storage import Connection, bases, builds, documents, passages, runs
from rag.storage import questions as question_rows
from rag.types import Chunk, ProgressCallback, Question, chunk_key
from rag.types.results import CONTEXT, EDITS, FOREIGN, GATE, RANKABLE, Run, SystemSource


@dataclass(frozen=True, slots=True)
class HopFigures:
    """Figures of the retrievals of one trace, in the order in which they began.

    ``evidence`` is the share of the relevant items that have come back after each hop.
    ``first_useful`` is the number, from 1, of the first hop with a relevant item; None without one.
    ``redundant`` counts the hops after the first that returned nothing new.
    """

    evidence: tuple[float, ...]
    first_useful: int | None
    redundant: int


@dataclass(frozen=True, slots=True)
class HopSummary:
    """Means over the questions with several hops; ``redundant`` is the number of all such hops.

    ``first_evidence`` is the share of the relevant items after the first hop and
    ``last_evidence`` that after the last. ``first_useful`` is over questions with a useful hop,
    None without any.
    """

    questions: int
    hops: float
    first_evidence: float
    last_evidence: float
    first_useful: float | None
    redundant: int

    @classmethod
    def of(cls, figures: Sequence[HopFigures]) -> HopSummary | None:
        """Summarise the figures of some questions; None without any."""
        if not figures:
            return None
        useful = [item.first_useful for item in figures if item.first_useful is not None]
        return cls(
            len(figures),
            fmean(len(item.evidence) for item in figures),
            fmean(item.evidence[0] for item in figures),
            fmean(item.evidence[-1] for item in figures),
            fmean(useful) if useful else None,
            sum(item.redundant for item in figures),
        )


def hop_figures(hops: Sequence[Sequence[Hashable]], relevant: Collection[Hashable]) -> HopFigures:
    """Measure the hops of a trace, each the items that it returned.

    Raises ValueError if nothing is relevant.
    """
    if not relevant:
        raise ValueError("nothing is relevant")
    wanted = set(relevant)
    evidence, seen = list[float](), set[Hashable]()
    first_useful: int | None = None
    redundant = 0
    for number, items in enumerate(hops, start=1):
        redundant += number > 1 and seen.issuperset(items)
        seen.update(items)
        if first_useful is None and not wanted.isdisjoint(items):
            first_useful = number
        evidence.append(len(wanted & seen) / len(wanted))
    return HopFigures(tuple(evidence), first_useful, redundant)


_NOWHERE = AlignedText("", 0, 0, "foreign", 0.0)
_LONGEST_FOREIGN = 4000  # characters that are stored of a text that no document contains


@dataclass(frozen=True, slots=True)
class SystemEvaluation:
    """A stored run of a system with what happened to every question.

    ``unasked`` names the questions of the set that the system returned nothing for because it was
    not asked, and that are left out; ``unlabelled`` are its questions without a relevant label,
    which cannot be measured; ``unmatched`` are the questions of the system that the set does not
    have, by their words or ids. ``hops`` summarises the questions with several retrievals; None
    without any.
    """

    evaluation: Evaluation
    unasked: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    hops: HopSummary | None = None
    unlabelled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedTexts:
    """The graded results of a question, and the place and text of each by its id.

    ``names`` has the ids of all results in their order, repeated ones too.
    """

    judged: Judged
    names: Sequence[str]
    places: Mapping[str, AlignedText]
    texts: Mapping[str, str]

    def ranked(self) -> Iterable[tuple[str, AlignedText]]:
        """Generate id and place of the results that are ranked."""
        return ((name, self.places[name]) for name in self.judged.ids)


class SystemRuns:
    """Measurements of what other systems return for the questions of one knowledge base."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id

    @operation("viewer")
    def questions(self, set_name: str) -> list[Question]:
        """Return the questions to ask a system. Raises NotFound, InvalidInput without labels."""
        return Evaluator(self._services, self._base_id).questions(set_name, refusals_alone=True)[1]

    @operation("editor", audit="evaluation")
    def evaluate(
        self,
        set_name: str,
        retrievals: Iterable[Returned],
        source: SystemSource,
        cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
        on_progress: ProgressCallback = lambda _done, _total: None,
        *,
        run_id: str | None = None,
        spent: float = 0.0,
        complete: bool = False,
        is_gate: bool = False,
    ) -> SystemEvaluation:
        """Locate returned texts in the documents, grade them and store the run.

        A returned text covers a label by the rule that passages obey: they share at least half of
        the shorter. The passages of the other system are unknown, so each label that no returned
        text covers counts as one more relevant passage. A text that is in no document keeps its
        rank with grade 0. Several retrievals for one question are one ranking, in their order;
        where they have traces, hop_recall@k is measured, the mean over the traces of a question.
        ``spent`` are the seconds that the retrievals took; a run of a gate says so. If the
        retrievals are ``complete``, a question without one is a question without results; else it
        is left out.

        Raises NotFound for an unknown set, InvalidInput without labels or where no question is of
        the set.
        """
        started = time.perf_counter()
        question_set, questions = Evaluator(self._services, self._base_id).questions(
            set_name, refusals_alone=True
        )
        matched, rest = match_questions(retrievals, questions)
        others, unmatched = match_questions(rest, self._questions(question_set.id))
        answered = [item for item in questions if complete or item.id in matched]
        if not answered:
            raise InvalidInput(
                f"None of the retrievals is for a question of {set_name!r}.",
                "Ask the system the questions of the set, word for word or with their ids.",
            )
        locator = Locator(self._services, self._base_id)
        ranked, methods, by_hop, repeated = [], Counter[Method](), list[HopFigures](), 0
        recalls, tokens = dict[str, dict[str, float]](), list[int]()
        for number, question in enumerate(answered):
            on_progress(number, len(answered))
            retrieved = matched.get(question.id, ())
            texts = [text for hop in retrieved for text in hop.texts]
            tokens.append(sum(estimates.tokens(text.text) for text in texts))
            aligned = [locator.locate(text) for text in texts]
            methods.update(item.method for item in aligned)
            placed = iter(zip(texts, aligned, strict=True))
            repeats = [
                repeat
                for hop in retrieved
                for repeat in _repeats(list(islice(placed, len(hop.texts))))
            ]
            repeated += any(repeats)
            depth = max(cutoffs) if len(retrieved) < 2 else max(len(texts), *cutoffs)
            ranked.append(judged_texts(question, texts, aligned, depth, repeats))
            if not ranked[-1].judged.ideal:
                continue
            names, relevant = iter(ranked[-1].names), _relevant(ranked[-1].judged)
            hops = [list(islice(names, len(hop.texts))) for hop in retrieved]
            if len(retrieved) > 1:
                by_hop.append(hop_figures(hops, relevant))
            traces = dict[str, list[list[str]]]()
            for hop, items in zip(retrieved, hops, strict=True):
                traces.setdefault(hop.trace, []).append(items)
            if any(traces):
                recalls[question.id] = {
                    f"hop_recall@{k}": fmean(
                        len(relevant & {item for hop in trace for item in hop[:k]}) / len(relevant)
                        for trace in traces.values()
                    )
                    for k in cutoffs
                }
        judged, summary = [item.judged for item in ranked], HopSummary.of(by_hop)
        spans = {
            name: _span(place, item.texts[name]) for item in ranked for name, place in item.ranked()
        }
        figures = measured(judged, cutoffs, span_figures(judged, spans, cutoffs))
        results, means = with_figures(*figures, recalls)
        with self._services.database.read() as connection:
            ids = set(documents.ids_by_name(connection, self._base_id).values())
            edits = edits_environment(connection, self._base_id, ids)
        whole = all(not text for item in ranked for text in item.texts.values())
        rankable = {RANKABLE: str(len(ids))} if whole and ids else {}
        about = {} if whole else {CONTEXT: f"{fmean(tokens):.1f}"}
        about |= {GATE: "gate"} if is_gate else {}
        run = Run(
            id=run_id or new_run_id(),
            base_id=self._base_id,
            question_set=set_name,
            set_version=question_set.version,
            recipe=None,
            base_version=locator.base_version,
            documents=len(ids),
            documents_hash=documents_hash(ids, edits.get(EDITS, "")),
            questions=len(answered),
            metrics=means,
            environment=code_and_machine(self._services.settings) | edits | rankable | about,
            seconds=spent + time.perf_counter() - started,
            created=datetime.now(UTC),
            system=replace(
                source,
                located=dict(methods.items()),
                hops=asdict(summary) if summary else {},
                repeated=repeated,
            ),
        )
        texts_of_run = partial(_store_texts, ranked=ranked)
        return SystemEvaluation(
            store_run(self._services.database, run, question_set, results, texts_of_run),
            tuple(item.id for item in questions if item.id not in matched),
            tuple(item.question or item.question_id for item in unmatched),
            summary,
            tuple(others),
        )

    @operation("editor", audit="evaluation")
    def gate_traffic(
        self,
        set_name: str,
        retrievals: Sequence[Returned],
        source: SystemSource,
        least: Mapping[str, float],
        baseline_id: str | None = None,
        tolerance: float = 0.0,
        on_progress: ProgressCallback = lambda _done, _total: None,
        *,
        max_calls: int | None = None,
        allow_trivial: bool = False,
    ) -> GateResult:
        """Measure recorded traffic (the run is kept) and compare it with demands, as ``Gate.gate``.

        Each trace may have ``max_calls`` retrievals, also where the set does not have its question.
        Raises what ``evaluate`` raises, InvalidInput where no retrieval has a trace.
        """
        by_trace: dict[str, list[Returned]] = {}
        for retrieval in retrievals:
            by_trace.setdefault(retrieval.trace, []).append(retrieval)
        if not any(by_trace):
            raise InvalidInput(
                "The file has no traces, so its calls cannot be counted.",
                "Export spans with their trace ids.",
            )
        if max_calls is not None and max_calls < 1:
            raise InvalidInput(f"{max_calls} is no number of calls.", "Give --max-calls 1 or more.")
        traces = [
            TrafficTrace(name, calls[0].request or calls[0].question, len(calls))
            for name, calls in by_trace.items()
            if name
        ]
        many = [trace for trace in traces if max_calls is not None and trace.calls > max_calls]

        def measure(cutoffs: Sequence[int]) -> Evaluation:
            return self.evaluate(
                set_name, retrievals, source, cutoffs, on_progress, is_gate=True
            ).evaluation

        result = checked(
            *(self._services.database, self._base_id, set_name, least),
            *(baseline_id, tolerance, measure),
            allow_trivial=allow_trivial,
            has_other_demands=max_calls is not None,
        )
        return replace(result, too_many_calls=tuple(many))

    def _questions(self, set_id: int) -> list[Question]:
        return self._services.database.fetch(question_rows.usable, self._base_id, set_id)


def _repeats(results: Sequence[tuple[ReturnedText, AlignedText]]) -> list[bool]:
    """Tell which results of one retrieval were returned before in it."""
    seen, repeats = set[tuple[object, ...]](), list[bool]()
    for text, place in results:
        what: tuple[object, ...] = (place.document_id, place.start, place.end)
        if not place.document_id or place.method == "ambiguous":
            what = text.text, text.id, text.title
        repeats.append(what in seen)
        seen.add(what)
    return repeats


def _relevant(judged: Judged) -> set[str]:
    """Return the ids of all that is relevant; labels without a text never come back."""
    relevant = {name for name, grade in zip(judged.ids, judged.grades, strict=True) if grade > 0}
    return relevant | {f"label {number}" for number in range(len(judged.ideal) - len(relevant))}


def _span(place: AlignedText, text: str) -> tuple[str, int, int]:
    """The span of a result; a text of no document counts as text that no label covers."""
    if place.document_id:
        return place.document_id, place.start, place.end
    return FOREIGN, 0, len(text)


def _store_texts(connection: Connection, run: Run, ranked: Sequence[RankedTexts]) -> None:
    """Store the located texts as the passages of a run, and those that no document contains."""
    places = {name: place for item in ranked for name, place in item.ranked()}
    texts = {name: text for item in ranked for name, text in item.texts.items()}
    foreign = [
        (name, texts[name][:_LONGEST_FOREIGN])
        for name, place in places.items()
        if not place.document_id and texts[name]
    ]
    runs.insert_foreign_texts(connection, run.id, foreign)
    spans: dict[str, list[tuple[int, int]]] = {}
    for name, place in places.items():
        if place.document_id and name != place.document_id:
            spans.setdefault(place.document_id, []).append((place.start, place.end))
    if not spans:
        return
    cut_id = builds.ensure_cut(connection, run.base_id, run.cut)
    for document_id, offsets in spans.items():
        chunks = _chunks(connection, run.base_id, document_id, offsets)
        passages.insert_all(connection, run.base_id, cut_id, chunks)


def _chunks(
    connection: Connection, base_id: int, document_id: str, places: Sequence[tuple[int, int]]
) -> Iterable[Chunk]:
    document = documents.get(connection, base_id, document_id)
    for order, (start, end) in enumerate(sorted(places)):
        yield Chunk(
            key=chunk_key(document_id, start, end),
            document_id=document_id,
            start=start,
            end=end,
            text=document.text[start:end],
            order=order,
            heading=document.heading_at(start),
            page=document.page_at(start),
        )


class Locator:
    """Locates results: by their text, or by an id of ours where a system sent no text."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._database, self._base_id = services.database, base_id
        with self._database.read() as connection:
            rows = documents.list_documents(connection, base_id)
            self.base_version = bases.version(connection, base_id)
        self._lengths = {row.id: row.characters for row in rows}
        self._ids = {row.name: row.id for row in rows} | {row.id: row.id for row in rows}
        sources = [Source(row.id, row.name, row.characters) for row in rows]
        self._aligner = Aligner(sources, self._text)
        self._aligned: dict[tuple[str, ...], AlignedText] = {}

    def _text(self, document_id: str) -> str:
        return self._database.fetch(documents.text, self._base_id, document_id)

    def locate(self, returned: ReturnedText) -> AlignedText:
        """Return the place of a result."""
        if not returned.text.strip():
            return self._by_id(returned.id or returned.title)
        names = [returned.id, *map(str, returned.metadata.values())]
        key = returned.text, returned.title, *names
        if key not in self._aligned:
            self._aligned[key] = self._aligner.align(returned.text, returned.title, names)
        return self._aligned[key]

    def _by_id(self, name: str) -> AlignedText:
        if document_id := self._ids.get(name):
            return AlignedText(document_id, 0, self._lengths[document_id], "exact", 1.0)
        place = self._database.fetch(passages.place, self._base_id, name)
        return AlignedText(*place, "exact", 1.0) if place else _NOWHERE


def judged_texts(
    question: Question,
    texts: Sequence[ReturnedText],
    aligned: Sequence[AlignedText],
    depth: int,
    repeats: Sequence[bool] = (),
) -> RankedTexts:
    """Grade the located results of a question, best first.

    What a retrieval ``repeats`` keeps its rank with grade 0, as nothing behind it may move up.
    Scores are those of the system, or 1 / rank where it sent none.
    """
    by_document = judged_by_document(question)
    scores: dict[str, float] = {}
    places, texts_by_id = dict[str, AlignedText](), dict[str, str]()
    names = [
        _name(text, place, by_document=by_document)
        for text, place in zip(texts, aligned, strict=True)
    ]
    for number in np.flatnonzero(repeats).tolist():
        names[number] = f"{FOREIGN}repeated {number + 1}"
        texts, aligned = list(texts), list(aligned)
        texts[number], aligned[number] = replace(texts[number], text=""), _NOWHERE
    for rank, (name, text, place) in enumerate(zip(names, texts, aligned, strict=True), start=1):
        if name not in scores:
            scores[name] = 1 / rank if text.score is None else text.score
            places[name], texts_by_id[name] = place, text.text
    ids = tuple(scores)[:depth]
    rows = [
        (int(name, 16), place.document_id, place.start, place.end)
        for name, place in places.items()
        if place.document_id and not by_document
    ]
    judged = judged_units(
        question,
        ids,
        [scores[name] for name in ids],
        rows,
        [] if by_document else uncovered_labels(question.evidence, rows),
        all_passages=False,
    )
    return RankedTexts(judged, names, places, texts_by_id)


def _name(text: ReturnedText, place: AlignedText, *, by_document: bool) -> str:
    if not place.document_id:
        return f"{FOREIGN}{chunk_key(text.text or text.id or text.title, 0, 0):016x}"
    if by_document:
        return place.document_id
    return f"{chunk_key(place.document_id, place.start, place.end):016x}"


def match_questions(
    retrievals: Iterable[Returned], questions: Sequence[Question]
) -> tuple[dict[str, tuple[Returned, ...]], list[Returned]]:
    """Match by the text of a question, else by its id.

    Returns retrievals by question id, hops in their order, and those of no question of the set.
    Where a file has the request that a trace serves, its text counts before that of a retrieval:
    agents search for other words than they are asked. White space, case and punctuation of a text
    make no difference. A text that several questions have is matched by its id alone.
    """
    ids = {item.id for item in questions}
    by_text: dict[str, set[str]] = {}
    for item in questions:
        by_text.setdefault(letters_of(item.text).text or item.text, set()).add(item.id)
    matched: dict[str, list[Returned]] = {}
    unmatched = list[Returned]()

    def with_text(text: str) -> set[str]:
        return by_text.get(letters_of(text).text or text, set())

    for retrieval in retrievals:
        same = with_text(retrieval.request) or with_text(retrieval.question)
        if retrieval.question_id in ids and (not same or retrieval.question_id in same):
            matched.setdefault(retrieval.question_id, []).append(retrieval)
        elif len(same) == 1:
            matched.setdefault(next(iter(same)), []).append(retrieval)
        else:
            unmatched.append(retrieval)
    ordered = {
        question: tuple(sorted(items, key=lambda item: item.hop))
        for question, items in matched.items()
    }
    return ordered, unmatched
