"""Changes of the index that a diagnosis proposes, and the builds in which a job tries them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rag import providers
from rag.errors import InvalidRecipe, NotFound
from rag.experiments.tuning.diagnosis.case import scores
from rag.experiments.tuning.diagnosis.causes import Cause, FailedQuestion
from rag.experiments.tuning.diagnosis.checks import INDEXED_RANK
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.experiments.tuning.diagnosis.fixes import Changes, index_changes_for, key_of, metric_depth
from rag.library.documents.bulk_jobs import build_indexes
from rag.library.documents.remaining_time import Throughput
from rag.recipe import IndexRecipe, Recipe
from rag.services.jobs.reporter import Reporter
from rag.services.services import Services
from rag.storage import Connection, bases, builds, documents
from rag.storage import jobs as rows
from rag.storage.jobs import JobRow
from rag.types import Cost

_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Changes of the index that were not tried, as each needs a build.

    ``gain`` is an estimate of what they gain over all questions, from ``questions`` of which
    ``reached`` would be in the top-k if their passage alone were indexed as the change has it; None
    where only words are searched. ``seconds`` is the time to build all of them, None for a remote
    model that was never used. ``tokens`` are about those that a model embeds that may cost money, 0
    for another one, and ``price`` is what they cost, None where that is unknown.
    """

    changes: tuple[Changes, ...]
    causes: tuple[Cause, ...]
    questions: int
    reached: int
    gain: float | None
    seconds: float | None
    tokens: int = 0
    price: Cost | None = None


def find_rebuild(
    services: Services, base_id: int, examination: Examination, failed: Sequence[FailedQuestion]
) -> Rebuild | None:
    """The changes of the index that may help against the causes of ``failed``; None for none."""
    recipe = examination.recipe
    changes, causes = dict[str, Changes](), dict[Cause, None]()
    for cause in dict.fromkeys(failure.cause for failure in failed):
        for change in index_changes_for(cause, recipe):
            if not examination.is_built(recipe.with_fields(change).index):
                changes[key_of(change)] = change
                causes[cause] = None
    if not changes:
        return None
    helped = [failure for failure in failed if failure.cause in causes]
    # By the metric of the fixes, beside which this gain stands.
    values = scores(examination.searched, metric_depth(recipe)).tolist()
    before = dict(zip([one.id for one in examination.questions], values, strict=True))
    gains = [gain_of(failure, before[failure.id], recipe.search.top_k) for failure in helped]
    by_words = recipe.search.mode == "lexical"
    embedder = recipe.index.embedder
    rows = services.database.fetch(documents.list_documents, base_id)
    characters = sum(row.characters for row in rows)
    seconds = Throughput(services).seconds(embedder, characters, 0)
    tokens = 0
    if providers.may_cost(providers.vector_space(embedder)[0].partition(":")[0], services.settings):
        tokens = characters // _CHARACTERS_PER_TOKEN * len(changes)
    return Rebuild(
        tuple(changes.values()),
        tuple(causes),
        len(helped),
        sum(gain > 0 for gain in gains),
        None if by_words else sum(gains) / len(examination.questions),
        None if seconds is None else seconds * len(changes),
        tokens,
        services.models.embedding_cost(embedder, tokens) if tokens else None,
    )


def gain_of(failure: FailedQuestion, before: float, top_k: int) -> float:
    """The gain of nDCG, which is ``before``, if the only relevant passage had its indexed rank.

    Results end at ``top_k``, also where the metric goes deeper.
    """
    rank = failure.finding.figures[INDEXED_RANK]
    return max(0.0, 1 / math.log2(1 + rank) - before) if rank <= top_k else 0.0


_UNITS = 10_000


@dataclass(frozen=True, slots=True)
class PartOfProgress:
    """The part of a job's progress from one share of the whole to another."""

    reporter: Reporter
    start: float = 0.0
    end: float = 1.0

    def report(
        self, done: int, total: int, message: str, seconds_left: float | None = None
    ) -> None:
        """Set the progress of the part. Raises Cancelled as the reporter does."""
        share = self.start + (self.end - self.start) * done / max(total, 1)
        # Rounded up: a turn that begins where another ended has lost a part of a unit.
        units = math.ceil(round(_UNITS * share, 6))
        self.reporter.report(units, _UNITS, message, seconds_left)

    def share(self, done: int, total: int) -> float:
        """The share of the part that is done, by the units of the whole."""
        whole = done / total if total else 0.0
        return min(max((whole - self.start) / (self.end - self.start), 0.0), 1.0)


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
