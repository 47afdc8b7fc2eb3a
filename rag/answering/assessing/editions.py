"""Editions of one document: last year's policy and this year's say the same with other figures.

Names tell which documents are editions, or else texts that are mostly the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from rag.answering.assessing.dates import applies_from, date_in, valid_from
from rag.answering.languages import alternatives, pattern
from rag.answering.vocabulary import Terms
from rag.answering.words import DIGITS, LETTERS
from rag.types import name_stem

ALIKE = 0.3
"""Two statements of editions that share this much of their words (Jaccard) are on one matter."""
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d(?:[-_.](?:0[1-9]|1[0-2])(?:[-_.][0-3]\d)?)?)(?!\d)")
_VERSION = re.compile(
    rf"(?:^|[^a-z])(?:{alternatives('edition_marks')})[-_. ]?(\d+(?:\.\d+)*)$|\((\d{{1,2}})\)$",
    re.IGNORECASE,
)
"""At the end of a name alone: "V8" within it may be the product."""
_SPAN = re.compile(
    r"(?<!\d)(?:"
    + "|".join(f"(?:19|20){year:02}[-_./]{(year + 1) % 100:02}" for year in range(100))
    + r")(?!\d)"
)
"""A season or a business year: "2024-25"; the 45th law of a year is none."""
_STATUS = re.compile(
    rf"(?:^|[-_ .(])(?:{alternatives('edition_states')})(?=$|[-_ .)])", re.IGNORECASE
)
_TODAY = pattern("now")
LAST = "~"
"""Sorts behind every day of a month or year."""


def _of_name(*keys: str) -> str:
    """Return the words of some keys as they stand in names of documents."""
    return rf"(?:{alternatives(*keys).replace(' ', _GAP)})"


_GAP = r"[\W_]"
_REPORTS = rf"(?:{_of_name('reports')}|[^\W\d_]{{0,20}}{_of_name('compound_reports')})"
_WITH_ADJECTIVE = _of_name("adjectived_reports")
_PERIOD = rf"(?:[\W\d_]|q[1-4]|h[12]|{_of_name('seasons', 'months')})"
_OF_PERIOD = re.compile(
    rf"\A{_REPORTS}(?:(?=[\W_]?\d{{4}})|{_GAP}{_of_name('report_on')}{_GAP})"
    rf"|(?<![^\W\d_])(?:{_REPORTS}|{_WITH_ADJECTIVE}(?:[\W_]+[^\W\d_]+)?)(?={_PERIOD}*+\Z)"
    rf"|\A{_WITH_ADJECTIVE}{_GAP}{_of_name('report_on')}{_GAP}",
    re.IGNORECASE,
)
"""In names of documents that report on an occasion or a period: each stays true of its own."""
_INSTRUCTS = re.compile(rf"(?<![^\W\d_]){_of_name('instructs')}(?![^\W\d_])", re.IGNORECASE)
"""In names of documents on reports, such as "how-to-file-expense-reports"."""
_SEPARATOR = re.compile(r"[\W_]+")
_JOINTS = " -_."
_EDITION_WORDS = pattern("edition_states", "edition_marks", "copies")
_NO_FIGURE_SEPARATOR = re.compile(r"(?![-−.,]\d)[\W_]")
"""Separators that are no sign or decimal point of a figure."""
_NAME_BEHIND = (
    rf"(?!(?:{alternatives('units', 'periods', 'extents', 'people', 'measures', 'pieces')})\b)"
    r"[A-Za-z]{5}"
)
"""What stands behind the figures of a name, as in "37signals", and is no unit."""
_NUMBER = re.compile(rf"(?<!\d)\d++(?:[.,]\d++)*+(?!{_NAME_BEHIND})", re.IGNORECASE)
_COUNT = pattern("none", "negations", "numbers", "tens", "scales", "fractions.2", "months")


@lru_cache(maxsize=4096)
def family(name: str) -> str:
    """The name of a document without year, version and status: the same for all its editions.

    Minutes, reports and the like keep their date: none supersedes that of another period. Folders
    are parts of a name: "a/b_c" is no edition of "a_b/c", and of a series such as
    "releases/2023-02" no document has a family.
    """
    stem = name_stem(name)
    patterns = (_VERSION, _STATUS) if is_report(name) else (_SPAN, _DAY, _VERSION, _STATUS)
    for expression in patterns:
        stem = expression.sub(" ", stem).rstrip(_JOINTS)
    *folders, own = (_SEPARATOR.sub(" ", part).strip().casefold() for part in stem.split("/"))
    return "/".join(filter(None, [*folders, own])) if own else ""


def names_day(name: str) -> bool:
    """Whether the name of a document has a whole day: "council-2024-01-17"."""
    day = _DAY.search(name_stem(name))
    return day is not None and len(day[1]) == len("2024-01-17")


@lru_cache(maxsize=4096)
def is_report(name: str) -> bool:
    """Whether a document's name is of minutes, a report or the like, on an occasion or period."""
    stem = name_stem(name)
    for expression in (_VERSION, _STATUS):
        stem = expression.sub(" ", stem).rstrip(_JOINTS)
    return bool(_OF_PERIOD.search(stem)) and not _INSTRUCTS.search(stem)


