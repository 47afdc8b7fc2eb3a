"""Recipes for Weaviate: a collection with own vectors, and a hybrid query."""

from __future__ import annotations

from rag.exports.fidelity import Rule
from rag.exports.statements import ID, TEXT, VECTOR, EngineExport, Statement, request
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.fusion import QDRANT_RRF

_RRF_K = 59
_LIST = 100
"""The number of passages of each list in a hybrid query, unless more results are wanted."""


def weaviate_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return the requests for Weaviate 1.24 or later.

    Vectors have length one, so the dot product is the cosine; its negative is the distance. The
    index ``flat`` compares all vectors.
    """
    search = recipe.search
    stopwords = "en" if recipe.index.analyzer in ("auto", "english") else "none"
    collection = {
        "class": "Passage",
        "vectorizer": "none",
        "vectorIndexType": "flat",
        "vectorIndexConfig": {"distance": "dot"},
        "invertedIndexConfig": {
            "bm25": {"k1": search.k1, "b": search.b},
            "stopwords": {"preset": stopwords},
        },
        "properties": [
            {"name": "passage", "dataType": ["int"]},
            {"name": "text", "dataType": ["text"], "tokenization": "word"},
        ],
    }
    point = {"class": "Passage", "properties": {"passage": ID, "text": TEXT}, "vector": VECTOR}
    return EngineExport(
        (
            request("Create the collection", "POST /v1/schema", collection),
            request("Load one passage", "POST /v1/objects", point),
            Statement(
                "Ask one question: send this as `query`",
                "POST /v1/graphql",
                _query(search, None if search.relevance == "probability" else threshold),
            ),
        ),
        _rules(search),
    )


def _query(search: SearchRecipe, threshold: float | None) -> str:
    limit = search.top_k if search.mode == "hybrid" else min(search.top_k, search.candidates)
    text, vector, shown = f'"{TEXT}"', f'"{VECTOR}"', "score"
    if search.mode == "dense":
        distance = "" if threshold is None else f", distance: {-threshold!r}"
        operator, shown = f"nearVector: {{vector: {vector}{distance}}}", "distance"
    elif search.mode == "lexical":
        operator = f'bm25: {{query: {text}, properties: ["text"]}}'
    else:
        fusion = "rankedFusion" if search.fusion in ("rrf", QDRANT_RRF) else "relativeScoreFusion"
        operator = (
            f'hybrid: {{query: {text}, vector: {vector}, properties: ["text"], '
            f"alpha: {search.dense_weight!r}, fusionType: {fusion}}}"
        )
    return f"""{{
  Get {{
    Passage(
      limit: {limit}
      {operator}
    ) {{
      passage
      text
      _additional {{ {shown} }}
    }}
  }}
}}"""


def _rules(search: SearchRecipe) -> dict[str, Rule]:
    exact = Rule("exact", "the query has it")
    words = Rule("approximate", "Weaviate's BM25 cuts words by its own rules, without stems")
    unseen = Rule("not expressible", "the cosine of a passage is not compared in this mode")
    lists = Rule("approximate", f"a hybrid query joins {_LIST} passages of each list")
    enough = search.mode != "hybrid" or search.candidates == _LIST
    fusions = {
        "weighted": "minimum and maximum are those of each list, and what it lacks has 0 there",
        "saturation": "Weaviate has no saturation; the query stretches the scores of each list",
        QDRANT_RRF: "Weaviate multiplies by the weight",
        "opensearch_min_max": "the last passage of a list has 0, not 0.001",
    }
    fusion = Rule("approximate", fusions[search.fusion]) if search.fusion in fusions else exact
    fixed = f"Weaviate's constant is fixed: as {_RRF_K} here, since it counts ranks from 0"
    return {
        "search.mode": exact if search.mode == "dense" else words,
        "search.threshold": exact if search.mode == "dense" else unseen,
        "search.candidates": exact if enough else lists,
        "search.k1": exact,
        "search.b": exact,
        "search.fusion": fusion,
        "search.dense_weight": fusion,
        "search.rrf_k": exact if search.rrf_k == _RRF_K else Rule("not expressible", fixed),
        "search.bm25_pivot": Rule("not expressible", "Weaviate has no saturation"),
    }
