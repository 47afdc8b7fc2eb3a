"""Background jobs as rows, so that a killed process can be taken over by the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from rag.errors import NotFound
from rag.storage import files, leases
from rag.storage.tables import job, job_item, knowledge_base

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
ItemStatus = Literal["waiting", "added", "replaced", "unchanged", "unpacked", "failed", "cancelled"]

ACTIVE: tuple[JobStatus, ...] = ("queued", "running")
_LEASE_SECONDS = 15.0
_MOST_DEATHS = 2
_DIED = f"The processes that worked on it ended {_MOST_DEATHS} times without finishing an item."


PAUSED = "Paused"
"""The beginning of the message of a job that ended before its work was done."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job: ``done`` of ``total`` units, and a message on what it does now.

    ``seconds_left`` is what its worker expects, None while there is nothing to go by.
    """

    id: int
    base_id: int
    base: str
    kind: str
    title: str
    payload: Mapping[str, Any]
    status: JobStatus
    done: int
    total: int
    message: str
    cancel: bool
    created: datetime
    finished: datetime | None
    seconds_left: float | None = None

    @property
    def active(self) -> bool:
        """Whether it waits or works."""
        return self.status in ACTIVE

    @property
    def share_done(self) -> float:
        """The share of the work that is done, 0 to 1."""
        return self.done / (self.total or 1)

    @property
    def paused(self) -> bool:
        """Whether it ended before its work was done: at its budget, or as a model failed."""
        return self.status == "done" and self.message.startswith(PAUSED)


_JOBS: sa.Select[tuple[Any, ...]] = sa.select(
    *(column for column in job.c if column.name in JobRow.__slots__),  # no results
    knowledge_base.c.name.label("base"),
).join(knowledge_base, (knowledge_base.c.id == job.c.base_id) & ~knowledge_base.c.deleted)
# Read for every page that is drawn, and by idle workers: putting them together costs more.
_ACTIVE_JOBS = _JOBS.where(job.c.status.in_(ACTIVE)).order_by(job.c.id)
_ANY_ACTIVE = sa.select(job.c.id).where(job.c.status.in_(ACTIVE)).limit(1)


@dataclass(frozen=True, slots=True)
class JobItem:
    """One document (or build step) of a job and what became of it."""

    job_id: int
    position: int
    name: str
    payload: Mapping[str, Any]
    status: ItemStatus
    reason: str
    hint: str
    chunks: int


def create(
    connection: sa.Connection,
    base_id: int,
    kind: str,
    title: str,
    payload: Mapping[str, Any],
    items: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> int:
    """Queue a job; items are (name, payload). Returns its id."""
    job_id = connection.execute(
        sa.insert(job)
        .values(
            base_id=base_id,
            kind=kind,
            title=title,
            payload=dict(payload),
            status="queued",
            created=datetime.now(UTC),
        )
        .returning(job.c.id)
    ).scalar_one()
    files.add_items(connection, job_id, items)
    return int(job_id)


def get(connection: sa.Connection, job_id: int) -> JobRow:
    """One job. Raises NotFound."""
    row = connection.execute(_JOBS.where(job.c.id == job_id)).first()
    if row is None:
        raise NotFound("This job no longer exists.", "Its knowledge base was deleted.")
    return _row(row)


def recent(connection: sa.Connection, base_id: int | None = None, limit: int = 20) -> list[JobRow]:
    """Jobs, newest first, of one base or of all."""
    statement = _JOBS.order_by(job.c.id.desc()).limit(limit)
    if base_id is not None:
        statement = statement.where(job.c.base_id == base_id)
    return [_row(row) for row in connection.execute(statement)]


def active(connection: sa.Connection, base_id: int | None = None) -> list[JobRow]:
    """Jobs that wait or work, oldest first, of one base or of all."""
    statement = _ACTIVE_JOBS
    if base_id is not None:
        statement = statement.where(job.c.base_id == base_id)
    return [_row(row) for row in connection.execute(statement)]


def any_active(connection: sa.Connection) -> bool:
    """Return whether a job waits or works; a worker without work reads no more than this."""
    return connection.execute(_ANY_ACTIVE).first() is not None


def latest(
    connection: sa.Connection,
    base_id: int,
    kind: str,
    about: Mapping[str, str],
    *,
    done: bool = False,
) -> JobRow | None:
    """The newest job of a kind whose payload is ``about`` these things; of those ``done`` only."""
    same = [job.c.payload["about"][name].as_string() == value for name, value in about.items()]
    mine = (job.c.base_id == base_id) & (job.c.kind == kind)
    if done:
        mine &= job.c.status == "done"
    row = connection.execute(_JOBS.where(mine, *same).order_by(job.c.id.desc()).limit(1)).first()
    return _row(row) if row is not None else None


def result(connection: sa.Connection, job_id: int) -> Any:
    """Return the result of a job as plain data; None if the job stored no result."""
    return connection.execute(sa.select(job.c.result).where(job.c.id == job_id)).scalar()


def keep_result(connection: sa.Connection, job_id: int, owner: str, result: Any) -> None:
    """Store what a job has so far, unless another worker took it over."""
    connection.execute(sa.update(job).where(_owned(job_id, owner)).values(result=result))


def done(connection: sa.Connection, base_id: int, kind: str) -> list[JobRow]:
    """The jobs of a kind that are done, newest first."""
    mine = (job.c.base_id == base_id) & (job.c.kind == kind) & (job.c.status == "done")
    return [_row(row) for row in connection.execute(_JOBS.where(mine).order_by(job.c.id.desc()))]


def count_failed(connection: sa.Connection) -> dict[str, int]:
    """Return how many stored jobs have failed, by kind."""
    statement = sa.select(job.c.kind, sa.func.count()).where(job.c.status == "failed")
    return {row.kind: int(row[1]) for row in connection.execute(statement.group_by(job.c.kind))}


def items(connection: sa.Connection, job_id: int) -> list[JobItem]:
    """The items of a job in their order."""
    rows = connection.execute(
        sa.select(job_item).where(job_item.c.job_id == job_id).order_by(job_item.c.position)
    )
    return [JobItem(**row._mapping) for row in rows]


def _row(row: sa.Row[tuple[object, ...]]) -> JobRow:
    values = {name: row._mapping[name] for name in JobRow.__slots__}
    return JobRow(**values)


def note_fetched(connection: sa.Connection, item: JobItem, sha256: str) -> None:
    """Let an item that waits refer to the file that was fetched for it."""
    this = (job_item.c.job_id == item.job_id) & (job_item.c.position == item.position)
    payload = {**item.payload, "fetched": sha256}
    connection.execute(sa.update(job_item).where(this).values(payload=payload))


def claim(connection: sa.Connection, owner: str, job_id: int | None = None) -> int | None:
    """Take a job that waits, or whose owner's lease ran out; None when there is none.

    Bases take turns: first comes the one that has the fewest jobs at work, then the one whose last
    job ended, or gave way, longest ago. Jobs that were cancelled, or whose owners died twice, end
    here.
    """
    _end_abandoned(connection)
    statement = sa.select(job.c.id).where(_free()).order_by(*_turns(), job.c.id).limit(1)
    if job_id is not None:
        statement = statement.where(job.c.id == job_id)
    claimed = connection.execute(statement.with_for_update(skip_locked=True)).scalar()
    if claimed is not None:
        lease = leases.now() + _LEASE_SECONDS
        _set(connection, claimed, status="running", owner=owner, lease=lease, seconds_left=None)
    return claimed


def _free() -> sa.ColumnElement[bool]:
    """Whether nobody works on a job that is not at its end."""
    is_leased = leases.in_force(sa.func.coalesce(job.c.lease, 0.0), _LEASE_SECONDS)
    return sa.or_(job.c.status == "queued", (job.c.status == "running") & ~is_leased)


def _turns() -> tuple[sa.ColumnElement[Any], ...]:
    other = job.alias()
    worked = sa.func.coalesce(other.c.finished, other.c.gave_way)
    last = sa.select(sa.func.max(worked)).where(other.c.base_id == job.c.base_id)
    return _at_work(job.c.base_id), last.scalar_subquery().asc().nulls_first()


def _at_work(base_id: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """Return a subquery that counts the jobs of a base that a worker runs now."""
    other = job.alias()
    mine = sa.select(sa.func.count()).where(other.c.base_id == base_id, _is_leased(other))
    return mine.scalar_subquery()


def _is_leased(of: sa.FromClause) -> sa.ColumnElement[bool]:
    is_leased = leases.in_force(sa.func.coalesce(of.c.lease, 0.0), _LEASE_SECONDS)
    return (of.c.status == "running") & is_leased


def _waiting() -> sa.ColumnElement[bool]:
    """Whether a job would be claimed, and not ended."""
    return _free() & ~job.c.cancel & (job.c.deaths < _MOST_DEATHS)


def others_come_first(connection: sa.Connection, job_id: int) -> bool:
    """Whether a job of another base would be claimed next, if this one at work gave way now."""
    this = job.alias()
    mine = sa.select(this.c.base_id).where(this.c.id == job_id).scalar_subquery()
    waits = sa.select(job.c.id).where(_waiting(), job.c.base_id != mine)
    # Without this job its base has one less at work; of bases with as many, it comes last.
    first = waits.where(_at_work(job.c.base_id) < _at_work(mine)).limit(1)
    return connection.execute(first).first() is not None


def seconds_per_second_of_work(connection: sa.Connection) -> float:
    """Return the elapsed seconds that a job needs for one second of work.

    The job takes turns with the bases that wait now.
    """
    other = job.alias()
    working = sa.select(other.c.base_id).where(_is_leased(other)).distinct()
    waits = sa.select(sa.func.count(job.c.base_id.distinct())).where(
        _waiting(), job.c.base_id.not_in(working)
    )
    at_work = sa.select(sa.func.count()).select_from(working.subquery())
    turns, workers = connection.execute(waits).scalar() or 0, connection.execute(at_work).scalar()
    return 1.0 + turns / (workers or 1)


def _end_abandoned(connection: sa.Connection) -> None:
    """Ends jobs that nobody works on and nobody should take up again."""
    for owner in connection.execute(
        sa.select(job.c.owner).where(_free(), job.c.owner.is_not(None))
    ):
        bury(connection, owner[0], _free())
    ended = {"finished": datetime.now(UTC), "lease": None}
    cancelled = {"status": "cancelled", "message": "Stopped. Finished work is kept."}
    failed = {"status": "failed", "message": f"{_DIED} Finished work is kept."}
    connection.execute(sa.update(job).where(_free(), job.c.cancel).values(**ended, **cancelled))
    hopeless = sa.update(job).where(_free(), job.c.deaths >= _MOST_DEATHS)
    for job_id in connection.execute(hopeless.values(**ended, **failed).returning(job.c.id)):
        leases.drop(connection, files.of_job(connection, job_id[0]))


def bury(connection: sa.Connection, owner: str, *which: sa.ColumnElement[bool]) -> None:
    """Give back what an owner that died was working on, and count its death."""
    theirs = (job.c.owner == owner) & (job.c.status == "running")
    given_back = {"lease": 0.0, "owner": None, "deaths": job.c.deaths + 1}
    connection.execute(sa.update(job).where(theirs, *which).values(**given_back))


def report(
    connection: sa.Connection,
    job_id: int,
    owner: str,
    done: int,
    total: int,
    message: str,
    seconds_left: float | None = None,
) -> bool:
    """Store progress and renew the lease. False when the job was cancelled or taken away."""
    progress = {"done": done, "total": total, "message": message, "seconds_left": seconds_left}
    return _renew(connection, job_id, owner, **progress)


def renew(connection: sa.Connection, job_id: int, owner: str) -> bool:
    """Renew the lease only. False when the job was cancelled or taken away."""
    return _renew(connection, job_id, owner)


def _renew(connection: sa.Connection, job_id: int, owner: str, **values: object) -> bool:
    lease = leases.now() + _LEASE_SECONDS
    mine = sa.update(job).where(_owned(job_id, owner)).values(lease=lease, **values)
    cancelled = connection.execute(mine.returning(job.c.cancel)).scalar()
    return cancelled is False


def to_help(connection: sa.Connection, owner: str) -> list[JobRow]:
    """Jobs that others than an owner work on, oldest first."""
    theirs = _JOBS.where(job.c.status == "running", job.c.owner != owner, ~job.c.cancel)
    return [_row(row) for row in connection.execute(theirs.order_by(job.c.id))]


def takes_help(connection: sa.Connection, job_id: int) -> bool:
    """Whether a job is worked on, and no other one waits for a worker."""
    waits = sa.select(job.c.id).where(job.c.status == "queued").exists()
    this = sa.select(job.c.id).where(job.c.id == job_id, job.c.status == "running", ~job.c.cancel)
    return connection.execute(this.where(~waits)).first() is not None


def owners(connection: sa.Connection) -> list[str]:
    """Return the owners of the jobs that run now."""
    is_owned = (job.c.status == "running") & job.c.owner.is_not(None)
    return list(connection.execute(sa.select(job.c.owner).distinct().where(is_owned)).scalars())


def release(connection: sa.Connection, owner: str) -> None:
    """Give back what an owner that shuts down was working on; another process may go on."""
    connection.execute(
        sa.update(job)
        .where(job.c.owner == owner, job.c.status == "running")
        .values(lease=0.0, owner=None)
    )


def give_back(connection: sa.Connection, job_id: int, owner: str) -> None:
    """Let the next process work on a job that is unfinished."""
    connection.execute(sa.update(job).where(_owned(job_id, owner)).values(lease=0.0, owner=None))


def give_way(
    connection: sa.Connection, job_id: int, owner: str, done: int, total: int, result: Any = None
) -> None:
    """Put a job that is unfinished back into the queue, behind those of other bases.

    Its progress stays, and ``result`` is there for the next turn.
    """
    given_back = {"status": "queued", "owner": None, "lease": None, "seconds_left": None}
    values = {"gave_way": datetime.now(UTC), "message": "", "result": result, **given_back}
    progress = {"done": done, "total": total} if total else {}
    connection.execute(sa.update(job).where(_owned(job_id, owner)).values(**values, **progress))


def holds(connection: sa.Connection, job_id: int, owner: str) -> bool:
    """Whether a job is at work and its owner's."""
    return connection.execute(sa.select(job.c.id).where(_owned(job_id, owner))).first() is not None


