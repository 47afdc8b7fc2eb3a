"""Key terms of a question: the codes, figures, names and words that an answer has to support."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from rag.answering.asked_values import asked_value
from rag.answering.languages import alternatives, any_of, listed
from rag.answering.vocabulary import Terms, Vocabulary
from rag.answering.words import unit_of
from rag.languages import language
from rag.lexical.analyzers import WORD_CHARACTERS
from rag.types import Trace

_CODE = re.compile(r"\b[A-Z]+[-./]?\d[\w./-]*\w|\b[A-Z]+\d\b")
SIMILAR_CODE = 0.6
"""The least likeness (Ratcliff and Obershelp) of a code that is named as the nearest."""


def codes_in(text: str) -> set[str]:
    """The codes of a text, in capitals."""
    return set(_CODE.findall(text.upper()))


def nearest_code(code: str, codes: Collection[str]) -> str:
    """The code of some that is most like a code; "" where none is much like it."""
    likeness = {other: SequenceMatcher(None, code, other).ratio() for other in codes}
    best = max(sorted(likeness), key=lambda other: likeness[other], default="")
    return best if likeness.get(best, 0.0) >= SIMILAR_CODE else ""


Kind = Literal["code", "figure", "name", "word"]

_SIGN = "£$€¥"
_TOKEN = re.compile(
    rf"[{_SIGN}]?\d+(?:[.,'’]\d+)*[{_SIGN}]?(?![\w/-])"
    rf"|{WORD_CHARACTERS}(?:[-./_’']{WORD_CHARACTERS})*"
)
"""A number with its separators and the sign of a currency, or a word."""
WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_MEASURE = re.compile(
    rf"\d+(?:[.,]\d+)*(?:{alternatives('ordinal_endings')}|[ap]m|h|hrs?|mins?"
    r"|sec|[km]g|[kcm]m|ml|[kmgt]b|k?wh|kw|mah)"
    r"|\d+(?:-(?-i:[a-zß-ÿ]){3,})+",
    re.IGNORECASE,
)
"""A figure with its unit or noun, which is no code: "24th", "9am", "3-day"."""
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)", re.IGNORECASE)
"""Index terms have it whole: "v2.0.0" is version 2.0.0."""
ARTICLE = rf"(?:{any_of('articles', 'definite_articles', 'possessives')}\s)?"
"""An article, or what stands in its place, between a preposition and its noun."""
_PREPOSITION = re.compile(rf"{any_of('prepositions')}\s{ARTICLE}\Z", re.IGNORECASE)
_CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages that begin every noun with a capital letter, where capitals make no name."""
_MEASURING = " ".join(listed("kinds_of_thing", "compared"))
"""Words for the kind of thing that a question asks for, and for what it compares."""
_FRAMING = frozenset(listed("framing"))
"""Words by which people ask, and documents do not have to repeat. No other forms of them:
"permitted" is one, and "permit" is not."""
REACH = 32
"""Characters before a term in which its preposition stands."""
BESIDE_CODE = 0.25
"""The weight of a word beside a code whose entry is quoted."""
_SHORTEST = 4
"""Letters of a word that may have other forms."""
_STEM = 5
"""Letters that two forms of a word begin with alike: "cancel", "cancellation"."""
_ENDINGS = frozenset(("", *listed("endings")))
"""What forms of one word end with. Not "er", "ee" and "or", which make another thing of it."""


@dataclass(frozen=True, slots=True)
class KeyTerm:
    """A word of a question with its index terms by the analyzer of each language.

    ``weight`` is its inverse document frequency, ``share`` its share of the question's weight,
    ``indexed`` says whether any passage has it, and ``start`` is where the question has it.
    ``behind`` says that it stands behind a preposition such as "for" or "in".
    """

    text: str
    kind: Kind
    readings: tuple[Terms, ...]
    weight: float
    share: float
    indexed: bool
    start: int = 0
    behind: bool = False

    @property
    def terms(self) -> Terms:
        """The index terms by all analyzers."""
        return frozenset().union(*self.readings)

    @property
    def restricts(self) -> bool:
        """Whether it says of what, where or for whom: no other word will do for it."""
        return self.kind != "word" or self.behind

    @property
    def number(self) -> str:
        """The text of a figure without the sign of a currency."""
        return self.text.strip(f"{_SIGN} \u00a0\u202f") if self.kind == "figure" else self.text

    @property
    def end(self) -> int:
        """The end of the term in the question."""
        return self.start + len(self.text)

    def borne_out(self, terms: Terms) -> float:
        """The share of its parts that some terms have; codes and amounts are whole or not there."""
        if self.kind == "figure" and not _has_letter(self.text):
            return float(any(reading <= terms for reading in self.readings))
        return max(len(reading & terms) / len(reading) for reading in self.readings)

    @property
    def unit(self) -> str:
        """The unit of measure that it is; "" for other words."""
        return unit_of(self.text)

    def is_like(self, word: str) -> bool:
        """Whether a word is another form of it, or the same unit.

        Codes, figures and names have no other forms.
        """
        own, word = self.text.casefold(), word.casefold()
        if self.kind not in ("word", "name") or len(own) < _SHORTEST:
            return own == word
        if self.unit and self.unit == unit_of(word):
            return True
        if self.kind == "name":
            return own == word
        common = next(
            (at for at, pair in enumerate(zip(own, word, strict=False)) if pair[0] != pair[1]),
            min(len(own), len(word)),
        )
        return any(
            {_behind(own, at), _behind(word, at)} <= _ENDINGS for at in range(_STEM, common + 1)
        )


