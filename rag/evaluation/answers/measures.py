"""The measures of one answer, all in [0, 1], as far as its question lets them be taken."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.evaluation.answers.overlap import exact_match, rouge_l, token_f1
from rag.evaluation.relevance import judged_by_document
from rag.protocols import Embedder
from rag.types import Answer, Citation, Evidence, Question, SentenceCheck

NAMES = (
    "groundedness",
    "answer_relevance",
    "citation_precision",
    "citation_recall",
    "exact_match",
    "token_f1",
    "rouge_l",
    "refusal_correctness",
)
_MARKS = re.compile(r"(?:(?<!\s)\s++)?\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*+\]|[“”]")


def measured(question: Question, answer: Answer, embedder: Embedder) -> dict[str, float]:
    """The measures of an answer by name; those that do not apply are absent.

    A question that the documents do not answer has ``refusal_correctness`` alone: 1 where it was
    refused. One that they answer has 0 for an answer that was refused, in every measure.
    """
    refused = answer.status == "refused"
    if not question.answerable:
        return {"refusal_correctness": float(refused)}
    answer_text = "" if refused else plain_answer(answer.text)
    values = {
        "refusal_correctness": float(not refused),
        "groundedness": 0.0 if refused else groundedness(answer.sentences),
        "answer_relevance": relevance(question.text, answer_text, embedder),
    }
    if any(label.grade > 0 for label in question.evidence):
        values |= citation_figures(question, () if refused else answer.citations)
    if question.answer:
        values["exact_match"] = exact_match(answer_text, question.answer)
        values["token_f1"] = token_f1(answer_text, question.answer)
        values["rouge_l"] = rouge_l(answer_text, question.answer)
    return values


def plain_answer(text: str) -> str:
    """An answer without marks of citations and of quotations."""
    return " ".join(_MARKS.sub("", text).split())


def groundedness(sentences: Sequence[SentenceCheck]) -> float:
    """The share of claims that their sources support; 0 where nothing is claimed."""
    if not sentences:
        return 0.0
    return sum(sentence.borne_out for sentence in sentences) / len(sentences)


def relevance(question: str, answer: str, embedder: Embedder) -> float:
    """Return the cosine similarity of an answer and its question, with negative values as 0.

    Use it to compare answers to one question. Its absolute value means little because embedders
    differ. Counting shared words would not separate right answers from wrong answers any better.
    """
    if not answer:
        return 0.0
    (query_vector,) = embedder.embed([question], "query")
    (vector,) = embedder.embed([answer], "document")
    return min(max(float(query_vector @ vector), 0.0), 1.0)


def citation_figures(question: Question, citations: Sequence[Citation]) -> dict[str, float]:
    """Shares of the cited passages that hold a relevant label, and of these that are cited.

    Labels of several documents that say the same are all wanted: recall is what a single right
    citation rarely reaches.
    """
    labels = [label for label in question.evidence if label.grade > 0]
    by_document = judged_by_document(question)
    holding = [any(_holds(one, label, by_document) for label in labels) for one in citations]
    cited = [any(_holds(one, label, by_document) for one in citations) for label in labels]
    return {
        "citation_precision": sum(holding) / len(holding) if holding else 0.0,
        "citation_recall": sum(cited) / len(cited),
    }


def _holds(citation: Citation, label: Evidence, by_document: bool) -> bool:
    chunk = citation.hit.chunk
    if chunk.document_id != label.document_id:
        return False
    return by_document or label.end is None or (chunk.start < label.end and label.start < chunk.end)
