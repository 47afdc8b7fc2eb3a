"""Recipes for Vespa: a schema with a rank profile, and a query."""

from __future__ import annotations

from rag.exports.fidelity import Rule
from rag.exports.statements import (
    ID,
    TEXT,
    VECTOR,
    EngineExport,
    Statement,
    fusion_weights,
    request,
)
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.fusion import QDRANT_RRF

_LANGUAGES = {
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "hungarian": "hu",
    "italian": "it",
    "norwegian": "nb",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
}
_DROPPED, _LIMIT = -9.0, -8.0
"""A score below all others for what the threshold drops, and the limit that drops it."""


def vespa_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return a schema and requests for Vespa 8.

    The vectors have no index, so Vespa compares all of them. They have length one.
    """
    search = recipe.search
    language = _LANGUAGES.get(recipe.index.analyzer)
    fields = {"id": ID, "text": TEXT, "vector": VECTOR}
    query = {
        "yql": f"select id, text from passages where {_matching(search)}",
        "text": TEXT,
        "input.query(question)": VECTOR,
        "ranking": "recipe",
        "hits": search.top_k if search.mode == "hybrid" else min(search.top_k, search.candidates),
        **({"model.language": language} if language else {}),
    }
    load = f"POST /document/v1/passages/passages/docid/{ID}"
    return EngineExport(
        (
            Statement(
                "Save as schemas/passages.sd in your application package",
                "",
                _schema(recipe, dimension, threshold, language),
            ),
            request("Load one passage", load, {"fields": fields}),
            request("Ask one question", "POST /search/", query),
        ),
        _rules(search),
    )


def _matching(search: SearchRecipe) -> str:
    near = f"({{targetHits: {search.candidates}}}nearestNeighbor(vector, question))"
    options = f"targetHits: {search.candidates}, defaultIndex: 'text', grammar.syntax: 'none'"
    words = f"({{{options}}}userInput(@text))"
    return {"dense": near, "lexical": words, "hybrid": f"{near} or {words}"}[search.mode]


def _schema(recipe: Recipe, dimension: int, threshold: float | None, language: str | None) -> str:
    search = recipe.search
    fixed = (
        f'\n  field language type string {{\n    indexing: "{language}" | set_language\n  }}'
        if language
        else ""
    )
    return f"""schema passages {{{fixed}
  document passages {{
    field id type long {{
      indexing: summary | attribute
    }}
    field text type string {{
      indexing: summary | index
      index: enable-bm25
    }}
    field vector type tensor<float>(x[{dimension}]) {{
      indexing: attribute
      attribute {{
        distance-metric: prenormalized-angular
      }}
    }}
  }}
  rank-profile recipe {{
    inputs {{
      query(question) tensor<float>(x[{dimension}])
    }}
    rank-properties {{
      bm25(text).k1: {search.k1}
      bm25(text).b: {search.b}
    }}
    function cosine() {{
      expression: sum(query(question) * attribute(vector))
    }}
    function words() {{
      expression: bm25(text) / {round(search.k1 + 1, 12)!r}
    }}
{_phases(search, None if search.relevance == "probability" else threshold)}
  }}
}}"""


def _phases(search: SearchRecipe, threshold: float | None) -> str:
    saturated = f"words / (words + {search.bm25_pivot!r})"
    if search.mode != "hybrid" or search.fusion == "saturation":
        dense, words = fusion_weights(search)
        fused = f"{dense!r} * cosine + {words!r} * {saturated}"
        score = {"dense": "cosine", "lexical": "words"}.get(search.mode, fused)
        return _phase("first-phase", score, threshold)
    first = _phase("first-phase", f"cosine + {saturated}", None)
    features = "    match-features: cosine words"
    return "\n".join(
        (
            first,
            features,
            _phase("global-phase", _normalised(search), threshold, search.candidates * 2),
        )
    )


def _normalised(search: SearchRecipe) -> str:
    dense, words = fusion_weights(search)
    if search.fusion in ("rrf", QDRANT_RRF):
        near, worded = (f"reciprocal_rank({name}, {search.rrf_k})" for name in ("cosine", "words"))
    else:
        near, worded = (f"normalize_linear({name})" for name in ("cosine", "words"))
    return f"{dense!r} * {near} + {words!r} * {worded}"


def _phase(name: str, score: str, threshold: float | None, count: int | None = None) -> str:
    lines = [] if count is None else [f"rerank-count: {count}"]
    if threshold is None:
        lines.append(f"expression: {score}")
    else:
        lines.append(f"expression: if (cosine >= {threshold!r}, {score}, {_DROPPED})")
        lines.append(f"rank-score-drop-limit: {_LIMIT}")
    inner = "".join(f"      {line}\n" for line in lines)
    return f"    {name} {{\n{inner}    }}"


def _rules(search: SearchRecipe) -> dict[str, Rule]:
    exact = Rule("exact", "the rank profile has it")
    words = Rule("approximate", "Vespa's BM25 cuts words by its own rules")
    operators = Rule("approximate", "`weakAnd` and the exact search can return more passages")
    stretched = Rule("approximate", "it stretches over the passages of the global phase")
    fusion = {
        "rrf": Rule("approximate", "a passage that one list lacks has a rank there too"),
        "saturation": exact,
        QDRANT_RRF: Rule("approximate", "`reciprocal_rank` is multiplied by the weight"),
    }.get(search.fusion, stretched)
    return {
        "search.mode": exact if search.mode == "dense" else words,
        "search.threshold": exact,
        "search.candidates": operators if search.mode == "hybrid" else exact,
        "search.k1": exact,
        "search.b": exact,
        "search.fusion": fusion,
        "search.dense_weight": exact,
        "search.rrf_k": exact,
        "search.bm25_pivot": exact,
    }
