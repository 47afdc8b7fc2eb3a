"""Claims of a document: sentences and cells of tables with the figures that they state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from rag.answering.assessing.editions import NAME_BEHIND
from rag.answering.assessing.resemblance import CODE, codes_of
from rag.answering.checking.decimals import NUMBER, decimal_mark, plain_number
from rag.answering.markup import unmarked
from rag.answering.statements.rows import rows_within
from rag.answering.statements.sentences import statements
from rag.examination.clauses import clause_of
from rag.lexical import Analyzer, analyzer, function_words
from rag.types import Document, Span

LONGEST = 600
"""Characters. Text that lost its lines is one endless sentence, and aligns with everything."""
FEWEST_WORDS = 3
FRONT_MATTER = 400
"""Characters at the beginning of a document: dates there are those of the document itself."""

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<month>{_MONTH})(?:,?\s+(?P<year>\d{{4}}))?\b"
    rf"|\b(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?(?:,?\s+(?P<year2>\d{{4}}))?"
    r"|\b(?P<iso>\d{4}-\d\d-\d\d)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    rf"(?:(?P<currency>[€$£]|\b(?:EUR|USD|GBP|CHF)\b)\s*)?(?<![\w.,/-])(?P<number>{NUMBER})"
    rf"(?!\w*\d|{NAME_BEHIND})"
    r"(?:[ \u00a0-]?(?P<unit>%|°\s?[CF]|[€$£]|(?:working|business|calendar) (?:day|hour)s?\b"
    r"|[^\W\d_]++(?!:/)(?:/[^\W\d_]+)?))?",
)
_REFERENCE = re.compile(
    r"\b(?:sections?|chapters?|pages?|figs?\.?|figures?|tables?|steps?|appendix|article|eq\.?"
    r"|equations?|version|release|§)\s*\d+(?:\.\d+)*(?:\s*[–-]\s*\d+)?|\[[\d,;\s–-]++\]|(?<![\d.])(?!\d{1,3}(?:\.\d{3})++(?!\d|\.\d))\d++(?:\.\d++){2,}"
    r"|^\s*\d+(?:\.\d+)*[.)]\s",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_SPELT = {
    word: str(number)
    for number, word in enumerate(
        [
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
        ],
        2,
    )
}
_TENS = {
    word: str(number)
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2
    )
}
_ONES = {"one": "1"} | {word: number for word, number in _SPELT.items() if len(number) == 1}
_SPELT |= {word: f"{tens}0" for word, tens in _TENS.items()}
_WORDS_OF = {number: word for word, number in _SPELT.items()}
_SPELT_NUMBER = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})[- ](?P<ones>{'|'.join(_ONES)})|{'|'.join(_SPELT)})\b",
    re.IGNORECASE,
)
_UNITS = {
    "percent": "%", "€": "eur", "euro": "eur", "euros": "eur", "$": "usd", "£": "gbp",
    "h": "hour", "hrs": "hour", "min": "minute", "mins": "minute", "s": "second",
    "sec": "second", "°c": "°c", "°f": "°f",
}  # fmt: skip
_OR_MORE = re.compile(r"(\d) or (?:more|fewer|less) ", re.IGNORECASE)
"""Between a figure and its unit: "ten or more days"."""
_BETWEEN_FIGURES = frozenset(("to", "and", "or", "bis", "und"))
_UNITS_TOO = frozenset((*_BETWEEN_FIGURES, "am", "pm", "men", "ton", "mal"))
"""Function words of some language that stand behind figures in another."""
_MONEY = frozenset(("eur", "usd", "gbp", "chf"))
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_BIBLIOGRAPHY = re.compile(
    r"\b(?:proceedings|arxiv|doi|isbn|preprint|in advances in|conference on|pp\.|et al\.)", re.I
)


Figure = tuple[str, str]
"""A value and a unit, as they compare."""

_OWN = re.compile(
    r"\b(?:this|the present) (?:by-?law|ordinance|act|law|statute|regulation|policy|agreement"
    r"|contract|directive|decree|resolution)\b"
    r"|\b(?:est[ea]|(?:la|el) presente) (?:ordenanza|ley|reglamento|decreto|resolución|contrato)\b"
    r"|\bdiese[rsn]? (?:satzung|verordnung|gesetz(?:es)?|richtlinie|vertrag(?:s|es)?|ordnung)\b"
    r"|\b(?:cet?|cette|(?:le|la) présente?) (?:règlement|loi|arrêté|décret|contrat|ordonnance)\b",
    re.IGNORECASE,
)
"""Words by which a rule speaks of the document that it stands in."""


_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_MINUS = re.compile(r"(?<![^\W_])[-−](?=\d)|(?<=(?<!\w)\w)[-−](?!\w)")
"""A sign before a number or behind a letter, not a hyphen."""
_BETWEEN_WORDS = re.compile(r"[^\w+#%&<>≤≥−]|_")


@dataclass(frozen=True, slots=True)
class Claim:
    """``document.text[start:end]`` with its figures, and how each is written there.

    ``words`` are the stems of its other words. ``names`` are its codes and those of its headings.
    ``row`` and ``column`` label a cell of a table; they are "" for sentences. ``own`` is whether it
    speaks of its document: "This by-law comes into force on 1 May". ``text`` is what a sentence
    says, without the marks of Markdown.
    """

    document: int
    start: int
    end: int
    words: frozenset[str]
    figures: Mapping[Figure, str]
    names: frozenset[str]
    row: str = ""
    column: str = ""
    own: bool = False
    text: str = ""

    def clause(self, figure: Figure) -> str:
        """Return the part of the sentence that has a figure."""
        return clause_of(self.text, self.figures[figure])

    @property
    def span(self) -> Span:
        """The characters of the document that state the claim."""
        return self.start, self.end


def claims_of(position: int, document: Document) -> Iterator[Claim]:
    """Yield the claims of a document that state figures, in no special order."""
    mark = decimal_mark(document.text)
    yield from _cells(position, document, mark)
    for start, end in _between_tables(document):
        last: Claim | None = None
        for statement in statements(document.text[start:end]):
            if len(statement.quote) > LONGEST or _BIBLIOGRAPHY.search(statement.quote):
                continue
            words = words_of(statement.quote)
            if statement.kind != "item" or len(words) < FEWEST_WORDS:
                words = words_of(statement.text)
            # An item of a list may have figures of the words above the list: nobody sees those.
            quoted = figures_of(unmarked(statement.quote), mark)
            figures = {
                figure: written
                for figure, written in figures_of(statement.text, mark).items()
                if figure[1] and figure in quoted
            }
            at = start + statement.start
            if at < FRONT_MATTER and len(document.text) > 4 * FRONT_MATTER:
                figures = {one: figures[one] for one in figures if one[1] != "date"}
            if last is not None and last.start == at and last.figures.keys() == figures.keys():
                continue  # "This is optional." goes with the sentence before it, and adds nothing
            if figures and len(words) >= FEWEST_WORDS:
                last = Claim(
                    position,
                    at,
                    at + len(statement.quote),
                    words,
                    figures,
                    codes_of(f"{document.heading_at(at)} {statement.text}"),
                    own=_OWN.search(statement.text) is not None,
                    text=statement.text,
                )
                yield last


def figures_of(text: str, mark: str = ".") -> dict[Figure, str]:
    """Return figures and dates of a text, each with how it is written.

    ``mark`` is the decimal mark of the document.
    """
    figures = {(_day(match), "date"): match[0] for match in _DATE.finditer(text)}
    rest = _REFERENCE.sub(" ", _DATE.sub(" ", text))
    rest = _SPELT_NUMBER.sub(_in_digits, rest)
    rest = _OR_MORE.sub(r"\1 ", rest)
    pending: dict[str, str] = {}
    for match in _FIGURE.finditer(rest):
        number, value = match["number"], value_of(match["number"], mark)
        unit = _unit(match["currency"] or match["unit"] or "")
        if unit in _BETWEEN_FIGURES:
            pending[value] = number
            continue
        if unit in _ORDINALS or (_YEAR.fullmatch(number) and unit not in _MONEY):
            continue
        behind = rest[match.end("number") : match.end()] if unit and not match["currency"] else ""
        for earlier, digits in pending.items():
            figures.setdefault((earlier, unit), _as_written(digits, text) + behind)
        pending = {}
        before, number = rest[match.start() : match.start("number")], _as_written(number, text)
        figures.setdefault((value, unit), f"{before}{number}{behind}")
    return figures


def _in_digits(match: re.Match[str]) -> str:
    if match["tens"]:
        return _TENS[match["tens"].lower()] + _ONES[match["ones"].lower()]
    return _SPELT.get(match[0].lower(), match[0])


def _as_written(number: str, text: str) -> str:
    """Return a number as a text has it: in digits, or in words."""
    word = _WORDS_OF.get(number, "")
    spelt = (one for one in _LETTERS.findall(text) if one.casefold() == word)
    return number if number in _DIGITS.findall(text) else next(spelt, number)


def value_of(number: str, mark: str = ".") -> str:
    """Return a number as it compares: ``1,200.50`` is ``1200.5``."""
    exact = f"{Decimal(plain_number(number, mark)):f}"
    return exact.rstrip("0").rstrip(".") if "." in exact else exact


@lru_cache(maxsize=65536)
def words_of(text: str) -> frozenset[str]:
    """Return the stems of a sentence or a cell, as ``stems_of`` does; they come again and again."""
    return stems_of(text)


def stems_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that are neither numbers nor function words."""
    plain = CODE.sub(" ", text)
    return frozenset(
        term
        for term in _english().query_tokens(plain)
        if len(term) > 1 and not term[0].isdigit() and term not in _SPELT
    )


