"""The fields of a recipe: type, bounds, caption, address parameter, stage and later default.

The stored form of a recipe: its version, and the fields that versions added and removed.

A recipe is stored with all its fields and with ``format``, the version of that form. Homes, bundles
and files of an older format keep their meaning and their hashes: a hash does not cover an added
field at the value that older recipes mean, and it covers what a recipe says in a removed field.

To change a default, change it in ``rag/recipe/parts.py``: stored recipes name the field. To add a
field, raise ``FORMAT`` and mark the field with ``Since``. To remove a field, delete it from the
parts, raise ``FORMAT`` unless this release raised it already, and add the field to ``REMOVED``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from math import ceil
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from rag.input_rules import LONGEST_NAME, find_fault

FORMAT = 2
"""The format that this version writes. Recipes stored without a format have format 0."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A field that this version does not have.

    At ``off``, the value that every recipe means now, a stored recipe loses nothing. ``instead`` is
    a sentence about what does its work. ``hashed`` is set for a field that hashes covered at every
    value: the hashes of new recipes cover it at ``off``.
    """

    off: Any
    instead: str = ""
    hashed: bool = False


REMOVED: dict[str, Removed] = {
    "search.abbreviations": Removed(
        off=False, instead="Use search.expansions, or add the long form to a passage."
    ),
    "search.learned_fusion": Removed(off=None, instead="Use search.fusion saturation."),
}
"""The fields that were removed, by dotted name."""


def fields_of(part: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a table by dotted name that belong to a part, by the name of the field."""
    return {
        field: entry
        for name, entry in table.items()
        for owner, _, field in [name.partition(".")]
        if owner == part
    }


log = logging.getLogger(__name__)

Mark = TypeVar("Mark")

# What a value beyond its bounds is called in a ValidationError.
_BEYOND = frozenset({"string_too_long", "too_long", "string_pattern_mismatch", "finite_number"})


@dataclass(frozen=True, slots=True)
class Asks:
    """Marks a field by which a provider is called, which may cost money.

    The only declaration of it: the stages that ask a model, the steps that call a chat model, and
    the limits of principals who may not spend are derived from it. ``amounts`` are attributes of
    the part that the cost grows with, besides a number in the field. With ``only``, the field costs
    more at this value than at others.
    """

    whom: Literal["embedder", "chat", "reranker", "decider", "tool"]
    amounts: tuple[str, ...] = ()
    only: str | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """Marks a field with the format that added it, and the value that older recipes mean.

    Additional steps of a search have no mark: their default is off, which older recipes mean.
    """

    format: int
    before: Any


@dataclass(frozen=True, slots=True)
class Url:
    """Marks a field with its parameter in the address of a page."""

    parameter: str


