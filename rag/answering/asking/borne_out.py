"""A sentence of a model on quotes: whether they bear it out, and which of them it cites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.answering.asked_values import ValueKind, asked_value
from rag.answering.asking.shown_quotes import ShownQuote
from rag.answering.checking import SentenceChecker
from rag.answering.checking.claims import claims
from rag.answering.checking.evidence import Evidence, StatementTerms
from rag.answering.checking.figures import KnownFigures, blank_mentions, figures
from rag.answering.citations import in_order, mentions
from rag.answering.markup import unmarked
from rag.answering.units import names_unit
from rag.answering.vocabulary import Vocabulary
from rag.protocols import Embedder
from rag.types import SentenceCheck

_MARKS, _CLOSING = ".!?。！？…", "\"'”’»)"
"""What ends a sentence, and what closes a quotation behind that."""


@dataclass(frozen=True, slots=True)
class BorneOut:
    """The text of an answer in which each claim cites the quotes that bear it out.

    ``cited`` are the numbers of the quotes in the order of the citations, ``sentences`` the checks.
    Where they do not bear it out, ``text`` is "", and ``reason`` says why.
    """

    text: str = ""
    cited: tuple[int, ...] = ()
    sentences: tuple[SentenceCheck, ...] = ()
    reason: str = ""


class QuoteChecker:
    """Compares a sentence with the quotes that its prompt showed, and nothing around them."""

    def __init__(
        self, question: str, shown: Sequence[ShownQuote], words: Vocabulary, embedder: Embedder
    ) -> None:
        self._question, self._words, self._shown = question, words, shown
        self._asked = words.terms(question)
        self._kind = asked_value(question)
        self._texts = {quote.citation.n: words.terms(quote.text) for quote in shown}
        self._checker = SentenceChecker(
            question,
            [quote.citation for quote in shown],
            embedder=embedder,
            words=words,
            evidence={quote.citation.n: self._evidence(quote) for quote in shown},
        )

    def _evidence(self, quote: ShownQuote) -> Evidence:
        """The quote; to repeat the question's words is no invention."""
        text = f"{quote.text}\n{quote.above}"
        statement = StatementTerms(quote.text, self._words.terms(quote.text))
        return Evidence(text, self._words.terms(text) | self._asked, [statement])

    def check(self, written: str) -> BorneOut:
        """Place the citations of a text: each claim cites a quote that bears it out.

        That is one that the model cites, or the one with most of its words; all together where a
        claim rests on several.
        """
        text = " ".join(unmarked(written).split())
        marks = mentions(text)
        own = [n for mark in marks for n in mark.numbers]
        bare = " ".join(blank_mentions(text, marks).split())
        stated = claims(bare)
        if not stated:
            return BorneOut(reason="it says nothing")
        pieces, at = list[str](), 0
        for claim in stated:
            numbers, reasons = self._bearing(claim.text, own)
            if reasons:
                return BorneOut(reason="; ".join(reasons))
            written = bare[claim.start : claim.end].rstrip()
            end = claim.start + len(written.rstrip(_CLOSING).rstrip(_MARKS))
            pieces += [bare[at:end].rstrip(), " ", *(f"[{n}]" for n in numbers)]
            at = end
        if not self._says_something(bare):
            return BorneOut(reason="it says nothing that the quotes say")
        if unit := self._invented_unit(bare):
            return BorneOut(reason=f"no quote has the unit {unit}")
        if self._kind and self._lacks(self._kind, bare):
            return BorneOut(reason=f"it does not have {self._kind.name}")
        cited = "".join([*pieces, bare[at:]])
        order = dict.fromkeys(n for mark in mentions(cited) for n in mark.numbers)
        new = {n: number for number, n in enumerate(order, start=1)}
        checks = tuple(
            replace(check, cited=tuple(new[n] for n in check.cited))
            for check in self._checker.check(cited)
        )
        return BorneOut(in_order(cited, max(self._texts)), tuple(order), checks)

    def _says_something(self, text: str) -> bool:
        """Whether a text has words or figures of the quotes that are not the question's."""
        said = self._words.terms(text) - self._asked
        if any(said & self._words.terms(quote.values) for quote in self._shown):
            return True
        new = [one for one in figures(text) if not KnownFigures(self._question).holds(one)]
        return any(KnownFigures(quote.values).holds(one) for quote in self._shown for one in new)

    def _invented_unit(self, text: str) -> str:
        """The unit of a figure that neither the quotes nor the question has; "" for none.

        A price without a currency does not become one in dollars.
        """
        known = " ".join([self._question, *(f"{one.text} {one.above}" for one in self._shown)])
        units = (one.measure for one in figures(text) if one.measure)
        return next((unit for unit in units if not names_unit(known, unit)), "")

    def _lacks(self, kind: ValueKind, text: str) -> bool:
        """Whether a text has no value of a kind, which a quote has."""
        return not kind.is_in(text) and any(kind.is_in(quote.text) for quote in self._shown)

    def _bearing(self, claim: str, own: Sequence[int]) -> tuple[Sequence[int], Sequence[str]]:
        """The numbers of the quotes that bear out a claim; else the reasons why all do not.

        A single one has as many of its words as any other: the number of another matter is none.
        """
        nearest = self._nearest(claim)
        for n in sorted(nearest, key=lambda n: n not in own):
            if self._of(claim, [n]).borne_out:
                return [n], ()
        numbers = nearest if len(nearest) < len(self._shown) else [*self._texts]
        return numbers, self._of(claim, numbers).reasons

    def _nearest(self, claim: str) -> list[int]:
        """The numbers of the quotes that have most of the words of a claim, figures aside."""
        terms = self._words.terms(claim)
        words = {term for term in terms if not any(map(str.isdigit, term))} or terms
        shares = {n: len(words & own) for n, own in self._texts.items()}
        return [n for n, share in shares.items() if share == max(shares.values())]

    def _of(self, claim: str, numbers: Sequence[int]) -> SentenceCheck:
        (check, *_) = self._checker.check(f"{claim} {''.join(f'[{n}]' for n in numbers)}")
        return check
