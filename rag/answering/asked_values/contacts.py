"""Phone numbers and e-mail addresses."""

from __future__ import annotations

import re

from rag.answering.asked_values.kind import ValueKind
from rag.answering.asked_values.patterns import TIME, UNIT

_DAY = (
    r"(?:19|20)\d\d[-./]\d{1,2}(?:[-./]\d{1,2})?|\d{1,2}[-./]\d{1,2}[-./](?:19|20)?\d\d"
    r"|(?:19|20)\d\d ?[-–/] ?(?:19|20)?\d\d"
)
_AMOUNT = r"\d{1,12}(?:[ .,'’]\d{3}){0,4}(?:[.,]\d\d?)?"
_CURRENCY = r"[€$£¥₹元]|(?i:eur|usd|gbp|chf|euros?|dollars?|pounds?|francs?|franken)\b"
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
    r"(?:电话|\b(?:(?:tele)?phone|tel|telefon|call|dial|ring|ext|extension|hotline|mobile|fax"
    r"|handy|notruf|durchwahl|teléfono|téléphone|(?:telefon|handy|ruf|fax|mobil|notruf|durchwahl)"
    r"-?nummer)\b)"
    r"(?:\W{0,3}|[^\d\n]{0,30}?(?:[:：|]\W{0,3}|\bon |\b(?:is|ist|lautet|es|est|number|nummer|nr"
    r"|under|unter)\W{1,3}))"
    rf"\d{{2,}}+(?![-–/.:,]\d|[\s-]{{0,3}}(?:{UNIT}))"
    r"|\b(?:number|nummer|nr)\.?(?::| is| ist| lautet) ?"
    rf"\d{{3,}}+(?![-–/.:,]\d|[\s-]{{0,3}}(?:{UNIT}))",
    re.IGNORECASE,
)
"""A number of few digits that a word makes a phone number: "ext. 42"."""
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
)
EMAIL_ADDRESS = ValueKind(
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
)