class RecipePart(BaseModel):
    """Fields that cannot change, and a hash of them."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    part: ClassVar[str] = ""
    """The first half of the dotted names of its fields."""
    _removed: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def restore(cls, stored: Mapping[str, Any], stored_format: int = 0) -> Self:
        """Make a part of its stored form.

        A field beyond the bounds of today takes its default. Fields and choices that were removed
        stay in the hash. Raises ValidationError for what never was a part.
        """
        fields, removed = cls.upgraded(stored, stored_format)
        try:
            return cls._marked(fields, removed)
        except ValidationError as error:
            problems = {problem["loc"][0]: problem["type"] for problem in error.errors()}
            chosen = {str(name) for name, kind in problems.items() if kind == "literal_error"}
            beyond = {name for name, kind in problems.items() if kind in _BEYOND} | chosen
            if not beyond:
                raise
        log.warning("Out of bounds in a stored recipe: %s.", ", ".join(map(str, beyond)))
        removed |= {name: fields[name] for name in chosen}
        return cls._marked({name: fields[name] for name in fields.keys() - beyond}, removed)

    @classmethod
    def upgraded(
        cls, stored: Mapping[str, Any], stored_format: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read the fields of an older format as this format has them.

        Returns the fields, and those that were removed and are not off, both by name.
        """
        gone = fields_of(cls.part, REMOVED)
        added = {
            name: mark.before
            for name, mark in cls.marks(Since).items()
            if mark.format > stored_format
        }
        known = {name: value for name, value in stored.items() if name not in gone}
        removed = {
            name: stored[name]
            for name, field in gone.items()
            if name in stored and stored[name] != field.off
        }
        return {**added, **known}, removed

    @classmethod
    def _marked(cls, fields: Mapping[str, Any], removed: Mapping[str, Any]) -> Self:
        part = cls.model_validate(fields)
        part._removed = dict(removed)
        return part

    @property
    def removed(self) -> Mapping[str, Any]:
        """The values of its stored form in removed fields, and removed choices, by name."""
        return self._removed

    @classmethod
    def asking(cls, *whom: str) -> tuple[str, ...]:
        """Name the fields by which somebody of ``whom`` is asked, in their order."""
        return tuple(name for name, mark in cls.asks().items() if mark.whom in whom)

    @classmethod
    def asks(cls) -> Mapping[str, Asks]:
        """Return the marks of the fields by which a provider is called, by name."""
        return cls.marks(Asks)

    @classmethod
    @cache
    def marks(cls, kind: type[Mark]) -> Mapping[str, Mark]:
        """Return the marks of one kind by the name of their field, in the order of the fields."""
        return {
            name: mark
            for name, field in cls.model_fields.items()
            for mark in field.metadata
            if isinstance(mark, kind)
        }

    @classmethod
    def plain(cls) -> dict[str, Any]:
        """Return each field at the value that recipes without it mean, which is off; else at its
        default."""
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        return defaults | {name: mark.before for name, mark in cls.marks(Since).items()}

    @property
    def left_out(self) -> set[str]:
        """The fields that a hash does not cover: those that were added, where they are off."""
        added = self.marks(Since).items()
        return {name for name, mark in added if getattr(self, name) == mark.before}

    @property
    def hash(self) -> str:
        """Twelve hex digits over the canonical JSON of what decides the result."""
        return _hash(self)


