"""The kind of value that a question asks for, and whether a text has one: "a phone number"."""

from __future__ import annotations

from rag.answering.asked_values.contacts import EMAIL_ADDRESS, PHONE_NUMBER
from rag.answering.asked_values.kind import ValueKind
from rag.answering.asked_values.money import FEE, PRICE
from rag.answering.asked_values.names import ORGANISATION, PERSON, Person
from rag.answering.asked_values.numbers import MEASURED, NUMBER, measurement
from rag.answering.asked_values.times import DATE, DURATION

__all__ = ["KINDS", "MEASURED", "ValueKind", "asked_value"]

KINDS = (
    *(PERSON, ORGANISATION, PHONE_NUMBER, EMAIL_ADDRESS),
    *(PRICE, FEE, DURATION, DATE, NUMBER),
)
"""The narrow ones first: "what is the phone number" asks for no number of something."""


def asked_value(question: str) -> ValueKind | None:
    """The kind of value that a question asks for; None where it does not say."""
    kind = next((kind for kind in KINDS if kind.question.search(question)), None)
    if isinstance(kind, Person):
        return kind.besides(question)
    return (measurement(question) if kind is NUMBER else None) or kind
