"""Facts about language models that were learned by asking them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Column, Connection, DateTime, Integer, String, Table, delete, select

from rag.storage.rows import in_utc, insert_or_replace, read
from rag.storage.tables import metadata

_REMEMBERED = timedelta(days=1)  # servers are started again with other windows
_SAFETY = 0.8  # of the tokens that a server read: its tokenizer counts otherwise

language_model = Table(
    "language_model",
    metadata,
    Column("provider", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("address", String, primary_key=True),
    # Of the last prompt that its server cut.
    Column("read_tokens", Integer),
    Column("sent_tokens", Integer),
    Column("cut", DateTime(timezone=True)),
    # What it reads where a recipe leaves that open, by questions that were tried.
    Column("evidence", String),
    Column("evidence_reason", String),
)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A language model of a provider at an address: another server is another model."""

    provider: str
    model: str
    address: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a language model.

    Of a prompt with at least ``sent_tokens``, its server read ``read_tokens``, at the time ``cut``.
    ``evidence`` is what suits it, for ``evidence_reason``. None is not known.
    """

    provider: str
    model: str
    address: str
    read_tokens: int | None
    sent_tokens: int | None
    cut: datetime | None
    evidence: str | None
    evidence_reason: str | None

    @property
    def name(self) -> ModelName:
        """Its name."""
        return ModelName(self.provider, self.model, self.address)

    @property
    def longest_prompt(self) -> int | None:
        """The tokens that its server reads for certain; None where nothing was cut in a day."""
        if self.cut is None or self.read_tokens is None:
            return None
        recent = datetime.now(UTC) - self.cut < _REMEMBERED
        return int(self.read_tokens * _SAFETY) if recent else None


def list_models(connection: Connection) -> Sequence[ModelFacts]:
    """Return all that is known, by name."""
    rows = connection.execute(select(language_model).order_by(*language_model.primary_key))
    return [read(ModelFacts, row, cut=in_utc(row.cut)) for row in rows]


def note(connection: Connection, name: ModelName, **facts: Any) -> None:
    """Store what was learned, by column; other columns stay as they are."""
    insert_or_replace(connection, language_model, _key(name) | facts)


def forget(connection: Connection, name: ModelName) -> None:
    """Delete what is known of a model."""
    mine = (language_model.c[column] == value for column, value in _key(name).items())
    connection.execute(delete(language_model).where(*mine))


def _key(name: ModelName) -> dict[str, str]:
    return {"provider": name.provider, "model": name.model, "address": name.address}
