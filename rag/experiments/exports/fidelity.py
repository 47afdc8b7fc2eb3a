"""Statements of an exported recipe, and how exactly they express each of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF

Fidelity = Literal["exact", "approximate", "not expressible"]


class Rule(NamedTuple):
    """The fidelity of a field, with the reason."""

    fidelity: Fidelity
    reason: str


@dataclass(frozen=True, slots=True)
class ExportedField:
    """A recipe field in an export. ``exact`` means that the field changes no result there."""

    name: str
    value: Any
    fidelity: Fidelity
    reason: str


UNUSED = Rule("exact", "it has no effect in this recipe")
OFF = Rule("exact", "it is off")
_SAME = Rule("exact", "the query has it")
_CUT = Rule("not expressible", "cut the documents before you load them; the engine stores passages")
_CUTTING = ("chunker", "chunk_size", "chunk_overlap", "chunk_unit")
_FILTERS = ("documents", "types", "tags", "pages", "after", "before", "heading")
_OWN_PROGRAM = "the step has to run in your own program"
_LOST: Mapping[str, str] = {
    "relevance": "the calibration stays here",
    "exact_codes": "passages with a rare code do not pass the threshold",
    "matched_words": "passages with the words do not reach the threshold",
    "refuse": "questions that are off topic get results",
    "other_languages": "the engine does not recognise the language of a question",
    "spelling": "words of the question are not corrected",
    "synonyms": "words of the question are searched as they are typed",
    **dict.fromkeys(("fuzzy", "prefix"), "only whole index terms match"),
    **dict.fromkeys(_FILTERS, "add a filter on your own metadata"),
}
"""What is lost with a field that no engine has. Another field has the general reason."""
_PARTS_OF_STEPS: Mapping[str, tuple[str, ...]] = {
    "feedback": ("feedback_weight", "feedback_terms"),
    "rerank": ("rerank_depth", "rerank_batch"),
    "context": ("neighbours",),
}
"""Fields that count only where another one is not at its default."""
_PARTS = {name for parts in _PARTS_OF_STEPS.values() for name in parts}
_FUSION_FIELDS: Mapping[str, tuple[str, ...]] = {
    "weighted": ("dense_weight",),
    "rrf": ("dense_weight", "rrf_k"),
    "saturation": ("dense_weight", "bm25_pivot"),
    QDRANT_RRF: ("dense_weight", "rrf_k"),
    **dict.fromkeys(LIST_SCALES, ("dense_weight",)),
}


def exported_fields(
    recipe: Recipe, threshold: float | None, own: Mapping[str, Rule]
) -> tuple[ExportedField, ...]:
    """Return the fields of index and search.

    ``threshold`` is the resolved one. ``own`` has the rules of a target for the fields that its
    query contains; they count where the recipe uses the field.
    """
    used = used_fields(recipe)
    fields = recipe.fields()
    rules = {name: rule if name in used else UNUSED for name, rule in own.items()}
    rules = dict(_steps(recipe, threshold)) | rules
    rules |= dict(_index_rules(recipe)) | dict(_cutoff_rules(recipe, threshold))
    names = [name for name in fields if name.startswith(("index.", "search."))]
    return tuple(ExportedField(name, fields[name], *rules[name]) for name in names)


def used_fields(recipe: Recipe) -> frozenset[str]:
    """Name the fields that depend on the target and have an effect in the mode of a recipe."""
    search = recipe.search
    names = {"mode", "candidates", "threshold"}
    if search.mode != "dense":
        names |= {"k1", "b"}
    if search.mode == "hybrid":
        names |= {"fusion", *_FUSION_FIELDS[search.fusion]}
    return frozenset(f"search.{name}" for name in names)


def _index_rules(recipe: Recipe) -> Iterator[tuple[str, Rule]]:
    index, words = recipe.index, recipe.search.mode != "dense"
    whole = index.chunker == "whole"
    for name in _CUTTING:
        yield f"index.{name}", UNUSED if whole and name != "chunker" else _CUT
    semantic = index.chunker == "semantic"
    yield "index.breakpoint_percentile", _CUT if semantic else UNUSED
    yield (
        "index.embedder",
        Rule("exact", "send unit vectors of this model, with its prefixes if it has any"),
    )
    analyzers = Rule("approximate", "the engine cuts and stems words by its own rules")
    yield "index.analyzer", analyzers if words else UNUSED
    yield "index.vector_index", _vector_index(recipe)
    context = Rule("exact", "put the context before the text of a passage when you load it")
    yield "index.context", UNUSED if index.context == "none" else context


def _vector_index(recipe: Recipe) -> Rule:
    if recipe.search.mode == "lexical":
        return UNUSED
    if recipe.index.vector_index == "flat":
        return Rule("exact", "the query compares all vectors")
    if recipe.index.vector_index == "auto":
        return Rule(
            "approximate", "the query compares all vectors, where a large index uses a graph"
        )
    return Rule("approximate", "the query compares all vectors, where the recipe misses some")


def _steps(recipe: Recipe, threshold: float | None) -> Iterator[tuple[str, Rule]]:
    """Yield the rule of each field of a search: in general, what is on has to run here."""
    search, off, steps = recipe.search, SearchRecipe.plain(), recipe.search.steps
    by_probability = search.relevance == "probability" and search.threshold is not None
    limited = by_probability or threshold is not None
    unused = {
        *(() if limited else ("relevance", "exact_codes", "matched_words")),
        *(("matched_words",) if by_probability else ()),
        *(() if search.mode == "hybrid" else ("other_languages",)),
        *(("fuzzy", "prefix") if search.mode == "dense" else ()),
        *(name for step, parts in _PARTS_OF_STEPS.items() if step not in steps for name in parts),
    }
    for name, value in search:
        if name in unused:
            yield f"search.{name}", UNUSED
        elif value == off[name] and name not in _PARTS:
            yield f"search.{name}", OFF
        else:
            yield f"search.{name}", Rule("not expressible", _LOST.get(name, _OWN_PROGRAM))


def _cutoff_rules(recipe: Recipe, threshold: float | None) -> Iterator[tuple[str, Rule]]:
    search = recipe.search
    yield "search.top_k", _SAME
    if search.relevance == "probability" and search.threshold is not None:
        yield "search.threshold", Rule("not expressible", "it is compared with a probability")
    elif threshold is None:
        yield "search.threshold", OFF
    else:
        yield "search.relevance", Rule("exact", "the threshold is compared with the cosine")


@dataclass(frozen=True, slots=True)
class StatementData:
    """One call of an engine, with placeholders, or a file for it."""

    purpose: str
    request: Annotated[str, Field(description="method and path, empty for SQL and files")]
    content: Annotated[str, Field(description="a JSON body, SQL or a file")]
    """In JSON, the strings ``{{vector}}``, ``{{text}}`` and ``{{id}}`` are placeholders, which a
    list, a text and an id replace; in SQL they are ``%(vector)s``, ``%(text)s`` and ``%(id)s``."""


EngineExport = tuple[tuple[StatementData, ...], Mapping[str, Rule]]
"""The statements for an engine, and the fidelity of the fields that they contain."""


VECTOR, TEXT, ID = "{{vector}}", "{{text}}", "{{id}}"


def request(purpose: str, method_and_path: str, body: Mapping[str, Any]) -> StatementData:
    """Return a request with a JSON body."""
    return StatementData(purpose, method_and_path, json.dumps(body, indent=2))


def fusion_weights(search: SearchRecipe) -> tuple[float, float]:
    """Return the weights of cosine and BM25, without the digits that a subtraction adds."""
    return search.dense_weight, round(1 - search.dense_weight, 12)
