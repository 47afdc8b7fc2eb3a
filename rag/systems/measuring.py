"""Metrics of what another system returned, by the labels of a question set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rag.errors import InvalidInput
from rag.evaluation.judging import Judged
from rag.evaluation.measuring import measured
from rag.evaluation.relevance import best_grades, judged_by_document, relevant_chunks
from rag.operation import operation
from rag.results import QuestionResult
from rag.runs.evaluator import DEFAULT_CUTOFFS, Evaluator
from rag.services import Services
from rag.storage import documents, passages
from rag.systems.alignment import AlignedText, Aligner, Method, Source
from rag.systems.matching import match_questions
from rag.systems.returned import Returned, ReturnedText
from rag.types import ProgressCallback, Question, chunk_key

FOREIGN = "foreign:"
"""The beginning of the id of a result that no document of the knowledge base contains."""


@dataclass(frozen=True, slots=True)
class SystemMeasurement:
    """The metrics of a system on a question set.

    ``methods`` counts the returned texts by the way in which they were located. ``unasked`` names
    the questions of the set that the system returned nothing for because it was not asked, and
    that are left out; ``unmatched`` are the questions of the system that the set does not have.
    """

    question_set: str
    metrics: Mapping[str, float]
    results: tuple[QuestionResult, ...]
    methods: Mapping[Method, int]
    unasked: tuple[str, ...]
    unmatched: tuple[str, ...]


class SystemMeasurements:
    """Measures what other systems return for the questions of one knowledge base."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id
        self._evaluator = Evaluator(services, base_id)

    @operation("viewer")
    def questions(self, set_name: str) -> list[Question]:
        """Return the questions to ask a system. Raises NotFound, InvalidInput without labels."""
        return self._evaluator.questions(set_name)[1]

    @operation("viewer")
    def measure(
        self,
        set_name: str,
        retrievals: Iterable[Returned],
        cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> SystemMeasurement:
        """Locate returned texts in the documents and grade them. No run is stored.

        A returned text covers a label by the rule that passages obey: they share at least half of
        the shorter. The passages of the other system are unknown, so each label that no returned
        text covers counts as one more relevant passage. A text that is in no document keeps its
        rank with grade 0. Several retrievals for one question are one ranking, in their order.

        Raises NotFound for an unknown set, InvalidInput without labels or where no question is of
        the set.
        """
        questions = self.questions(set_name)
        matched = match_questions(retrievals, questions)
        measured_questions = [item for item in questions if item.id in matched.by_question]
        if not measured_questions:
            raise InvalidInput(
                f"None of the retrievals is for a question of {set_name!r}.",
                "Ask the system the questions of the set, word for word or with their ids.",
            )
        locator = _Locator(self._services, self._base_id)
        ranked, methods = [], Counter[Method]()
        for place, question in enumerate(measured_questions):
            on_progress(place, len(measured_questions))
            texts = [text for hop in matched.by_question[question.id] for text in hop.texts]
            aligned = [locator.locate(text) for text in texts]
            methods.update(item.method for item in aligned)
            ranked.append(judged_texts(question, texts, aligned, max(cutoffs)))
        results, means = measured(ranked, cutoffs)
        return SystemMeasurement(
            set_name,
            means,
            tuple(results),
            dict(methods),
            tuple(item.id for item in questions if item.id not in matched.by_question),
            tuple(item.question for item in matched.unmatched),
        )


class _Locator:
    """Locates results: by their text, or by an id of ours where a system sent no text."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._database, self._base_id = services.database, base_id
        with self._database.read() as connection:
            rows = documents.list_documents(connection, base_id)
        self._lengths = {row.id: row.characters for row in rows}
        self._ids = {row.name: row.id for row in rows} | {row.id: row.id for row in rows}
        sources = [Source(row.id, row.name, row.characters) for row in rows]
        self._aligner = Aligner(sources, self._text)
        self._aligned: dict[tuple[str, ...], AlignedText] = {}

    def _text(self, document_id: str) -> str:
        with self._database.read() as connection:
            return documents.text(connection, self._base_id, document_id)

    def locate(self, returned: ReturnedText) -> AlignedText:
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
        with self._database.read() as connection:
            place = passages.place(connection, self._base_id, name)
        return AlignedText(*place, "exact", 1.0) if place else AlignedText("", 0, 0, "foreign", 0.0)


def judged_texts(
    question: Question,
    texts: Sequence[ReturnedText],
    aligned: Sequence[AlignedText],
    depth: int,
) -> Judged:
    """Grade the located results of a question, best first.

    Scores are those of the system, or 1 / rank where it sent none.
    """
    by_document = judged_by_document(question)
    scores: dict[str, float] = {}
    rows = []
    for rank, (text, place) in enumerate(zip(texts, aligned, strict=True), start=1):
        name = _name(text, place, by_document=by_document)
        if name not in scores:
            scores[name] = 1 / rank if text.score is None else text.score
            if place.document_id and not by_document:
                rows.append((int(name, 16), place.document_id, place.start, place.end))
    ids = tuple(scores)[:depth]
    if by_document:
        grades = {name: grade for name, grade in best_grades(question).items() if grade > 0}
        ideal = list(grades.values())
    else:
        by_key = relevant_chunks(question.evidence, rows, all_passages=False)
        grades = {f"{key:016x}": grade for key, grade in by_key.items()}
        ideal = [*grades.values(), *_uncovered(question, rows)]
    return Judged(
        question=question,
        ids=ids,
        scores=tuple(scores[name] for name in ids),
        grades=tuple(grades.get(name, 0) for name in ids),
        ideal=tuple(sorted(ideal, reverse=True)),
    )


def _name(text: ReturnedText, place: AlignedText, *, by_document: bool) -> str:
    if not place.document_id:
        return f"{FOREIGN}{chunk_key(text.text or text.id or text.title, 0, 0):016x}"
    if by_document:
        return place.document_id
    return f"{chunk_key(place.document_id, place.start, place.end):016x}"


def _uncovered(question: Question, rows: Sequence[tuple[int, str, int, int]]) -> list[int]:
    """Grades of the labels that no returned text covers."""
    cover = partial(relevant_chunks, chunks=rows, all_passages=False)
    return [item.grade for item in question.evidence if item.grade > 0 and not cover([item])]