@lru_cache(maxsize=4096)
def words_of(name: str) -> frozenset[str]:
    """Return the words of a document's name without figures, its date and words of editions."""
    words = _SEPARATOR.sub(" ", name_stem(name)).casefold()
    _, start, end = date_in(words)
    rest = _EDITION_WORDS.sub(" ", DIGITS.sub(" ", f"{words[:start]} {words[end:]}"))
    return frozenset(rest.split())


def are_of_other_periods(one: str, other: str) -> bool:
    """Whether two names or titles are of reports on different occasions or periods."""
    return is_report(one) and is_report(other) and family(one) != family(other)


def are_editions(one: str, other: str) -> bool:
    """Whether two names are of editions of one document."""
    return one != other and bool(family(one)) and family(one) == family(other)


def day_of(name: str) -> str:
    """The date in a document's name, as ``2026``, ``2026-03`` or ``2026-03-31``; "" for none."""
    match = _DAY.search(name)
    return re.sub(r"[_.]", "-", match.group(1)) if match else ""


@dataclass(frozen=True, slots=True)
class EditionDate:
    """The dates that tell the age of an edition: in its name, and as its text states it.

    ``version`` is the number of the version in the name; () for none.
    """

    named: str
    stated: str = ""
    version: tuple[int, ...] = ()

    @property
    def day(self) -> str:
        """The date to show: the one that the text states, or else the one in the name."""
        return self.stated or self.named

    @property
    def order(self) -> tuple[str, tuple[int, ...]]:
        """A key that sorts editions from the oldest to the newest, those without a date first."""
        return self.day, self.version

    def is_newer_than(self, other: EditionDate) -> bool:
        """Whether this edition is the newer one; False where dates and versions do not tell.

        Names that both have a date decide, then dates from which the texts apply. A date of one
        edition alone says nothing about the other.
        """
        mine, others = self._days_beside(other)
        if self.is_dated_apart_from(other):
            return mine > others
        return bool(self.version and other.version) and self.version > other.version

    def is_dated_apart_from(self, other: EditionDate) -> bool:
        """Whether dates tell which edition is the newer one: where they don't, versions can."""
        mine, others = self._days_beside(other)
        return bool(mine and others) and not (mine.startswith(others) or others.startswith(mine))

    def _days_beside(self, other: EditionDate) -> tuple[str, str]:
        is_named = bool(self.named and other.named)
        return (self.named, other.named) if is_named else (self.day, other.day)

    def is_later_than(self, day: str) -> bool:
        """Whether this edition applies only after a day, month or year."""
        return self.day > day + LAST

    def prevails_over(self, other: EditionDate, day: str) -> bool:
        """Whether this edition, not the other one, is in force on a day, as far as dates tell."""
        if self.is_later_than(day):
            return False
        return other.is_later_than(day) or self.is_newer_than(other)


