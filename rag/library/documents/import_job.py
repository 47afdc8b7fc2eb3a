"""The job that imports a BEIR folder: its corpus as documents, its judgements as questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from rag.evaluation.formats import beir
from rag.evaluation.formats.question_files import FileLabel, FileQuestion
from rag.library.documents.embedding_queue import refresh
from rag.library.documents.ingestion import Ingestion
from rag.library.documents.remaining_time import RemainingTime
from rag.library.questions.sets import QuestionSets
from rag.services.jobs.reporter import Reporter
from rag.services.services import Services
from rag.storage import documents
from rag.storage.jobs import JobRow

_GROUP = 256  # documents stored in one transaction


def import_beir(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "import-beir"; documents that are present already are left alone."""
    with RemainingTime.of(services, job.share_done) as forecast:
        return _import(services, job, reporter, forecast)


def _import(services: Services, job: JobRow, reporter: Reporter, forecast: RemainingTime) -> str:
    folder, split = Path(job.payload["folder"]), str(job.payload["split"])
    questions = beir.read_questions(folder, split)
    ingestion = Ingestion(services.database, job.base_id, services.models.embedder)
    total = 0
    for part in _groups(folder):
        size = sum(len(row.full_text) for row in part)
        forecast.add(total, "text", size, ingestion.work())
        total += len(part)
    seen, stored = 0, reporter.carried() or 0
    shifts: dict[str, int] = {}
    for group in _groups(folder):
        shifts |= {row.id: len(row.full_text) - len(row.text) for row in group}
        new = [row.document(folder.name) for row in group if row.full_text.strip()]
        present = services.database.fetch(documents.names, job.base_id, [item.id for item in new])
        new = [item for item in new if item.id not in present]

        def on_progress(step: str, done: int, parts: int, seen: int = seen) -> None:
            forecast.reached(seen, step, done, parts)
            units, whole, seconds_left = forecast.estimate()
            reporter.report(units, whole, f"{seen:,} of {total:,} documents, {step}", seconds_left)

        if new:
            ingestion.store(new, on_progress)
            services.files.discard()
        forecast.end(seen)
        seen, stored = seen + len(group), stored + len(new)
        reporter.result = stored
        if new:
            reporter.give_way()
    units, whole, _ = forecast.estimate()
    refresh(services, job.base_id, partial(reporter.report, units, whole))
    shifted = [_shifted(question, shifts) for question in questions]
    QuestionSets(services.database, job.base_id).save(folder.name, shifted)
    return f"{stored:,} of {total:,} documents added, {len(questions):,} questions"


def _groups(folder: Path) -> Iterator[list[beir.BeirDocument]]:
    rows = beir.read_documents(folder)
    while group := list(islice(rows, _GROUP)):
        yield group


def _shifted(question: FileQuestion, shifts: dict[str, int]) -> FileQuestion:
    """Spans count from the start of ``text``; in the document the title stands before it."""
    labels = tuple(_moved(label, shifts.get(label.document, 0)) for label in question.labels)
    return replace(question, labels=labels)


def _moved(label: FileLabel, by: int) -> FileLabel:
    if label.start is None or label.end is None:
        return label
    return FileLabel(label.document, label.quote, label.start + by, label.end + by, label.grade)
