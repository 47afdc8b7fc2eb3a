"""Expressions of numbers, days, units and questions, which several kinds of values share."""

from __future__ import annotations

from rag.answering.languages import alternatives, any_of

SPELT_NUMBER = any_of(
    *("numbers", "tens", "scales", "fractions.2", "multiples", "none", "frequencies")
)
ANY_NUMBER = rf"(?:[\d½¼¾]|{SPELT_NUMBER})"
ORDINAL_ENDING = alternatives("ordinal_endings")
TIME = r"(?:[01]?\d|2[0-4])[.:][0-5]\d"
TIME_UNITS = (
    *("units.second", "units.minute", "units.hour", "units.day", "units.week", "units.month"),
    *("units.year", "periods"),
)
LENGTH_UNITS = (
    *("units.millimetre", "units.centimetre", "units.metre", "units.kilometre", "units.inch"),
    *("units.foot", "units.yard", "units.mile"),
)
CURRENCIES = ("units.euro", "units.dollar", "units.pound", "units.franc", "units.yen", "coins")
UNIT = rf"(?:[%€$£¥元]|{any_of(*TIME_UNITS, *CURRENCIES, 'units.percent', 'behind_figures')}|h\b)"
"""What is behind a figure of time, age or money, or a share."""
SOME_WORDS = r"(?:[\w'’-]{1,30} ){0,4}?"
WHAT_IS, WHICH = any_of("what_is"), any_of("which")


def ending(*keys: str) -> str:
    """Return an expression for the end of a question, or one of some words that go on with it."""
    return rf"(?=\W{{0,3}}\Z|,| {any_of(*keys)})"
