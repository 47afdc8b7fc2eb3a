"""The unit of experiment: a frozen, validated, hashable description of one way to answer.

A recipe has three parts, split by what a change costs: ``index`` needs re-indexing, ``search`` is
free, ``answer`` costs a model call. Fields are addressed by dotted names (``search.top_k``) on the
command line, in grids and in URLs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag.errors import InvalidRecipe

Chunker = Literal["whole", "fixed", "recursive", "sentence", "markdown", "page"]
Mode = Literal["dense", "lexical", "hybrid"]
Relevance = Literal["cosine", "probability"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @property
    def hash(self) -> str:
        """Twelve hex digits over the canonical JSON of all fields."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]


class IndexRecipe(_Part):
    """How documents become searchable passages. Its hash names a build."""

    chunker: Chunker = Field("recursive", description="where documents are cut")
    chunk_size: int = Field(200, ge=8, le=8192, description="longest passage, in chunk_unit")
    chunk_overlap: int = Field(
        0, ge=0, le=4096, description="what neighbours share, in chunk_unit; less than chunk_size"
    )
    chunk_unit: Literal["tokens", "characters"] = Field(
        "tokens", description="tokens of the embedder's tokenizer, or characters"
    )
    embedder: str = Field(
        "minilm", min_length=1, description="embedding model: NAME or PROVIDER:MODEL"
    )
    analyzer: str = Field("english", min_length=1, description="how words are cut for BM25")
    vector_index: Literal["flat", "hnsw", "ivf"] = Field(
        "flat", description="flat is exact; hnsw and ivf are approximate"
    )

    @model_validator(mode="after")
    def _overlap_fits(self) -> IndexRecipe:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError("chunk_overlap must be less than chunk_size")
        return self

    @property
    def cut(self) -> str:
        """Names the cut of documents into passages: builds that differ elsewhere share it."""
        if self.chunker == "whole":
            return "whole"
        unit = f"tokens of {self.embedder}" if self.chunk_unit == "tokens" else "characters"
        return f"{self.chunker} {self.chunk_size}/{self.chunk_overlap} {unit}"


class SearchRecipe(_Part):
    """How a question finds passages. Changing it costs nothing."""

    mode: Mode = Field("hybrid", description="vectors, words (BM25), or both")
    top_k: int = Field(5, ge=1, le=1000, description="passages returned")
    threshold: Annotated[float, Field(ge=-1, le=1)] | Literal["auto"] | None = Field(
        "auto",
        description="least relevance; auto is the default of the embedder or the calibration, "
        "null switches it off",
    )
    relevance: Relevance = Field(
        "cosine",
        description="what the threshold is compared with: the cosine of question and passage, "
        "or the probability that a calibration fitted on labels gives it",
    )
    candidates: int = Field(100, ge=1, le=2000, description="passages taken from each retriever")
    fusion: Literal["weighted", "rrf"] = Field(
        "weighted", description="how hybrid merges: min-max scores by weight, or reciprocal ranks"
    )
    dense_weight: float = Field(
        0.6, ge=0, le=1, description="share of the vectors in weighted fusion and in rrf"
    )
    rrf_k: int = Field(60, ge=1, le=1000, description="constant of reciprocal rank fusion")
    k1: float = Field(1.2, ge=0, le=10, description="BM25: how soon repeated words stop counting")
    b: float = Field(0.75, ge=0, le=1, description="BM25: how much long passages are discounted")
    fuzzy: bool = Field(False, description="BM25: also match words with small spelling differences")
    prefix: bool = Field(False, description="BM25: also match words that begin like the query's")


class AnswerRecipe(_Part):
    """How passages become an answer. Changing it costs a model call."""

    provider: str = Field("extractive", min_length=1, description="extractive, openai, ollama, ...")
    model: str | None = Field(None, description="model name; null is the provider's default")
    mode: Literal["grounded"] = Field("grounded", description="what the model may draw on")
    temperature: float = Field(0.0, ge=0, le=2)
    max_tokens: int = Field(800, ge=1, le=100_000, description="longest answer")
    context_tokens: int = Field(
        4000, ge=1, le=1_000_000, description="most tokens of passages in the prompt"
    )


class Recipe(_Part):
    """One way to answer, whole."""

    index: IndexRecipe = IndexRecipe()
    search: SearchRecipe = SearchRecipe()
    answer: AnswerRecipe = AnswerRecipe()

    def with_fields(self, changes: Mapping[str, Any]) -> Recipe:
        """A copy with fields replaced by dotted name. Raises InvalidRecipe, naming the field."""
        data = self.model_dump()
        for name, value in changes.items():
            part, _, key = name.partition(".")
            if key not in data.get(part, {}):
                raise InvalidRecipe(f"No recipe field is called {name!r}.", _known_fields_hint())
            data[part][key] = value
        return Recipe.parse(data)

    @classmethod
    def parse(cls, data: Any) -> Recipe:
        """A recipe from plain data; absent fields take their defaults. Raises InvalidRecipe."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"] if part in _NAMES)
            raise InvalidRecipe(
                f"Recipe field {where or 'recipe'}: {first['msg']}.", _known_fields_hint()
            ) from error

    def fields(self) -> dict[str, Any]:
        """All fields by dotted name, in schema order."""
        return {
            f"{part}.{key}": value
            for part, values in self.model_dump(mode="json").items()
            for key, value in values.items()
        }

    def differences(self, other: Recipe) -> dict[str, tuple[Any, Any]]:
        """Fields in which ``other`` differs, by dotted name: (mine, theirs)."""
        theirs = other.fields()
        return {
            name: (value, theirs[name])
            for name, value in self.fields().items()
            if value != theirs[name]
        }


_PARTS: dict[str, type[_Part]] = {
    "index": IndexRecipe,
    "search": SearchRecipe,
    "answer": AnswerRecipe,
}
_NAMES = {*_PARTS, *(field for part in _PARTS.values() for field in part.model_fields)}


def _known_fields_hint() -> str:
    names = [f"{part}.{field}" for part, model in _PARTS.items() for field in model.model_fields]
    return "Fields are: " + ", ".join(names)
