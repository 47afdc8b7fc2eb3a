"""A recipe, a result and the metrics, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag.evaluation.report.content import RunReport
from rag.recipe import IndexRecipe, Recipe, SearchRecipe

TITLES: Mapping[str, str] = {
    "ndcg": "nDCG",
    "recall": "Recall",
    "precision": "Precision",
    "mrr": "MRR",
    "hit": "Hit rate",
    "map": "MAP",
    "f1": "F1",
    "span_recall": "Span recall",
    "span_precision": "Span precision",
    "span_iou": "Span IoU",
    "token_recall": "Span recall in tokens",
    "token_precision": "Span precision in tokens",
    "token_iou": "Span IoU in tokens",
    "correct_refusal": "Correct refusals",
    "false_refusal": "False refusals",
    "groundedness": "Groundedness",
    "answer_relevance": "Answer relevance",
    "citation_precision": "Citation precision",
    "citation_recall": "Citation recall",
    "exact_match": "Exact match",
    "token_f1": "Token F1",
    "rouge_l": "ROUGE-L",
    "refusal_correctness": "Correct decisions",
    "judged_groundedness": "Groundedness, judged by a model",
    "judged_correctness": "Correctness, judged by a model",
}

DEFINITIONS: Mapping[str, str] = {
    "ndcg": "How close the order is to the ideal one: the gain of every relevant {unit} among "
    "the first k, discounted by the logarithm of its rank, divided by the best possible sum. "
    "1 is ideal.",
    "recall": "The share of all relevant {unit}s that are among the first k.",
    "precision": "The share of the first k that is relevant, divided by k even where fewer "
    "came back.",
    "mrr": "One divided by the rank of the first relevant {unit}; 0 if none is among the first k.",
    "hit": "The share of questions with something relevant among the first k.",
    "map": "Precision at the rank of every relevant {unit} among the first k, summed and "
    "divided by how many relevant ones there are.",
    "f1": "The harmonic mean of precision and recall.",
    "span_recall": "The share of the characters of the evidence that the first k cover.",
    "span_precision": "The share of the characters of the first k that are evidence.",
    "span_iou": "Characters of evidence among the first k, divided by all characters of either.",
    "token_recall": "The share of the tokens of the evidence that the first k cover.",
    "token_precision": "The share of the tokens of the first k that are evidence.",
    "token_iou": "Tokens of evidence among the first k, divided by all tokens of either.",
    "correct_refusal": "The share of questions that the documents do not answer for which "
    "nothing came back.",
    "false_refusal": "The share of questions that the documents do answer for which nothing "
    "came back.",
    "groundedness": "The share of an answer's sentences that the passages they cite bear out.",
    "answer_relevance": "The mean of the cosine of question and answer and of the share of the "
    "question's words that the answer takes up.",
    "citation_precision": "The share of the cited passages that hold a relevant label.",
    "citation_recall": "The share of the relevant labels whose passage is cited.",
    "exact_match": "The share of answers that are the expected one, case, punctuation and "
    "articles aside.",
    "token_f1": "The harmonic mean of the shares of words that answer and expected answer have "
    "of each other.",
    "rouge_l": "The same of the longest sequence of words that stands in both in one order.",
    "refusal_correctness": "The share of questions that were answered where the documents answer "
    "them, and refused where they do not.",
    "judged_groundedness": "The share of an answer's sentences that a language model calls borne "
    "out.",
    "judged_correctness": "How right a language model calls the answer beside the expected one.",
}

_CUTS: Mapping[str, str] = {
    "fixed": "after a fixed length",
    "recursive": "at the ends of paragraphs, lines and sentences",
    "sentence": "at the ends of sentences",
    "markdown": "at headings",
    "page": "at the ends of pages",
}


def title(metric: str) -> str:
    """``ndcg@10`` as ``nDCG@10``."""
    measure, _, k = metric.partition("@")
    name = TITLES.get(measure, measure.replace("_", " "))
    return f"{name}@{k}" if k else name


def setting(value: Any) -> str:
    """The value of a recipe's field."""
    if value is None or value is False:
        return "off"
    return "on" if value is True else str(value)


def headline(report: RunReport) -> str:
    """What a stakeholder wants to know first, as one sentence."""
    asked, unit = len(report.judged), report.unit
    near = min(10, max(report.cutoffs, default=10))
    first, within = report.first_within(1), report.first_within(near)
    shown = [str(each) if asked < 20 else f"{each / asked:.0%}" for each in (first, within)]
    return (
        f"A right {unit} comes first for {shown[0]} of {counted(asked, 'question')}, and is among "
        f"the first {near} for {shown[1]}."
    )


def counted(number: int, noun: str) -> str:
    """``1 question``, ``1,240 questions``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def signed(number: float, digits: int = 3) -> str:
    """``+0.031`` or ``−0.031``, with a real minus sign."""
    return f"{number:+.{digits}f}".replace("-", "−")


def recipe_sentences(recipe: Recipe, threshold: float | None) -> list[str]:
    """How questions were answered with passages, step by step."""
    return [
        _cutting(recipe.index),
        f"Passages and questions become vectors with the model “{recipe.index.embedder}”.",
        _searching(recipe.search),
        _sieving(recipe.search, threshold),
    ]


def _cutting(recipe: IndexRecipe) -> str:
    if recipe.chunker == "whole":
        return "Documents are not cut: each is one passage."
    where = _CUTS.get(recipe.chunker, f"by the method “{recipe.chunker}”")
    overlap = (
        f"neighbours share up to {recipe.chunk_overlap}"
        if recipe.chunk_overlap
        else "without overlap"
    )
    return (
        f"Documents are cut {where}, into passages of at most {recipe.chunk_size} "
        f"{recipe.unit}, {overlap}."
    )


def _searching(recipe: SearchRecipe) -> str:
    if recipe.mode == "dense":
        return "Passages are found by meaning: the nearest vectors."
    if recipe.mode == "lexical":
        return f"Passages are found by their words: BM25 with k1 {recipe.k1:g} and b {recipe.b:g}."
    if recipe.fusion == "rrf":
        how = f"their ranks are merged (reciprocal rank fusion, constant {recipe.rrf_k})"
    else:
        how = "their scores are merged"
    return (
        f"Passages are found by meaning (vectors) and by words (BM25); {how} with "
        f"{recipe.dense_weight:.0%} of the weight on meaning."
    )


def _sieving(recipe: SearchRecipe, threshold: float | None) -> str:
    limit = "Nothing is left out for a low relevance"
    if threshold is not None:
        what = "relevance" if recipe.relevance == "cosine" else "probability of being relevant"
        limit = f"Passages with a {what} below {threshold:g} are left out"
    return f"{limit}; an answer is written from the first {recipe.top_k}."
