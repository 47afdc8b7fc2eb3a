"""Decisions between two runs, and findings of an examination that people settled.

The hits that a decision judges are fixed when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import sqlalchemy as sa

from rag.errors import InvalidInput
from rag.storage import bases
from rag.storage.rows import insert_missing, read, values
from rag.storage.tables import UtcDateTime, base_id, metadata, run
from rag.storage.tables import base_id as owner
from rag.types.schema import Schema, Timestamp

decision = sa.Table(
    "decision",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    base_id(),
    sa.Column("run_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    sa.Column(
        "other_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False
    ),
    sa.Column("metric", sa.String, nullable=False),
    sa.Column("seed", sa.Integer, nullable=False),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.UniqueConstraint("run_id", "other_id", "metric"),
)

# Kept as drawn: labels that come later must not change which hits count with a probability of 1.
decision_hit = sa.Table(
    "decision_hit",
    metadata,
    sa.Column(
        "decision_id",
        sa.Integer,
        sa.ForeignKey("decision.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("question_id", sa.String, nullable=False),
    sa.Column("item", sa.String, nullable=False),
    sa.Column("document_id", sa.String(64), nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer),
    sa.Column("rank", sa.Integer),
    sa.Column("other_rank", sa.Integer),
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("chance", sa.Float, nullable=False),
    sa.Column("size", sa.Float, nullable=False),
    sa.Column("probability", sa.Float, nullable=False),
    # It had a label before the draw.
    sa.Column("labelled", sa.Boolean, nullable=False),
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
    connection: sa.Connection,
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
        connection.execute(sa.insert(decision_hit), rows)


def of_runs(
    connection: sa.Connection, base: int, run_ids: tuple[str, str], metric: str
) -> StoredDecision | None:
    """Return the decision between two runs, in whichever order they were named when it started."""
    first, second = run_ids
    either = sa.or_(
        sa.and_(decision.c.run_id == first, decision.c.other_id == second),
        sa.and_(decision.c.run_id == second, decision.c.other_id == first),
    )
    mine = sa.and_(decision.c.base_id == base, decision.c.metric == metric, either)
    row = connection.execute(sa.select(decision).where(mine).order_by(decision.c.id)).first()
    return None if row is None else read(StoredDecision, row)


def of_base(
    connection: sa.Connection, base: int, question_set: str | None = None
) -> list[StoredDecision]:
    """The decisions of a knowledge base, or between runs of one question set, newest first."""
    mine = sa.select(decision).where(decision.c.base_id == base)
    if question_set is not None:
        mine = mine.join(run, run.c.id == decision.c.run_id)
        mine = mine.where(run.c.question_set == question_set)
    rows = connection.execute(mine.order_by(decision.c.created.desc(), decision.c.id.desc()))
    return [read(StoredDecision, row) for row in rows]


def hits(connection: sa.Connection, decision_id: int) -> list[StoredHit]:
    """The hits of a decision, in the order of judging."""
    mine = decision_hit.c.decision_id == decision_id
    rows = connection.execute(sa.select(decision_hit).where(mine).order_by(decision_hit.c.position))
    return [read(StoredHit, row) for row in rows]


settlement = sa.Table(
    "settlement",
    metadata,
    owner(primary=True),
    sa.Column("finding", sa.String(16), primary_key=True),
    sa.Column("decision", sa.String, nullable=False),
    sa.Column("document", sa.String, nullable=False),
    sa.Column("reason", sa.String, nullable=False),
    sa.Column("settled", UtcDateTime, nullable=False),
)


SettlementDecision = Literal["keep", "both", "ignore"]


class SettlementData(Schema):
    """A decision about a finding; ``document`` is the name of the one that is kept."""

    decision: SettlementDecision
    document: str
    reason: str
    settled: Timestamp


def settle(
    connection: sa.Connection, base_id: int, finding: str, decision: str, document: str, reason: str
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
    connection.execute(sa.insert(settlement).values(row))


def reopen_finding(connection: sa.Connection, base_id: int, finding: str) -> bool:
    """Delete a decision; return False if there is none."""
    columns = settlement.c
    where = (columns.base_id == base_id) & (columns.finding == finding)
    return connection.execute(sa.delete(settlement).where(where)).rowcount == 1


def settlements(connection: sa.Connection, base_id: int) -> Mapping[str, SettlementData]:
    """Return the decisions of a knowledge base by finding."""
    rows = connection.execute(sa.select(settlement).where(settlement.c.base_id == base_id))
    return {row.finding: SettlementData.of(row) for row in rows}
