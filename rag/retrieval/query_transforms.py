"""The question before it is searched: completed, spelled, reworded, answered on trial, embedded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from rag.errors import Cancelled, TouchstoneError
from rag.lexical import Correction
from rag.protocols import ChatModel
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Asked, QueryVariant
from rag.retrieval.corpus import Corpus
from rag.retrieval.query_rewriting import contextualise, expand, hypothetical_passage
from rag.retrieval.timeline import Timeline
from rag.types import Message, StageName, Vectors

LONGEST_SHOWN = 300
NO_MODEL = "there is no language model: answers are made of quotes"

T = TypeVar("T")


def transformed(
    question: str,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
    vector: Vectors | None = None,
    history: Sequence[Message] = (),
) -> Asked:
    """The question as the retrievers are asked it.

    A follow-up is made complete first: from then on that is the question, which relevance and
    BM25 are measured with. ``vector`` (dimension,) is that of ``question``, where it is known.
    """
    plain = question
    if recipe.rewrite:
        question = _completed(question, corpus, timeline, history)
    words = corrected(question, corpus, timeline) if recipe.spelling else question
    others = _reworded(question, recipe, corpus, timeline) if recipe.expansions else []
    passage = _imagined(question, recipe, corpus, timeline) if recipe.hyde else ""
    texts = [question, *others, *([passage] if passage else [])]
    rows = _embedded(texts, corpus, timeline, vector if question == plain else None)
    return Asked(
        vector=rows[0],
        words=words,
        near=middle(rows[0], rows[-1]) if passage else None,
        question=question,
        variants=tuple(map(QueryVariant, others, rows[1 : 1 + len(others)])),
    )


def middle(one: Vectors, other: Vectors) -> Vectors:
    """The mean of two unit vectors as a unit vector, shape (dimension,)."""
    both = one.astype(np.float64) + other.astype(np.float64)
    length = float(np.linalg.norm(both))
    return one if length == 0 else np.asarray(both / length, np.float32)


def _completed(
    question: str, corpus: Corpus, timeline: Timeline, history: Sequence[Message]
) -> str:
    if not history:
        timeline.passed("rewrite", 1, 1, "nothing was said before")
        return question
    complete = _asked(
        "rewrite",
        "the question is searched as it is",
        lambda chat: contextualise(question, history, chat),
        corpus,
        timeline,
    )
    if complete is None:
        return question
    note = "complete as it is" if complete == question else f"complete: {complete}"
    timeline.passed("rewrite", 1, 1, note)
    return complete


def _reworded(question: str, recipe: SearchRecipe, corpus: Corpus, timeline: Timeline) -> list[str]:
    wordings = _asked(
        "expansions",
        "only the question itself is searched",
        lambda chat: expand(question, recipe.expansions, chat),
        corpus,
        timeline,
    )
    if wordings is None:
        return []
    timeline.passed("expansions", 1, 1 + len(wordings), " · ".join(wordings))
    return wordings


def _imagined(question: str, recipe: SearchRecipe, corpus: Corpus, timeline: Timeline) -> str:
    if recipe.mode == "lexical":
        timeline.passed("hyde", 1, 1, "words alone are searched: nothing to embed")
        return ""
    passage = _asked(
        "hyde",
        "only the question itself is embedded",
        lambda chat: hypothetical_passage(question, chat),
        corpus,
        timeline,
    )
    if passage is None:
        return ""
    shown = passage if len(passage) <= LONGEST_SHOWN else passage[:LONGEST_SHOWN] + "…"
    timeline.passed("hyde", 1, 2, shown)
    return passage


def _asked(
    name: StageName,
    instead: str,
    ask: Callable[[ChatModel], T],
    corpus: Corpus,
    timeline: Timeline,
) -> T | None:
    """What the language model gave; None after a stage that says why it gave nothing."""
    if corpus.chat is None:
        timeline.passed(name, 1, 1, f"{NO_MODEL}; {instead}", failed=True)
        return None
    try:
        return ask(corpus.chat)
    except Cancelled:
        raise
    except TouchstoneError as error:
        timeline.passed(name, 1, 1, f"{error.message} Therefore {instead}.", failed=True)
        return None


def _embedded(
    texts: Sequence[str], corpus: Corpus, timeline: Timeline, vector: Vectors | None
) -> Vectors:
    """Unit vectors, shape (len(texts), dimension); ``vector`` is that of the first, if known."""
    new = texts if vector is None else texts[1:]
    if corpus.queries is None:
        rows, known = corpus.embedder.embed(new, "query") if new else None, 0
    else:
        rows, known = corpus.queries.vectors(corpus.embedder, new) if new else (None, 0)
    known += len(texts) - len(new)
    timeline.passed("question", 1, 1, _how(len(texts), known))
    parts = [] if vector is None else [vector[None]]
    return np.concatenate([*parts, *([] if rows is None else [rows])])


def _how(texts: int, known: int) -> str:
    what = "embedding of the question"
    if texts > 1:
        what += f" and {texts - 1} more"
    if known == texts:
        return f"{what}, from the cache"
    return f"{what}, {known} of them from the cache" if known else what


def corrected(question: str, corpus: Corpus, timeline: Timeline) -> str:
    """The question as BM25 should read it. Words, not index terms: a stem is no word to show."""
    corrections = corpus.lexical.corrections(question)
    passages = corpus.lookup([correction.key for correction in corrections])
    words, result, end = list[str](), "", 0
    for correction in corrections:
        chunk = passages.get(correction.key)
        word = _written(correction, chunk[0].text, corpus) if chunk else correction.term
        words.append(f"{question[correction.start : correction.end]} → {word}")
        result, end = result + question[end : correction.start] + word, correction.end
    note = ", ".join(words) or "every word is known, or nothing known is near"
    timeline.passed("spelling", 1, 1, note)
    return result + question[end:]


def _written(correction: Correction, text: str, corpus: Corpus) -> str:
    """How a passage that holds the term writes it."""
    spans = corpus.lexical.analyzer.spans(text)
    written = (text[start:end] for term, start, end in spans if term == correction.term)
    return next(written, correction.term).lower()
