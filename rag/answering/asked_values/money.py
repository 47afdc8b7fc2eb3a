"""Amounts of money, and shares."""

from __future__ import annotations

import re

from rag.answering.asked_values.kind import ValueKind, is_list_like
from rag.answering.asked_values.patterns import FREE

_MEASURE = (
    r"(?:seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?|sekunden?|minuten?|stunden?"
    r"|tage?n?|wochen?|monate?n?|jahre?n?|minutos?|horas?|días?|semanas?|mes(?:es)?|años?|h|km|m|cm"
    r"|mm|kg|mg|µg|g|l|ml|[kmgt]i?b|litres?|liters?|met(?:re|er)s?|people|persons?|personen|pages?"
    r"|seats?)\b"
)
_MONEY = re.compile(
    r"[€$£¥₹元%]|\b(?:EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|euros?|dollars?|pounds?|cents?|pence|yen"
    r"|francs?|franken|month['’]s rent|months['’] rent|frei|nichts|hälfte|halber preis)\b"
    rf"|(?:^|[^a-z])(?:eur|usd|gbp|chf)(?:$|[^a-z])|{FREE}",
    re.IGNORECASE,
)
_BARE_FIGURE = re.compile(
    rf"(?<![\w.,])\d[\d.,]{{0,12}}+(?![ -]?(?:{_MEASURE}|(?-i:[AVW])\b))", re.IGNORECASE
)
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
_NEAR = 90
"""Characters from a word such as "fee" to its figure."""
_QUANTITY = (
    r"(?:size|limit|weight|power|memory|space|storage|time|leave|notice|water|voltage|current"
    r"|pressure|dos(?:e|age)|percentage|share|energy|capacity|alcohol|sugar|salt|luggage|baggage"
    r"|sleep|exercise|work|experience|torque|speed|height|width|depth|length|distance|temperature"
    r"|entitlement|holiday|vacation|dimension|noise|load|pull|left|too|enough|allowed|needed"
    r"|required|known)s?"
)
"""What may be much without being money."""


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
    "cost costs price charge pay paid contribute reimburse towards earn much money spend kostet"
    " geld kosten preis cuesta cuestan vale precio coûte 多少钱",
    re.compile(
        r"\A\W{0,3}(?:how much|what|which)\b.{0,120}?\bcosts?\b"
        r"|\b(?:what|how much) (?:can|may|could|should) (?:[\w'’-]{1,30} ){1,3}?"
        r"(?:spend|claim)\b"
        rf"|\bhow much (?:is|are|was|were) (?!.{{0,80}}\b{_QUANTITY}\b)"
        r"|\bhow much (?:[\w-]{1,30} )?money\b|\bwie ?viel geld\b|\bcuánto dinero\b"
        r"|\bwhat (?:is|are|'s) the (?:price|cost|charge)s?\b"
        r"|\b(?:what|how much) (?:do|does|will|would|must) (?:[\w'’-]{1,30} ){1,4}?"
        r"(?:pay|charge|contribute|reimburse)(?=\W{0,3}\Z| (?:for|per|if|when|me|us|to|towards?|in"
        r"|at|each|every)\b)"
        r"|\bhow much (?:is|are|was|were|do|does|did|will|can|may) (?:[\w'’-]{1,30} ){1,6}?"
        r"(?:paid|earn)\b"
        r"|\bwie ?viel (?:kostet|(?:be)?zahl(?:en?|t))\b"
        r"|\b(?:wie ?viel|was) (?:muss|müssen) .{1,60}\b(?:be)?zahlen(?=\W{0,3}\Z|,)"
        r"|\bwas (?:kosten?t?|bezahle?n?|zahl(?:en?|t))\b"
        r"|\bcuánto (?:cuestan?|vale|pago)\b"
        r"|\bcuál es (?:el|la) (?:precio|costo|coste|tarifa|importe|cuota|multa)\b"
        r"|\bcombien coûte(?:nt)?\b|\bquel est le (?:prix|tarif|montant)\b|多少钱",
        re.IGNORECASE,
    ),
    _MONEY,
)
FEE = _Price(
    "a price",
    # The fee of a table may be one of several: "the parking charge", "the lift charge".
    "how big high large hoch",
    re.compile(
        r"\bwhat (?:is|are|'s) (?:the|an?|my) (?:[\w'’-]{1,30} ){0,3}?(?:prices?|costs?"
        r"|charges?|fees?|fares?|fines?|deposit|rent|tariff|surcharge)\b"
        r"(?=\W{0,3}\Z| (?:for|in|at|per|to|on|when|if|after|with|an?|the|i|we|you)\b)"
        r"|\bhow (?:big|high|large) (?:is|are|was|were) (?:the|an?|my) (?:[\w'’-]{1,30} ){0,3}?"
        r"(?:prices?|costs?|charges?|fees?|fares?|fines?|deposit|rent|tariff|surcharge)\b"
        r"|\bwie hoch (?:ist|sind) (?:die|der|das) [\w-]{0,30}(?:gebühr|miete|preis|kosten|strafe"
        r"|pacht|kaution|beitrag|pfand|pauschale|entgelt|umlage|zuschlag|eintritt)",
        re.IGNORECASE,
    ),
    _MONEY,
)
