"""Evidence that a quote answers a question, as figures that a model weighs."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from rag.answering.asked_values import MEASURED, NUMBER, ValueKind, asked_value
from rag.answering.assessing.dates import restrictions
from rag.answering.assessing.key_terms import (
    ARTICLE,
    REACH,
    KeyTerm,
    key_terms,
    weighed_by_code,
    words_in,
)
from rag.answering.assessing.sides import other_side
from rag.answering.languages import any_of, listed, pattern
from rag.answering.reading import PassageReader, document_words
from rag.answering.statements.rows import BETWEEN
from rag.answering.statements.sentences import Statement
from rag.answering.vocabulary import Terms, Vocabulary, terms_of
from rag.lexical.references import reference_of
from rag.logistic import fit_logistic
from rag.protocols import Embedder
from rag.types import Citation, Hit, Trace, Vectors

_SHIPPED = Path(__file__).with_name("weights.json")
FAR, CLOSE = 0.3, 0.8
"""The cosines that ``AnswerModel`` explains, of MiniLM."""


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """Weights by figure of the evidence; below ``limit`` an answer is doubtful.

    ``source`` names the collections that it was fitted on. ``far`` and ``close`` are cosines of two
    single words: up to the one they have nothing in common, from the other on they mean the same.
    Those of MiniLM were chosen; as many unrelated words reach those of another embedder.
    """

    weights: Mapping[str, float]
    intercept: float
    limit: float
    source: str
    far: float = FAR
    close: float = CLOSE

    def probability(self, figures: Mapping[str, float]) -> float:
        """The probability that the first quote answers the question."""
        logit = self.intercept + sum(
            weight * figures[name] for name, weight in self.weights.items()
        )
        return 0.5 * (1.0 + math.tanh(0.5 * logit))


@cache
def _load_models() -> Mapping[str, AnswerModel]:
    """The models by the beginning of an embedder's id; "" names the one without cosines."""
    table = json.loads(_SHIPPED.read_text("utf-8"))
    return {name: AnswerModel(**row) for name, row in table.items()}


def answer_model(embedder: str) -> AnswerModel:
    """The model for an embedder, by the beginning of its id.

    Cosines of different embedders are not comparable: others get the model that uses none.
    """
    models = _load_models()
    return next((models[name] for name in models if name and embedder.startswith(name)), models[""])


def write_shipped(models: Mapping[str, AnswerModel]) -> None:
    """Replace the shipped models, by embedder."""
    table = {name: asdict(model) for name, model in models.items()}
    _SHIPPED.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


COSINES = ("dense", "soft")
"""Figures that hold for one embedder only."""
LIMIT = 0.32
"""Below it an answer is doubtful. In the collections an eighth of the right answers are, and more
than four fifths of the questions whose documents were taken out."""
WEIGHT = 300.0
"""Of one collection, however many questions it has."""
_RIDGE = 30.0


@dataclass(frozen=True, slots=True)
class Observation:
    """The evidence for one answer, and whether it was right."""

    collection: str
    figures: Mapping[str, float]
    right: bool


def fitted(observations: Sequence[Observation], *, cosines: bool) -> AnswerModel:
    """Fit a model by the collections, each of which counts alike."""
    names = [name for name in observations[0].figures if cosines or name not in COSINES]
    rows = np.array([[one.figures[name] for name in names] for one in observations])
    target = np.array([float(one.right) for one in observations])
    sizes = Counter(one.collection for one in observations)
    weight = np.array([WEIGHT / sizes[one.collection] for one in observations])
    weights, intercept = fit_logistic(rows, target, weight, _RIDGE)
    named = {name: round(float(value), 5) for name, value in zip(names, weights, strict=True)}
    return AnswerModel(named, round(intercept, 5), LIMIT, f"{len(sizes)} collections")


TELLING = 0.2
"""The least share of a question that a word behind a preposition has, to be what it is about."""
SYNONYM = 0.5
"""The least cosine of two single words of which one will do for the other."""
COMPARED = 5
"""Passages, the best ones, that have more or fewer of a question's words than the quoted one."""
_FEWEST_LETTERS = 3
_FULL_NAME = re.compile(r"\b[A-ZÄÖÜÀ-Þ][a-zß-ÿ]+ [A-ZÄÖÜÀ-Þ][a-zß-ÿ]+\b")
_CENTURIES = ("19", "20")
_IN = re.compile(rf"{any_of('time_prepositions')}\s\Z", re.IGNORECASE)
_FOR = re.compile(
    rf"(?:{any_of('purpose_prepositions')}\s{ARTICLE}|\A\W{{0,3}}{any_of('acts')}\s)\Z",
    re.IGNORECASE,
)
_IN_PHRASES = frozenset(listed("no_restrictions", "reaching"))
"""What restricts nothing: "in total", "for entry", or "how do I contact", which an address answers.
"""
_DETERMINED = re.compile(rf"{any_of('definite_articles')}\s+\Z", re.IGNORECASE)
"""Before a figure that is part of a name: "the 625 Wh battery", not "after 45 days" or "a 17 year
old", which say what holds for the one who asks."""


