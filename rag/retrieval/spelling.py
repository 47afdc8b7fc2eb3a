"""Words of the question that the corpus does not know give way to near ones that it knows."""

from __future__ import annotations

from rag.lexical import Correction
from rag.retrieval.corpus import Corpus
from rag.retrieval.timeline import Timeline


def corrected(question: str, corpus: Corpus, timeline: Timeline) -> str:
    """The question as BM25 should read it. Words, not index terms: a stem is no word to show."""
    found = corpus.lexical.corrections(question)
    passages = corpus.lookup([each.key for each in found])
    words, result, end = list[str](), "", 0
    for each in found:
        chunk = passages.get(each.key)
        word = _written(each, chunk[0].text, corpus) if chunk else each.term
        words.append(f"{question[each.start : each.end]} → {word}")
        result, end = result + question[end : each.start] + word, each.end
    note = ", ".join(words) or "every word is known, or nothing known is near"
    timeline.passed("spelling", 1, 1, note)
    return result + question[end:]


def _written(correction: Correction, text: str, corpus: Corpus) -> str:
    """How a passage that holds the term writes it."""
    spans = corpus.lexical.analyzer.spans(text)
    found = (text[start:end] for term, start, end in spans if term == correction.term)
    return next(found, correction.term).lower()
