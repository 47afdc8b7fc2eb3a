"""Phone numbers and e-mail addresses."""

from __future__ import annotations

import re

from rag.answering.asked_values.kind import ValueKind
from rag.answering.asked_values.patterns import CURRENCIES, TIME, UNIT, WHAT_IS, WHICH
from rag.answering.languages import any_of, listed

_DAY = (
    r"(?:19|20)\d\d[-./]\d{1,2}(?:[-./]\d{1,2})?|\d{1,2}[-./]\d{1,2}[-./](?:19|20)?\d\d"
    r"|(?:19|20)\d\d ?[-–/] ?(?:19|20)?\d\d"
)
_AMOUNT = r"\d{1,12}(?:[ .,'’]\d{3}){0,4}(?:[.,]\d\d?)?"
_CURRENCY = rf"[€$£¥₹元]|(?i:{any_of(*CURRENCIES)})"
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
    rf"(?:{any_of('phone_number.announces')}"
    rf"(?:\W{{0,3}}|[^\d\n]{{0,30}}?(?:[:：|]|{any_of('announcing')})\W{{0,3}})\d{{2,}}+"
    rf"|{any_of('number_itself')}(?:\.?:| {any_of('is')}) ?\d{{3,}}+)"
    rf"(?![-–/.:,]\d|[\s-]{{0,3}}{UNIT})",
    re.IGNORECASE,
)
"""A number of few digits that a word makes a phone number: "ext. 42"."""
_NO_BREAK = str.maketrans("\u00a0\u202f\u2010\u2011", "  --")
_COUNTED = re.compile(r"[1-9]\d?(?:[ .]\d{3})+|[1-9]\d* - [1-9]\d*")
"""A great number or a span: "1 250 000", "1000 - 2000"."""
_FEWEST_DIGITS = 6
"""Of a phone number that nothing announces."""
_ASKED = (
    rf"(?:\A\W{{0,3}}|{WHAT_IS} (?:(?!{any_of('relating')})[\w.'’-]{{1,40}} ){{0,5}}"
    r"(?:[ld]['’])?)"
)
"""The words before what a question asks for: "the emergency", not "the way to change my"."""
_END = rf"(?= ?(?:[?!.,;？]|\Z)| {any_of('belonging')}| d['’])"
"""What is behind it: its owner, or the end of the question; not "format", "used for"."""
_REACHED = rf"(?: \w{{1,20}}){{0,2}} {any_of('reaching')}"


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
    " ".join(listed("phone_number.words")),
    re.compile(
        rf"{_ASKED}{any_of('phone_number.nouns')}{_END}|{any_of('phone_number.asks')}"
        rf"|{WHICH} {any_of('phone_number.nouns', 'number_itself')}{_REACHED}",
        re.IGNORECASE,
    ),
    _PHONE,
    exact=True,
)
EMAIL_ADDRESS = ValueKind(
    "an e-mail address",
    " ".join(listed("email_address.words")),
    re.compile(
        rf"{_ASKED}{any_of('email_address.nouns')}{_END}|{any_of('email_address.asks')}"
        rf"|{WHICH} {any_of('email_address.nouns')}{_REACHED}",
        re.IGNORECASE,
    ),
    re.compile(r"[\w.+-]@[\w-]", re.IGNORECASE),
    exact=True,
)
