"""Recipes for PostgreSQL with pgvector: a table with full text, and a query in SQL."""

from __future__ import annotations

from rag.experiments.exports.fidelity import EngineExport, Rule, StatementData, fusion_weights
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval.fusion import LIST_SCALES, QDRANT_RRF

_CONFIGURATIONS = (
    "arabic armenian basque catalan danish dutch english finnish french german greek hindi "
    "hungarian indonesian irish italian lithuanian nepali norwegian portuguese romanian russian "
    "serbian spanish swedish tamil turkish yiddish"
)


def pgvector_export(recipe: Recipe, dimension: int, threshold: float | None) -> EngineExport:
    """Return the SQL for PostgreSQL 15 or later with pgvector 0.7 or later.

    Vectors have length one, so the negative inner product ``<#>`` is the negative cosine.
    """
    words = _configuration(recipe.index.analyzer)
    return (
        (
            StatementData("Create the table", "", _table(words, dimension)),
            StatementData(
                "Load one passage",
                "",
                "INSERT INTO passages (id, text, vector) VALUES (%(id)s, %(text)s, %(vector)s);",
            ),
            StatementData("Ask one question", "", _query(recipe.search, words, threshold)),
        ),
        _rules(recipe.search),
    )


def _configuration(analyzer: str) -> str:
    """Return the text search configuration for an analyzer."""
    if analyzer == "auto":
        return "english"
    return analyzer if analyzer in _CONFIGURATIONS.split() else "simple"


def _table(words: str, dimension: int) -> str:
    return f"""CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE passages (
  id bigint PRIMARY KEY,
  text text NOT NULL,
  vector vector({dimension}) NOT NULL,
  words tsvector GENERATED ALWAYS AS (to_tsvector('{words}', text)) STORED
);
CREATE INDEX ON passages USING gin (words);"""


def _dense(depth: int) -> str:
    return f"""nearest AS (
  SELECT id FROM passages ORDER BY vector <#> %(vector)s::vector, id LIMIT {depth}
)"""


def _lexical(words: str, depth: int) -> str:
    terms = f"replace(plainto_tsquery('{words}', %(text)s)::text, ' & ', ' | ')::tsquery"
    return f"""question AS (
  SELECT {terms} AS terms
), matching AS (
  SELECT id, ts_rank_cd(words, terms)::float8 AS word_score
  FROM passages, question WHERE words @@ terms
), lexical AS (
  SELECT id, word_score FROM matching ORDER BY word_score DESC, id LIMIT {depth}
)"""


_SCORED = """scored AS (
  SELECT id, text, -(vector <#> %(vector)s::vector) AS cosine,
    coalesce(word_score, 0) AS word_score
  FROM passages LEFT JOIN matching USING (id)
  WHERE id IN (SELECT id FROM nearest UNION SELECT id FROM lexical)
)"""

_RANKED = """ranked AS (
  SELECT *, CASE WHEN id IN (SELECT id FROM nearest)
      THEN rank() OVER (ORDER BY cosine DESC, id) END AS dense_rank,
    CASE WHEN id IN (SELECT id FROM lexical)
      THEN rank() OVER (ORDER BY word_score DESC, id) END AS lexical_rank
  FROM scored
)"""


def _query(search: SearchRecipe, words: str, threshold: float | None) -> str:
    depth, source = search.candidates, "scored"
    if search.relevance == "probability":
        threshold = None
    above = "" if threshold is None else f"\nWHERE cosine >= {threshold!r}"
    if search.mode == "dense":
        scored = """scored AS (
  SELECT id, text, -(vector <#> %(vector)s::vector) AS cosine
  FROM passages WHERE id IN (SELECT id FROM nearest)
)"""
        parts, score = [_dense(depth), scored], "cosine"
    elif search.mode == "lexical":
        scored = _SCORED.replace("SELECT id FROM nearest UNION ", "")
        parts, score = [_lexical(words, depth), scored], "word_score"
    else:
        parts, score = [_dense(depth), _lexical(words, depth), _SCORED], _fused(search)
        if search.fusion in ("rrf", QDRANT_RRF):
            parts, source = [*parts, _RANKED], "ranked"
        if search.fusion == "weighted":
            parts, source = [*parts, _STRETCHED], "stretched"
        if (least := LIST_SCALES.get(search.fusion)) is not None:
            parts, source = [*parts, _RANKED, _stretched_lists(least)], "stretched"
    return (
        f"WITH {', '.join(parts)}\nSELECT id, text, cosine, {score} AS score\nFROM {source}{above}"
        f"\nORDER BY score DESC, id LIMIT {search.top_k};"
    )


def _min_max(name: str) -> str:
    """Stretch a column to [0, 1]; 0 where its values do not differ."""
    low, width = f"min({name}) OVER ()", f"max({name}) OVER () - min({name}) OVER ()"
    return f"coalesce(({name} - {low}) / nullif({width}, 0), 0)"


_STRETCHED = f"""stretched AS (
  SELECT *, {_min_max("cosine")} AS near,
    {_min_max("word_score")} AS worded
  FROM scored
)"""


def _stretched_lists(least: float) -> str:
    """Stretch each list alone; its last passage has the score ``least``."""
    near = _stretched_list("cosine", "dense_rank", least)
    worded = _stretched_list("word_score", "lexical_rank", least)
    return f"""stretched AS (
  SELECT *, {near} AS near,
    {worded} AS worded
  FROM ranked
)"""


def _stretched_list(name: str, rank: str, least: float) -> str:
    listed = f"FILTER (WHERE {rank} IS NOT NULL) OVER ()"
    low, high = f"min({name}) {listed}", f"max({name}) {listed}"
    last = f"\n      WHEN {name} = {low} THEN {least!r}" if least else ""
    return f"""CASE WHEN {rank} IS NULL THEN 0
      WHEN {low} = {high} THEN 1{last}
      ELSE ({name} - {low}) / ({high} - {low}) END"""


def _fused(search: SearchRecipe) -> str:
    dense, words = fusion_weights(search)
    if search.fusion == "rrf":
        near, worded = (
            f"coalesce({weight} / ({search.rrf_k} + {rank}), 0)"
            for weight, rank in ((dense, "dense_rank"), (words, "lexical_rank"))
        )
        return f"{near} + {worded}"
    if search.fusion == QDRANT_RRF:
        near, worded = (
            f"coalesce(1 / ({search.rrf_k} + {rank} / nullif({weight}::float8, 0)), 0)"
            for weight, rank in ((dense, "dense_rank"), (words, "lexical_rank"))
        )
        return f"{near} + {worded}"
    if search.fusion != "saturation":
        return f"{dense} * near + {words} * worded"
    return f"{dense} * cosine + {words} * word_score / (word_score + {search.bm25_pivot!r})"


def _rules(search: SearchRecipe) -> dict[str, Rule]:
    exact = Rule("exact", "the query has it")
    words = Rule("approximate", "`ts_rank_cd` ranks by words that stand close together, not BM25")
    lacking = Rule("not expressible", "`ts_rank_cd` has no such parameter")
    saturation = search.fusion == "saturation"
    scale = "it is a BM25 score, and `ts_rank_cd` has another scale; choose another value"
    return {
        "search.mode": exact if search.mode == "dense" else words,
        "search.threshold": exact,
        "search.candidates": exact,
        "search.k1": lacking,
        "search.b": lacking,
        "search.fusion": exact,
        "search.dense_weight": exact,
        "search.rrf_k": exact,
        "search.bm25_pivot": Rule("not expressible", scale) if saturation else exact,
    }
