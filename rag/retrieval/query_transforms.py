"""The question before it is searched: completed, spelled, reworded, answered on trial, embedded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from rag.errors import Cancelled, TouchstoneError
from rag.lexical import (
    LexicalIndex,
    OtherForm,
    complete_follow_up,
    respellings,
    synonyms,
)
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import QueryVariant, SearchQuery
from rag.retrieval.corpus import Corpus
from rag.retrieval.feedback import rocchio
from rag.retrieval.model_steps import contextualise, expand, hypothetical_passage
from rag.retrieval.timeline import Timeline
from rag.types import Message, StageName, Vectors, WordCorrection

LONGEST_SHOWN = 300
NO_SYNONYM = "every word of the question is in the index, or no synonym is"
NOTHING_CORRECTED = "every word is in the index, or no similar word is"
NO_MODEL = "there is no language model: answers are quotes"

M = TypeVar("M")
T = TypeVar("T")


def transform_query(
    question: str,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
    vector: Vectors | None = None,
    history: Sequence[Message] = (),
) -> SearchQuery:
    """The question as the retrievers are asked it.

    A follow-up is made complete first: from then on that is the question, which relevance and
    BM25 are measured with. ``vector`` (dimension,) is that of ``question``, where it is known.
    """
    plain, lexical = question, corpus.lexical
    if recipe.rewrite or history:
        question = _completed(question, recipe, corpus, timeline, history)

    # The words that are searched, and the text whose meaning is.
    reading = words = question
    corrections = list[WordCorrection]()
    if recipe.spelling == "question":
        reading, corrections = respell_question(question, lexical, timeline)
        words = reading
    elif recipe.spelling:
        words = correct_spelling(question, corpus, timeline)
    if recipe.synonyms:
        before = reading
        reading, forms = with_synonyms(reading, lexical, timeline)
        words = reading if words == before else _with_forms(words, synonyms(words, lexical))
        corrections += forms

    # What a language model adds: further wordings, and a hypothetical answer.
    wordings, passage = list[str](), ""
    if recipe.expansions:
        ask = partial(expand, reading, recipe.expansions)
        instead = "only the question itself is searched"
        written = try_transform("expansions", corpus.chat, ask, instead, timeline)
        if written is not None:
            wordings = written
            timeline.passed("expansions", 1, 1 + len(wordings), " · ".join(wordings))
    if recipe.hyde and recipe.mode == "lexical":
        timeline.passed("hyde", 1, 1, "lexical search only: nothing to embed")
    elif recipe.hyde:
        imagine = partial(hypothetical_passage, reading)
        instead = "only the question itself is embedded"
        passage = try_transform("hyde", corpus.chat, imagine, instead, timeline) or ""
        if passage:
            excerpt = passage if len(passage) <= LONGEST_SHOWN else passage[:LONGEST_SHOWN] + "…"
            timeline.passed("hyde", 1, 2, excerpt)

    texts = [reading, *wordings, *([passage] if passage else [])]
    rows = _embedded(texts, corpus, timeline, vector if reading == plain else None)
    return SearchQuery(
        vector=rows[0],
        words=words,
        near=middle(rows[0], rows[-1]) if passage else None,
        question=question,
        variants=tuple(map(QueryVariant, wordings, rows[1 : 1 + len(wordings)])),
        corrections=tuple(corrections),
    )


def middle(one: Vectors, other: Vectors) -> Vectors:
    """The mean of two unit vectors as a unit vector, shape (dimension,)."""
    return rocchio(one, other[None], 0.5)


def _completed(
    question: str,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
    history: Sequence[Message],
) -> str:
    """The question as it stands by itself: by a language model, or by the question before."""
    if not history:
        timeline.passed("rewrite", 1, 1, "there is no earlier turn")
        return question
    complete = None
    if recipe.rewrite:
        ask = partial(contextualise, question, history)
        instead = "the terms of the question before are used"
        complete = try_transform("rewrite", corpus.chat, ask, instead, timeline)
    if complete is None:
        complete = complete_follow_up(question, history)
        if recipe.rewrite or complete == question:
            return complete
    note = "complete as it is" if complete == question else f"complete: {complete}"
    timeline.passed("rewrite", 1, 1, note)
    return complete


def try_transform(
    name: StageName,
    model: M | None,
    ask: Callable[[M], T],
    instead: str,
    timeline: Timeline,
    count: int = 1,
) -> T | None:
    """Return the result of ``ask``; None if there is no model or the model fails.

    A failure records a stage with the reason, through which ``count`` items pass.
    """
    try:
        if model is not None:
            return ask(model)
        why = f"{NO_MODEL}; {instead}"
    except Cancelled:
        raise
    except TouchstoneError as error:
        why = f"{error.message} Therefore {instead}."
    timeline.passed(name, count, count, why, failed=True)
    return None


def _embedded(
    texts: Sequence[str], corpus: Corpus, timeline: Timeline, vector: Vectors | None
) -> Vectors:
    """Unit vectors, shape (len(texts), dimension); ``vector`` is that of the first, if known."""
    new = texts if vector is None else texts[1:]
    if corpus.queries is None:
        rows, cached = corpus.embedder.embed(new, "query") if new else None, 0
    else:
        rows, cached = corpus.queries.vectors(corpus.embedder, new) if new else (None, 0)
    cached += len(texts) - len(new)
    note = "embedding of the question" + f" and {len(texts) - 1} more" * (len(texts) > 1)
    if cached:
        note += ", from the cache" if cached == len(texts) else f", {cached} of them from the cache"
    timeline.passed("question", 1, 1, note)
    parts = [] if vector is None else [vector[None]]
    return np.concatenate([*parts, *([] if rows is None else [rows])])


def respell_question(
    question: str, lexical: LexicalIndex, timeline: Timeline
) -> tuple[str, list[WordCorrection]]:
    """The question with its mistyped words as they were probably meant, and these words."""
    words = list(respellings(question, lexical))
    corrections = [WordCorrection(question[start:end], word) for start, end, word in words]
    note = ", ".join(f"{correction.typed} → {correction.read}" for correction in corrections)
    timeline.passed("spelling", 1, 1, note or NOTHING_CORRECTED)
    return _with_words(question, words), corrections


def with_synonyms(
    question: str, lexical: LexicalIndex, timeline: Timeline
) -> tuple[str, list[WordCorrection]]:
    """The question with synonyms after each word that no passage has, and these words."""
    forms = synonyms(question, lexical)
    typed = [(question[form.start : form.end], form.form) for form in forms]
    timeline.passed(
        "synonyms", 1, 1, ", ".join(f"{word}: {form}" for word, form in typed) or NO_SYNONYM
    )
    read = [WordCorrection(word, f"{word} ({form})") for word, form in typed]
    return _with_forms(question, forms), read


def _with_forms(question: str, forms: Iterable[OtherForm]) -> str:
    return _with_words(question, ((form.end, form.end, f" ({form.form})") for form in forms))


def _with_words(question: str, words: Iterable[tuple[int, int, str]]) -> str:
    """The question with words in the places of spans of it."""
    result, done = "", 0
    for start, end, word in words:
        result, done = f"{result}{question[done:start]}{word}", end
    return result + question[done:]


def correct_spelling(question: str, corpus: Corpus, timeline: Timeline) -> str:
    """The question as BM25 should read it. Words, not index terms: a stem is no word to show."""
    corrections = corpus.lexical.corrections(question)
    passages = corpus.lookup([correction.key for correction in corrections])
    words = list[tuple[int, int, str]]()
    for correction in corrections:
        chunk = passages.get(correction.key)
        word = correction.term
        if chunk:  # as the passage spells it, not as the index has it
            text = chunk[0].indexed_text
            spans = corpus.lexical.analyzer.spans(text)
            written = (text[start:end] for term, start, end in spans if term == word)
            word = next(written, word).lower()
        words.append((correction.start, correction.end, word))
    note = ", ".join(f"{question[start:end]} → {word}" for start, end, word in words)
    timeline.passed("spelling", 1, 1, note or NOTHING_CORRECTED)
    return _with_words(question, words)