@lru_cache(maxsize=4096)
def _hash(part: RecipePart) -> str:
    canonical = json.dumps(_deciding(part), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _deciding(part: RecipePart) -> dict[str, Any]:
    """The fields that a hash covers.

    Steps at their defaults are left out: the default of such a field means that the step is not
    there, now and in every later version. So a recipe keeps its hash when new steps come to be
    known, and runs before and after are of one recipe. So are fields of the other parts that came
    later. All other fields count, at defaults too: those defaults may change, and the recipe would
    then be another one. What a stored recipe says in a field that was removed counts as before.
    """
    content = part.model_dump(mode="json", exclude=part.left_out)
    content |= {name: _deciding(value) for name, value in part if isinstance(value, RecipePart)}
    removed = fields_of(part.part, REMOVED)
    always = {name: field.off for name, field in removed.items() if field.hashed}
    return content | always | part._removed


def _checked(text: str) -> str:
    if fault := find_fault(text):
        raise ValueError(fault)
    return text


MOST_NAMES = 200
"""Values of one filter of a recipe, or tools."""

Chunker = Literal["whole", "fixed", "recursive", "sentence", "markdown", "page", "semantic"]
ChunkUnit = Literal["tokens", "characters", "auto"]
ContextLevel = Literal["none", "document", "headings", "table"]
Mode = Literal["dense", "lexical", "hybrid"]
Fusion = Literal[
    "weighted",
    "rrf",
    "saturation",
    "elasticsearch_linear",
    "opensearch_min_max",
    "weaviate_relative_score",
    "qdrant_rrf",
]
Relevance = Literal["cosine", "probability"]
OtherLanguages = Literal["alike", "words"]
AnswerMode = Literal["strict", "balanced", "general", "auto", "grounded"]
Evidence = Literal["quotes", "passages", "auto"]
Refuse = Annotated[float, Field(ge=0, le=1)] | Literal["off", "auto"]
Text = Annotated[str, AfterValidator(_checked)]
Name = Annotated[Text, Field(max_length=LONGEST_NAME)]
Names = Annotated[tuple[Annotated[Name, Field(min_length=1)], ...], Field(max_length=MOST_NAMES)]
# Each * costs, as all are compared with every document; nobody writes ten.
Glob = Annotated[Name, Field(min_length=1, pattern=r"^[^*]*(\*[^*]*){0,10}$")]
Globs = Annotated[tuple[Glob, ...], Field(max_length=MOST_NAMES)]

_UNITS: Mapping[ChunkUnit, str] = {
    "tokens": "tokens of {embedder}",
    "characters": "characters",
    "auto": "tokens of {embedder} or estimated",
}
_DATE = r"^(\d{4}-\d\d-\d\d)?$"
_PAGES = r"^(\d{1,9}(-\d{1,9})?(\s*,\s*\d{1,9}(-\d{1,9})?)*)?$"

AsksChat, AsksTool = Asks("chat"), Asks("tool")


class IndexRecipe(RecipePart):
    """The settings that make documents searchable as passages. Its hash identifies a build."""

    part = "index"

    chunker: Chunker = Field(
        "markdown",
        title="Chunker",
        description="where documents are split; markdown is at the headings of documents of any "
        "format",
    )
    chunk_size: int = Field(
        200, title="Passage size", ge=8, le=8192, description="longest passage, in chunk_unit"
    )
    chunk_overlap: int = Field(
        0,
        title="Overlap",
        ge=0,
        le=4096,
        description="what neighbours share, in chunk_unit; less than chunk_size",
    )
    chunk_unit: ChunkUnit = Field(
        "auto",
        title="Unit of sizes",
        description="tokens of the embedder's tokenizer, characters, or auto: tokens, estimated in "
        "documents whose language the embedder does not know",
    )
    embedder: Annotated[Name, Asks("embedder")] = Field(
        "minilm",
        title="Embedding model",
        min_length=1,
        description="embedding model: NAME or PROVIDER:MODEL",
    )
    analyzer: Name = Field(
        "auto",
        title="Analyzer",
        min_length=1,
        description="analyzer for BM25: one language, or auto for the language of each passage",
    )
    vector_index: Literal["auto", "flat", "hnsw", "ivf"] = Field(
        "auto",
        title="Vector index",
        description="flat is exact; hnsw and ivf are approximate; auto is flat while comparing all "
        "vectors is quick, and hnsw beyond",
    )
    context: Annotated[ContextLevel, Since(1, "none")] = Field(
        "table",
        title="Context",
        description="what is indexed with a passage and not shown: nothing, document, headings "
        "too, table labels too",
    )
    breakpoint_percentile: float = Field(
        90,
        title="Percentile",
        ge=0,
        le=100,
        description="semantic: percent of neighbouring sentences left together",
    )

    @model_validator(mode="after")
    def _overlap_fits(self) -> IndexRecipe:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError("chunk_overlap must be less than chunk_size")
        return self

    @property
    def unit(self) -> Literal["tokens", "characters"]:
        """The unit of sizes."""
        return "characters" if self.chunk_unit == "characters" else "tokens"

    @property
    def spans(self) -> str:
        """Names where documents are cut, whatever is indexed with the passages."""
        if self.chunker == "whole":
            return "whole"
        unit = _UNITS[self.chunk_unit].format(embedder=self.embedder)
        semantic = self.chunker == "semantic"
        where = f" at {self.breakpoint_percentile:g} by {self.embedder}" if semantic else ""
        return f"{self.chunker} {self.chunk_size}/{self.chunk_overlap} {unit}{where}"

    @property
    def cut(self) -> str:
        """Names the passages and their context, which builds that differ elsewhere share."""
        return self.spans if self.context == "none" else f"{self.spans} with {self.context}"

    @property
    def left_out(self) -> set[str]:
        """The fields that a hash does not cover, as they are off."""
        off = super().left_out
        return off if self.chunker == "semantic" else off | {"breakpoint_percentile"}


class Retrievers(RecipePart):
    """The settings of every search: two retrievers, their fusion, and the cutoff of the results."""

    part = "search"

    mode: Annotated[Mode, Url("mode")] = Field(
        "hybrid", title="Mode", description="vectors, BM25, or both"
    )
    top_k: Annotated[int, Url("k")] = Field(
        5, title="Top-k", ge=1, le=1000, description="passages returned"
    )
    threshold: Annotated[float, Field(ge=-1, le=1)] | Literal["auto"] | None = Field(
        "auto",
        title="Threshold",
        description="minimum relevance; auto is the default of the embedder or the calibration, "
        "null turns it off",
    )
    relevance: Annotated[Relevance, Url("by")] = Field(
        "cosine",
        title="Threshold compares",
        description="what the threshold is compared with: the cosine of question and passage, "
        "or the probability that a calibration fitted on labels gives it",
    )
    exact_codes: Annotated[bool, Url("codes"), Since(1, False)] = Field(
        True,
        title="Exact codes pass",
        description="a passage with a rare code of the question (a word with digits that at most "
        "1 % of the passages have) passes every threshold",
    )
    matched_words: Annotated[bool, Url("matched"), Since(1, False)] = Field(
        True,
        title="Matched words pass",
        description="a passage with at least 30 % of the weight of the question's words reaches "
        "the default threshold of the embedder, whatever its cosine",
    )
    refuse: Annotated[Refuse, Url("refuse"), Since(1, "off")] = Field(
        "auto",
        title="Off-topic questions",
        description="minimum probability that the question is on topic; below it, nothing is "
        "returned. auto is the limit that was fitted for the embedder",
    )
    other_languages: Annotated[OtherLanguages, Url("languages"), Since(1, "alike")] = Field(
        "words",
        title="Other languages",
        description="hybrid: a question in a language of the documents that the embedder does not "
        "know is ranked alike, or by words: a third of dense_weight, no threshold on the cosine",
    )
    spelling: Annotated[bool | Literal["question"], Url("spelling"), Since(1, False)] = Field(
        "question",
        title="Mistyped words",
        description="words that no passage has give way to near ones that one has: true for BM25 "
        "alone, question for meaning too, but not everyday words, codes and quotations",
    )
    synonyms: Annotated[bool, Url("synonyms"), Since(1, False)] = Field(
        True,
        title="Synonyms",
        description="a word that no passage has is searched with its synonyms or parts",
    )
    candidates: Annotated[int, Url("candidates")] = Field(
        100, title="Candidates", ge=1, le=2000, description="passages taken from each retriever"
    )
    fusion: Annotated[Fusion, Url("fusion")] = Field(
        "weighted",
        title="Fusion",
        description="how hybrid merges: min-max scores by weight, reciprocal ranks, by weight "
        "the cosine and bm25 / (bm25 + bm25_pivot), which no other candidate changes, by weight "
        "the scores of each list alone as an engine stretches them, or ranks divided by weight",
    )
    dense_weight: Annotated[float, Url("w")] = Field(
        0.6, title="Dense weight", ge=0, le=1, description="share of the vectors in each fusion"
    )
    rrf_k: Annotated[int, Url("rrf")] = Field(
        60,
        title="Constant of reciprocal ranks",
        ge=1,
        le=1000,
        description="constant of reciprocal rank fusion",
    )
    bm25_pivot: Annotated[float, Url("pivot"), Since(1, 8.0)] = Field(
        8.0,
        title="Pivot of BM25",
        ge=1,
        le=100,
        description="saturation: the BM25 score that counts half",
    )
    k1: Annotated[float, Url("k1")] = Field(
        1.2, title="BM25 k1", ge=0, le=10, description="BM25: how soon repeated words stop counting"
    )
    b: Annotated[float, Url("b")] = Field(
        0.75, title="BM25 b", ge=0, le=1, description="BM25: how much long passages are discounted"
    )
    fuzzy: Annotated[bool, Url("fuzzy")] = Field(
        False,
        title="Forgive misspellings",
        description="BM25: also match words with small spelling differences",
    )
    prefix: Annotated[bool, Url("prefix")] = Field(
        False,
        title="Match beginnings of words",
        description="BM25: also match words that begin like the query's",
    )


class SearchRecipe(Retrievers):
    """The settings of a search for passages. A change of them costs nothing.

    It has the fields of ``Retrievers``, and additional steps that are off by default.
    """

    # The question, before anything is searched.
    rewrite: Annotated[bool, AsksChat, Url("rewrite")] = Field(
        False,
        title="Make follow-ups complete",
        description="the language model completes each question of a conversation, and not only "
        "those that lean on the one before",
    )
    expansions: Annotated[int, AsksChat, Url("expansions")] = Field(
        0,
        title="Further wordings",
        ge=0,
        le=8,
        description="further wordings by a language model, searched as well",
    )
    hyde: Annotated[bool, AsksChat, Url("hyde")] = Field(
        False,
        title="Search with an imagined answer",
        description="a hypothetical answer by a language model is embedded as well",
    )
    # A second search with what the first one found.
    feedback: Annotated[int, Url("feedback")] = Field(
        0,
        title="Feedback from the first passages",
        ge=0,
        le=20,
        description="first passages that enrich the question; 0 is off",
    )
    feedback_weight: Annotated[float, Url("feedback_weight")] = Field(
        0.2,
        title="Share of the feedback in the vector",
        ge=0,
        le=1,
        description="feedback: their share in the question's vector",
    )
    feedback_terms: Annotated[int, Url("feedback_terms")] = Field(
        0,
        title="Words added to BM25",
        ge=0,
        le=50,
        description="feedback: words of theirs that join the BM25 query",
    )
    # The order of what was found.
    rerank: Annotated[
        Annotated[Text, Field(max_length=1000)] | None,
        Asks("reranker", amounts=("rerank_depth", "rerank_requests")),
        Url("rerank"),
    ] = Field(
        None,
        title="Rerank with",
        pattern=r"^((service|cohere|vertex|bedrock|jina|voyage)(:.+)?|chat|(onnx|cross-encoder):.+)$",
        description="the reranker: service, cohere, vertex, bedrock, jina or voyage, each also as "
        "NAME:MODEL, chat, onnx:PATH or cross-encoder:PATH",
    )
    rerank_depth: Annotated[int, Url("depth")] = Field(
        20, title="Rerank the first", ge=1, le=200, description="rerank: how many of the first"
    )
    rerank_batch: Annotated[int, Url("batch")] = Field(
        16, title="Rerank at once", ge=1, le=200, description="rerank: passages in one request"
    )
    duplicates: Annotated[float | None, Url("copies")] = Field(
        None,
        title="Leave out copies from cosine",
        ge=0.5,
        le=1,
        description="a passage this near (cosine) to a better one is dropped",
    )
    mmr: Annotated[float | None, Url("mmr")] = Field(
        None,
        title="Diversity: share of the score",
        ge=0,
        le=1,
        description="share of the score against diversity; 1 is score alone",
    )
    # Where to look: a passage must fit every filter that is set, by any of its values.
    documents: Annotated[Globs, Url("in_documents")] = Field(
        (), title="Documents", description="only documents of these names, * and ? stand for any"
    )
    types: Annotated[Names, Url("in_types")] = Field(
        (), title="Types", description="only these media types or suffixes (pdf, text/html)"
    )
    tags: Annotated[Names, Url("in_tags")] = Field(
        (), title="Tags", description="only documents with one of these tags"
    )
    pages: Annotated[Text, Url("in_pages")] = Field(
        "",
        title="Pages",
        max_length=1000,
        pattern=_PAGES,
        description="only these pages: 4 or 3-9, more by comma",
    )
    after: Annotated[Text, Url("in_after")] = Field(
        "",
        title="From",
        max_length=10,
        pattern=_DATE,
        description="only documents of this day or later",
    )
    before: Annotated[Text, Url("in_before")] = Field(
        "",
        title="Until",
        max_length=10,
        pattern=_DATE,
        description="only documents of this day or earlier",
    )
    heading: Annotated[Name, Url("in_heading")] = Field(
        "", title="Heading", description="only under headings with these words"
    )
    # Who else is asked.
    tools: Annotated[Names, AsksTool, Url("tools")] = Field(
        (), title="HTTP tools", description="HTTP tools whose results join those of the documents"
    )
    # What of a result goes into the prompt.
    context: Annotated[Literal["passage", "neighbours", "section", "page"], Url("show")] = Field(
        "passage", title="Show", description="what is shown of a hit: itself, or what is around it"
    )
    neighbours: Annotated[int, Url("around")] = Field(
        1, title="Neighbours", ge=1, le=5, description="context: passages on each side"
    )
    merge: Annotated[bool, Url("join")] = Field(
        False, title="Join hits that touch", description="context: hits that touch become one"
    )
    order: Annotated[Literal["rank", "document"], Url("order")] = Field(
        "rank", title="Order", description="context: best first, or as they stand in the documents"
    )

    @property
    def chat_steps(self) -> dict[str, int]:
        """The steps that are on and ask the chat model of the answer, except ``rerank``, with the
        number of requests."""
        values = {name: getattr(self, name) for name in self.asking("chat")}
        return {
            name: int(value) if isinstance(value, int) else 1
            for name, value in values.items()
            if value
        }

    @property
    def asks_chat(self) -> bool:
        """Whether a step asks the chat model of the answer."""
        rerankers = (getattr(self, name) for name in self.asking("reranker"))
        return bool(self.chat_steps) or "chat" in rerankers

    @property
    def rerank_requests(self) -> int:
        """The number of requests to a reranker for one question."""
        return ceil(self.rerank_depth / self.rerank_batch)

    @property
    def steps(self) -> dict[str, Any]:
        """The steps that are not at their default, by field name."""
        fields = type(self).model_fields
        return {
            name: value for name, value in self if name in _STEPS and value != fields[name].default
        }

    @property
    def left_out(self) -> set[str]:
        """The fields that a hash does not cover, as they are off."""
        return super().left_out | (_STEPS - self.steps.keys())

    @field_validator("pages")
    @classmethod
    def _rise(cls, value: str) -> str:
        for first, last in page_ranges(value):
            if first > last:
                raise ValueError(f"{first}-{last} is no range: write {last}-{first}")
        return value

    @field_validator("after", "before")
    @classmethod
    def _is_a_day(cls, value: str) -> str:
        if value:
            date.fromisoformat(value)
        return value


class AnswerRecipe(RecipePart):
    """The settings of an answer from passages. A change of them costs a model call."""

    part = "answer"

    provider: Annotated[Name, AsksChat, Url("provider")] = Field(
        "extractive", title="Provider", min_length=1, description="extractive, openai, ollama, ..."
    )
    model: Annotated[Name | None, AsksChat, Url("model")] = Field(
        None, title="Model", description="model name; null is the provider's default"
    )
    mode: Annotated[AnswerMode, Asks("chat", only="auto"), Url("draws_on")] = Field(
        "strict",
        title="Draws on",
        description="the sources of a model's answer: strict, passages only; balanced, general "
        "knowledge too, marked; general, only that, without a search; auto, strict where "
        "a passage reaches the threshold, else a tool or general knowledge, as the model "
        "decides; grounded, the passages, asked once and without the conversation",
    )
    evidence: Annotated[Evidence, Url("reads"), Since(2, "passages")] = Field(
        "auto",
        title="Model reads",
        description="strict, auto and grounded: what a model reads; quotes, the sentences that "
        "answer without a model, which it words in one sentence that is checked against them; "
        "passages, all of them; auto, what suits the model: by its size, else by three questions",
    )
    decider: Annotated[Name | None, Asks("decider"), Url("decider"), Since(2, None)] = Field(
        None,
        title="Checked by",
        pattern=r"^(decisions|systemone)(:.+)?$",
        description="the decision model that says whether the quotes answer the question, as "
        "decisions:MODEL or systemone:MODEL; an answer below answer.sufficient is doubtful",
    )
    sufficient: Annotated[float, Url("sufficient"), Since(2, 0.5)] = Field(
        0.5,
        title="Least probability that quotes answer",
        ge=0,
        le=1,
        description="decider: the least probability of an answer without doubt",
    )
    temperature: Annotated[float, Url("temperature")] = Field(0.0, title="Temperature", ge=0, le=2)
    max_tokens: Annotated[int, AsksChat, Url("length")] = Field(
        800, title="Maximum answer length, tokens", ge=1, le=100_000, description="longest answer"
    )
    context_tokens: Annotated[int, AsksChat, Url("context")] = Field(
        4000,
        title="Context budget, tokens",
        ge=1,
        le=1_000_000,
        description="tokens that conversation, examples, passages and answer share; grounded: most "
        "tokens of passages",
    )
    memory: Annotated[int, Asks("embedder"), Url("memory"), Since(1, 0)] = Field(
        0,
        title="Past interactions as examples",
        ge=0,
        le=10,
        description="past interactions that a model is shown as examples: the most similar ones "
        "that were answered and whose sources are unchanged; 0 is off",
    )
    tool_calls: Annotated[int, AsksTool, Url("tool_calls"), Since(1, 2)] = Field(
        2,
        title="Maximum number of tool calls",
        ge=0,
        le=10,
        description="auto: most calls of tools for one answer",
    )
    tools: Annotated[tuple[Name, ...] | None, AsksTool, Url("may_call"), Since(1, None)] = Field(
        (),
        title="Tools it may call",
        max_length=MOST_NAMES,
        description="auto: HTTP tools that a model may call, with those of search.tools; null is "
        "every tool there is",
    )


@lru_cache(maxsize=256)
def page_ranges(pages: str) -> tuple[tuple[int, int], ...]:
    """Read the field ``pages``: the first and the last page of each range, ascending."""
    ranges = (part.partition("-") for part in pages.split(",") if part)
    return tuple(sorted((int(first), int(last or first)) for first, _, last in ranges))


_STEPS = SearchRecipe.model_fields.keys() - Retrievers.model_fields.keys()

CAPTIONS: Mapping[str, str] = {
    f"{part.part}.{name}": str(field.title)
    for part in (IndexRecipe, SearchRecipe, AnswerRecipe)
    for name, field in part.model_fields.items()
}

URL_PARAMETERS: Mapping[str, str] = {
    mark.parameter: f"{part.part}.{name}"
    for part in (SearchRecipe, AnswerRecipe)
    for name, mark in part.marks(Url).items()
}
"""Recipe fields by their parameter in the address of a page, which is the key of the widget too."""


def chunker_name(chunker: str) -> str:
    """Name a chunker as people see it: sections are those of any format, not Markdown's alone."""
    return "sections" if chunker == "markdown" else chunker


def model_name(model: str) -> str:
    """Name a model as people see it; llama.cpp calls it by the whole path of its file."""
    is_path = model.startswith("/") or model.endswith(".gguf")
    return re.split(r"[\\/]", model)[-1] if is_path else model


def phrase(field: str) -> str:
    """The caption of a field within a sentence: ``top-k``, ``BM25 b``."""
    caption = CAPTIONS[field]
    return caption if caption[:2].isupper() else f"{caption[0].lower()}{caption[1:]}"
