"""Recipes for Elasticsearch and OpenSearch: an index with a mapping, and a query."""

from __future__ import annotations

from typing import Any

from rag.experiments.exports.fidelity import (
    ID,
    TEXT,
    VECTOR,
    EngineExport,
    Rule,
    StatementData,
    fusion_weights,
    request,
)
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF

Json = dict[str, Any]

_ANALYZERS = (
    "arabic armenian basque catalan czech danish dutch english estonian finnish french german "
    "greek hindi hungarian indonesian irish italian lithuanian norwegian persian portuguese "
    "romanian russian serbian spanish swedish turkish"
)
_PIPELINE = "passages-fusion"
_ASK = "POST /passages/_search"
_EXACT = Rule("exact", "the query has it")
_WORDS = Rule("approximate", "the engine's BM25 cuts words by its own rules")
_EVERY = Rule("approximate", "the script scores all passages, so none is left out")
_PER_LIST = "minimum and maximum are those of each list, not of both together"
_BY_RANK = ("rrf", QDRANT_RRF)
_OTHER_ENGINE = "another engine stretches a list a little differently"


def elasticsearch_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return the requests for Elasticsearch; weights in RRF need 9.2 or later."""
    vector = {"type": "dense_vector", "dims": dimension, "index": False}
    search = recipe.search
    query = _elasticsearch_query(search, threshold)
    statements = (
        _index(recipe, vector),
        _load(),
        request("Ask one question", _ASK, {**query, "_source": ["text"]}),
    )
    return statements, _rules(search, "elasticsearch_linear")


def opensearch_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return the requests for OpenSearch; RRF needs 2.19, and weights in it 3.1 or later."""
    search = recipe.search
    vector: Json = {"type": "knn_vector", "dimension": dimension}
    pipeline: tuple[StatementData, ...] = ()
    ask = _ASK
    if _uses_lists(search):
        pipeline = (_pipeline(search),)
        ask = f"{_ASK}?search_pipeline={_PIPELINE}"
    query = _opensearch_query(search, threshold)
    statements = (
        _index(recipe, vector),
        *pipeline,
        _load(),
        request("Ask one question", ask, {**query, "_source": ["text"]}),
    )
    return statements, _rules(search, "opensearch_min_max")


def _uses_lists(search: SearchRecipe) -> bool:
    """Whether the engine joins two lists; ``saturation`` is a script over all passages."""
    return search.mode == "hybrid" and search.fusion != "saturation"


def _index(recipe: Recipe, vector: Json) -> StatementData:
    name = recipe.index.analyzer
    analyzer = "english" if name == "auto" else name if name in _ANALYZERS.split() else "standard"
    similarity = {"type": "BM25", "k1": recipe.search.k1, "b": recipe.search.b}
    text = {"type": "text", "analyzer": analyzer, "similarity": "recipe"}
    body = {
        "settings": {"similarity": {"recipe": similarity}, "number_of_shards": 1},
        "mappings": {"dynamic": "strict", "properties": {"text": text, "vector": vector}},
    }
    return request("Create the index", "PUT /passages", body)


def _load() -> StatementData:
    return request("Load one passage", f"PUT /passages/_doc/{ID}", {"text": TEXT, "vector": VECTOR})


def _match() -> Json:
    return {"match": {"text": {"query": TEXT}}}


def _scripted(query: Json, source: str, params: Json) -> Json:
    return {"script_score": {"query": query, "script": {"source": source, "params": params}}}


def _near(cosine: str) -> Json:
    """Score all passages by their cosine plus 1, as scores must not be negative."""
    return _scripted({"match_all": {}}, f"{cosine} + 1.0", {"vector": VECTOR})


def _everything() -> Json:
    """Score a passage without a word of the question too, with 0."""
    return {"bool": {"must": {"match_all": {"boost": 0}}, "should": [_match()]}}


