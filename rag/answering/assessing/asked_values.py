"""The kind of value that a question asks for, and whether a text has one: "a phone number"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rag.answering.assessing.units import base_unit, unit_at, unit_of
from rag.answering.statements.rows import BETWEEN

_NUMBER_WORDS = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty"
    r"|fifty|sixty|ninety|hundred|thousand|half|quarter|third|once|twice|no|none|daily|weekly"
    r"|monthly|yearly|annually|eine?[mnrs]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf"
    r"|zwölf|zwanzig|halbe?[nrs]?|uno|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce"
    r"|quince|veinte|un|une|deux|trois|quatre|cinq|sept|huit|neuf|dix"
)
_WEEKDAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?"
    r"|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lunes|martes|miércoles|jueves|viernes"
    r"|sábados?|domingos?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
)
_MONTHS = (
    r"january|february|march|april|may|june|july|august|september|october|november|december"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo|abril|mayo|junio"
    r"|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
_DAYS = (
    rf"{_WEEKDAYS}|{_MONTHS}|spring|summer|autumn|winter|morning|noon|afternoon|evening|midnight|christmas|easter|today|tomorrow|immediately"
    r"|always|never|year|month|week|day|before|after|until|once|when|while|during|by|as soon as"
    r"|sobald|wenn|nach|vor|bis|während|cuando|antes|después|hasta|durante"
)
_ANY_NUMBER = rf"(?:[\d零一二两三四五六七八九十百千半½¼¾]|\b(?:{_NUMBER_WORDS})\b)"
_FREE = (
    r"\b(?:free|no (?:charge|fee|cost|refund|deposit|money)|included|half (?:the )?price"
    r"|at no cost|kostenlos|kostenfrei|gratis|inklusive|inbegriffen|gratuite?|freien?)\b|免费"
)
_MEASURE = (
    r"(?:seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?|sekunden?|minuten?|stunden?"
    r"|tage?n?|wochen?|monate?n?|jahre?n?|minutos?|horas?|días?|semanas?|mes(?:es)?|años?|h|km|m|cm"
    r"|mm|kg|mg|µg|g|l|ml|[kmgt]i?b|litres?|liters?|met(?:re|er)s?|people|persons?|personen|pages?"
    r"|seats?)\b"
)
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
_MONEY = re.compile(
    r"[€$£¥₹元%]|\b(?:EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|euros?|dollars?|pounds?|cents?|pence|yen"
    rf"|francs?|franken)\b|(?:^|[^a-z])(?:eur|usd|gbp|chf)(?:$|[^a-z])|{_FREE}",
    re.IGNORECASE,
)
_BARE_FIGURE = re.compile(rf"(?<![\w.,])\d[\d.,]{{0,12}}+(?![ -]?{_MEASURE})", re.IGNORECASE)
"""One that does not measure anything but money, as far as one can see."""
_PAYING = re.compile(
    r"\b(?:costs?|pric(?:es?|ed|ing)|fees?|charge[sd]?|fares?|fines?|rents?|deposits?|rates?"
    r"|tariffs?|salar(?:y|ies)|wages?|pay(?:s|able|ment|ments)?|paid|budgets?|allowances?|refunds?"
    r"|owes?|sold|sells?|vale|importes?|alquiler(?:es)?|tasas?|preci?os?|cost[eo]s?"
    r"|cuestan?|cuotas?|multas?|tarifas?|sueldo|prix|coûte?n?t?s?|tarifs?|loyer|amendes?)\b"
    r"|preis|kosten|kostet|gebühr|miete\b|\b(?:be)?zahl(?:t|en)\b|bezahlung|\bgehalt\b|lohn\b"
    r"|eintritt|betrag|beträgt|pauschale|bußgeld|beitrag|价格|价钱|票价|[学收]费|费用|\d块|стоим"
    r"|\bцен[аыуе]\b|\bплат[аыуе]\b",
    re.IGNORECASE,
)
_QUANTITY = (
    r"(?:size|limit|weight|power|memory|space|storage|time|leave|notice|water|voltage|current"
    r"|pressure|dos(?:e|age)|percentage|share|energy|capacity|alcohol|sugar|salt|luggage|baggage"
    r"|sleep|exercise|work|experience|torque|speed|height|width|depth|length|distance|temperature"
    r"|entitlement|holiday|vacation|dimension|noise|load|pull|left|too|enough|allowed|needed"
    r"|required|known)s?"
)
"""What may be much without being money."""
_SHORT = 60
"""Characters of a line in which a bare figure may be a price: "Adults: 12"."""
_UNIT = (
    r"[%€$£¥元]|(?:per ?cent|prozent|por ciento|euros?|eur|usd|gbp|chf|dollars?|pounds?|cents?"
    r"|pence|francs?|franken|seconds?|minutes?|mins?|hours?|days?|nights?|weeks?|months?|years?|old"
    r"|sekunden?|minuten?|stunden?|tage?[ns]?|nächten?|nacht|wochen?|monat(?:en?|s)?|jahre?[ns]?"
    r"|uhr|segundos?|minutos?|horas?|días?|noches?|semanas?|mes|meses|años?|secondes?|heures?"
    r"|jours?|nuits?|semaines?|mois|ans?|h|[ap]\.?m|o['’]clock)\b"
)
"""What is behind a figure of time, age or money, or a share."""
MEASURED = re.compile(
    rf"24/7\b|[\d.,:/]{{0,12}}(?:(?:st|nd|rd|th)\b|[\s-]{{0,3}}(?:{_UNIT}))", re.IGNORECASE
)
"""A figure that measures or counts: "30 days", "17-year-old", "60 euros", "24th"."""
_TIME = r"(?:[01]?\d|2[0-4])[.:][0-5]\d"
_DAY = (
    r"(?:19|20)\d\d[-./]\d{1,2}(?:[-./]\d{1,2})?|\d{1,2}[-./]\d{1,2}[-./](?:19|20)?\d\d"
    r"|(?:19|20)\d\d ?[-–/] ?(?:19|20)?\d\d"
)
_AMOUNT = r"\d{1,12}(?:[ .,'’]\d{3}){0,4}(?:[.,]\d\d?)?"
_CURRENCY = r"[€$£¥₹元]|(?i:eur|usd|gbp|chf|euros?|dollars?|pounds?|francs?|franken)\b"
_NO_PHONE = re.compile(
    r"\b[A-Z]{2}\d\d(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b"
    rf"|(?<![\d.,/+-])(?:(?:{_DAY}|\d{{1,3}}(?:\.\d{{1,3}}){{3}}|{_TIME}(?: ?[-–] ?{_TIME})?)"
    rf"(?![./-]?\d)|{_AMOUNT} ?(?:{_CURRENCY}))|(?:{_CURRENCY}) ?{_AMOUNT}"
)
"""Accounts (IBAN), dates, addresses of computers, times and amounts of money."""
_PHONE = re.compile(
    r"(?<!\d)(?:\+?\(?\d[\d()]{0,12}(?:[ ./-]{1,3}[\d()]{1,12}+){1,6}|\+?\d{6,14})(?!\d)"
)
_ANNOUNCED = re.compile(
    r"(?:电话|\b(?:(?:tele)?phone|tel|telefon|call|dial|ring|ext|extension|hotline|mobile|fax"
    r"|handy|notruf|durchwahl|teléfono|téléphone|(?:telefon|handy|ruf|fax|mobil|notruf|durchwahl)"
    r"-?nummer)\b)"
    r"(?:\W{0,3}|[^\d\n]{0,30}?(?:[:：|]\W{0,3}|\bon |\b(?:is|ist|lautet|es|est|number|nummer|nr"
    r"|under|unter)\W{1,3}))"
    rf"\d{{2,}}+(?![-–/.:,]\d|[\s-]{{0,3}}(?:{_UNIT}))"
    r"|\b(?:number|nummer|nr)\.?(?::| is| ist| lautet) ?"
    rf"\d{{3,}}+(?![-–/.:,]\d|[\s-]{{0,3}}(?:{_UNIT}))",
    re.IGNORECASE,
)
"""A number of few digits that a word makes a phone number: "ext. 42"."""
_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d[\d.,]*")
_MONEY_UNITS = frozenset({"euro", "dollar", "pound", "franc", "yen", "percent"})
_UNIT_LABEL = re.compile(r"([^\W\d_]{2,20})|[(\[]([^\W\d_]|[%€$£¥])[)\]]")
_NUMBER = re.compile(_ANY_NUMBER, re.IGNORECASE)
_FIGURES = re.compile(rf"\d[\d.,]*|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE)
_COUNTS = re.compile(r"\b(?:how many|wie viele?|cuánt[ao]s|combien d['e]) ?([^\W\d_]{2,20})", re.I)
_DEFINES = re.compile(r"\b(?:means(?! of\b)|shall mean|bedeutet|bezeichnet|significa|désigne)\b")
_NO_BREAK = str.maketrans("\u00a0\u202f\u2010\u2011", "  --")
_COUNTED = re.compile(r"[1-9]\d?(?:[ .]\d{3})+|[1-9]\d* - [1-9]\d*")
"""A great number or a span: "1 250 000", "1000 - 2000"."""
_FEWEST_DIGITS = 6
"""Of a phone number that nothing announces."""
_BETWEEN = (
    r"(?:(?!(?:an?|to|for|of|with|without|if|whether|how|why|when|where|who|in|on|about|from|by|that"
    r"|regarding|mit|ohne|bei|zu|zum|wie|wenn|ob|eine?[mnrs]?)\b)[\w.'’-]{1,40} ){0,5}"
)
"""Words before what a question asks for: "the emergency", not "the way to change my"."""
_WHAT = (
    rf"\b(?:(?:what|which)(?: is|['’]s| are)|whats|(?:give|tell|send|show) (?:me|us)) {_BETWEEN}"
)
_WAS = rf"\b(?:wie (?:lautet|lauten|ist)|was ist|nenn(?:e|en sie)? mir|gib mir) {_BETWEEN}"
_CUAL = r"\bcu[aá]l es (?:el|la|su|tu) (?:n[uú]mero de |direcci[oó]n de )?"
_QUEL = r"\bquell?e? est (?:le |la |votre |son |l['’])(?:num[eé]ro de )?"
_END = (
    r"(?= ?(?:[?!.,;？]|\Z)| (?:of|for(?= \w)|at|and|or|(?:to|I can|I should|where I can)"
    r" (?:reach|call|contact|dial|ring|write)|des|der|vom|von|für|im|und|oder|de|del|para|y|o|du"
    r"|pour|et|ou)\b| d['’])"
)
"""What is behind it: its owner, or the end of the question; not "format", "used for"."""
_REACHED = r" (?:can|do|should|must|may) \w{1,20} (?:reach|call|dial|ring|write|contact|report)\b"


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


@dataclass(frozen=True, slots=True)
class _Person(ValueKind):
    """The name of somebody; the words of the question are none, as in "the Old Mill"."""

    taken: frozenset[str] = frozenset()

    def is_in(self, text: str) -> bool:
        """Whether a text names somebody whom the question does not name."""
        if _DEFINES.search(text):
            return False  # "Mayor means the Head of Council" names nobody
        rest = _WORD.sub(
            lambda match: ";" if match.group().casefold() in self.taken else match.group(), text
        )
        return self.value.search(rest) is not None


class _Price(ValueKind):
    """An amount of money; in running text a bare figure is one beside a word such as "fee"."""

    def is_in(self, text: str) -> bool:
        """Whether a text has an amount of money."""
        if self.value.search(text):
            return True
        is_line = len(text) <= _SHORT and not text.endswith(".")
        may_be_bare = is_line or BETWEEN in text or _PAYING.search(text)
        return bool(may_be_bare) and _BARE_FIGURE.search(text) is not None


class _Duration(ValueKind):
    """A time, or a length: "how long" asks for either. In running text a figure needs its unit."""

    def is_in(self, text: str) -> bool:
        """Whether a text says how long something is."""
        if self.value.search(text):
            return True
        is_line = len(text) <= _SHORT and not text.endswith(".")
        return (is_line or BETWEEN in text) and _NUMBER.search(text) is not None


@dataclass(frozen=True, slots=True)
class _Measurement(ValueKind):
    """A figure in a ``unit`` that the question names, or in one that is a power of ten of it."""

    unit: str = ""

    def is_in(self, text: str) -> bool:
        """Whether a text has such a figure, or a figure and the unit elsewhere, as in a label."""
        figures = [*_FIGURES.finditer(text)]
        units = {unit_at(text, *match.span()) for match in figures}
        if figures:
            labels = (one[1] or one[2] for one in _UNIT_LABEL.finditer(text))
            units.update(map(unit_of, labels))
        return self.unit in map(base_unit, units)


@dataclass(frozen=True, slots=True)
class _Age(ValueKind):
    """A figure that is not an amount of money, nor a share."""

    def is_in(self, text: str) -> bool:
        """Whether a text has a figure that may be an age."""
        return any(
            unit_at(text, *match.span()) not in _MONEY_UNITS for match in _FIGURES.finditer(text)
        )


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


_ROLES = r"(?:the|your|our|my|its|their|an?|head|chief|vice|deputy|acting|current)"
_NO_NAME = (
    r"(?:The|An?|This|That|These|Those|Our|Your|My|Its|Their|Each|Every|All|Any|If|When|In|On|At|For"
    r"|From|To|By|With|No|Not|Who|What|Which|How|Where|See|Only|Both|Some|Other|New|And|Or|As|Is"
    r"|Are|Der|Die|Das|Ein|Eine|Im|Am|Zum|Zur|El|La|Los|Las|Un|Una|Le|Les|Une|Dem|Den)"
)
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'-]{1,40}"
KINDS = (
    _Person(
        "a name",
        "who name called wer quién qui 谁",
        re.compile(
            rf"\bwho(?:['’]s| is| are| was| were) (?:{_ROLES} ){{1,3}}(?:[\w'’-]{{1,30}} ){{0,3}}?"
            r"(?:director|manager|mayor|captain|skipper|president|chair(?:man|woman|person)?|chief"
            r"|principal|officer|head|teacher|trainer|coach|inspector|editor|leader|founder|doctor"
            r"|vet|warden|ranger|mechanic|secretary|treasurer|dean|chef|nurse|clerk)\b"
            r"|\bwhat is the name of the (?:[\w-]{1,30} )?(?:director|manager|head|president|mayor"
            r"|leader|teacher|doctor)\b"
            r"|\bwer ist (?:der|die|ihre?|euer|eure|unsere?) [\w-]{0,30}(?:leiter|leiterin|direktor"
            r"|direktorin|chef|chefin|kapitän|trainer|trainerin|bürgermeister|bürgermeisterin"
            r"|vorsitzende|arzt|ärztin)\b"
            r"|\bqui[eé]n es (?:el|la|su) (?:director|directora|alcalde|alcaldesa|jefe|jefa"
            r"|presidente|presidenta|entrenador|entrenadora|capitán)\b",
            re.IGNORECASE,
        ),
        re.compile(
            rf"(?!{_NO_NAME}\b){_CAPITAL}(?: [A-Z]\.)?(?: (?:van|von|de|del|la|da|di|el|al)){{0,2}}"
            rf" {_CAPITAL}"
            r"|\b(?:Dr|Mr|Mrs|Ms|Prof|Herrn?|Frau|Sra?|Doña|Don|Mme)\.? [A-ZÀ-ÖØ-Þ]"
            r"|\b(?:[A-ZÀ-ÖØ-Þ]\. ?){1,3}[A-ZÀ-ÖØ-Þ][a-zß-ÿ]|[:·|\t–—,] ?[A-ZÀ-ÖØ-ÞА-ЯЁ]"
            r"|[А-ЯЁ][а-яё]{1,40} [А-ЯЁ]|[\u3040-\u30ff\u4e00-\u9fff]"
        ),
    ),
    _PhoneNumber(
        "a phone number",
        "phone telephone mobile number call telefonnummer handynummer rufnummer teléfono"
        " téléphone 电话",
        re.compile(
            rf"(?:\A\W{{0,3}}|{_WHAT})(?:(?:tele)?phone|mobile(?: phone)?|cell(?: phone)?|fax"
            rf"|hotline) numbers?\b{_END}"
            r"|\b(?:what|which) (?:(?:(?:tele)?phone|mobile|fax|hotline) )?number\b"
            rf"(?:{_REACHED}| to (?:call|dial|ring)\b)"
            r"|\b(?:what is|what['’]s) the number to (?:call|dial|ring)\b"
            rf"|(?:\A\W{{0,3}}|{_WAS})(?:telefon|handy|ruf|fax|mobil|durchwahl)-?nummern?\b{_END}"
            r"|\bwelche (?:telefon|handy|ruf|fax|mobil|durchwahl)-?nummer ha(?:t|ben)\b"
            r"|\bunter welcher (?:telefon|handy|ruf|mobil)?-?nummer\b"
            rf"|{_CUAL}(?:tel[eé]fono|m[oó]vil|celular|fax)\b{_END}"
            rf"|{_QUEL}(?:t[eé]l[eé]phone|portable|fax)\b{_END}"
            r"|(?:电话|手机|传真)(?:号码?)?(?:是|为)(?:多少|什么|几)",
            re.IGNORECASE,
        ),
        _PHONE,
        exact=True,
    ),
    ValueKind(
        "an e-mail address",
        "email mail e-mail address adresse email-adresse e-mail-adresse correo electrónico 邮箱",
        re.compile(
            rf"(?:\A\W{{0,3}}|{_WHAT})e-?mail[- ]address(?:es)?\b{_END}"
            rf"|\b(?:what|which) e-?mail[- ]address{_REACHED}"
            rf"|(?:\A\W{{0,3}}|{_WAS})e-?mail-?adressen?\b{_END}"
            rf"|\bwie lautet die e-?mail\b{_END}"
            r"|\bwelche e-?mail-?adresse ha(?:t|ben)\b|\bunter welcher e-?mail-?adresse\b"
            rf"|{_CUAL}(?:correo electr[oó]nico|e-?mail)\b{_END}"
            rf"|{_QUEL}adresse (?:e-?mail|mail|[eé]lectronique)\b{_END}"
            r"|(?:邮箱|电子邮件)(?:地址)?(?:是|为)(?:多少|什么|哪)",
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
            r"|all|none|fourth|fifth|sixth|eighth|tenth)s?\b|百分之",
            re.IGNORECASE,
        ),
    ),
    _Price(
        "a price",
        "cost costs price charge pay paid earn much money spend kostet geld kosten preis cuesta"
        " cuestan vale precio coûte 多少钱",
        re.compile(
            r"\A\W{0,3}(?:how much|what|which)\b.{0,120}?\bcosts?\b"
            r"|\b(?:what|how much) (?:can|may|could|should) (?:[\w'’-]{1,30} ){1,3}?"
            r"(?:spend|claim)\b"
            rf"|\bhow much (?:is|are|was|were) (?!.{{0,80}}\b{_QUANTITY}\b)"
            r"|\bhow much (?:[\w-]{1,30} )?money\b|\bwie ?viel geld\b|\bcuánto dinero\b"
            r"|\bwhat (?:is|are|'s) the (?:price|cost|charge)s?\b"
            r"|\b(?:what|how much) (?:do|does|will|would|must) (?:[\w'’-]{1,30} ){1,4}?"
            r"(?:pay|charge)(?=\W{0,3}\Z| (?:for|per|if|when|me|us)\b)"
            r"|\bhow much (?:is|are|was|were|do|does|did|will|can|may) (?:[\w'’-]{1,30} ){1,6}?"
            r"(?:paid|earn)\b"
            r"|\bwie ?viel kostet\b|\bwas (?:kosten?t?|bezahle?n?)\b"
            r"|\bcuánto (?:cuestan?|vale|pago)\b"
            r"|\bcuál es (?:el|la) (?:precio|costo|coste|tarifa|importe|cuota|multa)\b"
            r"|\bcombien coûte(?:nt)?\b|\bquel est le (?:prix|tarif)\b|多少钱",
            re.IGNORECASE,
        ),
        _MONEY,
    ),
    _Price(
        "a price",
        "",  # the fee of a table may be one of several: "the parking charge", "the lift charge"
        re.compile(
            r"\bwhat (?:is|are|'s) (?:the|an?|my) (?:[\w'’-]{1,30} ){0,3}?(?:prices?|costs?"
            r"|charges?|fees?|fares?|fines?|deposit|rent|tariff|surcharge)\b"
            r"(?=\W{0,3}\Z| (?:for|in|at|per|to|on|when|if|after|with|an?|the|i|we|you)\b)"
            r"|\bwie hoch (?:ist|sind) (?:die|der)"
            r" [\w-]{0,30}(?:gebühr|miete|preis|kosten|strafe)",
            re.IGNORECASE,
        ),
        _MONEY,
    ),
    _Age(
        "an age",
        "old age alter alt edad",
        re.compile(
            r"\bhow old\b|\b(?:at|from|until) (?:what|which) age\b"
            r"|\bwhat (?:is the )?(?:minimum |maximum )?age\b|\bwie alt\b"
            r"|\b(?:ab|mit|bis zu) welchem alter\b|\bqué edad\b|\bquel âge\b|多大|几岁",
            re.IGNORECASE,
        ),
        re.compile(_ANY_NUMBER, re.IGNORECASE),
    ),
    ValueKind(
        "a day of the week",
        "day days week weekday wochentag tag día semana 星期",
        re.compile(
            r"\b(?:what|which) (?:days? of the week|weekdays?)\b|\ban welche[mn] wochentag(?:en)?\b"
            r"|\bqué días? de la semana\b|\bquels? jours? de la semaine\b|星期几|周几",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?\b|\bweekdays?\b"
            r"|\bweekends?\b|\bdaily\b|\bdays?\b|\bholidays?\b"
            r"|\b(?:mon|diens|donners|frei|sams|sonn|feier|werk)tags?\b|\bmittwochs?\b|\btäglich\b"
            r"|\b(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|días?|festivos?)\b"
            r"|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|jours?)\b|\d|星期|周|每天",
            re.IGNORECASE,
        ),
    ),
    _Duration(
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
            rf"{_ANY_NUMBER}[^.;!?\n]{{0,25}}?(?:(?<!['’])(?<![^\W\d_]){_LASTING}|{_LASTING_COMPOUND})\b"
            rf"|{_ANY_NUMBER} ?个?[秒分时小日天周月年米页]|{_TIME}"
            r"|(?:19|20)\d\d ?[-–] ?(?:19|20)?\d\d"
            r"|\b(?:until|till|permanently|unlimited|indefinitely|immediately|at once|asap"
            r"|as soon as|within|unbegrenzt|sofort|unverzüglich|bis(?! zu\b)|hasta|jusqu)\b"
            r"|\ban? (?:second|minute|hour|day|night|week|month|year)\b",
            re.IGNORECASE,
        ),
    ),
    ValueKind(
        "times of the day",
        "opening open opens closing close closes hours time times when öffnungszeiten geöffnet"
        " öffnet schließt horario abre cierra horaires ouvert",
        re.compile(
            r"\b(?:what|which) (?:are|is) (?:the |your |its |their )?(?:[\w'’-]{1,30} ){0,3}?"
            r"(?:opening|business|office|visiting|service) (?:hours|times)\b"
            r"|\b(?:when|(?:at |until )?what time) (?:do|does|is|are) .{1,60}\b(?:open|close"
            r"|closed|opens|closes)(?=\W{0,3}\Z"
            r"| (?:on|at|in|for|today|tomorrow|during|every|each)\b)"
            r"|\bwie (?:sind|lauten) die (?:[\w-]{1,20} )?öffnungszeiten\b"
            r"|\bwann .{1,60}\b(?:geöffnet|geschlossen|offen)(?=\W{0,3}\Z)"
            r"|\bwann (?:ist|sind|hat|haben|macht|machen) .{1,60}\b(?:auf|zu)(?=\W{0,3}\Z)"
            r"|\bcu[aá]l es el horario\b|\bquels? sont les horaires\b",
            re.IGNORECASE,
        ),
        re.compile(
            rf"{_TIME}|(?:19|20)\d\d[-./]\d|\d[./]\d{{1,2}}[./]"
            r"|\b\d{1,2} ?(?:[ap]\.?m|uhr|h|o['’]clock|-|–|to|bis|a|à|until)\b"
            rf"|\b(?:around the clock|all day|daily|sunrise|sunset|dusk|dawn|by appointment|season"
            r"|täglich|mittags?|mitternacht|rund um die uhr|mediodía|medianoche|midi|minuit"
            rf"|{_DAYS})\b",
            re.IGNORECASE,
        ),
    ),
    ValueKind(
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
            rf"[\d日月年点]|\b(?:{_DAYS}|{_NUMBER_WORDS}|if|unless|for|must|have to|has to|wenn"
            r"|falls|si)\b",
            re.IGNORECASE,
        ),
    ),
    ValueKind(
        "a number",
        "many much often oft hoch viele viel cuánto cuánta combien 多少",
        re.compile(
            r"\bhow (?:many|much|far|old|high|tall|large|big|fast|heavy|deep|wide|loud|hot|warm"
            r"|often|soon|late)\b|\bwie ?(?:viele?|weit|alt|hoch|groß|schnell|schwer|tief|breit"
            r"|warm|oft)\b"
            r"|\bcuánt[ao]s?\b|\bcombien\b|多少|几个"
            r"|\b(?:what|which) (?:is|are|'s) (?:the|an?|my|its) (?:[\w'’-]{1,30} ){0,3}?(?:number"
            r"|weight|height|width|length|depth|speed|temperature|voltage|pressure"
            r"|maximum|minimum|limit|quota|allowance)"
            r"(?=\W{0,3}\Z| (?:for|in|at|per|on|when|if|after|with|of|an?|the|i|we|you)\b)"
            r"|\bwhat (?:weight|height|speed|temperature|voltage|pressure)\b(?! of)",
            re.IGNORECASE,
        ),
        re.compile(rf"{_ANY_NUMBER}|{_FREE}", re.IGNORECASE),
    ),
)
"""The narrow ones first: "what is the phone number" asks for no number of something."""


def asked_value(question: str) -> ValueKind | None:
    """The kind of value that a question asks for; None where it does not say."""
    kind = next((kind for kind in KINDS if kind.question.search(question)), None)
    if isinstance(kind, _Person):
        return replace(kind, taken=frozenset(_WORD.findall(question.casefold())))
    counted = _COUNTS.search(question) if kind is KINDS[-1] else None
    if counted and (unit := base_unit(unit_of(counted[1]))):
        return _Measurement(f"a value in {counted[1]}", "", _COUNTS, _DIGITS, unit=unit)
    return kind
