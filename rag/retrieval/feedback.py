"""Pseudo-relevance feedback: the first passages found are believed, and enrich the question.

The vector moves towards theirs (Rocchio 1971, "Relevance feedback in information retrieval");
their telling words join the BM25 query (RM3: Abdul-Jaleel et al., "UMass at TREC 2004").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Candidates, SearchQuery, best_by_words, join, nearest
from rag.retrieval.corpus import Corpus
from rag.retrieval.fusion import fused_scores, ranking
from rag.retrieval.timeline import Timeline
from rag.types import Keys, Scores, Vectors, percent

TERMS_SHARE = 0.5
"""Share of the added words in the BM25 query: what Anserini and Pyserini take for RM3."""


def search_with_feedback(
    search_query: SearchQuery,
    first: Candidates,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
) -> tuple[SearchQuery, Candidates]:
    """A second search with what the first passages add; its candidates are the candidates."""
    richer = add_feedback(search_query, first, recipe, corpus)
    if richer is search_query or (richer.near is None and richer.terms is None):
        timeline.passed("feedback", len(first), len(first), "nothing to add")
        return search_query, first
    near = nearest(richer, corpus.dense, recipe, corpus.allowed)
    words = best_by_words(richer, corpus.lexical, recipe, corpus.allowed)
    rankings = richer, near, words, corpus.dense, corpus.lexical, recipe
    second = join(*rankings, corpus.default_threshold)
    timeline.passed("feedback", len(first), len(second), _added(richer, recipe, corpus))
    return richer, second


def _added(search_query: SearchQuery, recipe: SearchRecipe, corpus: Corpus) -> str:
    parts = [f"first {recipe.feedback} assumed relevant"]
    if search_query.near is not None:
        parts.append(f"{percent(recipe.feedback_weight)} of the vector")
    if words := added_words(search_query, corpus):
        parts.append("words " + ", ".join(words))
    return "; ".join(parts)


def add_feedback(
    search_query: SearchQuery, first: Candidates, recipe: SearchRecipe, corpus: Corpus
) -> SearchQuery:
    """The question with what its first ``recipe.feedback`` passages add to it."""
    scores = fused_scores(first, recipe)
    believed = ranking(first.keys, scores)[: recipe.feedback]
    keys = first.keys[believed]
    if not len(keys):
        return search_query
    near, terms = search_query.near, search_query.terms
    if recipe.feedback_weight and recipe.mode != "lexical":
        vector = search_query.vector if near is None else near
        near = rocchio(vector, corpus.dense.vectors(keys), recipe.feedback_weight)
    if recipe.feedback_terms and recipe.mode != "dense":
        model = _language_model(keys, scores[believed], corpus)
        terms = rm3(corpus.lexical.terms(search_query.words), model, recipe.feedback_terms)
    return replace(search_query, near=near, terms=terms)


def rocchio(query: Vectors, believed: Vectors, weight: float) -> Vectors:
    """``(1 - weight) * query + weight * mean(believed)`` as a unit vector, shape (dimension,).

    ``believed`` has shape (n, dimension).
    """
    exact = (1 - weight) * query.astype(np.float64) + weight * believed.astype(np.float64).mean(0)
    length = float(np.linalg.norm(exact))
    return query if length == 0 else np.asarray(exact / length, np.float32)


def rm3(query: Mapping[str, float], model: Mapping[str, float], most: int) -> dict[str, float]:
    """The query with the ``most`` likeliest words of the believed passages.

    Both are brought to the same sum, so that scores stay those of a question of its length; ties
    break by word.
    """
    best = dict(sorted(model.items(), key=lambda item: (-item[1], item[0]))[:most])
    total, length = sum(best.values()), sum(query.values())
    if not total:
        return dict(query)
    mixed = {term: (1 - TERMS_SHARE) * weight for term, weight in query.items()}
    for term, share in best.items():
        mixed[term] = mixed.get(term, 0.0) + TERMS_SHARE * length * share / total
    return mixed


def _language_model(keys: Keys, scores: Scores, corpus: Corpus) -> dict[str, float]:
    """Return the probability of each term in the pseudo-relevant passages.

    Passages with better scores have more weight.
    """
    key_list = [int(key) for key in keys]
    passages = corpus.lookup(key_list)
    belief = scores / scores.sum() if scores.min() > 0 else np.full(len(scores), 1 / len(scores))
    model: Counter[str] = Counter()
    for key, share in zip(key_list, belief.tolist(), strict=True):
        if key in passages:
            text = passages[key][0].indexed_text
            terms = Counter(corpus.lexical.analyzer.query_tokens(text))
            length = sum(terms.values())
            for term, count in terms.items():
                model[term] += share * count / length
    return dict(model)


def added_words(search_query: SearchQuery, corpus: Corpus) -> list[str]:
    """The terms that feedback brought in, heaviest first."""
    terms = search_query.terms if isinstance(search_query.terms, Mapping) else {}
    own = corpus.lexical.terms(search_query.words)
    return [term for term, _ in sorted(terms.items(), key=lambda item: -item[1]) if term not in own]
