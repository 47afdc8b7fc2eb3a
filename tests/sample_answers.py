"""The expected answers of the sample's questions, cited with the passages of their evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag import Citation, Hit, KnowledgeBase, Question
from rag.answering import PassageReader, Vocabulary
from rag.answering.checking import SentenceChecker
from rag.answering.statements.sentences import sentence_spans
from rag.search.corpus import StoredSources
from rag.services.indexing.index import lookup
from rag.storage import passages

BEST = 3  # the grade of what answers by itself


@dataclass(frozen=True)
class Expected:
    """A question with its citations, and its expected answer citing all of them everywhere."""

    question: Question
    citations: tuple[Citation, ...]
    text: str


def expected_answers(base: KnowledgeBase, set_name: str = "sample") -> list[Expected]:
    """All answerable questions of a set; those without an expected answer fail."""
    services, recipe = base._services, base.recipe()
    cut_id = services.indexes.current(base.id, recipe.index).cut_id
    questions = [each for each in base.questions.usable(set_name) if each.answerable]
    held = sorted({spot.document_id for each in questions for spot in each.evidence})
    with services.database.read() as connection:
        spans = passages.spans(connection, base.id, cut_id, held)
    find = lookup(services.database, base.id, cut_id)
    found = list[Expected]()
    for question in questions:
        keys = [
            key
            for spot in question.evidence
            if spot.grade >= BEST and spot.end is not None
            for key, start, end in spans[spot.document_id]
            if start < spot.end and spot.start < end
        ]
        distinct = list(dict.fromkeys(keys))
        passage = find(distinct)
        citations = tuple(
            Citation(n, Hit(*passage[key], rank=n, score=0.0, relevance=0.5, parts={}))
            for n, key in enumerate(distinct, start=1)
        )
        text = " ".join(cited_by(each, citations) for each in sentences(question.answer))
        found.append(Expected(question, citations, text))
    return found


def sentences(text: str) -> list[str]:
    """The sentences of an answer."""
    return [text[start:end] for start, end in sentence_spans(text)]


def cited_by(sentence: str, citations: Sequence[Citation]) -> str:
    """A sentence with the marks of citations before its full stop."""
    marks = "".join(f"[{each.n}]" for each in citations)
    return f"{sentence[:-1]} {marks}{sentence[-1]}"


def checker(base: KnowledgeBase, question: str, citations: Sequence[Citation]) -> SentenceChecker:
    """The check that answers of a base get."""
    services, recipe = base._services, base.recipe()
    index = services.indexes.current(base.id, recipe.index)
    return SentenceChecker(
        question,
        citations,
        embedder=services.remembering(recipe.index.embedder),
        reader=PassageReader(StoredSources(services, base.id, base.name)),
        words=Vocabulary(index.lexical, len(index.passages)),
    )
