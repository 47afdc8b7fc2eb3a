"""Names that consist of a word and a number or letter: "band 3", "zone B", "second offence"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rag.answering.asked_values import MEASURED
from rag.answering.assessing.ordinals import ordinal_names, ordinals_of
from rag.answering.assessing.validity import MONTH_NUMBERS
from rag.answering.vocabulary import Vocabulary

_LABEL = r"\d{1,3}|[IVX]{2,4}|[A-H]|[VX]"
_NAME = re.compile(
    rf"(?<![^\W\d_])(?P<word>[^\W\d_]{{3,20}})\s(?P<label>{_LABEL})(?![\w.,:/%°'’-]*\w)"
)
_PAIR = re.compile(
    rf"(?<![^\W\d_])(?P<word>[^\W\d_]{{3,21}})[^\w.!?;]{{1,3}}(?P<label>{_LABEL})\b"
    rf"(?P<more>\s?[-–,/]\s?(?:{_LABEL})\b|\s(?:and|or|to|und|oder|bis|y|o|a|et|ou|à)\s(?:{_LABEL})\b)?"
)
_ROMAN = {
    "II": "2",
    "III": "3",
    "IV": "4",
    "V": "5",
    "VI": "6",
    "VII": "7",
    "VIII": "8",
    "IX": "9",
    "X": "10",
}
_BEFORE = re.compile(
    r"(?:\b(?:the|an?|in|of|for|at|to|on|from|is|are|does|do|into|with|and|or|which|im|in|der|die|das"
    r"|für|von|en|del?|la|el|para)\s|\A)\Z",
    re.IGNORECASE,
)
_LABELS = """
    level band zone grade stage phase step tier class category type mode part chapter section
    article appendix annex schedule clause group room gate platform line option alarm error
    stufe klasse kapitel abschnitt artikel anhang gruppe raum gleis linie
    nivel zona grado etapa fase capítulo sección artículo anexo grupo niveau étape chapitre
"""
_LABELLED = frozenset(_LABELS.split())
"""Words that a number behind them labels, whatever follows it: "privacy level 2 hides"."""
_RANGE_AHEAD = re.compile(
    r"\b(?:from|above|below|over|under|up to|until|at least|at most|ab|von|bis|über|unter"
    r"|mindestens|höchstens|desde|hasta|a partir de|à partir de|jusqu['’]à|dès)"
    r" (?:the |der |la |le |el )?\Z",
    re.IGNORECASE,
)
_RANGE_BEHIND = re.compile(
    r"\s(?:(?:or|and|oder|und|y|o|et|ou) (?:higher|above|below|lower|up|over|more|beyond|höher"
    r"|darüber|darunter|niedriger|superior(?:es)?|más|plus|au-dessus)|up(?:wards?)?|onwards?|through"
    r"|to|aufwärts|bis)\b",
    re.IGNORECASE,
)
_REACH = 20
"""Characters before a name in which "from" or "up to" makes it the end of a range."""
_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class NumberedName:
    """A thing that a question names by a word and a label; ``text`` has both."""

    word: str
    label: str
    text: str = field(default="", compare=False)

    def is_in(self, text: str) -> bool:
        """Whether a text has the name; the row "Band: 3" has it, too."""
        labels, _ = self._labels(text)
        return _arabic(self.label) in labels

    def has_another(self, text: str) -> bool:
        """Whether a text names others of the kind only; "bands 1 to 4" may include the one."""
        labels, includes_more = self._labels(text)
        return bool(labels) and not includes_more and _arabic(self.label) not in labels

    def _labels(self, text: str) -> tuple[set[str], bool]:
        """The labels behind the word, and whether a list or a range has more of them."""
        forms = (self.word, f"{self.word}s")
        pairs = [pair for pair in _PAIR.finditer(text) if pair["word"].casefold() in forms]
        labels = {_arabic(pair["label"]) for pair in pairs}
        return labels, any(
            pair["more"]
            or _RANGE_AHEAD.search(text, max(pair.start() - _REACH, 0), pair.start())
            or _RANGE_BEHIND.match(text, pair.end())
            for pair in pairs
        )


class OrdinalName(NumberedName):
    """A thing that a question names by an ordinal: "second offence"."""

    def _labels(self, text: str) -> tuple[set[str], bool]:
        forms = (self.word, f"{self.word}s")
        labels, includes_more = ordinals_of(forms, text)
        direct = {
            _arabic(pair["label"])
            for pair in _NAME.finditer(text)
            if pair["word"].casefold() in forms and not MEASURED.match(text, pair.start("label"))
        }
        # "Offence 2" is the second one, but "bus 12" is not the twelfth.
        return labels | (direct & {self.label}), includes_more


def agreement(names: Sequence[NumberedName], texts: Iterable[str]) -> int:
    """Return 1 if the first text that names such a thing names one of ``names``, -1 if another.

    Texts are the nearest first: a statement, then what it stands under. 0 where none names one.
    """
    for text in texts:
        if any(name.is_in(text) for name in names):
            return 1
        if any(name.has_another(text) for name in names):
            return -1
    return 0


def _arabic(label: str) -> str:
    return _ROMAN.get(label.upper(), label.casefold())


def numbered_names(question: str, words: Vocabulary) -> tuple[NumberedName, ...]:
    """The numbered names in a question.

    A figure with a unit ("within 14 days"), a date, and a count before a noun ("cancel 3 orders")
    are none.
    """
    return tuple(_numbered_names(question, words))


def _numbered_names(question: str, words: Vocabulary) -> Iterator[NumberedName]:
    asked = words.terms(question)  # without function words
    for match in _NAME.finditer(question):
        word = match["word"].casefold()
        following = _NEXT_WORD.match(question, match.end())
        counts = following is not None and bool(words.terms(following[1]) & asked)
        if (
            words.terms(word) & asked
            and word not in MONTH_NUMBERS
            and not MEASURED.fullmatch(question, match.start("label"), _unit_end(question, match))
            and (not counts or word in _LABELLED or _BEFORE.search(question[: match.start()]))
        ):
            yield NumberedName(word, match["label"], match.group())
    for text, word, label in ordinal_names(question):
        if words.terms(word) & asked:
            yield OrdinalName(word, label, text)


def _unit_end(question: str, match: re.Match[str]) -> int:
    following = _NEXT_WORD.match(question, match.end())
    return following.end() if following else match.end()