@lru_cache(maxsize=1)
def _english() -> Analyzer:
    return analyzer("english")


def _cells(position: int, document: Document, mark: str) -> Iterator[Claim]:
    for row in rows_within(document, (0, len(document.text))):
        if len(row.cells) < 2:
            continue
        labelled = zip(row.cells[1:], (*row.labels, *[""] * len(row.cells))[1:], strict=False)
        titles = f"{row.caption} {row.block}"
        context = f"{titles} {document.heading_at(row.start)}"
        for cell, label in labelled:
            figures = figures_of(cell, mark)
            if figures and len(cell) < 60:
                yield Claim(
                    position,
                    row.start,
                    row.end,
                    words_of(f"{row.name} {label} {titles}"),
                    figures,
                    codes_of(f"{context} {row.name}"),
                    _label(row.cells[0]),
                    _label(label),
                )


def _between_tables(document: Document) -> Iterator[Span]:
    start = 0
    for table in document.tables:
        yield start, table.start
        start = table.end
    yield start, len(document.text)


def _label(text: str) -> str:
    """Return the words of a label with the signs that tell things apart: C and C++, A and A-."""
    return " ".join(_BETWEEN_WORDS.sub(" ", _MINUS.sub("−", text)).casefold().split())


def _unit(text: str) -> str:
    unit = text.casefold().replace(" ", "")
    if unit in _UNITS:
        return _UNITS[unit]
    if len(unit) > 1 and unit in function_words() - _UNITS_TOO:
        return ""
    if len(unit) > 3 and unit.endswith("s"):
        unit = unit[:-1]
    return unit


def _day(match: re.Match[str]) -> str:
    if match["iso"]:
        return match["iso"]
    month = _MONTHS.index((match["month"] or match["month2"]).casefold()) + 1
    day = int(match["day"] or match["day2"])
    year = match["year"] or match["year2"] or ""
    return f"{year}-{month:02}-{day:02}"
