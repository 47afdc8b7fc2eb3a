"""Decisions between two runs, and findings of an examination that people settled.

The hits that a decision judges are fixed when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    String,
    Table,
    UniqueConstraint,
    and_,
    delete,
    insert,
    or_,
    select,
)

from rag.errors import InvalidInput
from rag.storage import bases
from rag.storage.rows import insert_missing, read, values
from rag.storage.tables import base_id, metadata, run
from rag.storage.tables import base_id as owner

decision = Table(
    "decision",
    metadata,
    Column("id", Integer, primary_key=True),
    base_id(),
    Column("run_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("other_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("metric", String, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("questions", Integer, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    UniqueConstraint("run_id", "other_id", "metric"),
)

# Kept as drawn: labels that come later must not change which hits count with a probability of 1.
decision_hit = Table(
    "decision_hit",
    metadata,
    Column("decision_id", Integer, ForeignKey("decision.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("question_id", String, nullable=False),
    Column("item", String, nullable=False),
    Column("document_id", String(64), nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer),
    Column("rank", Integer),
    Column("other_rank", Integer),
    Column("weight", Float, nullable=False),
    Column("chance", Float, nullable=False),
    Column("size", Float, nullable=False),
    Column("probability", Float, nullable=False),
    # It had a label before the draw.
    Column("labelled", Boolean, nullable=False),
)


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision between two runs in a metric, on a number of ``questions``."""

    id: int
    run_id: str
    other_id: str
    metric: str
    seed: int
    questions: int
    created: datetime


@dataclass(frozen=True, slots=True)
class StoredHit:
    """A hit as drawn, with the span to judge; ``end`` None is for a whole document."""

    question_id: str
    item: str
    document_id: str
    start: int
    end: int | None
    rank: int | None
    other_rank: int | None
    weight: float
    chance: float
    size: float
    probability: float
    labelled: bool


def add(
    connection: Connection,
    base: int,
    run_ids: tuple[str, str],
    metric: str,
    seed: int,
    questions: int,
    hits: Sequence[StoredHit],
) -> None:
    """Store a decision with its hits in order, unless the same was started meanwhile."""
    row = {
        "base_id": base,
        "run_id": run_ids[0],
        "other_id": run_ids[1],
        "metric": metric,
        "seed": seed,
        "questions": questions,
        "created": datetime.now(UTC),
    }
    if not insert_missing(connection, decision, row):
        return
    stored = of_runs(connection, base, run_ids, metric)
    assert stored is not None
    rows = [
        values(decision_hit, hit, decision_id=stored.id, position=at) for at, hit in enumerate(hits)
    ]
    if rows:
        connection.execute(insert(decision_hit), rows)


def of_runs(
    connection: Connection, base: int, run_ids: tuple[str, str], metric: str
) -> StoredDecision | None:
    """Return the decision between two runs, in whichever order they were named when it started."""
    first, second = run_ids
    either = or_(
        and_(decision.c.run_id == first, decision.c.other_id == second),
        and_(decision.c.run_id == second, decision.c.other_id == first),
    )
    mine = and_(decision.c.base_id == base, decision.c.metric == metric, either)
    row = connection.execute(select(decision).where(mine).order_by(decision.c.id)).first()
    return None if row is None else read(StoredDecision, row)


def of_base(
    connection: Connection, base: int, question_set: str | None = None
) -> list[StoredDecision]:
    """The decisions of a knowledge base, or between runs of one question set, newest first."""
    mine = select(decision).where(decision.c.base_id == base)
    if question_set is not None:
        mine = mine.join(run, run.c.id == decision.c.run_id)
        mine = mine.where(run.c.question_set == question_set)
    rows = connection.execute(mine.order_by(decision.c.created.desc(), decision.c.id.desc()))
    return [read(StoredDecision, row) for row in rows]


def hits(connection: Connection, decision_id: int) -> list[StoredHit]:
    """The hits of a decision, in the order of judging."""
    mine = decision_hit.c.decision_id == decision_id
    rows = connection.execute(select(decision_hit).where(mine).order_by(decision_hit.c.position))
    return [read(StoredHit, row) for row in rows]


settlement = Table(
    "settlement",
    metadata,
    owner(primary=True),
    Column("finding", String(16), primary_key=True),
    Column("decision", String, nullable=False),
    Column("document", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("settled", DateTime(timezone=True), nullable=False),
)


@dataclass(frozen=True, slots=True)
class SettlementRow:
    """A decision about a finding; ``document`` is the name of the one that is kept, or ""."""

    decision: str
    document: str
    reason: str
    settled: datetime


def settle(
    connection: Connection, base_id: int, finding: str, decision: str, document: str, reason: str
) -> None:
    """Store a decision, also once more. Raises InvalidInput where another one was made."""
    bases.hold(connection, base_id)
    earlier = settlements(connection, base_id).get(finding)
    if earlier is not None:
        if (earlier.decision, earlier.document, earlier.reason) == (decision, document, reason):
            return
        raise InvalidInput("This finding is settled already.", "Reopen it first.")
    row = {"base_id": base_id, "finding": finding, "decision": decision, "document": document}
    row |= {"reason": reason, "settled": datetime.now(UTC)}
    connection.execute(insert(settlement).values(row))


def reopen_finding(connection: Connection, base_id: int, finding: str) -> bool:
    """Delete a decision; return False if there is none."""
    columns = settlement.c
    where = (columns.base_id == base_id) & (columns.finding == finding)
    return connection.execute(delete(settlement).where(where)).rowcount == 1


def settlements(connection: Connection, base_id: int) -> Mapping[str, SettlementRow]:
    """Return the decisions of a knowledge base by finding."""
    rows = connection.execute(select(settlement).where(settlement.c.base_id == base_id))
    return {
        row.finding: SettlementRow(row.decision, row.document, row.reason, row.settled)
        for row in rows
    }
