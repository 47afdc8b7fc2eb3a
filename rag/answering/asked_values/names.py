"""Names of people and organisations, and whom to contact."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rag.answering.asked_values.kind import ValueKind
from rag.answering.asked_values.patterns import WHICH
from rag.answering.languages import alternatives, any_of, listed

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
