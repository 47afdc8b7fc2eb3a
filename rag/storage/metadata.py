"""What all tables share: how constraints are named, and whose a row is."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, MetaData

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def base_id(primary: bool = False) -> Column[int]:
    """The column that says which knowledge base a row belongs to."""
    return Column(
        "base_id",
        Integer,
        ForeignKey("knowledge_base.id", ondelete="CASCADE"),
        primary_key=primary,
        nullable=False,
    )
