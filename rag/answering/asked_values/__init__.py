"""The kind of value that a question asks for, and whether a text has one: "a phone number"."""

from __future__ import annotations

from rag.answering.asked_values.contacts import EMAIL_ADDRESS, PHONE_NUMBER
from rag.answering.asked_values.deadlines import DEADLINE, LEAD_TIME
from rag.answering.asked_values.kind import ValueKind
from rag.answering.asked_values.money import FEE, PERCENTAGE, PRICE
from rag.answering.asked_values.names import CONTACT, ORGANISATION, PERSON, Person
from rag.answering.asked_values.numbers import (
    AGE,
    DIMENSIONS,
    EXTENT,
    MEASURED,
    NUMBER,
    VERSION,
    WEIGHT,
    measurement,
)
from rag.answering.asked_values.times import DATE, DURATION, OPENING_HOURS, WEEKDAY

__all__ = ["DATE", "DURATION", "KINDS", "MEASURED", "NUMBER", "VERSION", "ValueKind", "asked_value"]

KINDS = (
    *(CONTACT, PERSON, ORGANISATION, PHONE_NUMBER, EMAIL_ADDRESS),
    *(PERCENTAGE, PRICE, FEE, AGE),
    *(WEEKDAY, DEADLINE, LEAD_TIME, DURATION, OPENING_HOURS, DATE),
    *(WEIGHT, VERSION, EXTENT, DIMENSIONS, NUMBER),
)
"""The narrow ones first: "what is the phone number" asks for no number of something."""


def asked_value(question: str) -> ValueKind | None:
    """The kind of value that a question asks for; None where it does not say."""
    kind = next((kind for kind in KINDS if kind.question.search(question)), None)
    if isinstance(kind, Person):
        return kind.besides(question)
    return (measurement(question) if kind is NUMBER else None) or kind
