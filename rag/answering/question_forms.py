"""Forms of questions: those for a figure, for a definition, and for what to do."""

from __future__ import annotations

import re

_ASKS_FIGURE = re.compile(
    r"\b(?:how (?:long|many|much|often|far|old|high|large|big|soon|late)|when|which year"
    r"|what (?:(?:is|are) the (?:[\w-]{1,30} ){0,3})?(?:price|cost|fee|fine|charge|limit|maximum"
    r"|minimum|deadline|amount|number|share|date|weight|height|length|width|speed|size|age)s?"
    r"|wie (?:lange?|viele?|oft|weit|alt|hoch|groß|schnell|schwer|spät)|wann|cuánt[ao]s?|cuándo"
    r"|cu[aá]l es (?:el|la) (?:peso|altura|largo|ancho|precio|costo|coste|importe|monto|plazo"
    r"|límite|máxim[ao]|mínim[ao]|velocidad|tamaño|edad|fecha|número)|combien|quand)\b",
    re.IGNORECASE,
)
_ASKS_WHAT_TO_DO = re.compile(
    r"\bhow (?:do|does|can|could|should|must|may|to)\b|\bwhat (?:(?:will|would) happen|happens)\b"
    r"|\bwhat (?:do|does|should|must|can) [\w'’ -]{1,40}? do\b|\bwie (?:kann|können|mache?n?|muss"
    r"|soll|stelle|ändere|richte)\b|\bwas (?:passiert|geschieht|muss|soll|kann)\b"
    r"|\bc[oó]mo (?:puedo|se|debo|hago)\b|\bqu[eé] (?:pasa|sucede|debo)\b"
    r"|\bcomment (?:puis|faire|dois)\b",
    re.IGNORECASE,
)
_ASKS_DEFINITION = re.compile(
    r"\b(?:mean(?:s|ing|t)?|defin\w{1,8}|bedeutet?n?|bedeutung|hei(?:ß|ss)t|signific\w{1,4}"
    r"|signifie|(?:what|which) (?:is|are)|(?:who|what|which) (?:counts|qualifies)|was (?:ist|sind)"
    r"|qu[eé] (?:es|son)|qu['’]est-ce)|是什么|什么是|定义",
    re.IGNORECASE,
)


def asks_figure(question: str) -> bool:
    """Whether a question wants a figure: "how long", "what is the fee"."""
    return _ASKS_FIGURE.search(question) is not None


def asks_definition(question: str) -> bool:
    """Whether a question wants to know what something is."""
    return _ASKS_DEFINITION.search(question) is not None


def asks_what_to_do(question: str) -> bool:
    """Whether a question wants to know how to do something, or what happens then."""
    return _ASKS_WHAT_TO_DO.search(question) is not None
