"""The jobs on whole knowledge bases: build indexes, copy one, import a BEIR folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Protocol

from rag.errors import InvalidFile
from rag.evaluation.formats import beir
from rag.evaluation.formats.question_files import FileLabel
from rag.library.documents.embedding_queue import refresh
from rag.library.documents.ingestion import Ingestion
from rag.library.documents.remaining_time import RemainingTime, work_for
from rag.library.questions.sets import QuestionSets, checked_name
from rag.recipe import IndexRecipe
from rag.recipe.parts import chunker_name
from rag.services.jobs import Job, Reporter, StoredIndexRecipe
from rag.services.services import Services
from rag.storage import Connection, builds, documents
from rag.storage import jobs as rows
from rag.storage.jobs import JobRow
from rag.storage.shared import copying
from rag.storage.shared.segments import Segments

_GROUP = 32  # documents stored in one transaction

OnNew = Callable[[Connection, IndexRecipe], None]


class Build(Job[int]):
    """A build of all documents for an index recipe; a turn leaves the number of those built."""

    kind = "build"
    recipe: StoredIndexRecipe

    @property
    def title(self) -> str:
        """The title of the job."""
        size = "" if self.recipe.chunker == "whole" else f" {self.recipe.chunk_size}"
        return f"Building {chunker_name(self.recipe.chunker)}{size} with {self.recipe.embedder}"


class BuildSeveral(Job[int]):
    """Builds one after the other, each of them the payload of an item as in ``Build``."""

    kind = "build-several"


class Duplicate(Job[int]):
    """A copy of all that ``source`` has; it leaves the number of documents copied."""

    kind = "duplicate"
    source: int


class ImportBeir(Job[int]):
    """An import of a BEIR folder; it leaves the number of documents added."""

    kind = "import-beir"
    folder: Path
    split: str

    @classmethod
    def checked(cls, folder: Path, split: str) -> ImportBeir:
        """Looks at the folder. Raises InvalidFile when it is not one."""
        checked_name(folder.resolve().name)  # of the question set
        beir.read_questions(folder, split)
        if next(beir.read_documents(folder), None) is None:
            raise InvalidFile("corpus.jsonl has no document.", "Choose another folder.")
        return cls(folder=folder.resolve(), split=split)

    @property
    def title(self) -> str:
        """The title of the job."""
        return f"Importing {self.folder.name}"


class BuildReporter(Protocol):
    """The part of a ``Reporter`` that a build uses; a job that builds first has one of its own."""

    result: Any

    def report(
        self, done: int, total: int, message: str, seconds_left: float | None = None
    ) -> None:
        """Set the progress."""

    def carried(self) -> Any:
        """Return the ``result`` of an earlier turn."""

    def give_way(self) -> None:
        """End the turn where it is over."""

    def cancelled(self) -> bool:
        """Whether the work should stop."""


def build(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "build"; documents that are built already are left alone."""
    recipe = Build.of(job).recipe
    with _building(services, job.base_id, reporter, {"": recipe}, job.share_done) as building:
        return f"{building.complete(''):,} documents built"


