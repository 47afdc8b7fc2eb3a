"""Fidelity of an exported recipe: exact, approximate or not expressible, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rag.recipe import Recipe, SearchRecipe
from rag.recipe.parts import Retrievers
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
_SAME = Rule("exact", "the query has it")
_CUT = Rule("not expressible", "cut the documents before you load them; the engine stores passages")
_FILTER = Rule("not expressible", "add a filter on your own metadata")
_CUTTING = ("chunker", "chunk_size", "chunk_overlap", "chunk_unit")
_FILTERS = ("documents", "types", "tags", "pages", "after", "before", "heading")
_PARTS_OF_STEPS: Mapping[str, tuple[str, ...]] = {
    "feedback": ("feedback_weight", "feedback_terms"),
    "rerank": ("rerank_depth", "rerank_batch"),
    "context": ("neighbours",),
}
"""Fields that count only where another one is not at its default."""
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
    rules = dict(_index_rules(recipe)) | dict(_search_rules(recipe, threshold))
    used = used_fields(recipe)
    fields = recipe.fields()
    rules |= {name: own[name] if name in used else UNUSED for name in own if name not in rules}
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


def _search_rules(recipe: Recipe, threshold: float | None) -> Iterator[tuple[str, Rule]]:
    search = recipe.search
    yield "search.top_k", _SAME
    by_probability = search.relevance == "probability" and search.threshold is not None
    limited = by_probability or threshold is not None
    if not limited:
        yield "search.threshold", Rule("exact", "it is off")
        yield "search.relevance", UNUSED
        yield "search.exact_codes", UNUSED
        yield "search.matched_words", UNUSED
    elif by_probability:
        yield "search.threshold", Rule("not expressible", "it is compared with a probability")
        yield "search.relevance", Rule("not expressible", "the calibration stays here")
    else:
        yield "search.relevance", Rule("exact", "the threshold is compared with the cosine")
    if limited:
        codes = Rule("not expressible", "passages with a rare code do not pass the threshold")
        yield "search.exact_codes", codes if search.exact_codes else Rule("exact", "it is off")
        words = Rule("not expressible", "passages with the words do not reach the threshold")
        on = search.matched_words and not by_probability
        yield "search.matched_words", words if on else Rule("exact", "it is off")
    refused = Rule("not expressible", "questions that are off topic get results")
    yield "search.refuse", refused if search.refuse != "off" else Rule("exact", "it is off")
    languages = Rule("not expressible", "the engine does not recognise the language of a question")
    by_words = search.other_languages == "words" and search.mode == "hybrid"
    yield "search.other_languages", languages if by_words else UNUSED
    spelling = Rule("not expressible", "words of the question are not corrected")
    yield "search.spelling", spelling if search.spelling else Rule("exact", "it is off")
    other_forms = Rule("not expressible", "words of the question are searched as they are typed")
    yield "search.synonyms", other_forms if search.synonyms else Rule("exact", "it is off")
    for name in ("fuzzy", "prefix"):
        variants = Rule("not expressible", "only whole index terms match")
        on = getattr(search, name) and search.mode != "dense"
        yield f"search.{name}", variants if on else UNUSED
    for name in SearchRecipe.model_fields.keys() - Retrievers.model_fields.keys():
        yield f"search.{name}", _step(recipe, name)


def _step(recipe: Recipe, name: str) -> Rule:
    steps = recipe.search.steps
    for step, parts in _PARTS_OF_STEPS.items():
        if name in parts and step not in steps:
            return UNUSED
    if name in _FILTERS:
        return _FILTER if name in steps else Rule("exact", "it is off")
    is_part = any(name in parts for parts in _PARTS_OF_STEPS.values())
    if name in steps or is_part:
        return Rule("not expressible", "the step has to run in your own program")
    return Rule("exact", "it is off")
