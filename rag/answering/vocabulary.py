"""The words of an index as answers use them: cut by its analyzer, and weighted by rarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from math import log

from rag.answering.assessing.dates import dates_in
from rag.answering.statements.sentences import Statement
from rag.lexical import LexicalIndex, analyzer
from rag.types import WordCorrection

Terms = frozenset[str]

RARE_SHARE = 0.02
"""A term that no more of the passages hold is rare: what a question is about, not how it asks."""
_ANALYZER = "english"
_REMEMBERED = 2000
"""Texts, and words, whose terms a vocabulary keeps."""


class Vocabulary:
    """Terms by the analyzer of an index, weighed by its passages.

    Without an index (results of tools, texts of nobody's) it is English, and terms are as rare as
    the texts at hand say.
    """

    def __init__(self, index: LexicalIndex | None = None, passages: int = 0) -> None:
        self._index = index if passages else None
        self._passages = passages
        self._view = index
        self._analyzer = analyzer(_ANALYZER)
        # An answer and its checks look at the same texts and words.
        self._terms: dict[str, Terms] = {}
        self._readings: dict[str, tuple[Terms, ...]] = {}
        self._forms: Sequence[tuple[Terms, Terms]] = ()
        self._days: Mapping[str, Terms] = {}

    def for_question(self, question: str, corrections: Iterable[WordCorrection] = ()) -> Vocabulary:
        """The same for a question, of which a text with another form of a word has the word.

        A text with one of its days has the words for it: "2026-07-02" is "2 July 2026".
        """
        pairs = ((one.typed, form) for one in corrections for form in one.other_forms)
        forms = [(self.terms(typed), self.terms(other)) for typed, other in pairs]
        days = {
            day: self.terms(question[start:end])
            for day, start, end in dates_in(question)
            if len(day) == len("2026-07-02")
        }
        if not forms and not days:
            return self
        vocabulary = copy(self)
        vocabulary._forms, vocabulary._days, vocabulary._terms = forms, days, {}
        return vocabulary

    def terms(self, text: str) -> Terms:
        """The terms of a text without function words, unless it has nothing else.

        Where passages are in several languages, each word is cut by the analyzer of each of them.
        Forms that no passage has are left out of a word of which passages have another one.
        """
        terms = self._terms.get(text)
        if terms is None:
            if len(self._terms) >= _REMEMBERED:
                self._terms.clear()
            days = {day for day, *_ in dates_in(text)} if self._days else ()
            terms = self._cut_terms(text)
            for typed, other in self._forms:
                # A single synonym is the word; a long form has words of its own.
                if other and other <= terms:
                    terms = (terms - other if len(other) == 1 else terms) | typed
            terms = terms.union(*(self._days[day] for day in self._days if day in days))
            self._terms[text] = terms
        return terms

    def written_terms(self, text: str) -> Terms:
        """The terms of a text as it is written: no synonym, other form or date of the question."""
        return self._cut_terms(text)

    def _cut_terms(self, text: str) -> Terms:
        if self._view is None:
            return frozenset(self._analyzer.query_tokens(text))
        # Cut as a question is: the same by every analyzer that cuts.
        terms = frozenset(self._view.terms(text))
        if self._index is None or len(self._view.analyzers) < 2:
            return terms
        indexed = self.indexed(terms)
        if indexed == terms:
            return terms
        words = map(self._all_readings, set(text.split()))
        return terms & frozenset().union(*(term for word in words for term in _kept(word, indexed)))

    def readings(self, word: str) -> tuple[Terms, ...]:
        """Return the terms of a word by each analyzer, of which one is right for its language.

        Those of which passages have all terms come alone, if there are any.
        """
        readings = self._all_readings(word)
        return _kept(readings, self.indexed(frozenset().union(*readings)))

    def _all_readings(self, word: str) -> tuple[Terms, ...]:
        if self._index is None:
            return (self.terms(word),)
        readings = self._readings.get(word)
        if readings is None:
            if len(self._readings) >= _REMEMBERED:
                self._readings.clear()
            readings = tuple(dict.fromkeys(filter(None, self._index.readings(word))))
            self._readings[word] = readings
        return readings

    def rarities(self, terms: Terms, texts: Iterable[Terms]) -> Mapping[str, float]:
        """log(1 + n / df) of each term: Spärck Jones' inverse document frequency.

        ``df`` of n passages of the index, or of ``texts``, hold it; a term that none has counts as
        if one had.
        """
        frequencies, total = self._counts(terms, texts)
        return {term: log(1 + total / max(frequencies.get(term, 0), 1)) for term in sorted(terms)}

    def indexed(self, terms: Terms) -> Terms:
        """Return the terms that a passage of the index has; all without an index."""
        if self._index is None:
            return terms
        frequencies, _ = self._counts(terms, ())
        return frozenset(term for term in terms if frequencies.get(term, 0))

    def rare(self, terms: Terms, texts: Iterable[Terms]) -> Terms:
        """Return the terms that few passages have; the rarest where none is rare."""
        frequencies, total = self._counts(terms, texts)
        counts = {term: frequencies.get(term, 0) for term in terms}
        least = max(RARE_SHARE * total, min(counts.values(), default=0))
        return frozenset(term for term, count in counts.items() if count <= least)

    def _counts(self, terms: Terms, texts: Iterable[Terms]) -> tuple[Mapping[str, int], int]:
        if self._index is not None:
            weights = dict.fromkeys(sorted(terms), 1.0)
            return self._index.frequencies(weights, fuzzy=False, prefix=False), self._passages
        term_sets = list(texts)
        return Counter(chain.from_iterable(term_sets)), len(term_sets)


def _kept(readings: tuple[Terms, ...], indexed: Terms) -> tuple[Terms, ...]:
    return tuple(reading for reading in readings if reading <= indexed) or readings


CONTEXT_SHARE = 0.75
"""What a word of the question counts that only stands over a statement, in a heading or name."""
CHECKED = 0.3
"""The least share of the question's weighted words that a checked statement holds itself."""


class Support:
    """Holds statements against the terms of one question.

    ``texts`` are the terms of all statements at hand; they tell what is rare where no index does.
    """

    def __init__(self, question_terms: Terms, words: Vocabulary, texts: Sequence[Terms]) -> None:
        self._wanted = question_terms
        self._rarity = words.rarities(question_terms, texts)
        self._rare = words.rare(question_terms, texts)
        self._codes = frozenset(term for term in self._rare if any(map(str.isdecimal, term)))
        self._told = frozenset[str]().union(*texts)
        self._total = sum(self._rarity.values()) or 1.0

    def share(self, terms: Terms, above: Terms) -> float:
        """The weighted share of the question that is held, or stands ``above``; 0 to 1."""
        return self.own_share(terms) + CONTEXT_SHARE * self.own_share(above - terms)

    def is_checked(self, terms: Terms, above: Terms) -> bool:
        """Whether the rare words of the question are there, and enough of all in the statement.

        Where the statement has the very code that is asked for, a word that nothing at hand has
        ("error" of a table of messages) is how the question puts it.
        """
        has_code = self._codes and self._codes <= terms
        rare = self._rare & self._told if has_code else self._rare
        return rare <= terms | above and self.own_share(terms) >= CHECKED

    def own_share(self, terms: Terms) -> float:
        """The weighted share of the question that some terms are; 0 to 1."""
        return sum(self._rarity[term] for term in sorted(self._wanted & terms)) / self._total


def terms_of(statement: Statement, words: Vocabulary) -> Terms:
    """Return the terms of a statement, including the title of a row's table."""
    return words.terms(f"{statement.text} {statement.caption}")