def finish(
    connection: sa.Connection,
    job_id: int,
    owner: str,
    status: JobStatus,
    message: str = "",
    result: Any = None,
) -> None:
    """End a job, and drop what came in for it.

    One that another owner has taken over meanwhile is left to that owner.
    """
    leases.drop(connection, files.of_job(connection, job_id))
    values = {"status": status, "finished": datetime.now(UTC), "message": message, "lease": None}
    values |= {"result": result} | ({"done": job.c.total} if status == "done" else {})
    connection.execute(sa.update(job).where(_owned(job_id, owner)).values(**values))


def cancel(connection: sa.Connection, job_id: int) -> None:
    """Ask a job to stop; one that nobody works on ends at once."""
    _set(connection, job_id, cancel=True)
    connection.execute(
        sa.update(job)
        .where(job.c.id == job_id, _free())
        .values(status="cancelled", finished=datetime.now(UTC), lease=None)
    )
    leases.drop(connection, files.of_job(connection, job_id))


def set_item(
    connection: sa.Connection,
    job_id: int,
    position: int,
    status: ItemStatus,
    reason: str = "",
    hint: str = "",
    chunks: int = 0,
) -> None:
    """Store what became of an item; the job got further, even if processes died over it before."""
    _set(connection, job_id, deaths=0)
    connection.execute(
        sa.update(job_item)
        .where(job_item.c.job_id == job_id, job_item.c.position == position)
        .values(status=status, reason=reason, hint=hint, chunks=chunks)
    )


