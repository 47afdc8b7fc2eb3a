"""Captions of recipe fields: what the recipe panel calls them, and sentences for people."""

from __future__ import annotations

from collections.abc import Mapping

CAPTIONS: Mapping[str, str] = {
    "index.chunker": "Chunker",
    "index.chunk_size": "Passage size",
    "index.chunk_overlap": "Overlap",
    "index.chunk_unit": "Unit of sizes",
    "index.embedder": "Embedding model",
    "index.analyzer": "Analyzer",
    "index.vector_index": "Vector index",
    "index.context": "Context",
    "index.breakpoint_percentile": "Percentile",
    "search.mode": "Mode",
    "search.top_k": "Top-k",
    "search.threshold": "Threshold",
    "search.relevance": "Threshold compares",
    "search.exact_codes": "Exact codes pass",
    "search.matched_words": "Matched words pass",
    "search.refuse": "Off-topic questions",
    "search.other_languages": "Other languages",
    "search.spelling": "Mistyped words",
    "search.synonyms": "Synonyms",
    "search.candidates": "Candidates",
    "search.fusion": "Fusion",
    "search.dense_weight": "Dense weight",
    "search.rrf_k": "Constant of reciprocal ranks",
    "search.bm25_pivot": "Pivot of BM25",
    "search.k1": "BM25 k1",
    "search.b": "BM25 b",
    "search.fuzzy": "Forgive misspellings",
    "search.prefix": "Match beginnings of words",
    "search.rewrite": "Make follow-ups complete",
    "search.expansions": "Further wordings",
    "search.hyde": "Search with an imagined answer",
    "search.feedback": "Feedback from the first passages",
    "search.feedback_weight": "Share of the feedback in the vector",
    "search.feedback_terms": "Words added to BM25",
    "search.rerank": "Rerank with",
    "search.rerank_depth": "Rerank the first",
    "search.rerank_batch": "Rerank at once",
    "search.duplicates": "Leave out copies from cosine",
    "search.mmr": "Diversity: share of the score",
    "search.documents": "Documents",
    "search.types": "Types",
    "search.tags": "Tags",
    "search.pages": "Pages",
    "search.heading": "Heading",
    "search.after": "From",
    "search.before": "Until",
    "search.tools": "HTTP tools",
    "search.context": "Show",
    "search.neighbours": "Neighbours",
    "search.merge": "Join hits that touch",
    "search.order": "Order",
    "answer.provider": "Provider",
    "answer.model": "Model",
    "answer.mode": "Draws on",
    "answer.evidence": "Model reads",
    "answer.temperature": "Temperature",
    "answer.max_tokens": "Maximum answer length, tokens",
    "answer.context_tokens": "Context budget, tokens",
    "answer.memory": "Past interactions as examples",
    "answer.tool_calls": "Maximum number of tool calls",
    "answer.tools": "Tools it may call",
}


def chunker_name(chunker: str) -> str:
    """Name a chunker as people see it: sections are those of any format, not Markdown's alone."""
    return "sections" if chunker == "markdown" else chunker


def phrase(field: str) -> str:
    """The caption of a field within a sentence: ``top-k``, ``BM25 b``."""
    caption = CAPTIONS[field]
    return caption if caption[:2].isupper() else f"{caption[0].lower()}{caption[1:]}"
