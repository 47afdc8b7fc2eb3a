"""The state of an answer: answered, doubtful, refused or conflicting, with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from rag.answering.assessing.conflicts import (
    conflict_words,
    disagreeing,
    outdated_words,
    superseded_words,
)
from rag.answering.assessing.editions import moment_of
from rag.answering.assessing.evidence import (
    DEGREES,
    AnswerModel,
    EvidenceReader,
    QuoteEvidence,
    answer_model,
)
from rag.answering.assessing.key_terms import KeyTerm, key_terms, nearest_code, unknown_terms
from rag.answering.extractive import Dated
from rag.answering.reading import PassageReader
from rag.answering.stream import Finish
from rag.answering.vocabulary import Vocabulary
from rag.errors import ProviderError
from rag.fences import fenced, mark
from rag.languages import UNSEGMENTED
from rag.protocols import DecisionModel, Embedder
from rag.types import Answer, AnswerStatus, Assessment, Usage, percent

NO_CODE = 0.02
"""The greatest probability where no passage has a code of the question, what it names together
stands in different rows, no quote has the phone number or e-mail address that it asks for, or the
first quote only has the topic in common with it."""
NAMED, NAMED_MISSING = 3, 2
"""Terms that a reason names: of those that are there, and of those that are missing."""
_UNSUPPORTED = "Not every sentence of the answer is supported by the passages that it cites."
_NUMBERS = re.compile(r"(?<=”) \[\d+\](?=\s|\Z)")
"""The numbers of the citations behind quotations."""
_CODE = re.compile(r"\b[^\W\d_]+[-./]?\d[\w./-]*\w|\b[^\W\d_]+\d\b")


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """A decision model, what it is asked, and the least probability that quotes answer."""

    model: DecisionModel
    question: str
    least: float

    def checked(self, answer: Answer, assessment: Assessment) -> Assessment:
        """The same assessment, or a doubt. Where the model fails, the assessment stands."""
        texts = {"question": answer.trace.corrected, "quotes": _shown(answer)}
        fence = f"passage-{mark(*texts.values())}"
        parts = (f"{name}:\n{fenced(fence, text)}" for name, text in texts.items())
        try:
            stated = self.model.decide(self.question, "\n\n".join(parts)).value
        except ProviderError as error:
            reason = f"{assessment.reason} Not checked by the decision model: {error.message}"
            return replace(assessment, reason=reason.strip())
        if stated >= self.least:
            return assessment
        reason = (
            f"The decision model gives {percent(stated)} that the quotes answer the question, and "
            f"{percent(self.least)} are needed."
        )
        return replace(assessment, state="doubtful", reason=reason)


@dataclass(frozen=True, slots=True)
class Assessor:
    """Assesses answers from one index."""

    embedder: Embedder
    reader: PassageReader
    words: Vocabulary
    edition: Callable[[], Dated | None] = lambda: None
    """The edition in force that an answer without a model rests on, if the question has a date."""
    sufficiency: Sufficiency | None = None

    def assess(self, answer: Answer) -> Assessment | None:
        """Assess a complete answer; None where the embedder fails.

        Under an answer without doubt only names, codes, figures and restrictions are missing: most
        right answers say the rest in words of their own.
        """
        assessment = self._judge(answer)
        if assessment is None or assessment.state != "answered":
            return assessment
        if self.sufficiency is not None:
            assessment = self.sufficiency.checked(answer, assessment)
        if assessment.state != "answered" or not assessment.missing:
            return assessment
        terms = key_terms(answer.trace.corrected, self.words)
        telling = {term.text for term in terms if term.restricts}
        missing = tuple(text for text in assessment.missing if text in telling)
        return replace(assessment, missing=missing)

    def _judge(self, answer: Answer) -> Assessment | None:
        if not answer.citations:
            return Assessment("doubtful", "The answer cites no passage.")
        assessment, edition = self._weighed(answer), self.edition()
        if assessment is None or edition is None:
            return assessment
        if all(citation.hit.document != edition.document for citation in answer.citations):
            return assessment
        return replace(assessment, reason=f"{assessment.reason} {edition.reason}".strip())

    def _weighed(self, answer: Answer) -> Assessment | None:
        evidence_reader = EvidenceReader(self.embedder, self.reader, self.words)
        try:
            evidence = evidence_reader.read(answer.trace, answer.citations, _quotations(answer))
        except ProviderError:
            return None
        model = answer_model(self.embedder.id)
        probability = round(probability_of(evidence, model), 4)
        missing_words = [
            one
            for one in evidence.missing
            if not UNSEGMENTED.search(one.text) and one.text.casefold() not in DEGREES
        ]
        shown = replace(evidence, missing=tuple(missing_words))
        missing = tuple(term.text for term in missing_words)
        # Quotations need no support: they are the documents' words.
        if answer.mode != "quotes" and not all(check.borne_out for check in answer.sentences):
            return Assessment("doubtful", _UNSUPPORTED, probability, missing)
        if probability < model.limit:
            return Assessment("doubtful", _doubt(shown, answer), probability, missing)
        question = answer.trace.corrected
        editions = disagreeing(answer.citations, self.reader, self.words, question)
        if editions and any(not term.indexed and term.restricts for term in evidence.missing):
            return Assessment("doubtful", _doubt(shown, answer), probability, missing)
        if editions:
            first, *others = (
                citation.hit
                for citation in answer.citations
                if citation.n in {edition.n for edition in editions}
            )
            apart = not all(self.reader.are_one_document(first, other) for other in others)
            reason = conflict_words(editions, self.reader.day, apart=apart)
            return Assessment("conflicting", reason, probability, missing, editions)
        reason = _borne_out(evidence)
        if unknown := unknown_terms(shown.missing, answer.trace):
            reason = f"{reason} No passage has {_named(unknown)}."
        elif shown.missing and Assessment("answered", "", probability).is_unsure(answer.mode):
            reason = f"{reason} {_unquoted(shown)}"
        if not moment_of(question):
            hits = {hit.chunk.key: hit for hit in (*answer.trace.hits, *answer.trace.candidates)}
            quoted = answer.citations[0]
            outdated = outdated_words(quoted, hits.values(), self.reader, self.words)
            reason = f"{reason} {outdated or superseded_words(answer.citations, self.reader)}"
            reason = reason.strip()
        return Assessment("answered", reason, probability, missing)


def probability_of(evidence: QuoteEvidence, model: AnswerModel) -> float:
    """The probability that the first quote is right; a gap leaves hardly any."""
    probability = model.probability(evidence.figures)
    no_value = evidence.figures["no_value"]
    lacks_code = any(term.kind == "code" and not term.indexed for term in evidence.missing)
    impossible = (
        *(lacks_code, evidence.apart, evidence.gap, no_value, evidence.unsaid),
        evidence.other_case,
    )
    return min(probability, NO_CODE) if any(impossible) else probability


def with_assessment(finish: Finish, assessor: Assessor | None) -> Finish:
    """The same end of an answer, with its state.

    It has none where it is not complete, or from general knowledge. ``assessor`` is not needed for
    answers that only refuse.
    """

    def assessed(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        answer = finish(text, usage, status, note)
        assessment: Assessment | None = None
        if answer.status == "refused":
            reason = answer.note.strip().removesuffix(".")
            reason = f"{reason[:1].upper()}{reason[1:]}." if reason else ""
            assessment = Assessment("refused", reason)
        elif assessor and answer.status == "complete" and answer.mode != "general":
            assessment = assessor.assess(answer)
        answering = _answering(answer, assessment)
        citations = (replace(one, answers=one.n in answering) for one in answer.citations)
        return replace(answer, assessment=assessment, citations=tuple(citations))

    return assessed


def _answering(answer: Answer, assessment: Assessment | None) -> Collection[int]:
    """The numbers of the citations whose quotes are the answer; none of an answer in doubt."""
    if answer.mode != "quotes" or assessment is None:
        return ()
    if assessment.state == "conflicting":
        return [edition.n for edition in assessment.editions]
    return [answer.citations[0].n] if assessment.state == "answered" else ()


def _borne_out(evidence: QuoteEvidence) -> str:
    """Say where the words of a question are, of which some may be nowhere."""
    telling = sorted(evidence.said, key=lambda term: -term.share)[:NAMED]
    *places, last = "the quotes" if evidence.several else "the quote", *evidence.above
    if not telling:
        return "The quote says it in other words than the question."
    named = _named([term for term in evidence.said if term in telling], "and", NAMED)
    listed = f"{', '.join(places)} or {last}" if places else last
    return f"{named} {'is' if len(telling) == 1 else 'are'} in {listed}."


def _quotations(answer: Answer) -> str:
    """All that an answer without a model quotes; a citation has only the first of its passage."""
    return _NUMBERS.sub("", answer.text) if answer.mode == "quotes" else ""


def _shown(answer: Answer) -> str:
    """The words of the documents that the reader of an answer sees."""
    return _quotations(answer) or "\n".join(one.hit.chunk.text for one in answer.citations)


def _doubt(evidence: QuoteEvidence, answer: Answer) -> str:
    unknown = unknown_terms(evidence.missing, answer.trace)
    if evidence.other_case:
        return f"The first quote is not about “{evidence.other_case}”."
    if evidence.gap:
        return f"No quoted passage has {evidence.gap}."
    if evidence.apart and all(term.indexed for term in evidence.apart):
        return f"No single row has {_named(evidence.apart, 'and', NAMED)}."
    if unknown:
        code = next((term.text for term in unknown if term.kind == "code"), "")
        near = nearest_code(code, set(_CODE.findall(_shown(answer)))) if code else ""
        return f"No passage has {_named(unknown)}." + (f" Most similar: {near}." if near else "")
    if evidence.no_value:
        return f"The first quote does not have {evidence.no_value}."
    if evidence.unsaid:
        return f"The first quote does not have {_named(evidence.unsaid)}."
    if evidence.missing:
        return _unquoted(evidence)
    return "The quotes have the words of the question, but hardly answer it."


def _unquoted(evidence: QuoteEvidence) -> str:
    """Say which key words of a question no quote has."""
    absent = [term for term in evidence.missing if term not in evidence.unquoted]
    if absent:
        return f"No quoted passage has {_named(absent)}."
    return f"No quote has {_named(evidence.missing)}, only the passage around it."


def _named(terms: Sequence[KeyTerm], last: str = "or", most: int = NAMED_MISSING) -> str:
    names = [f"“{term.text}”" if term.kind == "word" else term.text for term in terms[:most]]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