def today() -> str:
    """The date of today in UTC, comparable with those of editions."""
    return datetime.now(UTC).date().isoformat()


def edition_date(name: str, text: str = "") -> EditionDate:
    """Return the dates of an edition, from its name and, where it is given, its text.

    A date in the name counts before one in running text, which may be that of a figure: "as of May
    2022". It does not where the text says more of the same date, or begins with the day from which
    it applies.
    """
    match = _VERSION.search(_DAY.sub(" ", name_stem(name)).rstrip(_JOINTS))
    number = (match.group(1) or match.group(2)) if match else ""
    version = tuple(map(int, number.split("."))) if number else ()
    named, stated = day_of(name), valid_from(text)
    if named and not stated.startswith(named):
        stated = applies_from(text)
    return EditionDate(named, stated, version)


def asks_today(question: str) -> bool:
    """Whether a question is about what is in force: "currently", "now"."""
    return bool(_TODAY.search(question))


def moment_of(question: str) -> str:
    """The day, month or year that a question is about, comparable with that of a name; or ""."""
    return date_in(question)[0] or day_of(question)


def superseded(
    editions: Mapping[str, EditionDate], moment: str, are_related: Callable[[str, str], bool]
) -> tuple[str, ...]:
    """The names of editions that are not in force at a moment: a day, a month or a year.

    In force is the newest of them that is not newer than the moment. All editions are kept where
    their dates do not tell which one that is. ``are_related`` tells whether two documents of one
    family of names are editions by what they say, too.
    """
    families: dict[str, list[str]] = {}
    for name in editions:
        families.setdefault(family(name), []).append(name)
    left_out = list[str]()
    for key, names in families.items():
        before = [name for name in names if not editions[name].is_later_than(moment)]
        newest = max(before, key=lambda name: editions[name].order, default="")
        if not (key and newest):
            continue
        rest = [name for name in names if name != newest and are_related(newest, name)]
        others = [name for name in before if name in rest]
        if all(editions[newest].is_newer_than(editions[name]) for name in others):
            left_out += rest
    return tuple(left_out)


def differ(one: str, other: str) -> bool:
    """Whether two statements have different numbers."""
    return figures_of(one) != figures_of(other)


def on_one_matter(one: Terms, other: Terms) -> bool:
    """Whether two statements share enough words besides their numbers."""
    return likeness(one, other) >= ALIKE


def likeness(one: Terms, other: Terms) -> float:
    """Return the share of words that two statements have in common (Jaccard), without numbers."""
    words = [frozenset(term for term in terms if not term[:1].isdigit()) for terms in (one, other)]
    return len(words[0] & words[1]) / max(len(words[0] | words[1]), 1)


def repeats(text: str, statement: str) -> bool:
    """Whether a text has the words of a statement, one behind the other."""
    return f" {_plain(statement)} " in f" {_plain(text)} "


def counts(text: str) -> frozenset[str]:
    """Return the numbers that a text spells out, such as "two"."""
    return frozenset(word.casefold() for word in _COUNT.findall(text))


def figures_of(text: str) -> frozenset[str]:
    """Return the figures of a text, and the numbers that it spells out."""
    return counts(text).union(_NUMBER.findall(text))


@lru_cache(maxsize=32)
def _plain(text: str) -> str:
    return " ".join(_NO_FIGURE_SEPARATOR.sub(" ", text).casefold().split())


