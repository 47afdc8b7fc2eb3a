"""Amounts of money, and shares."""

from __future__ import annotations

import re

from rag.answering.asked_values.kind import ValueKind, is_list_like
from rag.answering.asked_values.patterns import CURRENCIES, SOME_WORDS, WHAT_IS, ending
from rag.answering.languages import any_of, listed, pattern

_MONEY = re.compile(
    rf"[€$£¥₹元%]|{any_of(*CURRENCIES, 'free', 'price.values')}"
    r"|(?<![a-z])(?:eur|usd|gbp|chf)(?![a-z])|\b(?:JPY|SEK|NOK|DKK|PLN)\b",
    re.IGNORECASE,
)
_BARE_FIGURE = re.compile(
    rf"(?<![\w.,])\d[\d.,]{{0,12}}+(?![ -]?(?:(?!{any_of('units.percent')})"
    rf"{any_of('units', 'periods', 'extents', 'people')}"
    r"|(?:h|km|m|cm|mm|kg|mg|µg|g|l|ml|[kmgt]i?b|(?-i:[AVW]))\b))",
    re.IGNORECASE,
)
"""One that does not measure anything but money, as far as one can see."""
_PAYING = pattern("price.paying", ends=True)
_NEAR = 90
"""Characters from a word such as "fee" to its figure."""


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
    " ".join(listed("price.words")),
    re.compile(
        rf"\A\W{{0,3}}{any_of('price.opens')}|{any_of('price.asks')}"
        rf"|{any_of('price.is')} (?!.{{0,80}}{any_of('quantities')})"
        rf"|{any_of('price.begins')} (?:[\w'’-]{{1,30}} ){{1,4}}?{any_of('price.pays')}"
        rf"{ending('price.behind')}",
        re.IGNORECASE,
    ),
    _MONEY,
)
FEE = _Price(
    "a price",
    # The fee of a table may be one of several: "the parking charge", "the lift charge".
    " ".join(listed("fee.words")),
    re.compile(
        rf"{WHAT_IS} {SOME_WORDS}{any_of('fee.nouns')}{ending('asked_behind')}"
        rf"|{any_of('fee.asks')} {SOME_WORDS}{any_of('fee.nouns', ends=True)}",
        re.IGNORECASE,
    ),
    _MONEY,
)
