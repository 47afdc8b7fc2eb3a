"""The job that makes questions from passages, one by one; each is stored as soon as it is made."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from rag.errors import InvalidInput, ProviderMisbehaved, TouchstoneError
from rag.evaluation.formats.question_files import folded
from rag.evaluation.generation import (
    MODEL_KINDS,
    PASSAGES,
    Draft,
    Rarity,
    cut_question,
    sample,
    write_question,
)
from rag.services.jobs import Job, Reporter, StoredRecipe
from rag.services.services import Services
from rag.storage import Connection, builds, documents, passages
from rag.storage import jobs as job_rows
from rag.storage import questions as rows
from rag.storage.jobs import JobItem, JobRow
from rag.storage.labels import PROPOSED, Label
from rag.storage.questions import LabelledQuestion, State
from rag.types import Chunk, Evidence

_COMPARED = 1000  # passages that say how rare a word is, and among which partners are found
_SPARES = 50  # passages that are tried instead of one with nothing to ask for
_ANY_ORIGIN: tuple[State, ...] = ("accepted", "proposed", "rejected")


class Generate(Job[None]):
    """The making of questions for a set, each of an item's kind from the passage of its key."""

    kind = "generate"
    set: str
    seed: int
    recipe: StoredRecipe


def generate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "generate"; questions that an earlier process made stay."""
    items = services.database.fetch(job_rows.items, job.id)
    maker = _Maker(services, job, items)
    for item in items:
        if item.status == "waiting":
            reporter.report(item.position, len(items), f"{item.name} {item.position + 1}")
            maker.handle(item)
            reporter.give_way()
    outcome = services.database.fetch(job_rows.items, job.id)
    failed = sum(item.status == "failed" for item in outcome)
    summary = f"{len(outcome) - failed} of {len(outcome)} questions proposed"
    return summary + (f", {failed} could not be made" if failed else "")


class _Maker:
    def __init__(self, services: Services, job: JobRow, items: Sequence[JobItem]) -> None:
        self._database = services.database
        self._job = job
        request = Generate.of(job)
        self._set, self._recipe = request.set, request.recipe
        answer = self._recipe.answer
        self._chat = services.models.chat(answer.provider, answer.model)
        keys = sorted({int(item.payload["key"]) for item in items})
        with self._database.read() as connection:
            cut_id = builds.cut_id(connection, job.base_id, self._recipe.index.cut)
            self._names = {
                key: name for name, key in documents.ids_by_name(connection, job.base_id).items()
            }
            spans = passages.spans(connection, job.base_id, cut_id, sorted(self._names))
            others = sample(spans, _COMPARED, request.seed)
            self._chunks = passages.by_key(connection, cut_id, [*keys, *others])
        spare = [key for key in others if key not in keys and key in self._chunks]
        self._spares = [self._chunks[key] for key in spare[:_SPARES]]
        self._rarity = Rarity(chunk.text for chunk in self._chunks.values())

    def handle(self, item: JobItem) -> None:
        """Make one question. A model that cannot be reached ends the job, the rest is noted."""
        try:
            draft = self._made(item)
            with self._database.write() as connection:
                self._store(connection, draft)
                job_rows.set_item(connection, self._job.id, item.position, "added")
        except (InvalidInput, ProviderMisbehaved) as error:
            self._fail(item, error)

    def _made(self, item: JobItem) -> Draft:
        chunk = self._chunks.get(int(item.payload["key"]))
        if chunk is None:
            raise InvalidInput(
                "The passage no longer exists.", "Its document was deleted or replaced."
            )
        kind = item.payload["kind"]
        if kind in MODEL_KINDS and self._chat is not None:
            group = self._group(chunk, PASSAGES.get(kind, 1))
            temperature = self._recipe.answer.temperature
            return write_question(kind, group, self._chat, self._rarity, temperature)
        existing = self._existing_texts()
        for passage in (chunk, *self._spares):
            draft = cut_question(kind, passage, self._rarity)
            if draft is not None and folded(draft.text) not in existing:
                return draft
        raise InvalidInput(
            "No passage is left to make a question from.", "Add documents, or try another seed."
        )

    def _existing_texts(self) -> set[str]:
        """The folded texts of all questions of the set, also of rejected ones."""
        with self._database.read() as connection:
            set_id = rows.get_question_set(connection, self._job.base_id, self._set).id
            return {
                folded(item.text)
                for item in rows.list_labelled_questions(connection, set_id, _ANY_ORIGIN)
            }

    def _group(self, chunk: Chunk, number: int) -> list[Chunk]:
        """A passage with those that share most rare words with it."""
        apart = [other for other in self._chunks.values() if not _overlap(chunk, other)]
        apart.sort(key=lambda other: (-self._rarity.shared(chunk.text, other.text), other.key))
        if len(apart) < number - 1:
            raise InvalidInput("There is no second passage.", "Add more documents.")
        return [chunk, *apart[: number - 1]]

    def _store(self, connection: Connection, draft: Draft) -> None:
        set_id = rows.get_question_set(connection, self._job.base_id, self._set).id
        questions = rows.list_labelled_questions(connection, set_id, _ANY_ORIGIN)
        if folded(draft.text) in {folded(item.text) for item in questions}:
            raise InvalidInput("The set has this question already.", "Try another seed.")
        labels = tuple(self._label(evidence) for evidence in draft.evidence)
        model = draft.model or (self._recipe.answer.model if draft.kind in MODEL_KINDS else "")
        proposal = LabelledQuestion(
            id=uuid.uuid4().hex[:8],
            text=draft.text,
            answerable=draft.answerable,
            tags=(draft.kind,),
            labels=labels,
            state="proposed",
            origin=f"{draft.kind} ({model})" if model else draft.kind,
            leak=draft.leak,
        )
        rows.insert_all(connection, set_id, [proposal])

    def _label(self, span: Evidence) -> Label:
        name = self._names[span.document_id]
        place = name, span.document_id, span.start, span.end
        return Label(*place, span.grade, span.quote, origin=PROPOSED)

    def _fail(self, item: JobItem, error: TouchstoneError) -> None:
        self._database.execute(
            job_rows.set_item, self._job.id, item.position, "failed", error.message, error.hint
        )


def _overlap(one: Chunk, other: Chunk) -> bool:
    same = one.document_id == other.document_id
    return same and one.start < other.end and other.start < one.end
