"""Guided tours for stakeholders: stops that an owner keeps from real states of pages."""

from rag.conversations.tours.printed import tour_html
from rag.conversations.tours.stops import (
    LONGEST_NOTE,
    LONGEST_TOUR_TITLE,
    AnswerBasis,
    TourQuote,
    TourStop,
    TourValue,
)
from rag.conversations.tours.tours import Tour, Tours

__all__ = [
    "LONGEST_NOTE",
    "LONGEST_TOUR_TITLE",
    "AnswerBasis",
    "Tour",
    "TourQuote",
    "TourStop",
    "TourValue",
    "Tours",
    "tour_html",
]
