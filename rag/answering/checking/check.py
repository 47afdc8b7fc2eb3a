"""Each claim of an answer compared with the passages that it cites, without a language model."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rag.answering.checking.figures import KnownFigures, blank_mentions, figures
from rag.answering.citations import Mention, mentions, quoted_mentions, words_of_quotation
from rag.answering.markup import unmarked
from rag.answering.reading import PassageReader
from rag.answering.statements.sentences import spans_of
from rag.answering.stream import Finish
from rag.answering.vocabulary import Terms, Vocabulary, terms_of
from rag.answering.words import WORD
from rag.languages import language
from rag.protocols import Embedder
from rag.types import Answer, AnswerStatus, Citation, SentenceCheck, Span, Usage, percent

_TABLE_RULE = re.compile(r"(?:[\s|:]|-(?!-))*+--")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)")
_CELL = re.compile(r"(?<=\| )[“„«][^|\n]*[”“»](?= ++\|)")
"""A quote in a cell of a table that shows two things side by side."""


@dataclass(frozen=True, slots=True)
class Claim:
    """``answer[start:end]`` says ``text`` (its marks of citations taken out), citing ``cited``."""

    start: int
    end: int
    text: str
    cited: tuple[int, ...]


def claims(answer: str, *, quoted: bool = False) -> list[Claim]:
    """Return the claims of an answer, in order.

    A citation mark belongs to the sentence before it in its line, also after the full stop. At the
    beginning of a line, it belongs to the sentence after it. Headings and lead-ins ("These are:")
    are claims only if they contain a number. ``quoted`` means that the answer consists of quotes:
    each quote is one claim, also in a cell of a table, and brackets in a quote belong to the
    document.
    """
    marks = quoted_mentions(answer) if quoted else mentions(answer)
    bare = blank_mentions(answer, marks)
    spans = list(_paragraphs(bare) if quoted else _sentences(bare))
    spans = [span for span in spans if _claims_something(bare, span)]
    owned = _owned(bare, spans, marks)
    parsed = list[Claim]()
    for number, (start, end) in enumerate(spans):
        mine = owned.get(number, [])
        cited = tuple(dict.fromkeys(n for mark in mine for n in mark.numbers))
        stop = max([end, *(mark.end for mark in mine)])
        begin = min([start, *(mark.start for mark in mine)])
        parsed.append(Claim(begin, stop, " ".join(unmarked(bare[start:end]).split()), cited))
    return parsed


def _paragraphs(text: str) -> Iterator[Span]:
    at = 0
    for part in text.split("\n\n"):
        if part.strip():
            start = at + len(part) - len(part.lstrip())
            if part.startswith("| "):
                yield from (cell.span() for cell in _CELL.finditer(text, start, at + len(part)))
            else:
                yield start, at + len(part.rstrip())
        at += len(part) + 2


def _sentences(text: str) -> Iterator[Span]:
    """Sentences, but what stands within one pair of quotation marks is not parted."""
    pending = list[Span]()
    for start, end in spans_of(text):
        if pending and "\n" in text[pending[-1][1] : start]:  # a quotation that nobody closed
            yield from pending
            pending = []
        pending.append((start, end))
        if not _is_open(text[pending[0][0] : end]):
            yield pending[0][0], end
            pending = []
    yield from pending


def _is_open(text: str) -> bool:
    low = "„" in text  # where “ closes
    opened = text.count("„" if low else "“") + text.count("«")
    closed = text.count("“" if low else "”") + text.count("»")
    return opened > closed


def _claims_something(bare: str, span: Span) -> bool:
    sentence = bare[slice(*span)].strip()
    if not any(map(str.isalnum, sentence)):
        return False
    line_start = bare.rfind("\n", 0, span[0]) + 1
    rest = bare.find("\n", span[1])
    if sentence.startswith("|") and rest >= 0:
        stop = bare.find("\n", rest + 1)
        if _TABLE_RULE.match(bare, rest + 1, len(bare) if stop < 0 else stop):
            return False  # the labels of a table
    if any(char.isdigit() for char in sentence):
        return True
    if _HEADING.match(bare[line_start : rest if rest >= 0 else len(bare)]):
        return False
    return not sentence.endswith((":", "?"))


def _owned(text: str, spans: Sequence[Span], marks: Sequence[Mention]) -> dict[int, list[Mention]]:
    """The marks that belong to each claim, by its number."""
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    by_owner: dict[int, list[Mention]] = {}
    for mark in marks:
        line = text.rfind("\n", 0, mark.start) + 1
        stop = text.find("\n", mark.end)
        stop = len(text) if stop < 0 else stop
        inside = bisect_right(lows, mark.start) - 1
        before = bisect_right(highs, mark.start) - 1
        behind = bisect_left(lows, mark.end)
        if inside >= 0 and mark.start < highs[inside]:
            owner = inside
        elif before >= 0 and highs[before] > line:
            owner = before
        elif behind < len(lows) and lows[behind] < stop:
            owner = behind
        else:
            owner = before
        if owner >= 0:
            by_owner.setdefault(owner, []).append(mark)
    return by_owner


_JOINED = re.compile(r"[-_]+")

NEAR = 0.9
"""Statements with so much of the words that the best one has say it just as well."""
SAYS = 0.5
"""The least share of a sentence's words that a statement has which says the same of something."""