SERIES = 0.3
"""Documents with names of editions that share less of their words (Jaccard) are a series."""
SAME_TEXT = 0.6
"""Of the longer text, the least share of its runs of words that another edition has, too."""
DIFFERENT = 0.1
"""Texts that share less than this are on different occasions, whatever their names say."""
FEWEST_RUNS = 50
"""A text of fewer runs does not tell."""
RUN = 6
"""Words of a run."""
CODE = re.compile(
    r"\b(?=[\w./-]{0,40}?[A-Za-z])(?=[\w./-]{0,40}?\d)[A-Za-z0-9]+(?:[-/][A-Za-z0-9]+)*\b"
)
_NO_CODE = re.compile(r"\d+(?:[a-zA-Z]{1,3}|[a-z]{5,}|/[a-zA-Z]+|[a-z]?(?:-[a-z]+)+)")
"""A figure with its unit or ending, and a name such as "37signals"."""


def codes_of(text: str) -> frozenset[str]:
    """Return the codes of a text: words that mix letters and digits, such as ``CV-118``."""
    return frozenset(
        match[0].casefold().replace("-", "")
        for match in CODE.finditer(text)
        if not _NO_CODE.fullmatch(match[0])
    )


def subject_of(name: str) -> frozenset[str]:
    """Return the codes in a document's name: ``corvane-c16-manual.pdf`` is on the C16."""
    return codes_of(re.sub(r"[-_]", " ", name_stem(name)))


def word_runs(text: str) -> frozenset[int]:
    """Return the runs of six words of a text, without its figures, as hashes."""
    words = LETTERS.findall(text.casefold())
    return frozenset(hash(tuple(words[at : at + RUN])) for at in range(len(words) - RUN + 1))


def may_be_editions(one: str, other: str) -> bool:
    """Whether nothing in two names of documents says that they are on different things.

    Sister products have other codes in their names, and each report is on a period of its own.
    """
    if (is_report(one) or is_report(other)) and family(one) != family(other):
        return False
    return bool(family(one) and family(other)) and subject_of(one) == subject_of(other)


def overlap(shared: int, one: int, other: int) -> float:
    """Return the share of runs that the longer of two texts has in common with the other one."""
    return shared / max(one, other) if min(one, other) >= FEWEST_RUNS else 0.0


def edition_kind(
    names: tuple[str, str],
    titles: tuple[str, str],
    share: Callable[[], float],
    runs: Callable[[], tuple[int, int, int]],
) -> Literal["name", "text", ""]:
    """Return what makes two documents editions of one: their names, their texts, or nothing.

    By names that differ in a date, version or status, they are editions if they share enough of
    their words; by other names, if most of their runs of words are the same. ``share`` is the
    Jaccard index of their words, ``runs`` the number of common runs and of those of each. Reports
    on different periods, sister products, and two occasions that are named by their days are none.
    """
    if are_of_other_periods(*names) or are_of_other_periods(*titles):
        return ""
    if are_editions(*names):
        of_occasions = all(map(names_day, names)) and are_different(*runs())
        return "name" if share() >= SERIES and not of_occasions else ""
    return "text" if may_be_editions(*names) and overlap(*runs()) >= SAME_TEXT else ""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text without its codes and figures."""
    return frozenset(LETTERS.findall(CODE.sub(" ", text).casefold()))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the words of two texts that both have; 0 for no words."""
    return len(one & other) / max(len(one | other), 1)


def may_supersede(one: str, other: str) -> bool:
    """Whether two names of documents have the same words, and dates that tell which one is newer.

    Contracts of two persons have most of their texts in common, but neither supersedes the other.
    """
    dates = edition_date(one), edition_date(other)
    dated = dates[0].is_newer_than(dates[1]) or dates[1].is_newer_than(dates[0])
    words = words_of(one)
    return dated and bool(words) and words == words_of(other) and may_be_editions(one, other)


def are_different(shared: int, one: int, other: int) -> bool:
    """Whether two texts, both long enough to tell, have hardly any runs of words in common."""
    return min(one, other) >= FEWEST_RUNS and overlap(shared, one, other) < DIFFERENT
