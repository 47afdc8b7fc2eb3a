"""Registries: tools, systems, calibrations, names of recipes, language models, and prompts.

Definitions of tools and systems are opaque here. A build has one calibration, the newest; prompts
and systems keep every version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic import ConfigDict

from rag.storage import bases
from rag.storage.rows import insert_or_replace, read, values
from rag.storage.tables import UtcDateTime, calibration, metadata
from rag.storage.tables import base_id as owned
from rag.storage.tables import base_id as owner

tool = sa.Table(
    "tool",
    metadata,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("definition", sa.JSON, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
)


def list_tools(connection: sa.Connection) -> dict[str, dict[str, Any]]:
    """All definitions by name, in the order of names."""
    rows = connection.execute(sa.select(tool.c.name, tool.c.definition).order_by(tool.c.name))
    return {row.name: dict(row.definition) for row in rows}


def save_tool(connection: sa.Connection, name: str, definition: Mapping[str, Any]) -> None:
    """Store a tool, in place of the one of that name."""
    values = {"name": name, "definition": dict(definition), "created": datetime.now(UTC)}
    insert_or_replace(connection, tool, values)


def remove_tool(connection: sa.Connection, name: str) -> bool:
    """Whether there was one to delete."""
    return connection.execute(sa.delete(tool).where(tool.c.name == name)).rowcount > 0


system = sa.Table(
    "system",
    metadata,
    owned(primary=True),
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("definition", sa.JSON, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
)


def newest_systems(connection: sa.Connection, base_id: int) -> Sequence[Any]:
    """The rows of the newest version of each system, by name."""
    last = (
        sa.select(system.c.name, sa.func.max(system.c.version).label("version"))
        .where(system.c.base_id == base_id)
        .group_by(system.c.name)
        .subquery()
    )
    same = (system.c.name == last.c.name) & (system.c.version == last.c.version)
    statement = sa.select(system).join(last, same).where(system.c.base_id == base_id)
    return connection.execute(statement.order_by(system.c.name)).all()


def add_system(
    connection: sa.Connection, base_id: int, name: str, hash_: str, definition: Mapping[str, Any]
) -> None:
    """Store a version of a system, unless its newest one has the same hash.

    Raises NotFound for a knowledge base that is gone.
    """
    bases.hold(connection, base_id)  # two versions that are added at once get two numbers
    before = next((row for row in newest_systems(connection, base_id) if row.name == name), None)
    if before is None or before.hash != hash_:
        row = {"base_id": base_id, "name": name, "version": before.version + 1 if before else 1}
        row |= {"hash": hash_, "definition": dict(definition), "created": datetime.now(UTC)}
        connection.execute(sa.insert(system).values(row))


def remove_system(connection: sa.Connection, base_id: int, name: str) -> bool:
    """Delete all versions of a system; return whether there was one."""
    mine = (system.c.base_id == base_id) & (system.c.name == name)
    return connection.execute(sa.delete(system).where(mine)).rowcount > 0


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """A row: ``model`` and ``quality`` as their owners wrote them, ``threshold`` for ``auto``."""

    __pydantic_config__ = ConfigDict(extra="ignore", allow_inf_nan=False)  # of bundles
    question_set: str
    set_version: int
    questions: int
    model: Mapping[str, Any]
    quality: Mapping[str, Any]
    threshold: float | None
    created: datetime


def replace_calibration(
    connection: sa.Connection, base_id: int, build_hash: str, row: CalibrationRow
) -> None:
    """Store the calibration of a build, which must be registered."""
    new = values(calibration, row, base_id=base_id, build_hash=build_hash)
    insert_or_replace(connection, calibration, new)


def calibration_of_build(
    connection: sa.Connection, base_id: int, build_hash: str
) -> CalibrationRow | None:
    """The calibration of a build, or None."""
    row = connection.execute(
        sa.select(calibration).where(
            calibration.c.base_id == base_id, calibration.c.build_hash == build_hash
        )
    ).first()
    return None if row is None else read(CalibrationRow, row)


recipe_name = sa.Table(
    "recipe_name",
    metadata,
    owner(primary=True),
    sa.Column("hash", sa.String(12), primary_key=True),
    sa.Column("name", sa.String, nullable=False),
)

_NAMES = sa.select(recipe_name).where(recipe_name.c.base_id == sa.bindparam("base_id"))


def list_recipe_names(connection: sa.Connection, base_id: int) -> dict[str, str]:
    """Names by the hash of a recipe."""
    rows = connection.execute(_NAMES, {"base_id": base_id})
    return {row.hash: row.name for row in rows}


def name_recipe(connection: sa.Connection, base_id: int, recipe_hash: str, name: str) -> None:
    """Give a recipe a name, or none where it is empty."""
    if name:
        key = {"base_id": base_id, "hash": recipe_hash}
        insert_or_replace(connection, recipe_name, {**key, "name": name})
        return
    mine = (recipe_name.c.base_id == base_id) & (recipe_name.c.hash == recipe_hash)
    connection.execute(sa.delete(recipe_name).where(mine))


_REMEMBERED = timedelta(days=1)  # servers are started again with other windows
_SAFETY = 0.8  # of the tokens that a server read: its tokenizer counts otherwise

language_model = sa.Table(
    "language_model",
    metadata,
    sa.Column("provider", sa.String, primary_key=True),
    sa.Column("model", sa.String, primary_key=True),
    sa.Column("address", sa.String, primary_key=True),
    # Of the last prompt that its server cut.
    sa.Column("read_tokens", sa.Integer),
    sa.Column("sent_tokens", sa.Integer),
    sa.Column("cut", UtcDateTime),
    # What it reads where a recipe leaves that open, by questions that were tried.
    sa.Column("evidence", sa.String),
    sa.Column("evidence_reason", sa.String),
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


def list_models(connection: sa.Connection) -> Sequence[ModelFacts]:
    """Return all that is known, by name."""
    rows = connection.execute(sa.select(language_model).order_by(*language_model.primary_key))
    return [read(ModelFacts, row) for row in rows]


def note_model(connection: sa.Connection, name: ModelName, **facts: Any) -> None:
    """Store what was learned, by column; other columns stay as they are."""
    insert_or_replace(connection, language_model, _key(name) | facts)


def forget_model(connection: sa.Connection, name: ModelName) -> None:
    """Delete what is known of a model."""
    mine = (language_model.c[column] == value for column, value in _key(name).items())
    connection.execute(sa.delete(language_model).where(*mine))


def _key(name: ModelName) -> dict[str, str]:
    return {"provider": name.provider, "model": name.model, "address": name.address}


prompt_text = sa.Table(
    "prompt_text",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    owner(),
    sa.Column("name", sa.String, nullable=False),
    # "" stands for the text that the product comes with.
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
)


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """A text that a prompt was given; "" where it was reset to the one it came with."""

    name: str
    text: str
    created: datetime


def list_prompt_versions(connection: sa.Connection, base_id: int) -> list[PromptVersion]:
    """All versions of all prompts of a base, oldest first."""
    mine = sa.select(prompt_text).where(prompt_text.c.base_id == base_id).order_by(prompt_text.c.id)
    return [read(PromptVersion, row) for row in connection.execute(mine)]


def add_prompt_version(connection: sa.Connection, base_id: int, name: str, text: str) -> None:
    """Keep a new version."""
    values = {"base_id": base_id, "name": name, "text": text, "created": datetime.now(UTC)}
    connection.execute(sa.insert(prompt_text).values(values))
