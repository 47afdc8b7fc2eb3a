"""Everything a question can find: the steps from its words to one set of candidates."""

from __future__ import annotations

from collections.abc import Sequence

from rag.protocols import Embedder
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Asked, Candidates, best_by_words, join, nearest
from rag.retrieval.corpus import Corpus
from rag.retrieval.feedback import added_words, enriched
from rag.retrieval.filters import described
from rag.retrieval.query_transforms import transformed
from rag.retrieval.reranking import reranked
from rag.retrieval.stages import Timeline
from rag.types import Message, Vectors


def gather(
    question: str,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
    vector: Vectors | None = None,
    history: Sequence[Message] = (),
) -> tuple[Asked, Candidates]:
    """The question as it was asked in the end, and all candidates.

    ``vector`` (dimension,) is that of the question where it is known already; ``history`` is the
    conversation before it.
    """
    asked = transformed(question, recipe, corpus, timeline, vector, history)
    if corpus.allowed is not None:
        timeline.passed("filter", corpus.passages, len(corpus.allowed), described(recipe))
    found = _search(asked, recipe, corpus, timeline)
    if recipe.feedback:
        asked, found = _again(asked, found, recipe, corpus, timeline)
    if recipe.rerank:
        found = reranked(asked.question, found, recipe, corpus, timeline)
    return asked, found


def embed_question(question: str, embedder: Embedder) -> Vectors:
    """The unit vector of a question, shape (dimension,)."""
    vector: Vectors = embedder.embed([question], "query")[0]
    return vector


def _search(asked: Asked, recipe: SearchRecipe, corpus: Corpus, timeline: Timeline) -> Candidates:
    depth, of = recipe.candidates, _variants(asked)
    reach = corpus.passages if corpus.allowed is None else len(corpus.allowed)
    near = nearest(asked, corpus.dense, recipe, corpus.allowed)
    if recipe.mode != "lexical":
        timeline.passed("dense", reach, len(near.keys), f"nearest {depth} vectors{of}")
    words = best_by_words(asked, corpus.lexical, recipe, corpus.allowed)
    if recipe.mode != "dense":
        timeline.passed("lexical", reach, len(words.keys), f"best {depth} by BM25{of}")
    found = join(asked, near, words, corpus.dense, corpus.lexical, recipe)
    timeline.passed("fusion", len(near.keys) + len(words.keys), len(found), _how(recipe))
    return found


def _again(
    asked: Asked, first: Candidates, recipe: SearchRecipe, corpus: Corpus, timeline: Timeline
) -> tuple[Asked, Candidates]:
    """A second search with what the first passages add; its candidates are the candidates."""
    richer = enriched(asked, first, recipe, corpus)
    if richer is asked or (richer.near is None and richer.terms is None):
        timeline.passed("feedback", len(first), len(first), "nothing to add")
        return asked, first
    near = nearest(richer, corpus.dense, recipe, corpus.allowed)
    words = best_by_words(richer, corpus.lexical, recipe, corpus.allowed)
    found = join(richer, near, words, corpus.dense, corpus.lexical, recipe)
    timeline.passed("feedback", len(first), len(found), _added(richer, recipe, corpus))
    return richer, found


def _added(asked: Asked, recipe: SearchRecipe, corpus: Corpus) -> str:
    parts = [f"first {recipe.feedback} believed"]
    if asked.near is not None:
        parts.append(f"{recipe.feedback_weight:.0%} of the vector")
    if words := added_words(asked, corpus):
        parts.append("words " + ", ".join(words))
    return "; ".join(parts)


def _variants(asked: Asked) -> str:
    return f", of {1 + len(asked.variants)} wordings the best" if asked.variants else ""


def _how(recipe: SearchRecipe) -> str:
    if recipe.mode != "hybrid":
        return "one retriever, nothing to fuse"
    if recipe.fusion == "rrf":
        return f"reciprocal ranks, constant {recipe.rrf_k}, {recipe.dense_weight:.2f} on dense"
    return f"weighted, {recipe.dense_weight:.2f} on dense"
