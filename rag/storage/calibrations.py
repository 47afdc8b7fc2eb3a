"""Fitted calibrations: one for each build, the newest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from rag.storage.rows import insert_or_replace, read, values
from rag.storage.tables import calibration


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """A row: ``model`` and ``quality`` as their owners wrote them, ``threshold`` for ``auto``."""

    question_set: str
    set_version: int
    questions: int
    model: Mapping[str, Any]
    quality: Mapping[str, Any]
    threshold: float | None
    created: datetime


def replace(connection: Connection, base_id: int, build_hash: str, row: CalibrationRow) -> None:
    """Store the calibration of a build, which must be registered."""
    new = values(calibration, row, base_id=base_id, build_hash=build_hash)
    insert_or_replace(connection, calibration, new)


def of_build(connection: Connection, base_id: int, build_hash: str) -> CalibrationRow | None:
    """The calibration of a build, or None."""
    row = connection.execute(
        select(calibration).where(
            calibration.c.base_id == base_id, calibration.c.build_hash == build_hash
        )
    ).first()
    return None if row is None else read(CalibrationRow, row)
