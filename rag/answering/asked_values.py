"""The kinds of values that questions ask for, and whether a text has one: "a phone number".

Durations and dates, names, phone numbers and addresses, prices, figures and measurements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rag.answering.languages import alternatives, any_of, listed, pattern
from rag.answering.statements.rows import BETWEEN
from rag.answering.words import unit_at, unit_of

SPELT_NUMBER = any_of(
    *("numbers", "tens", "scales", "fractions.2", "multiples", "none", "frequencies")
)
ANY_NUMBER = rf"(?:[\d½¼¾]|{SPELT_NUMBER})"
ORDINAL_ENDING = alternatives("ordinal_endings")
TIME = r"(?:[01]?\d|2[0-4])[.:][0-5]\d"
TIME_UNITS = (
    *("units.second", "units.minute", "units.hour", "units.day", "units.week", "units.month"),
    *("units.year", "periods"),
)
LENGTH_UNITS = (
    *("units.millimetre", "units.centimetre", "units.metre", "units.kilometre", "units.inch"),
    *("units.foot", "units.yard", "units.mile"),
)
CURRENCIES = ("units.euro", "units.dollar", "units.pound", "units.franc", "units.yen", "coins")
UNIT = rf"(?:[%€$£¥元]|{any_of(*TIME_UNITS, *CURRENCIES, 'units.percent', 'behind_figures')}|h\b)"
"""What is behind a figure of time, age or money, or a share."""
SOME_WORDS = r"(?:[\w'’-]{1,30} ){0,4}?"
WHAT_IS, WHICH = any_of("what_is"), any_of("which")


def ending(*keys: str) -> str:
    """Return an expression for the end of a question, or one of some words that go on with it."""
    return rf"(?=\W{{0,3}}\Z|,| {any_of(*keys)})"


_LONGEST_LINE = 60
"""Characters of a line in which a bare figure may be a value: "Adults: 12"."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value: how questions ask for it, and how texts give it.

    ``name`` is how a reason calls it, ``words`` are those of a question that only say what kind of
    value it wants. An ``exact`` kind is told by its form: a text without one has no answer.
    """

    name: str
    words: str
    question: re.Pattern[str]
    value: re.Pattern[str]
    exact: bool = False

    def is_in(self, text: str) -> bool:
        """Whether a text has a value of this kind."""
        return self.value.search(text) is not None


def is_list_like(text: str) -> bool:
    """Whether a text is a row, or a line that is no sentence: its figures need no unit."""
    return BETWEEN in text or (len(text) <= _LONGEST_LINE and not text.endswith("."))


_LASTING = (
    rf"(?:{any_of(*TIME_UNITS, ends=True)}|{any_of(*LENGTH_UNITS, 'extents')}"
    r"|(?<![^\W\d_])(?:h|km|m|cm|mm|ms)\b|(?<!\d\d\d)(?<=\d)s\b)"
)


_BARE = re.compile(r"(?<![\w.-])\d")
"""The beginning of a figure that is no code: not of "GS-0408-11"."""


class _Time(ValueKind):
    """A date, or how long something is. In running text a figure needs its unit or form."""

    def is_in(self, text: str) -> bool:
        """Whether a text has a time, or is a row with a figure."""
        if self.value.search(text):
            return True
        return is_list_like(text) and _BARE.search(text) is not None


DURATION = _Time(
    "a duration",
    " ".join(listed("duration.words")),
    pattern("duration.asks"),
    re.compile(
        rf"{ANY_NUMBER}[^.;!?\n]{{0,25}}?(?<!['’]){_LASTING}"
        rf"|[\[(]{_LASTING}[\])][^.;!?\n]{{0,30}}?{ANY_NUMBER}"
        rf"|{TIME}|(?:19|20)\d\d ?[-–] ?(?:19|20)?\d\d|{any_of('duration.within')} {_LASTING}"
        rf"|(?!{any_of('duration.no_values')}){any_of('duration.values')}",
        re.IGNORECASE,
    ),
)
_DAY = (
    r"(?:19|20)\d\d[-./]\d{1,2}(?:[-./]\d{1,2})?|\d{1,2}[-./]\d{1,2}[-./](?:19|20)?\d\d"
    r"|(?:19|20)\d\d ?[-–/] ?(?:19|20)?\d\d"
)
_DATED = (
    rf"{TIME}|{_DAY}|(?<![\w.,-])[12]\d{{3}}(?![.,]?\d)|\d(?:{ORDINAL_ENDING})\b"
    rf"|\d ?(?:h\b|{any_of('behind_figures')})"
    rf"|{any_of('weekdays', 'months', *TIME_UNITS, 'date.values')}"
)
DATE = _Time(
    "a date or time",
    " ".join(listed("date.words")),
    re.compile(
        rf"\A\W{{0,3}}{any_of('date.begins')}(?!.*, {WHICH})|{any_of('date.asks')}",
        re.IGNORECASE,
    ),
    re.compile(rf"{_DATED}|{SPELT_NUMBER}|{any_of('date.conditions')}", re.IGNORECASE),
)
DAY = replace(
    DATE,  # "when I am ill" answers "when", and not "on what date"
    question=re.compile(rf"{WHICH} {any_of('date.nouns')}{ending('date.behind')}", re.IGNORECASE),
    value=re.compile(_DATED, re.IGNORECASE),
)

_WORD = re.compile(r"[^\W_]+")
_DEFINES = re.compile(rf"{any_of('defines')}(?! of\b)")
_NO_NAME = "|".join(
    word.title() for word in listed("no_names", "articles", "definite_articles", "possessives")
)
_NO_NAME_FIRST = "|".join(word.title() for word in listed("sentence_openers"))
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'-]{1,40}"


@dataclass(frozen=True, slots=True)
class Person(ValueKind):
    """The name of somebody; the words of the question are none, as in "the Old Mill"."""

    taken: frozenset[str] = frozenset()

    def besides(self, question: str) -> Person:
        """The same kind without the names that a question has itself."""
        return replace(self, taken=frozenset(_WORD.findall(question.casefold())))

    def is_in(self, text: str) -> bool:
        """Whether a text names somebody whom the question does not name."""
        if _DEFINES.search(text):
            return False  # "Mayor means the Head of Council" names nobody
        rest = _WORD.sub(
            lambda match: ";" if match.group().casefold() in self.taken else match.group(), text
        )
        return self.value.search(rest) is not None


ORGANISATION = Person(
    "a name",
    " ".join(listed("organisation.words")),
    re.compile(
        rf"{any_of('organisation.asks')}"
        rf"|{WHICH} (?:[\w-]{{1,20}} )?{any_of('organisation.nouns')}"
        rf" {any_of('organisation.acts')}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<=[\w,;:·|–(-] )(?!(?:{_NO_NAME}"
        rf"|(?i:{any_of('weekdays', 'months')}|eur|usd|gbp|chf|jpy))\b){_CAPITAL}"
        rf"|(?:\A|[.!?•“\"„«] ?)(?!(?:{_NO_NAME}|{_NO_NAME_FIRST})\b){_CAPITAL}"
        rf"(?: ;| (?:{alternatives('is')})\b| {_CAPITAL})"
    ),
)
PERSON = Person(
    "a name",
    " ".join(listed("person.words")),
    re.compile(
        rf"{any_of('person.begins')} {any_of('definite_articles', 'articles', 'possessives')} ",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?!(?:{_NO_NAME})\b){_CAPITAL}(?: [A-Z]\.)?(?: (?:{alternatives('name_parts')})){{0,2}}"
        rf" {_CAPITAL}"
        rf"|\b(?:{'|'.join(word.title() for word in listed('titles'))})\.? [A-ZÀ-ÖØ-Þ]"
        r"|\b(?:[A-ZÀ-ÖØ-Þ]\. ?){1,3}[A-ZÀ-ÖØ-Þ][a-zß-ÿ]|[:·|\t–—,] ?[A-ZÀ-ÖØ-ÞА-ЯЁ]"
        r"|[А-ЯЁ][а-яё]{1,40} [А-ЯЁ]|[\u3040-\u30ff\u4e00-\u9fff]"
    ),
)

_AMOUNT = r"\d{1,12}(?:[ .,'’]\d{3}){0,4}(?:[.,]\d\d?)?"
_CURRENCY = rf"[€$£¥₹元]|(?i:{any_of(*CURRENCIES)})"
_NO_PHONE = re.compile(
    r"\b[A-Z]{2}\d\d(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b"
    rf"|(?<![\d.,/+-])(?:(?:{_DAY}|\d{{1,3}}(?:\.\d{{1,3}}){{3}}|{TIME}(?: ?[-–] ?{TIME})?)"
    rf"(?![./-]?\d)|{_AMOUNT} ?(?:{_CURRENCY}))|(?:{_CURRENCY}) ?{_AMOUNT}"
)
"""Accounts (IBAN), dates, addresses of computers, times and amounts of money."""
_PHONE = re.compile(
    r"(?<!\d)(?:\+?\(?\d[\d()]{0,12}(?:[ ./-]{1,3}[\d()]{1,12}+){1,6}|\+?\d{6,14})(?!\d)"
)
_ANNOUNCED = re.compile(
    rf"(?:{any_of('phone_number.announces')}"
    rf"(?:\W{{0,3}}|[^\d\n]{{0,30}}?(?:[:：|]|{any_of('announcing')})\W{{0,3}})\d{{2,}}+"
    rf"|{any_of('number_itself')}(?:\.?:| {any_of('is')}) ?\d{{3,}}+)"
    rf"(?![-–/.:,]\d|[\s-]{{0,3}}{UNIT})",
    re.IGNORECASE,
)
"""A number of few digits that a word makes a phone number: "ext. 42"."""
_NO_BREAK = str.maketrans("\u00a0\u202f\u2010\u2011", "  --")
_COUNTED = re.compile(r"[1-9]\d?(?:[ .]\d{3})+|[1-9]\d* - [1-9]\d*")
"""A great number or a span: "1 250 000", "1000 - 2000"."""
_FEWEST_DIGITS = 6
"""Of a phone number that nothing announces."""
_ASKED = (
    rf"(?:\A\W{{0,3}}|{WHAT_IS} (?:(?!{any_of('relating')})[\w.'’-]{{1,40}} ){{0,5}}"
    r"(?:[ld]['’])?)"
)
"""The words before what a question asks for: "the emergency", not "the way to change my"."""
_END = rf"(?= ?(?:[?!.,;？]|\Z)| {any_of('belonging')}| d['’])"
"""What is behind it: its owner, or the end of the question; not "format", "used for"."""
_REACHED = rf"(?: \w{{1,20}}){{0,2}} {any_of('reaching')}"


class _PhoneNumber(ValueKind):
    """A kind whose values have no single form."""

    def is_in(self, text: str) -> bool:
        """Whether a text has a phone number, and not just figures that are written like one."""
        text = text.translate(_NO_BREAK)
        if _ANNOUNCED.search(text):
            return True
        candidates = self.value.findall(_NO_PHONE.sub(";", text))
        return any(
            sum(map(str.isdigit, number)) >= _FEWEST_DIGITS and not _COUNTED.fullmatch(number)
            for number in candidates
        )


PHONE_NUMBER = _PhoneNumber(
    "a phone number",
    " ".join(listed("phone_number.words")),
    re.compile(
        rf"{_ASKED}{any_of('phone_number.nouns')}{_END}|{any_of('phone_number.asks')}"
        rf"|{WHICH} {any_of('phone_number.nouns', 'number_itself')}{_REACHED}",
        re.IGNORECASE,
    ),
    _PHONE,
    exact=True,
)


def _address(name: str, key: str, form: str) -> ValueKind:
    """An address of a computer or at one, told by its form."""
    nouns = any_of(f"{key}.nouns")
    asked = rf"{_ASKED}{nouns}{_END}|{any_of(f'{key}.asks')}|{WHICH} {nouns}{_REACHED}"
    words = " ".join(listed(f"{key}.words"))
    return ValueKind(
        *(name, words, re.compile(asked, re.IGNORECASE), re.compile(form, re.IGNORECASE)),
        exact=True,
    )


EMAIL_ADDRESS = _address("an e-mail address", "email_address", r"[\w.+-]@[\w-]")
WEB_ADDRESS = _address(
    *("an address of a page or server", "web_address"),
    r"://\w|\blocalhost\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|[a-z\d-]\.[a-z]{2,10}\b",
)

_MONEY = (
    rf"[€$£¥₹元]|{any_of(*CURRENCIES, 'free', 'price.values')}"
    r"|(?<![a-z])(?:eur|usd|gbp|chf)(?![a-z])|\b(?:JPY|SEK|NOK|DKK|PLN)\b"
)
_BARE_FIGURE = re.compile(
    rf"(?<![\w.,])\d[\d.,]{{0,12}}+(?![ -]?(?:(?!{any_of('units.percent')})"
    rf"{any_of('units', 'periods', 'extents', 'people')}"
    r"|(?:h|km|m|cm|mm|kg|mg|µg|g|l|ml|[kmgt]i?b|(?-i:[AVW]))\b))",
    re.IGNORECASE,
)
"""One that does not measure anything but money, as far as one can see."""
_PAYING = pattern("price.paying", ends=True)
_NEAR = 90
"""Characters from a word such as "fee" to its figure."""


class _Price(ValueKind):
    """An amount of money; in running text a bare figure is one beside a word such as "fee"."""

    def is_in(self, text: str) -> bool:
        """Whether a text has an amount of money."""
        if self.value.search(text):
            return True
        figures = _BARE_FIGURE.finditer(text)
        if is_list_like(text):
            return next(figures, None) is not None
        if not _PAYING.search(text):
            return False
        around = (text[max(one.start() - _NEAR, 0) : one.end() + _NEAR] for one in figures)
        return any(map(_PAYING.search, around))


PRICE = _Price(
    "a price",
    " ".join(listed("price.words")),
    pattern("price.asks"),
    re.compile(_MONEY, re.IGNORECASE),
)
SUM = _Price(
    "a price",
    " ".join(listed("price.words")),
    re.compile(
        rf"{any_of('price.is')} (?!.{{0,80}}{any_of('quantities')})"
        rf"|{any_of('price.begins')} (?:[\w'’-]{{1,30}} ){{1,4}}?{any_of('price.pays')}"
        rf"{ending('price.behind')}",
        re.IGNORECASE,
    ),
    re.compile(rf"{_MONEY}|%", re.IGNORECASE),
)
FEE = replace(
    SUM,
    # The fee of a table may be one of several: "the parking charge", "the lift charge".
    words=" ".join(listed("fee.words")),
    question=re.compile(
        rf"{WHAT_IS} {SOME_WORDS}{any_of('fee.nouns')}{ending('asked_behind')}"
        rf"|{any_of('fee.asks')} {SOME_WORDS}{any_of('fee.nouns', ends=True)}",
        re.IGNORECASE,
    ),
)

MEASURED = re.compile(
    rf"24/7\b|[\d.,:/]{{0,12}}(?:(?:{ORDINAL_ENDING})\b|[\s-]{{0,3}}(?:{UNIT}))", re.IGNORECASE
)
"""A figure that measures or counts: "30 days", "17-year-old", "60 euros", "24th"."""
_IN_YEAR = (
    rf"(?:{any_of('in_year', 'months')}\s(?:19|20)\d\d\b"
    rf"|\b(?:19|20)\d\d(?=\s{any_of('yearly_things')}))"
)
_NO_COUNT = re.compile(
    rf"(?:{_IN_YEAR}|{any_of('none')}(?= {any_of('not_counted')}))[ -]?([^\W\d_]{{0,20}})",
    re.IGNORECASE,
)
_MARK = re.compile(r"\(\d{1,3}\)|(?:^|(?<=\n))[ \t]*\d{1,3}[.)][ \t]")
_STEM = 4
"""Letters at the beginning of a word that its forms have in common."""
_FIGURES = re.compile(rf"\d[\d.,]*|{SPELT_NUMBER}", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(?<=[“\"'„«])[A-ZÄÖÜ][a-zäöüß]{2,20} \d+(?=[”\"'“»])")
"""A number that is part of a name: this becomes "Library 1"."""
_MEASURED_IN = re.compile(
    rf"[ -]?(?P<unit>{UNIT}|{any_of('units', 'extents', 'measures')})", re.IGNORECASE
)
_COUNTS = re.compile(rf"{any_of('counting')} ?([^\W\d_]{{2,20}})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Number(ValueKind):
    """A figure that is not part of a name; ``counted`` is the noun that the question counts."""

    counted: str = ""

    def is_in(self, text: str) -> bool:
        """Whether a text has a figure that counts or measures.

        A year, "no questions", "50 feet" and the mark of an item count nothing else.
        """
        kept = text if is_list_like(text) else _IDENTIFIER.sub(" ", text)
        if not self.counted:
            return self.value.search(kept) is not None
        kept = _NO_COUNT.sub(self._as_counted, _MARK.sub(" ", kept))
        if any(self._counts(kept, *one.span()) for one in _FIGURES.finditer(kept)):
            return True
        return self.value.search(_FIGURES.sub(" ", kept)) is not None

    def _counts(self, text: str, start: int, end: int) -> bool:
        """Whether a figure has no unit, or the noun that is counted, and is no part of a word."""
        measured = _MEASURED_IN.match(text, end)
        if measured:
            return measured["unit"].casefold().startswith(self.counted[:_STEM].casefold())
        beside = text[max(start - 1, 0) : start] + text[end : end + 1]  # "37signals"
        is_in_word = any(one.isascii() and one.isalpha() for one in beside)
        return not is_in_word and not unit_at(text, start, end)

    def _as_counted(self, figure: re.Match[str]) -> str:
        stem = self.counted[:_STEM].casefold()
        return figure.group() if figure[1].casefold().startswith(stem) else f" {figure[1]}"


NUMBER = _Number(
    "a number",
    " ".join(listed("number.words")),
    re.compile(
        rf"{any_of('number.asks')}"
        rf"|{WHAT_IS} {SOME_WORDS}{any_of('number.nouns')}{ending('asked_behind')}",
        re.IGNORECASE,
    ),
    re.compile(rf"{ANY_NUMBER}|{any_of('free', 'number.values')}", re.IGNORECASE),
)


KINDS = (
    *(PERSON, ORGANISATION, PHONE_NUMBER, EMAIL_ADDRESS, WEB_ADDRESS),
    *(PRICE, SUM, FEE, DURATION, DAY, DATE, NUMBER),
)
"""The narrow ones first: "what is the phone number" asks for no number of something."""


def asked_value(question: str) -> ValueKind | None:
    """The kind of value that a question asks for; None where it does not say."""
    kind = next((kind for kind in KINDS if kind.question.search(question)), None)
    if isinstance(kind, Person):
        return kind.besides(question)
    counted = _COUNTS.search(question) if kind is NUMBER else None
    return replace(NUMBER, counted=counted[1]) if counted and not unit_of(counted[1]) else kind