@dataclass(frozen=True, slots=True)
class QuoteEvidence:
    """Features of an answer that a model weighs, and the terms that it lacks.

    ``figures`` are by the names that a model knows. ``missing`` are the key terms that neither the
    quotes nor what stands above them has, the rarest first. ``said`` are those that stand there as
    they are: not as a unit, another form or a range. ``apart`` are the things that the
    question names together ("from A to C") where the quoted row has only some of them, and other
    rows have the rest, or no passage has it. ``gap`` names what the first quote lacks so that it
    cannot be the answer: a value of the exact kind that is asked for, a figure or a number that
    names a thing, what has the price, or another restriction. ``above`` are the places over the
    first quote with key terms that no quote has: its heading, or the name of its document.
    ``unquoted`` are those of ``missing`` that a quoted passage has outside of its quote.
    ``unsaid`` are the key terms that stand neither above the first quote nor in its passage, in no
    other words either, where no other term is left: such a quote only has the topic in common with
    the question.
    ``several`` says that the first quote alone lacks a key term that another one has. ``no_value``
    names the kind of value that is asked for, such as "a price", where the first quote has none;
    of numbers, none of anything. ``other_case`` is the restriction of the question that the first
    quote does not meet: it is about another day or range, or the other side of a moment.
    """

    figures: Mapping[str, float]
    missing: tuple[KeyTerm, ...] = ()
    said: tuple[KeyTerm, ...] = ()
    apart: tuple[KeyTerm, ...] = ()
    gap: str = ""
    above: tuple[str, ...] = ()
    several: bool = False
    no_value: str = ""
    unquoted: tuple[KeyTerm, ...] = ()
    unsaid: tuple[KeyTerm, ...] = ()
    other_case: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """Collects the evidence of answers from one index."""

    embedder: Embedder
    reader: PassageReader
    words: Vocabulary

    def read(self, trace: Trace, citations: Sequence[Citation], shown: str = "") -> QuoteEvidence:
        """Compare the quotes of an answer, and the passage of the first one, with its question.

        ``shown`` are all quotes that the answer shows: it may have several of a citation.
        Raises ProviderError when a remote embedder fails.
        """
        first = citations[0].hit
        quotes = [self.reader.quoted(citation) for citation in citations]
        around = self.reader.context(first, quotes[0])
        above = self.words.terms(around)
        first_terms = terms_of(quotes[0], self.words) | above
        quoted_terms = first_terms.union(*(terms_of(quote, self.words) for quote in quotes[1:]))
        passage = self._passage(first)
        cited = passage.union(*(self._passage(citation.hit) for citation in citations[1:]))
        # As many passages whatever the top-k is: the less was looked at, the surer it would be.
        cut = trace.stage("top_k")
        best = [*trace.hits, *(drop.hit for drop in (cut.dropped if cut else ()))][:COMPARED]
        others = [self._passage(hit) for hit in best if hit.chunk.key != first.chunk.key]
        entry = self.words.terms(quotes[0].text.partition(BETWEEN)[0])
        terms = key_terms(trace.corrected, self.words)
        wanted = weighed_by_code(terms, entry)
        reference = reference_of(trace.corrected)
        is_part = reference is not None and self.reader.is_part(reference, first, quotes[0])
        wanted = () if is_part else wanted  # the part that is asked for, whatever it says
        texts = f"{quotes[0].text} {quotes[0].caption}", around
        met = [(one, one.is_met(*texts)) for one in restrictions(trace.corrected)]
        borne = [one for one, is_met in met if is_met]  # "July" by "May to September"
        within = [term for term in wanted if any(one.has(term.start) for one in borne)]
        wanted = _without(wanted, [term for term in within if term.borne_out(first_terms) < 1])
        lacking = [term for term in wanted if term.borne_out(quoted_terms | passage) < 1]
        spoken = self._words(*quotes, above=f"{around} {shown}")
        shown_terms = quoted_terms | self.words.terms(shown) if shown else quoted_terms
        absent = _lacking(wanted, shown_terms, spoken)
        written = self.words.written_terms(
            " ".join((*(f"{one.text} {one.caption}" for one in quotes), around, shown))
        )
        own_terms = self.words.terms(shown).union(*(terms_of(one, self.words) for one in quotes))
        own_words = self._words(*quotes, above=shown)
        over = [term for term in _lacking(wanted, own_terms, own_words) if term not in absent]
        unsaid = self._unsaid(quotes[0], _lacking(wanted, above, words_in(around)), passage)
        asked = asked_value(trace.corrected)
        if asked and asked.exact and not _names_another(quotes[0], trace.corrected):
            around = f"{around} {first.chunk.text}"  # what a number belongs to stands over it
        first_words = self._words(quotes[0], above=around)
        near_terms = first_terms | self.words.terms(around)
        gaps = _lacking(wanted, near_terms, first_words)
        has_value = asked is not None and asked.is_in(quotes[0].text)
        scores = [hit.parts.get("bm25", 0.0) for hit in best]
        best_score = max(scores, default=0.0)
        own = 1.0 if is_part else _share(wanted, passage)
        elsewhere = [_share(wanted, terms) for terms in others]
        figures = {
            "passage": own,
            "best_elsewhere": max(elsewhere, default=0.0) - own,
            "figure": float(any(term.kind == "figure" for term in lacking)),
            "unknown_name": float(
                any(not t.indexed and t.kind in ("code", "name") and not t.unit for t in wanted)
            ),
            "missing_name": sum(term.share for term in gaps if term.kind == "name"),
            "no_value": float(asked is not None and not has_value),
            "words_lead": float((best_score - np.median(scores)) / best_score)
            if best_score > 0
            else 0.0,
            "dense": float(first.parts.get("dense", first.relevance)),
            "soft": self._nearness(quotes[0], gaps),
        }
        return QuoteEvidence(
            figures,
            tuple(sorted(absent, key=lambda term: -term.weight)),
            tuple(term for term in terms if term.borne_out(written) == 1),
            apart(self.reader, self.words, first, quotes[0], above, wanted)
            or parted(self.reader, self.words, first, quotes[0], trace.corrected, wanted, gaps)
            or beside_unknown(self.words, quotes[0], trace.corrected, wanted, gaps),
            _gap(asked, quotes, trace.corrected, gaps, by_number=reference is not None)
            or self._unqualified(trace.corrected, absent, cited, spoken),
            tuple(self._places(first, quotes[0], over)),
            any(term not in absent for term in gaps),
            "" if asked is None or has_value or _has_other_number(asked, quotes[0]) else asked.name,
            tuple(term for term in absent if term.borne_out(cited) == 1),
            unsaid,
            next((one.words for one, is_met in met if is_met is False), "")
            or other_side(trace.corrected, terms, quotes[0].text),
        )

    def _places(self, hit: Hit, quote: Statement, terms: Sequence[KeyTerm]) -> Iterator[str]:
        """The heading of a quote and the name of its document, where they have a key term."""
        heading, name = self.reader.heading_path(hit, quote), document_words(hit.document)
        places = {f"the heading “{heading}”": heading, "the name of its document": name}
        for place, words in places.items():
            place_terms, spoken = self.words.terms(words), words_in(words)
            if any(term.borne_out(place_terms) or any(map(term.is_like, spoken)) for term in terms):
                yield place

    def _unqualified(
        self, question: str, absent: Sequence[KeyTerm], cited: Terms, spoken: Collection[str]
    ) -> str:
        """A restriction behind a preposition, or an act; "" for none.

        "For contractors", "in 2023", "how do I delete": no cited passage has it, in these or other
        words.
        """
        lost = [term for term in absent if not term.borne_out(cited)]
        if year := next((term for term in lost if _is_year(term, question)), None):
            return year.text
        lost = [
            term
            for term in lost
            if term.kind == "word"
            and term.share >= TELLING
            and _precedes(_FOR, question, term)
            and term.text.casefold() not in _IN_PHRASES | DEGREES
        ]
        pairs = zip(lost, self._likeness(lost, spoken), strict=False)
        return next((f"“{term.text}”" for term, cosine in pairs if cosine < SYNONYM), "")

    def _unsaid(
        self, quote: Statement, beside: Sequence[KeyTerm], passage: Terms
    ) -> tuple[KeyTerm, ...]:
        """The terms beside the topic of a quote, where it and its passage have none of them."""
        spoken = self._words(quote, above="")
        said = any(one.borne_out(passage) or any(map(one.is_like, spoken)) for one in beside)
        return () if said or any(self._likeness(beside, spoken) >= SYNONYM) else tuple(beside)

    def _likeness(self, terms: Sequence[KeyTerm], spoken: Collection[str]) -> Vectors:
        """The cosine of each term with the nearest of some words; empty where there are none.

        Cosines of other embedders are those of MiniLM that as many unrelated words reach.
        """
        others = sorted(word for word in spoken if len(word) >= _FEWEST_LETTERS)
        if not terms or not others:
            return np.zeros(0, dtype=np.float32)
        vectors = self.embedder.embed([term.text.casefold() for term in terms], "document")
        likeness: Vectors = (vectors @ self.embedder.embed(others, "document").T).max(axis=1)
        model = answer_model(self.embedder.id)
        return FAR + (likeness - model.far) * np.float32((CLOSE - FAR) / (model.close - model.far))

    def _words(self, *statements: Statement, above: str) -> frozenset[str]:
        """The words of some statements, and of what stands above them."""
        texts = (f"{one.text} {one.caption}" for one in statements)
        return words_in(" ".join((*texts, above)))

    def _passage(self, hit: Hit) -> Terms:
        context = self.reader.context(hit)
        return self.words.terms(f"{hit.chunk.text} {hit.chunk.context} {context}")

    def _nearness(self, quote: Statement, absent: Sequence[KeyTerm]) -> float:
        """The share of the question that the quote says, in other words too.

        A term that it lacks counts by the cosine with the nearest of its words.
        """
        lost = sum(term.share for term in absent)
        absent = [term for term in absent if term.kind == "word"]
        likeness = self._likeness(absent, self._words(quote, above=""))
        near = np.clip((likeness - FAR) / (CLOSE - FAR), 0, 1)
        shares = [term.share for term in absent][: len(near)]
        return 1.0 - lost + float(near @ np.array(shares))


