"""Findings of an examination that people settled, by the id of the finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Column, Connection, DateTime, String, Table, delete, insert, select

from rag.errors import InvalidInput
from rag.storage import bases
from rag.storage.tables import base_id as owner
from rag.storage.tables import metadata

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
    earlier = by_finding(connection, base_id).get(finding)
    if earlier is not None:
        if (earlier.decision, earlier.document, earlier.reason) == (decision, document, reason):
            return
        raise InvalidInput("This finding is settled already.", "Reopen it first.")
    row = {"base_id": base_id, "finding": finding, "decision": decision, "document": document}
    row |= {"reason": reason, "settled": datetime.now(UTC)}
    connection.execute(insert(settlement).values(row))


def reopen(connection: Connection, base_id: int, finding: str) -> bool:
    """Delete a decision; return False if there is none."""
    columns = settlement.c
    where = (columns.base_id == base_id) & (columns.finding == finding)
    return connection.execute(delete(settlement).where(where)).rowcount == 1


def by_finding(connection: Connection, base_id: int) -> Mapping[str, SettlementRow]:
    """Return the decisions of a knowledge base by finding."""
    rows = connection.execute(select(settlement).where(settlement.c.base_id == base_id))
    return {
        row.finding: SettlementRow(row.decision, row.document, row.reason, row.settled)
        for row in rows
    }
