"""Recipes for Qdrant: a collection with a dense and a sparse vector, and a query."""

from __future__ import annotations

from typing import Any

from rag.experiments.exports.fidelity import (
    ID,
    TEXT,
    VECTOR,
    EngineExport,
    Rule,
    fusion_weights,
    request,
)
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.fusion import QDRANT_RRF

_EVEN = 0.5
_LANGUAGES = (
    "arabic danish dutch english finnish french german greek hungarian italian norwegian "
    "portuguese romanian russian spanish swedish tamil turkish"
)
_RESULTS = "POST /collections/passages/points/query"


def qdrant_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return the requests for Qdrant 1.16 or later.

    Vectors have length one, so the dot product is the cosine.
    """
    collection = {
        "vectors": {"dense": {"size": dimension, "distance": "Dot"}},
        "sparse_vectors": {"words": {"modifier": "idf"}},
    }
    search = recipe.search
    options = {"k": search.k1, "b": search.b} | _language(recipe)
    point = {
        "id": ID,
        "vector": {"dense": VECTOR, "words": _document(options)},
        "payload": {"text": TEXT},
    }
    query = _query(search, _document(_language(recipe)), threshold)
    return (
        (
            request("Create the collection", "PUT /collections/passages", collection),
            request("Load one passage", "PUT /collections/passages/points", {"points": [point]}),
            request("Ask one question", _RESULTS, query),
        ),
        _rules(search),
    )


def _language(recipe: Recipe) -> dict[str, Any]:
    name = recipe.index.analyzer
    if name == "auto":
        return {"language": "english"}
    return {"language": name if name in _LANGUAGES.split() else "none"}


def _document(options: dict[str, Any]) -> dict[str, Any]:
    return {"text": TEXT, "model": "qdrant/bm25", "options": options}


def _query(search: SearchRecipe, words: dict[str, Any], threshold: float | None) -> dict[str, Any]:
    limit = min(search.top_k, search.candidates)
    dense: dict[str, Any] = {"query": VECTOR, "using": "dense", "params": {"exact": True}}
    lexical: dict[str, Any] = {"query": words, "using": "words"}
    shown = {"with_payload": True}
    if search.mode == "dense":
        limits = {} if threshold is None or _by_probability(search) else _score(threshold)
        return {**dense, **limits, "limit": limit, **shown}
    if search.mode == "lexical":
        return {**lexical, "limit": limit, **shown}
    lists = [{**one, "limit": search.candidates} for one in (dense, lexical)]
    return {"prefetch": lists, "query": _fused(search), "limit": search.top_k, **shown}


def _score(threshold: float) -> dict[str, Any]:
    return {"score_threshold": threshold}


def _by_probability(search: SearchRecipe) -> bool:
    return search.relevance == "probability"


def _fused(search: SearchRecipe) -> dict[str, Any]:
    weight, lexical_weight = fusion_weights(search)
    if search.fusion in ("rrf", QDRANT_RRF):
        # Qdrant adds 1 / (k + rank) with ranks from 0.
        even = search.fusion == "rrf" and weight == _EVEN
        weights = {} if even else {"weights": [weight, lexical_weight]}
        return {"rrf": {"k": search.rrf_k + 1, **weights}}
    pivot = round(search.bm25_pivot * (search.k1 + 1), 6)
    words = {"div": {"left": "$score[1]", "right": {"sum": ["$score[1]", pivot]}}}
    shares = [{"mult": [weight, "$score[0]"]}, {"mult": [lexical_weight, words]}]
    return {"formula": {"sum": shares}, "defaults": {"$score[0]": 0.0, "$score[1]": 0.0}}


def _rules(search: SearchRecipe) -> dict[str, Rule]:
    exact = Rule("exact", "the query has it")
    own_words = Rule("approximate", "Qdrant's BM25 cuts words by its own rules")
    length = Rule("approximate", "Qdrant takes a fixed average length, `avg_len`, 256 unless set")
    rules = {
        "search.mode": exact if search.mode == "dense" else own_words,
        "search.threshold": exact
        if search.mode == "dense"
        else Rule("not expressible", "the cosine of a passage that words found is not compared"),
        "search.candidates": exact,
        "search.k1": Rule("exact", "the sparse vectors of the passages have it"),
        "search.b": length,
    }
    if search.fusion in ("rrf", QDRANT_RRF):
        formula = Rule(
            "approximate",
            "Qdrant divides the rank by the weight, 1 / (rank / w + k), as `qdrant_rrf` does",
        )
        even = search.dense_weight == _EVEN or search.fusion == QDRANT_RRF
        return rules | {
            "search.fusion": exact if even else formula,
            "search.rrf_k": Rule("exact", "k is one larger, as Qdrant counts ranks from 0"),
            "search.dense_weight": exact if even else formula,
            "search.bm25_pivot": exact,
        }
    lacking = "a passage that one list lacks has 0 there, not its true score"
    min_max = "Qdrant has no min-max; the query fuses as `saturation`"
    saturation = search.fusion == "saturation"
    return rules | {
        "search.fusion": Rule("approximate", lacking if saturation else min_max),
        "search.dense_weight": exact if saturation else Rule("approximate", min_max),
        "search.rrf_k": exact,
        "search.bm25_pivot": Rule(
            "approximate", "it is k1 + 1 times as large, as the BM25 of Qdrant's model is"
        ),
    }
