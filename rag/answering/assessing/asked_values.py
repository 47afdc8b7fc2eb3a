"""The kind of value that a question asks for, and whether a text has one: "a phone number"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER_WORDS = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty"
    r"|fifty|sixty|ninety|hundred|thousand|half|quarter|third|once|twice|no|none|daily|weekly"
    r"|monthly|yearly|annually|eine?[mnrs]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf"
    r"|zwölf|zwanzig|halbe?[nrs]?|uno|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce"
    r"|quince|veinte|un|une|deux|trois|quatre|cinq|sept|huit|neuf|dix"
)
_DAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?"
    r"|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lunes|martes|miércoles|jueves|viernes"
    r"|sábados?|domingos?|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo"
    r"|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|spring|summer|autumn"
    r"|winter|morning|noon|afternoon|evening|midnight|christmas|easter|today|tomorrow|immediately"
    r"|always|never|year|month|week|day|before|after|until|once|when|while|during|by|as soon as"
    r"|sobald|wenn|nach|vor|bis|während|cuando|antes|después|hasta|durante"
)
_ANY_NUMBER = rf"[\d零一二两三四五六七八九十百千半½¼¾]|\b(?:{_NUMBER_WORDS})\b"
_MONEY = (
    r"[€$£¥₹元]|\b(?:EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|euros?|dollars?|pounds?|cents?|pence|yen"
    r"|francs?|franken)\b|(?:^|[^a-z])(?:eur|usd|gbp|chf)(?:$|[^a-z])|\b(?:free|no charge|included"
    r"|half (?:the )?price|at no cost|kostenlos|kostenfrei|gratis|inklusive|inbegriffen|gratuite?"
    r"|freien?)\b|免费"
)
_PHONE = (
    r"\+?\(?\d[\d()]{0,12}(?:[ ./-]{1,2}[\d()]{1,12}+){1,6}|\+?\d{6,}"
    r"|\b(?:phone|tel|telephone|telefon|call|dial|ext|extension|hotline|mobile)\b\W{0,3}\d{3,}"
)
_DATE = re.compile(
    r"(?:19|20)\d\d[-./]\d{1,2}(?:[-./]\d{1,2})?|\d{1,2}[-./]\d{1,2}[-./](?:19|20)?\d\d"
    r"|(?:19|20)\d\d ?[-–/] ?(?:19|20)?\d\d"
)
_FEWEST_DIGITS = 6
"""Of a phone number that nothing announces."""
_ANNOUNCED = re.compile(r"[^\W\d_]")


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
        if self.name == "a phone number":
            return any(_is_phone(match.group()) for match in self.value.finditer(text))
        return self.value.search(text) is not None


KINDS = (
    ValueKind(
        "a phone number",
        "phone telephone mobile number call telefonnummer handynummer rufnummer teléfono"
        " téléphone 电话",
        re.compile(
            r"\b(?:(?:tele)?phone|mobile|cell|fax|hotline) numbers?\b|\bnumber (?:to|(?:do"
            r"|can|should) (?:I|we)) (?:call|dial)\b"
            r"|\b(?:what is|what's|which is) the (?:tele)?phone\b"
            r"|\b(?:telefon|handy|ruf|fax|mobil|durchwahl)-?nummern?\b|\bteléfono\b"
            r"|\bnuméro de (?:téléphone|portable)\b|电话",
            re.IGNORECASE,
        ),
        re.compile(_PHONE, re.IGNORECASE),
        exact=True,
    ),
    ValueKind(
        "an e-mail address",
        "email mail e-mail address adresse email-adresse e-mail-adresse correo electrónico 邮箱",
        re.compile(
            r"\be-?mail[- ]address(?:es)?\b|\b(?:what is|what's|which is) the e-?mail\b"
            r"|\be-?mail-?adressen?\b|\b(?:wie (?:lautet|ist)|was ist) die e-?mail\b"
            r"|\bcorreo electrónico\b|\badresse (?:e-?mail|électronique)\b|邮箱|电子邮件",
            re.IGNORECASE,
        ),
        re.compile(r"[\w.+-]@[\w-]", re.IGNORECASE),
        exact=True,
    ),
    ValueKind(
        "a percentage",
        "percentage percent share proportion prozent porcentaje pourcentage",
        re.compile(
            r"\b(?:what|which) (?:percentage|per ?cent|share|proportion)\b|\bhow many per ?cent\b"
            r"|\bwie ?viel prozent\b|\bqué porcentaje\b|\bquel pourcentage\b|百分之多少",
            re.IGNORECASE,
        ),
        re.compile(
            r"[%％]|\bper ?cent\b|\bprozent\b|\bpor ciento\b|\bpour cent\b|\b(?:half|third|quarter"
            r"|all|none|tenth|fifth)s?\b|百分之",
            re.IGNORECASE,
        ),
    ),
    ValueKind(
        "a price",
        "cost costs price charge much kostet kosten preis cuesta cuestan vale precio coûte 多少钱",
        re.compile(
            r"\A\W{0,3}(?:how much|what|which)\b.{0,120}?\bcosts?\b|\bhow much (?:is|are)\b"
            r"|\bwhat (?:is|are|'s) the (?:price|cost|charge)s?\b"
            r"|\bwie ?viel kostet\b|\bwas kosten?t?\b|\bcuánto (?:cuestan?|vale)\b"
            r"|\bcombien coûtent?\b|多少钱",
            re.IGNORECASE,
        ),
        re.compile(_MONEY, re.IGNORECASE),
    ),
    ValueKind(
        "a duration",
        "long take takes last lasts lange dauert dauern dura tiempo temps 多久",
        re.compile(
            r"\bhow (?:long|many (?:seconds|minutes|hours|days|weeks|months|years))\b"
            r"(?: does it take\b)?|\bwie ?(?:lange?|viele (?:minuten|stunden|tage|wochen"
            r"|monate|jahre))"
            r"\b|\bcuánto (?:tiempo|dura)\b|\bcuánt[ao]s (?:minutos|horas|días|semanas|meses"
            r"|años)\b"
            r"|\bcombien de temps\b|多久|多长时间",
            re.IGNORECASE,
        ),
        re.compile(
            rf"{_ANY_NUMBER}|\b(?:until|permanently|unlimited|indefinitely|unbegrenzt|bis|hasta)\b",
            re.IGNORECASE,
        ),
    ),
    ValueKind(
        "a date or time",
        "date time day year month uhr hora fecha 时候",
        re.compile(
            r"\b(?:when|(?:on |by |at |in |from |until )?(?:what|which) (?:date|day|time|year"
            r"|month))\b"
            r"|\bwann\b|\bum wie ?viel uhr\b|\bcuándo\b|\ba qué hora\b|\bqué días?\b|\bquand\b"
            r"|什么时候|几点|哪天",
            re.IGNORECASE,
        ),
        re.compile(rf"[\d日月年点]|\b(?:{_DAYS}|{_NUMBER_WORDS})\b", re.IGNORECASE),
    ),
    ValueKind(
        "a number",
        "many much hoch viele viel cuánto cuánta combien 多少",
        re.compile(
            r"\bhow (?:many|much|far|old|high|tall|large|big|fast|heavy|deep|wide|loud|hot|warm"
            r"|often|soon|late)\b|\bwie ?(?:viele?|weit|alt|hoch|groß|schnell|schwer|tief|breit"
            r"|warm|oft)\b"
            r"|\bcuánt[ao]s?\b|\bcombien\b|多少|几个",
            re.IGNORECASE,
        ),
        re.compile(_ANY_NUMBER, re.IGNORECASE),
    ),
)
"""The exact ones first: "what is the phone number" asks for no number of something."""


def asked_value(question: str) -> ValueKind | None:
    """The kind of value that a question asks for; None where it does not say."""
    return next((kind for kind in KINDS if kind.question.search(question)), None)


def _is_phone(text: str) -> bool:
    if _ANNOUNCED.search(text):
        return True
    return not _DATE.fullmatch(text) and sum(map(str.isdigit, text)) >= _FEWEST_DIGITS
