"""Durations, days and times of the day."""

from __future__ import annotations

import re

from rag.answering.asked_values.kind import ValueKind, is_list_like
from rag.answering.asked_values.patterns import ANY_NUMBER, DAYS, NUMBER_WORDS, TIME

_LASTING = (
    r"(?:sec(?:ond)?s?|min(?:ute)?s?|hours?|hrs?|days?|nights?|weeks?|fortnights?|months?|quarters?"
    r"|years?|yrs?|decades?|terms?|semesters?|sessions?|std|segundos?|minutos?|horas?|días?|noches?"
    r"|semanas?|quincenas?|mes(?:es)?|trimestres?|años?|secondes?|heures?|jours?|journées?|nuits?"
    r"|semaines?|mois|ans?|années?|h"
    r"|km|m|cm|mm|ft|met(?:re|er)[ns]?|kilomet(?:re|er)[ns]?|miles?|feet|foot|yards?|inch(?:es)?"
    r"|metros?|kilómetros?|pies|m[eè]tres?|zoll|pages?|words?|characters?|lines?|seiten?|wörter"
    r"|zeichen)"
)
_LASTING_COMPOUND = (
    r"(?:sekunden?|minuten?|stunden?|tage?[ns]?|nächten?|nacht|wochen?|monat(?:en?|s)?|quartale?n?"
    r"|jahre?[ns]?)"
)
"""Units that end German words: "Werktage"."""
_DIGIT = re.compile(r"[\d零一二两三四五六七八九十百千半½¼¾]")


class _Duration(ValueKind):
    """A time, or a length: "how long" asks for either. In running text a figure needs its unit."""

    def is_in(self, text: str) -> bool:
        """Whether a text says how long something is."""
        if self.value.search(text):
            return True
        return is_list_like(text) and _DIGIT.search(text) is not None


DURATION = _Duration(
    "a duration",
    "long quickly soon take takes last lasts lange dauert dauern dura tiempo temps 多久",
    re.compile(
        r"\bhow (?:long|quickly|soon|many (?:seconds|minutes|hours|days|weeks|months|years))\b"
        r"(?: does it take\b)?|\bwie ?(?:lange?|viele (?:minuten|stunden|tage|wochen"
        r"|monate|jahre))"
        r"\b|\bcuánto (?:tiempo|dura)\b|\bcuánt[ao]s (?:minutos|horas|días|semanas|meses"
        r"|años)\b"
        r"|\bcombien de temps\b|多久|多长时间",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{ANY_NUMBER}[^.;!?\n]{{0,25}}?(?:(?<!['’])(?<![^\W\d_]){_LASTING}|{_LASTING_COMPOUND})\b"
        rf"|[\[(]{_LASTING}[\])][^.;!?\n]{{0,30}}?{ANY_NUMBER}"
        rf"|{ANY_NUMBER} ?个?[秒分时小日天周月年米页]|{TIME}"
        r"|(?:19|20)\d\d ?[-–] ?(?:19|20)?\d\d"
        r"|\b(?:until|till|permanently|unlimited|indefinitely|immediately|at once|asap"
        rf"|as soon as|within (?:a few|an?|the|this|some|several) {_LASTING}|unbegrenzt"
        r"|sofort|unverzüglich|bis(?! zu\b)|hasta|jusqu)\b"
        r"|\ban? (?:second|minute|hour|day|night|week|month|year)\b",
        re.IGNORECASE,
    ),
)
DATE = ValueKind(
    "a date or time",
    "date time day year month uhr hora fecha 时候",
    re.compile(
        r"(?:\A\W{0,3}(?:and |so )?|\b(?:since|until|from|by|know|tell me|say) )when\b"
        r"|\b(?:what|which) (?:date|day|time|year|month)s?\b(?=\W{0,3}\Z| (?:is|are|was|were|do"
        r"|does|did|can|may|should|must|will|has|have|the|an?|of|it|we|you|i|they|my|your|our)\b)"
        r"|\bwann\b|\bum wie ?viel uhr\b|\bcuándo\b|\ba qué hora\b|\bqué días?\b|\bquand\b"
        r"|什么时候|几点|哪天",
        re.IGNORECASE,
    ),
    re.compile(
        rf"[\d日月年点]|\b(?:{DAYS}|{NUMBER_WORDS}|if|unless|for|must|have to|has to|wenn"
        r"|falls|si)\b",
        re.IGNORECASE,
    ),
)