def _without(wanted: tuple[KeyTerm, ...], some: Collection[KeyTerm]) -> tuple[KeyTerm, ...]:
    """The key terms without some, whose share the others get; all where none are left."""
    rest = [term for term in wanted if term not in some]
    scale = sum(term.share for term in wanted) / (sum(term.share for term in rest) or 1.0)
    return tuple(replace(term, share=term.share * scale) for term in rest) or wanted


def _lacking(wanted: Sequence[KeyTerm], terms: Terms, spoken: Collection[str]) -> list[KeyTerm]:
    """The key terms that neither the index terms of a text nor forms of its words bear out."""
    return [
        term for term in wanted if term.borne_out(terms) < 1 and not any(map(term.is_like, spoken))
    ]


def _names_another(quote: Statement, question: str) -> bool:
    """Whether a question asks for somebody, and the quote has the name of somebody.

    A name is two words with capitals.
    """
    return all(_FULL_NAME.search(text) for text in (question, quote.text))


def _gap(
    asked: ValueKind | None,
    quotes: Sequence[Statement],
    question: str,
    gaps: Sequence[KeyTerm],
    *,
    by_number: bool,
) -> str:
    """The value or figure without which quotes cannot be the answer; "" where they have all.

    The phone number of somebody is the answer only beside the name, and a part that is asked for
    ``by_number`` only beside it.
    """
    if asked and asked.exact:
        if not any(asked.is_in(quote.text) for quote in quotes):
            return asked.name
        other = next((term for term in gaps if term.kind == "name"), None)
        if other and asked.is_in(quotes[0].text) and _FULL_NAME.search(question):
            return f"{asked.name} beside {other.text}"
    figures = (term for term in gaps if term.kind == "figure" and (by_number or not term.indexed))
    named = (
        term
        for term in figures
        if by_number
        or (_DETERMINED.search(question[: term.start]) and not MEASURED.match(question, term.start))
    )
    return next((term.text for term in named), "")