def build_several(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "build-several", an index recipe an item; what is built stays built."""
    items = services.database.fetch(rows.items, job.id)
    recipes = {
        f"index {place:,} of {len(items):,}, {item.name}: ": Build.model_validate(
            item.payload
        ).recipe
        for place, item in enumerate(items, 1)
        if item.status == "waiting"
    }
    waiting = (item for item in items if item.status == "waiting")
    with _building(services, job.base_id, reporter, recipes, job.share_done) as building:
        for item, (name, recipe) in zip(waiting, recipes.items(), strict=True):
            building.complete(name)
            with services.database.write() as connection:
                passages = builds.passages_of(connection, job.base_id, recipe.cut)
                rows.set_item(connection, job.id, item.position, "added", chunks=passages)
        return f"{len(items):,} indexes built"


def build_indexes(
    services: Services,
    base_id: int,
    reporter: BuildReporter,
    indexes: Sequence[IndexRecipe],
    floor: float,
    on_new: OnNew,
) -> None:
    """Complete the builds of some index recipes within a job of another kind.

    ``floor`` is the share of them that earlier turns have done. ``on_new`` hears of a build that is
    registered, in the same transaction.
    """
    recipes = {
        f"index {place:,} of {len(indexes):,}: ": recipe for place, recipe in enumerate(indexes, 1)
    }
    with _building(services, base_id, reporter, recipes, floor, on_new) as building:
        for name in recipes:
            building.complete(name)


@contextmanager
def _building(
    services: Services,
    base_id: int,
    reporter: BuildReporter,
    recipes: dict[str, IndexRecipe],
    floor: float,
    on_new: OnNew = lambda _connection, _recipe: None,
) -> Iterator[_Building]:
    """``recipes`` by what the messages about each begin with."""
    with RemainingTime.of(services, floor) as forecast:
        yield _Building(services, base_id, reporter, recipes, forecast, on_new)


class _Building:
    """Completes builds, one after the other, and says how long all of them take."""

    def __init__(
        self,
        services: Services,
        base_id: int,
        reporter: BuildReporter,
        recipes: dict[str, IndexRecipe],
        forecast: RemainingTime,
        on_new: OnNew,
    ) -> None:
        self._services = services
        self._base_id = base_id
        self._reporter = reporter
        self._recipes = recipes
        self._on_new = on_new
        self._before = reporter.carried() or 0  # documents of the first build, in earlier turns
        self._forecast = forecast
        self._ingestion = Ingestion(services.database, base_id, services.models.embedder)
        with services.database.read() as connection:
            rows = documents.list_documents(connection, base_id)
            self._characters = {row.id: row.characters for row in rows}
        for name in recipes:
            self._expect(name)

    def complete(self, name: str) -> int:
        """Add the documents that a build lacks; return how many it lacked when it was begun.

        Raises InvalidRecipe or ProviderError before there is a build that could never be completed.
        """
        recipe, services = self._recipes[name], self._services
        self._reporter.report(*self._described(f"{name}starting"))
        services.models.require(recipe)
        services.models.embedder(recipe.embedder).embed(["hello"], "query")  # a server may be away
        with services.database.write() as connection:
            if builds.register(connection, self._base_id, recipe):
                self._on_new(connection, recipe)
        groups = self._expect(name)
        built, self._before = self._before, 0
        total = built + sum(map(len, groups))
        for group in groups:
            self._add(name, recipe, group, f"{built:,} of {total:,} documents built")
            built += len(group)
            self._reporter.result = built  # the next turn begins with it
            self._reporter.give_way()
            self._reporter.result = None
        services.indexes.save(
            self._base_id,
            recipe,
            lambda: self._reporter.report(*self._described(f"{name}bringing the index up to date")),
        )
        return total

    def _add(self, name: str, recipe: IndexRecipe, group: Sequence[str], at: str) -> None:
        key = (name, group[0])

        def on_progress(step: str, done: int, total: int) -> None:
            self._forecast.reached(key, step, done, total)
            count = f" {done:,} of {total:,} passages" if total and step == "embedding" else ""
            message = f"{name}{at}, {step}{count}"
            self._reporter.report(*self._described(message))

        self._ingestion.complete(recipe, group, on_progress)
        self._forecast.end(key)

    def _described(self, message: str) -> tuple[int, int, str, float]:
        done, total, seconds_left = self._forecast.estimate()
        return done, total, message, seconds_left

    def _expect(self, name: str) -> list[list[str]]:
        """The documents that a build lacks, as many at once as are stored in one transaction."""
        recipe = self._recipes[name]
        missing = self._services.database.fetch(builds.missing, self._base_id, recipe.hash)
        most = _GROUP
        groups = [missing[start : start + most] for start in range(0, len(missing), most)]
        for group in groups:
            size = sum(self._characters.get(document_id, 0) for document_id in group)
            self._forecast.add((name, group[0]), "text", size, work_for(recipe))
        return groups


_COPIED_PASSAGES = 8192  # of the documents that are copied in one transaction


def duplicate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "duplicate"; what is copied already is left alone.

    Raises NotFound where the source was deleted; what was copied stays.
    """
    source, target = Duplicate.of(job).source, job.base_id
    ids = services.database.fetch(copying.missing, source, target)
    copied = reporter.carried() or 0
    total = copied + len(ids)
    while ids:
        counts = services.database.fetch(copying.passages_of, source, ids[:_GROUP])
        totals = accumulate(counts.get(document_id, 0) for document_id in ids[:_GROUP])
        group = ids[: max(sum(passages <= _COPIED_PASSAGES for passages in totals), 1)]
        ids = ids[len(group) :]

        def on_stored(passages: int, copied: int = copied) -> None:
            words = f"{copied:,} of {total:,} documents copied"
            more = f", {passages:,} passages of a large one" * bool(passages)
            reporter.report(copied, total, words + more)

        on_stored(0)
        is_copied = False
        while not is_copied:  # a large one was changed meanwhile
            segments = services.database.fetch(copying.segments, source, group)
            with Segments(services.database, target) as arriving:
                for segment in segments:
                    copying.copy_segment(arriving, target, segment, on_stored)
                is_copied = services.database.execute(
                    copying.documents, source, target, group, arriving, segments
                )
        copied += len(group)
        reporter.result = copied
        reporter.give_way()
    services.database.execute(copying.all_else, source, target)
    refresh(services, target, partial(reporter.report, total, total))
    return f"{total:,} document{'s' * (total != 1)} copied"


_BEIR_GROUP = 256  # documents stored in one transaction


def import_beir(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "import-beir"; documents that are present already are left alone."""
    with RemainingTime.of(services, job.share_done) as forecast:
        return _import(services, job, reporter, forecast)


def _import(services: Services, job: JobRow, reporter: Reporter, forecast: RemainingTime) -> str:
    request = ImportBeir.of(job)
    folder, questions = request.folder, beir.read_questions(request.folder, request.split)
    ingestion = Ingestion(services.database, job.base_id, services.models.embedder)
    total = 0
    for part in _beir_groups(folder):
        size = sum(len(row.full_text) for row in part)
        forecast.add(total, "text", size, ingestion.work())
        total += len(part)
    seen, stored = 0, reporter.carried() or 0
    shifts: dict[str, int] = {}
    for group in _beir_groups(folder):
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
    # Spans count from the start of the text; in the document the title stands before it.
    shifted = [
        replace(
            question,
            labels=tuple(_moved(label, shifts.get(label.document, 0)) for label in question.labels),
        )
        for question in questions
    ]
    QuestionSets(services.database, job.base_id).save(folder.name, shifted)
    return f"{stored:,} of {total:,} documents added, {len(questions):,} questions"


def _beir_groups(folder: Path) -> Iterator[list[beir.BeirDocument]]:
    rows = beir.read_documents(folder)
    while group := list(islice(rows, _BEIR_GROUP)):
        yield group


def _moved(label: FileLabel, by: int) -> FileLabel:
    if label.start is None or label.end is None:
        return label
    return FileLabel(label.document, label.quote, label.start + by, label.end + by, label.grade)