@dataclass(frozen=True)
class StatementTerms:
    """A statement with its words and figures."""

    text: str
    terms: Terms

    @cached_property
    def figures(self) -> KnownFigures:
        """Its numbers."""
        return KnownFigures(self.text)


@dataclass(frozen=True)
class Evidence:
    """The passage behind a citation, with what stands over it: document, headings, columns."""

    text: str
    terms: Terms
    statements: Sequence[StatementTerms]

    @classmethod
    def of(cls, citation: Citation, reader: PassageReader, words: Vocabulary) -> Evidence:
        """Return the evidence of a citation."""
        hit = citation.hit
        statements, quote = reader.statements(hit), reader.quoted(citation)
        if quote.kind == "list":
            statements = [*statements, quote]
        above = [
            *(hit.chunk.heading, hit.chunk.context, hit.document),
            *(_JOINED.sub(" ", hit.document), reader.context(hit), reader.labels(hit)),
        ]
        if hit.chunk.page is not None:
            above.append(f"page {citation.page or hit.chunk.page}")
        compared = [
            StatementTerms(
                f"{statement.text} {statement.caption}".strip(), terms_of(statement, words)
            )
            for statement in statements
        ]
        joined = [entry.text for entry in compared]  # with columns, leads and notes
        text = "\n".join(filter(None, [hit.chunk.text, citation.quote, *joined, *above]))
        return cls(text, words.terms(text).union(*(entry.terms for entry in compared)), compared)

    @classmethod
    def together(cls, several: Sequence[Evidence]) -> Evidence:
        """Return the combined evidence of several passages."""
        if len(several) == 1:
            return several[0]
        return cls(
            "\n".join(evidence.text for evidence in several),
            frozenset[str]().union(*(evidence.terms for evidence in several)),
            [one for evidence in several for one in evidence.statements],
        )

    def nearest(self, weights: Mapping[str, float]) -> Sequence[StatementTerms]:
        """The statements that hold most of some weighted words, and about as much as the best."""
        shares = [
            sum(weights[term] for term in weights if term in one.terms) for one in self.statements
        ]
        best = max(shares, default=0.0)
        least = max(NEAR * best, SAYS * sum(weights.values()))
        return [
            one
            for one, share in zip(self.statements, shares, strict=True)
            if share and share >= least
        ]

    @cached_property
    def figures(self) -> KnownFigures:
        """Its numbers."""
        return KnownFigures(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words as they are written, without case."""
        return frozenset(WORD.findall(self.text.casefold()))


ENOUGH = 0.65
"""The least weighted share of a sentence's words that its passages hold where they support it."""
SOME = 0.4
"""With at least that share it may still say the same in other words: its cosine decides."""
CLOSE = 0.6
"""The cosine from which on a sentence and a statement of a passage say the same."""
QUESTION_WEIGHT = 0.5
"""What a word counts that the question has too: repeating the question says little."""
_COMPARED = 3  # statements of a passage that are embedded for a sentence
_NAME = re.compile(r"(?<![\w-])[^\W\d_]+(?:[-’'][^\W\d_]+)*(?!\w|[-./]?\d)")
_BEGINNING = re.compile(r"(?:^|[.!?:;…“„\"(·]\s*|[-–]\s+)$")
_CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages that begin every noun with a capital letter, where capitals make no name."""


class SentenceChecker:
    """Checks answers to one question by what they cite."""

    def __init__(
        self,
        question: str,
        citations: Sequence[Citation],
        *,
        embedder: Embedder | None = None,
        reader: PassageReader | None = None,
        words: Vocabulary | None = None,
        evidence: Mapping[int, Evidence] | None = None,
    ) -> None:
        """``evidence`` is what bears out a sentence, in place of the cited passages."""
        self._words = words or Vocabulary()
        self._reader = reader or PassageReader()
        self._question = question
        self._embedder = embedder
        self._citations = {citation.n: citation for citation in citations}
        self._evidence = evidence

    @cached_property
    def _question_terms(self) -> Terms:
        return self._words.terms(self._question)

    @cached_property
    def _cited(self) -> Mapping[int, Evidence]:
        return self._evidence or {
            n: Evidence.of(citation, self._reader, self._words)
            for n, citation in self._citations.items()
        }

    @cached_property
    def _all(self) -> Evidence:
        return Evidence.together(list(self._cited.values()))

    def check(self, text: str, *, quoted: bool = False) -> tuple[SentenceCheck, ...]:
        """A verdict on every sentence of an answer that claims something, in order.

        Those of an answer that is ``quoted`` are the documents' own, and are not compared.
        """
        named = language(text) not in _CAPITAL_NOUNS
        return tuple(
            SentenceCheck(claim.start, claim.end, "supported", claim.cited, share=1.0)
            if quoted or self._is_quote(claim)
            else self._weighed(claim, named)
            for claim in claims(text, quoted=quoted)
        )

    def _is_quote(self, claim: Claim) -> bool:
        """Whether a claim is a whole quote.

        What merely stands within a passage could be the end of its "15 days".
        """
        if not claim.cited or any(n not in self._citations for n in claim.cited):
            return False
        quotes = (self._citations[n].quote for n in claim.cited)
        return words_of_quotation(claim.text) in {
            words_of_quotation(unmarked(quote)) for quote in quotes
        }

    def _weighed(self, claim: Claim, named: bool) -> SentenceCheck:
        cited = [self._cited[n] for n in claim.cited if n in self._cited]
        evidence = Evidence.together(cited) if cited else self._all
        nowhere, elsewhere, otherwise = self._figures(claim, evidence)
        share = self._share(claim, evidence)
        reasons = [
            *(f"[{n}] is not one of the passages" for n in claim.cited if n not in self._cited),
            *([] if claim.cited else ["it cites no passage"]),
            *([f"no cited passage has {_listed(nowhere)}"] if nowhere else []),
            *([f"a passage that is not cited has {_listed(elsewhere)}"] if elsewhere else []),
            *([f"the passage has {_listed(otherwise)} in another unit"] if otherwise else []),
        ]
        changed = self._changed(claim, evidence)
        if changed:
            reasons.append(
                f"where the passage says this, it has another number than {_listed(changed)}"
            )
        other = evidence.figures.contradicts(claim.text)
        if other:
            reasons.append(f"the passage has another number than “{other}”")
        unknown = self._unknown_names(claim, evidence) if named else []
        if unknown:
            reasons.append(f"the passage does not name {_listed(unknown)}")
        cosine: float | None = None
        if share < ENOUGH:
            cosine = self._cosine(claim, evidence) if share >= SOME else None
            if cosine is None or cosine < CLOSE:
                reasons.append(f"the passage has few of its words ({percent(share)})")
        return SentenceCheck(
            claim.start,
            claim.end,
            "uncited" if not claim.cited else "unsupported" if reasons else "supported",
            claim.cited,
            tuple(reasons),
            (*nowhere, *otherwise),
            round(share, 4),
            None if cosine is None else round(cosine, 4),
        )

    def _changed(self, claim: Claim, evidence: Evidence) -> list[str]:
        """Figures that the passage has, but not where it says what the sentence says.

        There it has another one of the same unit.
        """
        weights = {
            term: weight
            for term, weight in self._weights(claim, evidence).items()
            if not any(char.isdigit() for char in term)
        }
        near = evidence.nearest(weights)
        changed = dict[str, None]()
        for figure in figures(claim.text) if near else ():
            if figure.unit and evidence.figures.holds(figure):
                is_stated = any(source.figures.holds(figure) for source in near)
                if not is_stated and any(source.figures.measures(figure) for source in near):
                    changed[figure.text] = None
        return list(changed)

    def _figures(self, claim: Claim, evidence: Evidence) -> tuple[list[str], ...]:
        """Figures that no cited passage has, those that only one has which is not cited, and those
        that the cited ones have of another unit of measure."""
        nowhere, elsewhere, otherwise = dict[str, None](), dict[str, None](), dict[str, None]()
        for figure in figures(claim.text):
            if evidence.figures.holds(figure):
                continue
            if self._all.figures.holds(figure):
                elsewhere[figure.text] = None
            elif evidence.figures.holds_otherwise(figure):
                otherwise[figure.text] = None
            else:
                nowhere[figure.text] = None
        return list(nowhere), list(elsewhere), list(otherwise)

    def _unknown_names(self, claim: Claim, evidence: Evidence) -> list[str]:
        """Capitalised words within a sentence that neither the passage nor the question has."""
        asked = {*re.findall(r"\w+", self._question.casefold())}
        unknown = dict[str, None]()
        for match in _NAME.finditer(claim.text):
            name = match.group()
            if not name[0].isupper() or _BEGINNING.search(claim.text[: match.start()]):
                continue
            terms = self._words.terms(name)
            parts = {part.casefold() for part in re.findall(r"\w+", name)}
            if evidence.figures.holds_month(name):
                continue
            if parts <= asked or parts <= evidence.words:
                continue
            if not terms <= evidence.terms | self._question_terms:
                unknown[name] = None
        return list(unknown)

    def _share(self, claim: Claim, evidence: Evidence) -> float:
        """The weighted share of a sentence's words that its passages hold; 0 to 1.

        A figure or month is there however it is written: "September 2" where they have 2025-09-02.
        """
        weights = self._weights(claim, evidence)
        total, there = sum(weights.values()), evidence.figures
        values = [one.text for one in figures(claim.text) if there.holds(one)]
        values += filter(there.holds_month, _NAME.findall(claim.text))
        said = evidence.terms | self._words.terms(" ".join(values))
        return sum(weights[term] for term in weights if term in said) / total if total else 1.0

    def _weights(self, claim: Claim, evidence: Evidence) -> Mapping[str, float]:
        """Return the weight of each term of a claim.

        Rare terms weigh more. Terms of the question weigh less.
        """
        terms = self._words.terms(claim.text)
        weights = self._words.rarities(terms, [evidence.terms])
        return {
            term: weights[term] * (QUESTION_WEIGHT if term in self._question_terms else 1.0)
            for term in sorted(terms)
        }

    def _cosine(self, claim: Claim, evidence: Evidence) -> float | None:
        """The cosine of a sentence with the statement that comes nearest to it."""
        if self._embedder is None or not evidence.statements:
            return None
        claim_terms = self._words.terms(claim.text)
        near = sorted(evidence.statements, key=lambda one: -_overlap(claim_terms, one.terms))
        texts = [claim.text, *(statement.text for statement in near[:_COMPARED])]
        vectors = self._embedder.embed(texts, "document")
        return float((vectors[1:] @ vectors[0]).max())


def with_checks(
    finish: Finish,
    embedder: Embedder,
    reader: PassageReader,
    words: Vocabulary,
    *,
    quoted: bool = False,
) -> Finish:
    """The same end of an answer, with its sentences checked; a refused one claims nothing."""

    def checked(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        answer = finish(text, usage, status, note)
        if answer.status not in ("complete", "interrupted"):
            return answer
        checker = SentenceChecker(
            answer.trace.corrected, answer.citations, embedder=embedder, reader=reader, words=words
        )
        return replace(answer, sentences=checker.check(answer.text, quoted=quoted))

    return checked


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _overlap(one: Terms, other: Terms) -> float:
    return 2 * len(one & other) / max(len(one) + len(other), 1)