def _has_other_number(asked: ValueKind, quote: Statement) -> bool:
    """Whether a number is asked for, and a quote has one: of days, where vacation days count."""
    return asked.name == NUMBER.name and NUMBER.is_in(quote.text)


def _is_year(term: KeyTerm, question: str) -> bool:
    """Whether a term is a year that restricts the question: "in 2023"."""
    is_year = len(term.text) == 4 and term.text.isdecimal() and term.text.startswith(_CENTURIES)
    return is_year and _precedes(_IN, question, term)


def _precedes(pattern: re.Pattern[str], question: str, term: KeyTerm) -> bool:
    return pattern.search(question, max(term.start - REACH, 0), term.start) is not None


def _share(wanted: Sequence[KeyTerm], terms: Terms) -> float:
    """The share of the question's weight that some terms bear out."""
    return sum(term.share * term.borne_out(terms) for term in wanted)


DEGREES = frozenset(listed("degrees"))
"""Words beside a thing that name no other thing: a "maximum load" is a load."""
_ASKED_VERB = pattern("auxiliaries")
_PAUSE = re.compile(r"[^\w\s'’-]")


def parted(
    reader: PassageReader,
    words: Vocabulary,
    hit: Hit,
    quote: Statement,
    question: str,
    wanted: Sequence[KeyTerm],
    gaps: Sequence[KeyTerm],
) -> tuple[KeyTerm, ...]:
    """Two words side by side in a question where one row is named by each of them.

    A "mountain e-bike" is neither a mountain bike nor an e-bike.
    """
    if quote.kind != "row" or not quote.name:
        return ()
    own = words.terms(quote.name)
    names = [
        words.terms(row.name)
        for row in reader.statements(hit)
        if row.kind == "row" and row.name and row.quote != quote.quote
    ]
    for pair in side_by_side(question, wanted):
        there = [term for term in pair if term.borne_out(own) == 1]
        elsewhere = [
            term
            for term in pair
            if term in gaps and any(term.borne_out(name) == 1 for name in names)
        ]
        if there and elsewhere:
            return pair
    return ()


