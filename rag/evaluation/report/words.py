"""A recipe, a result and the metrics, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.results import QuestionResult
from rag.types import percent

_CUTS: Mapping[str, str] = {
    "fixed": "after a fixed length",
    "recursive": "at the ends of paragraphs, lines and sentences",
    "sentence": "at the ends of sentences",
    "markdown": "at headings",
    "page": "at the ends of pages",
}


def setting(value: Any) -> str:
    """The value of a recipe's field."""
    if value is None or value is False:
        return "off"
    return "on" if value is True else str(value)


def first_hits(
    results: Sequence[QuestionResult],
    unit: str,
    near: int = 10,
    mark: Callable[[str], str] = str,
) -> str:
    """Say how often the first hit is relevant, and one of the first ``near``.

    ``results`` are those with relevant passages. ``mark`` sets the figures off.
    """
    ranks = [item.first_relevant or near + 1 for item in results]
    counts = [sum(rank <= k for rank in ranks) for k in (1, near)]
    first, within = (
        mark(str(count) if len(ranks) < 20 else percent(count / len(ranks))) for count in counts
    )
    return (
        f"A right {unit} comes first for {first} of {counted(len(ranks), 'question')}, "
        f"and is among the first {near} for {within}."
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 question``, ``1,240 questions``; with ``plural`` if that is irregular."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def recipe_sentences(recipe: Recipe, threshold: float | None) -> list[str]:
    """Return the steps from a question to its passages, one sentence each."""
    return [
        _cutting(recipe.index),
        f"Passages and questions are embedded with the model “{recipe.index.embedder}”.",
        _searching(recipe.search),
        _sieving(recipe.search, threshold),
    ]


def _cutting(recipe: IndexRecipe) -> str:
    if recipe.chunker == "whole":
        return "Documents are not split: each is one passage."
    where = _CUTS.get(recipe.chunker, f"by the method “{recipe.chunker}”")
    overlap = (
        f"with an overlap of up to {recipe.chunk_overlap}"
        if recipe.chunk_overlap
        else "without overlap"
    )
    return (
        f"Documents are split {where}, into passages of at most {recipe.chunk_size} "
        f"{recipe.unit}, {overlap}."
    )


def _searching(recipe: SearchRecipe) -> str:
    if recipe.mode == "dense":
        return "Passages are found by dense search: the nearest vectors."
    if recipe.mode == "lexical":
        return (
            f"Passages are found by lexical search: BM25 with k1 {recipe.k1:g} and b {recipe.b:g}."
        )
    if recipe.fusion == "rrf":
        how = f"their ranks are merged (reciprocal rank fusion, constant {recipe.rrf_k})"
    elif recipe.fusion == "saturation":
        how = (
            "the cosine and bm25 / (bm25 + pivot) are merged (saturation, "
            f"pivot {recipe.bm25_pivot:g})"
        )
    elif recipe.fusion == "qdrant_rrf":
        how = (
            "their ranks, divided by the weights, are merged (reciprocal rank fusion of Qdrant, "
            f"constant {recipe.rrf_k})"
        )
    elif recipe.fusion != "weighted":
        how = f"the scores of each list, stretched alone, are merged ({recipe.fusion})"
    else:
        how = "their scores are merged"
    return (
        f"Passages are found by dense search (vectors) and lexical search (BM25); {how} "
        f"with {percent(recipe.dense_weight)} of the weight on dense."
    )


def _sieving(recipe: SearchRecipe, threshold: float | None) -> str:
    limit = "No threshold applies"
    if threshold is not None:
        what = "relevance" if recipe.relevance == "cosine" else "probability of being relevant"
        limit = f"Passages with a {what} below {threshold:g} are dropped"
    return f"{limit}; an answer uses the first {recipe.top_k}."
