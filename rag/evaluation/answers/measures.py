"""The measures of one answer, all in [0, 1], as far as its question lets them be taken.

Exact match and F1 are those of SQuAD's evaluation script (Rajpurkar et al., EMNLP 2016): lower
case, without punctuation, articles and spare white space. ROUGE-L is Lin's (ACL Workshop 2004): F1
of the longest common subsequence, of words cut as the package ``rouge-score`` does without stems.
Containment of the expected answer is in ``rag.evaluation.answers.containment``.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

from rag.answering.citations import answer_and_more
from rag.evaluation.answers.containment import contains_answer
from rag.evaluation.relevance import judged_by_document
from rag.lexical import analyzer
from rag.protocols import Embedder
from rag.types import Answer, Citation, Evidence, Question, SentenceCheck

CONTAINMENT = "answer_containment"
"""1 where an answer contains the expected one, else 0; absent where that has nothing to find."""
_MARKS = re.compile(r"(?:(?<!\s)\s++)?\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*+\]|[“”]")

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_NOT_WORD = re.compile(r"[^a-z0-9]+")


def measured(question: Question, answer: Answer, embedder: Embedder) -> dict[str, float]:
    """The measures of an answer by name; those that do not apply are absent.

    A question that the documents do not answer has ``refusal_correctness`` alone: 1 where it was
    refused. One that they answer has 0 for an answer that was refused, in every measure. A doubtful
    answer does not contain the expected one: it shows the nearest passages. Of quotes, the one that
    answers is compared with the question and the expected answer; groundedness and citations are
    those of all.
    """
    refused = answer.status == "refused"
    if not question.answerable:
        return {"refusal_correctness": float(refused)}
    answer_text = "" if refused else plain_answer(quote_that_answers(answer))
    values = {
        "refusal_correctness": float(not refused),
        "groundedness": 0.0 if refused else groundedness(answer.sentences),
        "answer_relevance": relevance(question.text, answer_text, embedder),
    }
    if any(label.grade > 0 for label in question.evidence):
        values |= citation_figures(question, () if refused else answer.citations)
    if question.answer:
        answered = not refused and answer.state != "doubtful"
        contained = contains_answer(answer_text, question.answer, question.text)
        if contained is not None:
            values[CONTAINMENT] = float(answered and contained)
        values["exact_match"] = exact_match(answer_text, question.answer)
        values["token_f1"] = token_f1(answer_text, question.answer)
        values["rouge_l"] = rouge_l(answer_text, question.answer)
    return values


def lacks_expected(metrics: Mapping[str, float]) -> bool:
    """Whether an answer without doubt does not contain the expected one, by its measures.

    An answer that a judge calls right says it in other words.
    """
    return (
        metrics.get(CONTAINMENT) == 0
        and not metrics.get("false_doubt")
        and bool(metrics.get("refusal_correctness", 1.0))
        and metrics.get("judged_correctness", 0.0) < 1
    )


def has_expected(metrics: Mapping[str, float]) -> bool:
    """Whether an answer without doubt contains the expected one, by its measures."""
    return metrics.get(CONTAINMENT) == 1 and not metrics.get("false_doubt")


def quote_that_answers(answer: Answer) -> str:
    """The text of an answer without the quotes that stand folded below the one that answers."""
    return answer_and_more(answer.text, [one.n for one in answer.citations if one.answers])[0]


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


def normalised(text: str) -> str:
    """A text as SQuAD compares it."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, expected: str) -> float:
    """1 where both are the same once normalised, else 0."""
    return float(normalised(answer) == normalised(expected))


def token_f1(answer: str, expected: str) -> float:
    """The harmonic mean of the shares of words that either has of the other; 0 to 1."""
    answer_words, expected_words = normalised(answer).split(), normalised(expected).split()
    if not answer_words or not expected_words:
        return float(answer_words == expected_words)
    shared = sum((Counter(answer_words) & Counter(expected_words)).values())
    return _f1(shared, len(answer_words), len(expected_words))


def rouge_l(answer: str, expected: str) -> float:
    """F1 of the longest sequence of words that stands in both in the same order; 0 to 1."""
    answer_words, expected_words = _words(answer), _words(expected)
    if not answer_words or not expected_words:
        return 0.0
    # The length of the longest common subsequence
    best = [0] * (len(expected_words) + 1)
    for word in answer_words:
        before = 0
        for place, other_word in enumerate(expected_words, start=1):
            previous = best[place]
            best[place] = before + 1 if word == other_word else max(best[place], best[place - 1])
            before = previous
    return _f1(best[-1], len(answer_words), len(expected_words))


def _words(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", text.lower()).split()


def _f1(shared: int, answer_length: int, expected_length: int) -> float:
    return 2 * shared / (answer_length + expected_length) if shared else 0.0


_WORD = re.compile(r"\S+")


def nearest_part(text: str, expected: str, length: int) -> str:
    """Return whole words of a text, up to ``length`` characters, with most words of ``expected``.

    They stand in the middle where they can. An ellipsis marks an end that is left out.
    """
    words = list(_WORD.finditer(text))
    if len(text) <= length:
        return text
    cut = analyzer("auto").of(f"{expected} {text}")
    wanted = set(cut.query_tokens(expected))
    held = [wanted.intersection(cut.tokens(word.group())) for word in words]
    ends, end = list[int](), 0
    for start, word in enumerate(words):
        end = max(end, start + 1)
        while end < len(words) and words[end].end() - word.start() <= length:
            end += 1
        ends.append(end)
    counts = [len(set[str]().union(*held[start:end])) for start, end in enumerate(ends)]
    first = counts.index(max(counts))
    last = next((at for at in range(first, len(words)) if counts[at] < counts[first]), first + 1)
    start = (first + last - 1) // 2 if counts[first] else 0
    end = ends[start]
    part = text[words[start].start() : words[end - 1].end()]
    return f"{'… ' if start else ''}{part}{' …' if end < len(words) else ''}"
