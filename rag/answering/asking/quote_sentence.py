"""One sentence of a language model that words what the selected quotes say.

It stands as the answer only where the quotes bear it out, and cites those that do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from rag.answering.asked_values import ValueKind, asked_value
from rag.answering.asking.prompt import Beside, Prompt, Wording
from rag.answering.asking.speech import Listener
from rag.answering.assessing.key_terms import words_in
from rag.answering.checking import SentenceChecker
from rag.answering.checking.check import Evidence, StatementTerms, claims
from rag.answering.checking.figures import KnownFigures, blank_mentions, figures
from rag.answering.citations import (
    in_order,
    in_quotation_marks,
    mentions,
    place_citations,
    with_gap,
)
from rag.answering.extractive import QuoteSelection
from rag.answering.markup import unmarked
from rag.answering.quote_candidates import Candidate
from rag.answering.reading import Sources, document_words
from rag.answering.statements.rows import BETWEEN
from rag.answering.statements.sentences import sentence_spans
from rag.answering.stream import AnswerStream
from rag.answering.vocabulary import Vocabulary
from rag.answering.words import names_unit
from rag.errors import ProviderError
from rag.fences import neutral
from rag.languages import SUREST, likeliest
from rag.protocols import ChatModel, Embedder
from rag.recipe import AnswerRecipe
from rag.types import (
    Answer,
    AnswerStatus,
    Assessment,
    Citation,
    Delta,
    Edition,
    Message,
    SentenceCheck,
    Trace,
    Usage,
)


@dataclass(frozen=True, slots=True)
class ShownQuote:
    """A quote in a prompt, and the citation that it becomes in an answer.

    ``text`` is all of it that a model sees; ``values`` is what of it can answer: of a row the cells
    without their labels and the row's name. ``above`` are the headings and the document that the
    quote stands under.
    """

    citation: Citation
    text: str
    values: str
    above: str


def shown_quotes(
    selection: QuoteSelection, question: str, words: Vocabulary, editions: Sequence[Edition]
) -> list[ShownQuote]:
    """Return the chosen quotes, numbered from 1.

    Of a row only the cells that the question names are shown. A heading or the document's name
    stands before a quote where it has a word of the question that the quote lacks. ``editions``,
    which disagree, stand with their days.
    """
    days = {edition.document: edition.day for edition in editions}
    asked = words.terms(question)
    shown = list[ShownQuote]()
    for n, one in enumerate(selection.chosen, start=1):
        cells = _cells(one, question, words)
        text = BETWEEN.join(cells)
        values = [cell.partition(": ")[2] or cell for cell in cells if cell != _name(one)]
        heading = selection.reader.heading_path(one.hit, one.statement)
        above = [place for place in (document_words(one.hit.document), heading) if place]
        telling = [place for place in above if words.terms(place) & asked - words.terms(text)]
        if one.hit.document in days:
            telling.append(f"{one.hit.document}, {days[one.hit.document]}".strip(", "))
        prefix = f"{' · '.join(dict.fromkeys(telling))}: " if telling else ""
        hit = selection.reader.holding(one.hit, one.statement)
        citation = Citation(n, hit, one.statement.quote, checked=one.checked)
        shown.append(
            ShownQuote(
                citation,
                neutral(f"{prefix}{text}"),
                BETWEEN.join(values) if one.statement.kind == "row" else text,
                " ".join(above),
            )
        )
    return shown


def answering_quotes(
    quotes: Sequence[ShownQuote], question: str, editions: Sequence[Edition]
) -> Sequence[ShownQuote]:
    """Return the quotes that a model words: all where editions disagree, else one.

    That is the first one with a value of the kind that is asked for, or the first one. A small
    model words the others as readily as the one that answers.
    """
    if editions:
        return quotes
    kind = asked_value(question)
    telling = [quote for quote in quotes if kind and kind.is_in(quote.values)]
    return [*telling, *quotes][:1]


def _cells(one: Candidate, question: str, words: Vocabulary) -> list[str]:
    """The text of a quote; of a row its name and the cells that answer the question.

    These are the cells with a value of the kind that is asked for. Of several, or where none has
    one, those whose label the question names, all of it: half a label may be another column's.
    """
    statement = one.statement
    cells = statement.text.split(BETWEEN)
    if statement.kind != "row" or len(cells) < 3:
        return cells if statement.kind == "row" else [with_gap(one.hit.chunk.text, statement)]
    kind, name = asked_value(question), _name(one)
    rest = [cell for cell in cells if cell != name]
    rest = [cell for cell in rest if kind and kind.is_in(cell)] or rest
    rest = [cell for cell in rest if _is_named(cell.partition(": ")[0], question, words)] or rest
    return [cell for cell in cells if cell == name or cell in rest]


def _name(one: Candidate) -> str:
    """The cell that names a row."""
    cells = one.statement.text.split(BETWEEN)
    return next((cell for cell in cells if cell.endswith(one.statement.name)), cells[0])


def _is_named(label: str, question: str, words: Vocabulary) -> bool:
    if words_in(label) <= words_in(question):
        return True
    terms = words.terms(label)
    return bool(terms) and terms <= words.terms(question)


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


SENTENCE = "sentence"
"""The mode of an answer that words quotes."""
PROMPT = "quotes"
"""The name of its prompt."""
CHECK = "check"
"""The name of the prompt that asks whether a quote answers."""
_YES_OR_NO = 3
"""Tokens of the reply to it."""
LONGEST = 120
"""Tokens of a sentence."""
SHORTEST = 3
"""Words; what is shorter goes on with the next sentence."""
WORDED = frozenset({"answered", "conflicting"})
"""The states that a model is asked in."""
_NO = re.compile(r"\W*no\b", re.IGNORECASE)
_NOT_IN_QUOTE = "The language model does not find what you ask for in the quote."
_INSTRUCTION = re.compile(r"^([a-z]{2}): *(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class QuotesAnswer:
    """An answer of quotes with its state, and the quotes as they were chosen for it."""

    answer: Answer
    selection: QuoteSelection
    sources: Sources | None

    @property
    def editions(self) -> Sequence[Edition]:
        """The sources that disagree."""
        return self.answer.assessment.editions if self.answer.assessment else ()

    def shown(self, question: str, words: Vocabulary) -> list[ShownQuote]:
        """Return the quotes as a prompt shows them."""
        shown = shown_quotes(self.selection, question, words, self.editions)
        placed, _ = place_citations([quote.citation for quote in shown], self.sources)
        return [
            replace(quote, citation=citation) for quote, citation in zip(shown, placed, strict=True)
        ]


class QuoteSentence:
    """Makes one answer; ``stream`` may be read once.

    The quotes and the state come first, without the model. Only where they answer the question is
    the model asked to word them. Its sentence is the answer if the quotes bear it out; else they
    are, and the answer has the sentence in ``written``.
    """

    def __init__(
        self,
        trace: Trace,
        recipe: AnswerRecipe,
        chat: ChatModel,
        quote: Callable[[], QuotesAnswer],
        *,
        embedder: Embedder,
        words: Vocabulary,
        beside: Beside,
    ) -> None:
        self._trace, self._recipe = trace, recipe
        self._listener = Listener(chat, recipe.temperature)
        self._quote = quote
        self._embedder, self._words = embedder, words
        self._wording, self._checks = beside.wording, beside.checks
        self._quotes: Answer | None = None
        self._beside: tuple[Citation, ...] = ()
        self._shown: Sequence[ShownQuote] = ()
        self._prompt: Prompt | None = None

    def stream(self) -> AnswerStream:
        """The answer, piece by piece. Nothing happens before it is read."""
        return AnswerStream(self._deltas(), self._finish, self._trace)

    def _deltas(self) -> Generator[Delta, None, None]:
        quotes = self._quote()
        self._quotes, assessment = quotes.answer, quotes.answer.assessment
        if assessment is None or assessment.state not in WORDED:
            yield Delta(quotes.answer.text)
            return
        question = self._trace.corrected
        shown = quotes.shown(question, self._words)
        self._beside = tuple(quote.citation for quote in shown)
        self._shown = answering_quotes(shown, question, quotes.editions)
        if self._checks and assessment.state == "answered" and self._denies(question):
            self._quotes = _doubted(quotes.answer, assessment)
            yield Delta(quotes.answer.text)
            return
        self._prompt = quotes_prompt(question, self._shown, self._wording)
        most = min(self._recipe.max_tokens, LONGEST)
        text, stream = "", self._listener.stream(self._prompt.messages, most)
        with closing(stream):
            for delta in stream:
                text += delta.text
                yield delta
                if len(_sentence(text)) < len(text.rstrip()):
                    break

    def _denies(self, question: str) -> bool:
        """Whether the model says that the quote does not have the value that is asked for.

        Questions for no kind of value are not checked. Where the model fails, the quote stands.
        """
        if asked_value(question) is None:
            return False
        quote = in_quotation_marks(self._shown[0].text)
        prompt = self._wording.filled(CHECK, quote=quote, question=neutral(question))
        try:
            reply = self._listener.hear([Message("user", prompt)], _YES_OR_NO)
        except ProviderError:
            return False
        return _NO.match(reply) is not None

    def _finish(self, text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        quotes, prompt = self._quotes, self._prompt
        if quotes is None:  # ended before they were chosen
            return Answer(text, (), self._trace, SENTENCE, status, usage, note=note)
        if prompt is None:
            used = self._listener.usage
            return replace(quotes, status=status, usage=used, note=note or quotes.note)
        asked = replace(
            quotes,
            status=status,
            usage=self._listener.usage,
            prompt=prompt.text,
            prompt_version=prompt.version,
        )
        if status != "complete":
            stopped = replace(asked, text=text, citations=(), sentences=(), assessment=None)
            return replace(stopped, mode=SENTENCE, note=note)
        text = _sentence(text)
        checker = QuoteChecker(self._trace.corrected, self._shown, self._words, self._embedder)
        borne_out = checker.check(text)
        if borne_out.reason:
            why = f"The quotes do not bear out what the model wrote: {borne_out.reason}."
            note = " ".join(filter(None, (why, quotes.note)))
            return replace(asked, written=text.strip(), note=note)
        by_number = {quote.citation.n: quote.citation for quote in self._shown}
        cited = (replace(by_number[n], n=k) for k, n in enumerate(borne_out.cited, start=1))
        return replace(
            asked,
            text=borne_out.text,
            mode=SENTENCE,
            citations=tuple(cited),
            sentences=borne_out.sentences,
            quotes=self._beside,
        )


def _doubted(answer: Answer, assessment: Assessment) -> Answer:
    """The same quotes in doubt, because a model did not find the answer in the first one."""
    doubt = replace(assessment, state="doubtful", reason=_NOT_IN_QUOTE)
    citations = (replace(one, answers=False) for one in answer.citations)
    return replace(answer, assessment=doubt, citations=tuple(citations))


def _sentence(text: str) -> str:
    """The beginning of a text up to the end of a sentence of three words or more: "Yes. It is."."""
    for _, end in sentence_spans(text):
        if len(text[:end].split()) >= SHORTEST:
            return text[:end]
    return text


def quotes_prompt(question: str, shown: Sequence[ShownQuote], wording: Wording) -> Prompt:
    """The prompt that asks a model to word quotes, in the language of the question."""
    quotes = "\n".join(quote.text for quote in shown)
    instructions = dict(_INSTRUCTION.findall(wording.text(PROMPT)))
    code, probability = likeliest(question)
    if probability < SUREST:  # a few words may be of any language
        code = likeliest(f"{question} {quotes}")[0]
    rules = instructions.get(code) or instructions.get("en") or wording.text(PROMPT)
    messages = [
        Message("system", rules),
        Message("user", f"{quotes}\n\n{neutral(question)}"),
    ]
    hits = tuple(quote.citation.hit for quote in shown)
    return Prompt(messages, hits, None, wording.version(PROMPT))
