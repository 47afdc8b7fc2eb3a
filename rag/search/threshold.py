"""Relevance for the threshold of a recipe: the cosine, or a probability learned from labels.

Probabilities depend on the cosine and on BM25, which every candidate has in every mode. So a
passage has the same probability in every mode, at every depth, in a search and in a sweep.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rag.errors import InvalidInput
from rag.evaluation.calibration import Calibration
from rag.evaluation.intervals import Interval
from rag.evaluation.reliability import Quality, ReliabilityBin
from rag.recipe import IndexRecipe, SearchRecipe
from rag.services.services import Models, Services
from rag.storage import Connection, registries
from rag.storage.registries import CalibrationRow

BM25_FIELDS = ("k1", "b", "fuzzy", "prefix")
_FIT = "fit it on labelled questions (`python -m rag calibrate KB SET`)"


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """The calibration of a build. ``bm25`` has the search fields that its BM25 was computed with.

    ``questions`` of ``question_set`` taught it. ``quality`` and ``bins`` are cross-validated;
    ``threshold`` is what ``auto`` means, None for no limit.
    """

    model: Calibration
    bm25: Mapping[str, Any]
    question_set: str
    set_version: int
    questions: int
    quality: Quality
    bins: tuple[ReliabilityBin, ...]
    threshold: float | None
    created: datetime

    @property
    def digest(self) -> str:
        """Twelve hex digits over what decides probabilities and ``auto``."""
        deciding = {**self.model.to_dict(), "bm25": dict(self.bm25), "auto": self.threshold}
        canonical = json.dumps(deciding, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """The relevance rule of a recipe; without ``calibration``, relevance is the cosine.

    ``digest`` identifies the calibration, "" for the cosine.
    """

    threshold: float | None
    calibration: Calibration | None = None
    digest: str = ""


def threshold_rule(
    services: Services,
    base_id: int,
    index: IndexRecipe,
    search: SearchRecipe,
    connection: Connection | None = None,
) -> ThresholdRule:
    """Return the relevance rule of a recipe, read in the transaction of ``connection``, if any.

    Raises InvalidInput as ``rule_with``.
    """
    cosine = search.relevance == "cosine"
    calibration = None if cosine else fitted(services, base_id, index, connection)
    return rule_with(calibration, services.models, index, search)


def rule_with(
    calibration: FittedCalibration | None, models: Models, index: IndexRecipe, search: SearchRecipe
) -> ThresholdRule:
    """Return the relevance rule of a recipe with the calibration of its build.

    Raises InvalidInput for probabilities without a calibration, or with a calibration for other
    BM25 parameters than the recipe's.
    """
    if search.relevance == "cosine":
        return ThresholdRule(models.threshold(index.embedder, search))
    if calibration is None:
        raise InvalidInput(
            "Probabilities of relevance need a calibration, and this index has none.",
            f"Please {_FIT}, or set search.relevance to cosine.",
        )
    other = {
        name: value for name, value in calibration.bm25.items() if getattr(search, name) != value
    }
    if other:
        was = ", ".join(f"search.{name}={value}" for name, value in other.items())
        raise InvalidInput(
            f"The calibration was fitted with {was}, and this recipe computes BM25 differently.",
            f"Use these values, or {_FIT} again.",
        )
    threshold = calibration.threshold if search.threshold == "auto" else search.threshold
    return ThresholdRule(threshold, calibration.model, calibration.digest)


def fitted(
    services: Services, base_id: int, index: IndexRecipe, connection: Connection | None = None
) -> FittedCalibration | None:
    """Return the calibration of a build, or None."""
    opened = services.database.read() if connection is None else nullcontext(connection)
    with opened as reading:
        row = registries.calibration_of_build(reading, base_id, index.hash)
    return None if row is None else as_fitted(row)


def as_fitted(row: CalibrationRow) -> FittedCalibration:
    """A stored calibration. Raises InvalidInput for one that is damaged."""
    bins = (
        ReliabilityBin(**{**row_bin, "interval": Interval(*row_bin["interval"])})
        for row_bin in row.quality["bins"]
    )
    return FittedCalibration(
        model=Calibration.from_dict(row.model),
        bm25={name: row.model["bm25"][name] for name in BM25_FIELDS},
        question_set=row.question_set,
        set_version=row.set_version,
        questions=row.questions,
        quality=Quality(**row.quality["scores"]),
        bins=tuple(bins),
        threshold=row.threshold,
        created=row.created,
    )