def waits(connection: sa.Connection, job_id: int, position: int) -> bool:
    """Whether an item has still to be done."""
    this = (job_item.c.job_id == job_id) & (job_item.c.position == position)
    return connection.execute(sa.select(job_item.c.status).where(this)).scalar() == "waiting"


def supersede(connection: sa.Connection, job_id: int) -> None:
    """Let no earlier job store an older version under a name that this job has an item for.

    A job that was left behind would do so when it is taken up. The files are dropped.
    """
    fresh = {item.name: item.payload.get("file") for item in items(connection, job_id)}
    base_id = sa.select(job.c.base_id).where(job.c.id == job_id).scalar_subquery()
    rows = connection.execute(
        sa.select(job_item)
        .join(job, job.c.id == job_item.c.job_id)
        .where(job.c.base_id == base_id, job.c.id < job_id, job.c.kind == "ingest")
        .where(job.c.status.in_(("queued", "running")), job_item.c.status == "waiting")
    )
    for old in [JobItem(**row._mapping) for row in rows]:
        file = old.payload.get("file")
        if old.name in fresh and fresh[old.name] != file:
            reason = "another version of it was added later"
            set_item(connection, old.job_id, old.position, "unchanged", reason)
            leases.drop(connection, [file] if file else [])


def withdraw(connection: sa.Connection, base_id: int, name: str, sha256: str) -> None:
    """Let no job bring back a document that was deleted: this file under this very name."""
    reading = sa.select(job.c.id).where(
        job.c.base_id == base_id, job.c.kind == "ingest", job.c.status.in_(ACTIVE)
    )
    same = (job_item.c.name == name) & (job_item.c.payload["file"].as_string() == sha256)
    connection.execute(
        sa.update(job_item)
        .where(same, job_item.c.status == "waiting", job_item.c.job_id.in_(reading))
        .values(status="failed", reason="The document was deleted.", hint="Add it again.")
    )


def reopen(connection: sa.Connection, job_id: int, sha256: str) -> None:
    """Let items wait again that were done because a file was stored, which now is not."""
    mine = (job_item.c.job_id == job_id) & job_item.c.status.in_(("unchanged", "replaced"))
    with_file = job_item.c.payload["file"].as_string() == sha256
    connection.execute(sa.update(job_item).where(mine, with_file).values(status="waiting"))


def _set(connection: sa.Connection, job_id: int, **values: Any) -> None:
    connection.execute(sa.update(job).where(job.c.id == job_id).values(**values))


def _owned(job_id: int, owner: str) -> sa.ColumnElement[bool]:
    """Whether a job is still its owner's: a computer that slept may have lost it to another."""
    return (job.c.id == job_id) & (job.c.owner == owner) & (job.c.status == "running")