def key_terms(question: str, words: Vocabulary) -> tuple[KeyTerm, ...]:
    """The key terms of a question, in order; function words are none."""
    wanted = words.terms(question)
    asked = asked_value(question)
    generic = words.terms(f"{_MEASURING} {asked.words if asked else ''}")
    entries = list(_tokens(question, wanted, words))
    telling = [
        entry
        for entry in entries
        if not _are_in(entry[2], generic)
        and (entry[1] == "name" or entry[0].casefold() not in _FRAMING)
    ] or entries
    known = wanted.union(*(reading for _, _, readings, _ in telling for reading in readings))
    indexed, rarity = words.indexed(known), words.rarities(known, [known])
    weights = [
        min(max(rarity[term] for term in reading) for reading in readings)
        for _, _, readings, _ in telling
    ]
    total = sum(weights) or 1.0
    return tuple(
        KeyTerm(
            *(text, kind, readings, weight, weight / total),
            indexed=_are_in(readings, indexed),
            start=start,
            behind=_PREPOSITION.search(question, max(start - REACH, 0), start) is not None,
        )
        for (text, kind, readings, start), weight in zip(telling, weights, strict=True)
    )


def weighed_by_code(wanted: Sequence[KeyTerm], entry: Terms) -> tuple[KeyTerm, ...]:
    """Return key terms with less weight on words where a quote is the entry of the very code.

    "Error" is how a question about CV-118 puts it, not what the row has to say.
    """
    codes = [term for term in wanted if term.kind == "code"]
    if not codes or any(term.borne_out(entry) < 1 for term in codes):
        return tuple(wanted)
    weights = [term.share * (1.0 if term.kind == "code" else BESIDE_CODE) for term in wanted]
    return tuple(
        replace(term, share=weight / sum(weights))
        for term, weight in zip(wanted, weights, strict=True)
    )


def unknown_terms(terms: Iterable[KeyTerm], trace: Trace) -> list[KeyTerm]:
    """Key terms, of those of a question, that no passage has, nor another form of them."""
    read = words_in(" ".join(one.typed for one in trace.corrections if one.other_forms))
    return [term for term in terms if not term.indexed and not words_in(term.text) <= read]


def words_in(text: str) -> frozenset[str]:
    """The words of a text without case, which terms may be like."""
    return frozenset(WORD.findall(text.casefold()))


def _are_in(readings: tuple[Terms, ...], terms: Terms) -> bool:
    """Whether some terms include all of a word, as one of the analyzers cuts it."""
    return any(reading <= terms for reading in readings)


def _behind(word: str, at: int) -> str:
    """Return the rest of a word, without the double of the letter before: "cancelled"."""
    doubled = word[at : at + 1] == word[at - 1] and len(word) > at + 1
    return word[at + doubled :]


def _tokens(
    question: str, wanted: Terms, words: Vocabulary
) -> Iterator[tuple[str, Kind, tuple[Terms, ...], int]]:
    no_names = question.isupper() or language(question) in _CAPITAL_NOUNS
    taken = set[tuple[Terms, ...]]()
    for match in _TOKEN.finditer(question):
        text, start = match.group(), match.start()
        readings = tuple(filter(None, (terms & wanted for terms in words.readings(text))))
        whole = "".join(filter(str.isalnum, text)).casefold()
        kind = _kind(text, not _has_letter(question[: match.start()]) or no_names)
        version = _VERSION.fullmatch(text)
        joined = version[1] if version else whole if kind == "code" else ""
        if joined and any(joined in terms for terms in readings):
            readings = (frozenset({joined}),)
        if readings and readings not in taken:
            taken.add(readings)
            yield text, kind, readings, start


def _kind(text: str, beginning: bool) -> Kind:
    if any(map(str.isdecimal, text)):
        return "code" if _has_letter(text) and not _MEASURE.fullmatch(text) else "figure"
    inner = any(letter.isupper() for letter in text[1:])
    return "name" if inner or (text[0].isupper() and not beginning) else "word"


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
