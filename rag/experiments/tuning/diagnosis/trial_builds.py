"""Builds that a job registers to try changes of the index, and the deletion of those in vain."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from rag.errors import InvalidRecipe, NotFound
from rag.experiments.tuning.diagnosis.progress import PartOfProgress
from rag.library.documents.build_job import build_indexes
from rag.recipe import IndexRecipe, Recipe
from rag.services.jobs.reporter import Reporter
from rag.services.services import Services
from rag.storage import Connection, bases, builds
from rag.storage import jobs as rows
from rag.storage.jobs import JobRow

_LATEST = 500  # jobs that may have ended while this one was at work


class TrialBuilds:
    """The builds of one job, by a plan that is carried from turn to turn.

    It has the index recipes and which of them the job registered itself. Others are somebody
    else's, and are never deleted. It reports to a build as the job's reporter, within a part of
    the progress.
    """

    def __init__(
        self, services: Services, job: JobRow, reporter: Reporter, progress: PartOfProgress
    ) -> None:
        self._services = services
        self._job = job
        self._reporter = reporter
        self._plan: dict[str, Any] = reporter.carried() or {}
        self._floor = progress.share(job.done, job.total)
        self.report = progress.report
        self.give_way = reporter.give_way
        self.cancelled = reporter.cancelled

    @property
    def planned(self) -> bool:
        """Whether an earlier turn began."""
        return bool(self._plan)

    @property
    def registered(self) -> frozenset[str]:
        """The hashes of the builds that the job registered and did not delete."""
        return frozenset(self._plan.get("registered", ()))

    def plan(self, indexes: Collection[IndexRecipe]) -> None:
        """Keep the index recipes to build."""
        dumped = [index.model_dump(mode="json") for index in indexes]
        self._plan = {"indexes": dumped, "registered": []}
        self._reporter.keep(self._plan)

    def complete(self) -> None:
        """Complete the builds. Raises as ``build_indexes``."""
        indexes = [IndexRecipe.restore(index) for index in self._plan["indexes"]]
        place = self._services, self._job.base_id
        build_indexes(*place, self, indexes, self._floor, self._note)

    def _note(self, connection: Connection, index: IndexRecipe) -> None:
        self._plan = {**self._plan, "registered": [*self._plan["registered"], index.hash]}
        self._reporter.keep_with(connection, self._plan)

    @property
    def result(self) -> Any:
        """The documents that are built of the first build."""
        return self._plan.get("documents")

    @result.setter
    def result(self, built: Any) -> None:
        self._plan = {**self._plan, "documents": built}
        self._reporter.result = self._plan

    def carried(self) -> Any:
        """Return the ``result`` of an earlier turn."""
        return self.result

    def delete(self, useless: Collection[str]) -> None:
        """Delete the builds among ``useless`` that the job registered and nobody else needs.

        Documents that are added later would have to be embedded for them.
        """
        base_id = self._job.base_id
        with self._services.database.write() as connection:
            bases.hold(connection, base_id)  # nobody submits a job that needs one meanwhile
            deleted = self.registered & set(useless) - set(_needed(connection, self._job))
            for build_hash in deleted:
                builds.remove(connection, base_id, build_hash)
            self._plan = {**self._plan, "registered": sorted(self.registered - deleted)}
            self._reporter.keep_with(connection, self._plan)
        for build_hash in deleted:
            self._services.forget_build(base_id, build_hash)

    def abandon(self) -> None:
        """Delete all builds that the job registered and nobody else needs."""
        with suppress(NotFound):  # the base is gone, and the builds with it
            self.delete(self.registered)
        self._reporter.result = None


def _needed(connection: Connection, job: JobRow) -> Iterator[str]:
    """The hashes of indexes that the base or anything but this job needs."""
    yield bases.by_id(connection, job.base_id).recipe.index.hash
    recent = rows.recent(connection, job.base_id, _LATEST)
    jobs = {row.id: row for row in [*rows.active(connection, job.base_id), *recent]}
    for row in jobs.values():
        meanwhile = row.finished is not None and row.finished >= job.created
        if row.id == job.id or not (row.active or meanwhile):
            continue
        yield from _named(row.payload)
        if row.active:
            yield from _named(rows.result(connection, row.id))
        if row.kind == "build-several":
            for item in rows.items(connection, row.id):
                yield from _named(item.payload)
    yield from _fixes_of_diagnoses(connection, job)


def _fixes_of_diagnoses(connection: Connection, job: JobRow) -> Iterator[str]:
    """The indexes of the fixes of the last diagnosis of each question set."""
    last = dict[str, JobRow]()
    for row in rows.done(connection, job.base_id, job.kind):
        last.setdefault(row.payload["about"]["set"], row)
    for row in last.values():
        stored = rows.result(connection, row.id)
        for fix in stored["trials"]["fixes"]:
            with suppress(InvalidRecipe):  # of another version
                yield Recipe.restore(stored["recipe"]).with_fields(fix["changes"]).index.hash


def _named(data: Any) -> Iterator[str]:
    """The hashes of the index recipes in what is stored of a job."""
    if isinstance(data, Mapping) and {"chunker", "embedder"} <= data.keys():
        yield IndexRecipe.restore(data).hash
    elif isinstance(data, Mapping | list):
        for part in data.values() if isinstance(data, Mapping) else data:
            yield from _named(part)