def beside_unknown(
    words: Vocabulary,
    quote: Statement,
    question: str,
    wanted: Sequence[KeyTerm],
    gaps: Sequence[KeyTerm],
) -> tuple[KeyTerm, ...]:
    """A word of the quoted row, and one beside it in the question that no passage has.

    The row of a "ceramic crown" does not say what a metal crown costs. Function words may stand
    before the unknown one, as in a "course in sushi"; one that stands before them may be a
    verb. Running text has other words for the same thing more often than a table has.
    """
    if quote.kind != "row":
        return ()
    own = terms_of(quote, words)
    for one, next_one in pairwise(wanted):
        if one.kind in ("code", "figure") or next_one.kind in ("code", "figure"):
            continue  # they name their row by themselves
        joined = is_joined(question, one, next_one)
        if one.text.casefold() in DEGREES or (joined and _is_last_verb(question, next_one)):
            continue
        phrase = question[one.start : next_one.end]
        of_one = not _PAUSE.search(phrase) and words.terms(phrase) <= one.terms | next_one.terms
        unknown_first = one in gaps and not one.indexed and next_one.borne_out(own) == 1
        unknown_last = next_one in gaps and not next_one.indexed and one.borne_out(own) == 1
        if (joined and unknown_first) or (of_one and unknown_last):
            return one, next_one
    return ()


def apart(
    reader: PassageReader,
    words: Vocabulary,
    hit: Hit,
    quote: Statement,
    above: Terms,
    wanted: Sequence[KeyTerm],
) -> tuple[KeyTerm, ...]:
    """The names, codes and figures of a question that stand in different rows of a passage.

    Empty where one row has all of them. Running text may go on about one thing for sentences;
    a row is about what stands in it.
    """
    things = [term for term in wanted if term.kind != "word"]
    if quote.kind != "row" or len(things) < 2:
        return ()
    own = terms_of(quote, words)
    rows = [
        terms_of(row, words)
        for row in reader.statements(hit)
        if row.kind == "row" and row.quote != quote.quote
    ]
    there = [term for term in things if term.borne_out(own) == 1]
    elsewhere = [
        term
        for term in things
        if term.borne_out(own | above) < 1 and any(term.borne_out(row) == 1 for row in rows)
    ]
    return (*there, *elsewhere) if there and elsewhere else ()


def side_by_side(question: str, wanted: Sequence[KeyTerm]) -> Iterator[tuple[KeyTerm, KeyTerm]]:
    """Pairs of key terms with nothing between them in the question."""
    for pair in pairwise(wanted):
        if is_joined(question, *pair):
            yield pair


def _is_last_verb(question: str, term: KeyTerm) -> bool:
    """Whether a term ends a question that "does" or the like began: "until when does it run?"."""
    ends = not question[term.end :].strip(" ?.!")
    return ends and _ASKED_VERB.search(question, 0, term.start) is not None


def is_joined(question: str, one: KeyTerm, next_one: KeyTerm) -> bool:
    """Whether two key terms stand side by side in a question, with nothing between them."""
    return not question[one.end : next_one.start].replace("-", "").strip()
