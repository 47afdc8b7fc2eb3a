"""The corpus that a recipe searches, put together from services, and its threshold.

Relevance for the threshold is the cosine, or a probability learned from labels. Probabilities
depend on the cosine and on BM25, which every candidate has in every mode. So a passage has the same
probability in every mode, at every depth, in a search and in a sweep.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from rag import providers
from rag.errors import InvalidInput, NotFound
from rag.evaluation.calibration import Calibration
from rag.evaluation.intervals import Interval
from rag.evaluation.reliability import Quality, ReliabilityBin
from rag.input_rules import LONGEST_QUESTION, find_fault
from rag.protocols import ChatModel, Reranker, VectorView
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Corpus, IncompleteVectors, Listwise, filters
from rag.retrieval.languages import KnownLanguages
from rag.retrieval.topic import shipped
from rag.services.indexing.index import Index, lookup
from rag.services.services import Models, Services
from rag.storage import Connection, Database, bases, documents, passages, registries
from rag.storage.registries import CalibrationRow
from rag.types import TOOL, Chunk, Document, Hit, Keys

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


def check_question(question: str) -> str:
    """Return a question without the space around it. Raises InvalidInput for none, for more than
    ``LONGEST_QUESTION`` characters, and for what is no text."""
    if not question.strip():
        raise InvalidInput("The question is empty.", "Type a question.")
    if len(question) > LONGEST_QUESTION:
        raise InvalidInput(
            f"The question has more than {LONGEST_QUESTION:,} characters.",
            "Ask for less at once. A long text can be added as a document.",
        )
    if fault := find_fault(question):
        raise InvalidInput(f"{fault}.", "Type the question again.")
    return question.strip()


def corpus(
    services: Services,
    base_id: int,
    recipe: Recipe,
    index: Index,
    calibration: Calibration | None = None,
) -> Corpus:
    """Return the corpus that ``recipe`` searches in ``index``, with the components of its steps.

    ``calibration`` is the calibration of the recipe's threshold rule. Raises InvalidRecipe,
    ProviderError.
    """
    chat = services.models.step_chat(recipe.answer) if recipe.search.asks_chat else None
    model, _ = providers.vector_space(recipe.index.embedder)
    return Corpus(
        embedder=services.models.embedder(recipe.index.embedder),
        dense=vectors_of(index),
        lexical=index.lexical,
        lookup=lookup(services.database, base_id, index.cut_id, index.version),
        keys=index.passages,
        calibration=calibration,
        chat=chat,
        reranker=_reranker(services, recipe.search, chat),
        allowed=allowed(services, base_id, recipe.search, index),
        queries=services.queries,
        topic=None if recipe.search.refuse == "off" else shipped(model),
        languages=KnownLanguages(
            providers.languages(recipe.index.embedder), providers.multilingual_embedders()[0]
        ),
        default_threshold=providers.default_threshold(recipe.index.embedder),
    )


def vectors_of(index: Index) -> VectorView:
    """Return the search view of an index's vectors, of which some can still be missing."""
    if not len(index.without_vector):
        return index.dense
    return IncompleteVectors(index.dense, index.without_vector)


@dataclass(frozen=True, slots=True)
class StoredSurroundings:
    """Documents and passages of a cut, read as they are asked for."""

    database: Database
    base_id: int
    cut_id: int

    def document(self, document_id: str) -> Document | None:
        """A document, or None where it is not here."""
        try:
            return self.database.fetch(documents.get, self.base_id, document_id)
        except NotFound:
            return None

    def passages(self, document_id: str, first: int, last: int) -> list[Chunk]:
        """The passages of a document from order ``first`` to ``last``."""
        place = self.base_id, self.cut_id, document_id
        return self.database.fetch(passages.between, *place, first, last)


@dataclass(frozen=True, slots=True)
class StoredSources:
    """Documents of hits, read as they are asked for: from the base that searched, or the hit's."""

    services: Services
    base_id: int
    base: str

    def document(self, hit: Hit) -> Document | None:
        """The document of a hit, or None where it is gone."""
        document_id, known = hit.chunk.document_id, self.services.documents
        try:
            with self.services.database.read() as connection:
                other = hit.base not in ("", self.base) and not document_id.startswith(TOOL)
                base_id = bases.get_base(connection, hit.base).id if other else self.base_id
                key = base_id, bases.version(connection, base_id), document_id
                if (document := known.get(key)) is None:
                    document = documents.get(connection, base_id, document_id)
                    known.put(key, document)
                return document
        except NotFound:
            return None


def _reranker(services: Services, search: SearchRecipe, chat: ChatModel | None) -> Reranker | None:
    if search.rerank == "chat":
        return None if chat is None else Listwise(chat, search.rerank_batch)
    return services.models.reranker(search.rerank, search.rerank_batch) if search.rerank else None


def allowed(services: Services, base_id: int, search: SearchRecipe, index: Index) -> Keys | None:
    """Keys of the passages that pass the filters of a recipe; None where it has none."""
    if not filters.is_filtered(search):
        return None
    with services.database.read() as connection:
        chosen = filters.fitting_documents(documents.traits(connection, base_id), search)
        if not filters.looks_at_passages(search):
            parts = [keys for name, keys in index.keys.items() if name in chosen]
            return np.concatenate([np.empty(0, np.int64), *parts])
        keys = [
            key
            for key, document_id, page, heading in passages.marks(connection, base_id, index.cut_id)
            if document_id in chosen
            and document_id in index.keys
            and filters.fits_passage(page, heading, search)
        ]
    return np.array(keys, np.int64)
