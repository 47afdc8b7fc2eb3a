"""Every field of a recipe is declared to have somebody asked, or is known to ask nobody."""

from __future__ import annotations

from typing import Any

import pytest

from rag import AnswerRecipe, IndexRecipe, Recipe, SearchRecipe, Settings, stage_rows
from rag.workspace.spending import beyond
from tests.workspaces import QUICK

PARTS = {"index": IndexRecipe, "search": SearchRecipe, "answer": AnswerRecipe}
ASKING = [
    f"{name}.{field}"
    for name, part in PARTS.items()
    for field in part.asking("embedder", "chat", "reranker", "decider", "tool")
]
ASKS_NOBODY = {
    *(f"index.{name}" for name in ("chunker", "chunk_size", "chunk_overlap", "chunk_unit")),
    *(f"index.{name}" for name in ("analyzer", "vector_index", "context")),
    *("index.breakpoint_percentile", "answer.temperature", "answer.evidence"),
    "answer.sufficient",
    *(f"search.{name}" for name in ("mode", "top_k", "threshold", "relevance", "exact_codes")),
    *(f"search.{name}" for name in ("refuse", "other_languages", "candidates", "fusion")),
    *(f"search.{name}" for name in ("dense_weight", "rrf_k", "bm25_pivot", "k1", "b")),
    *("search.matched_words", "search.feedback_terms"),
    *(f"search.{name}" for name in ("fuzzy", "prefix")),
    *(f"search.{name}" for name in ("spelling", "synonyms", "feedback", "feedback_weight")),
    *(f"search.{name}" for name in ("rerank_depth", "rerank_batch", "duplicates", "mmr")),
    *(f"search.{name}" for name in ("documents", "types", "tags", "pages", "after", "before")),
    *(f"search.{name}" for name in ("heading", "context", "neighbours", "merge", "order")),
}
AUTO = {"answer.provider": "openai", "answer.mode": "auto", "answer.tool_calls": 2}
SAVED = QUICK.with_fields({"answer.provider": "openai"})
COSTLY: dict[str, tuple[dict[str, Any], Recipe]] = {
    "index.embedder": ({"index.embedder": "openai"}, QUICK),
    "search.rewrite": ({"search.rewrite": True}, SAVED),
    "search.expansions": ({"search.expansions": 1}, SAVED),
    "search.hyde": ({"search.hyde": True}, SAVED),
    "search.rerank": ({"search.rerank": "cohere"}, QUICK),
    "search.tools": ({"search.tools": ["wiki"]}, QUICK),
    "answer.provider": ({"answer.provider": "openai"}, QUICK),
    "answer.model": ({"answer.model": "large"}, SAVED),
    "answer.mode": ({"answer.mode": "auto"}, SAVED),
    "answer.decider": ({"answer.decider": "decisions:m"}, QUICK),
    "answer.max_tokens": ({"answer.max_tokens": 801}, SAVED),
    "answer.context_tokens": ({"answer.context_tokens": 4001}, SAVED),
    "answer.memory": ({"answer.memory": 1}, QUICK.with_fields({"index.embedder": "openai"})),
    "answer.tool_calls": (
        {"answer.tool_calls": 3},
        SAVED.with_fields({**AUTO, "answer.tools": ["wiki"]}),
    ),
    "answer.tools": ({"answer.tools": ["wiki"]}, SAVED.with_fields(AUTO)),
}


def test_every_field_is_declared_to_ask_somebody_or_nobody():
    assert {*Recipe().fields()} - {*ASKING} == ASKS_NOBODY


@pytest.mark.parametrize("field", ASKING)
def test_a_field_that_asks_is_refused_beyond_the_saved_recipe(field):
    changes, saved = COSTLY[field]
    asked, keyed = (
        saved.with_fields(changes),
        Settings.from_env({"TOUCHSTONE_DECISIONS_API_KEY": "k"}),
    )
    assert beyond(saved, lambda: saved, keyed, answers=True) == ""
    named = beyond(asked, lambda: saved, keyed, answers=True)
    assert named == {"answer.model": "answer.provider"}.get(field, field)


def test_stages_ask_a_model_by_their_fields():
    asking = [row.name for row in stage_rows() if row.asks_model]
    assert asking == ["rewrite", "expansions", "hyde", "rerank"]