def _by_script(search: SearchRecipe, cosine: str, threshold: float | None) -> Json:
    """Return the query of a recipe that joins no lists."""
    limit = min(search.top_k, search.candidates)
    if search.mode == "lexical":
        return {"size": limit, "query": _match()}
    if search.mode == "dense":
        query = _near(cosine)
        if threshold is None or search.relevance == "probability":
            return {"size": limit, "query": query}
        return {"size": limit, "query": query, "min_score": round(threshold + 1.0, 12)}
    params = {"vector": VECTOR, "weight": search.dense_weight, "pivot": search.bm25_pivot}
    words = "(1.0 - params.weight) * _score / (_score + params.pivot)"
    source = f"params.weight * {cosine} + {words} + 1.0"
    return {"size": search.top_k, "query": _scripted(_everything(), source, params)}


def _elasticsearch_query(search: SearchRecipe, threshold: float | None) -> Json:
    if not _uses_lists(search):
        return _by_script(search, "dotProduct(params.vector, 'vector')", threshold)
    queries = _near("dotProduct(params.vector, 'vector')"), _match()
    lists: list[Json] = [
        {"retriever": {"standard": {"query": query}}, "weight": weight}
        for query, weight in zip(queries, fusion_weights(search), strict=True)
    ]
    window = {"rank_window_size": max(search.candidates, search.top_k)}
    if search.fusion in _BY_RANK:
        fused: Json = {"rrf": {"retrievers": lists, "rank_constant": search.rrf_k, **window}}
    else:
        lists = [{**one, "normalizer": "minmax"} for one in lists]
        fused = {"linear": {"retrievers": lists, **window}}
    return {"size": search.top_k, "retriever": fused}


def _opensearch_query(search: SearchRecipe, threshold: float | None) -> Json:
    cosine = "cosineSimilarity(params.vector, doc['vector'])"
    if not _uses_lists(search):
        return _by_script(search, cosine, threshold)
    hybrid = {"queries": [_near(cosine), _match()], "pagination_depth": search.candidates}
    return {"size": search.top_k, "query": {"hybrid": hybrid}}


def _pipeline(search: SearchRecipe) -> StatementData:
    weights = {"parameters": {"weights": list(fusion_weights(search))}}
    if search.fusion in _BY_RANK:
        combination = {"technique": "rrf", "rank_constant": search.rrf_k, **weights}
        processor: Json = {"score-ranker-processor": {"combination": combination}}
    else:
        technique = {"technique": "arithmetic_mean", **weights}
        scaled = {"normalization": {"technique": "min_max"}, "combination": technique}
        processor = {"normalization-processor": scaled}
    body = {"phase_results_processors": [processor]}
    return request("Create the pipeline", f"PUT /_search/pipeline/{_PIPELINE}", body)


def _rules(search: SearchRecipe, own: str) -> dict[str, Rule]:
    """Return the fidelity of each field; ``own`` is the fusion with the engine's own formula."""
    unseen = Rule("not expressible", "the cosine of a passage is not compared in this mode")
    reasons = {"weighted": _PER_LIST, QDRANT_RRF: "the engine multiplies by the weight"}
    lists = Rule("approximate", reasons.get(search.fusion, _OTHER_ENGINE))
    same = LIST_SCALES.get(search.fusion) == LIST_SCALES[own]
    weighted = search.fusion not in ("rrf", "saturation") and not same
    deeper = Rule("approximate", "lists are at least as long as the results")
    short = own == "elasticsearch_linear" and _uses_lists(search)
    short = short and search.candidates < search.top_k
    scripted = search.mode == "hybrid" and not _uses_lists(search)
    return {
        "search.candidates": _EVERY if scripted else deeper if short else _EXACT,
        "search.mode": _EXACT if search.mode == "dense" else _WORDS,
        "search.threshold": _EXACT if search.mode == "dense" else unseen,
        "search.k1": _EXACT,
        "search.b": Rule("approximate", "the engine rounds the lengths of passages"),
        "search.fusion": lists if weighted else _EXACT,
        "search.dense_weight": lists if weighted else _EXACT,
        "search.rrf_k": _EXACT,
        "search.bm25_pivot": _EXACT,
    }
