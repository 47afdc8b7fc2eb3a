"""Guided tours for stakeholders: stops that an owner keeps from real states of pages."""

from rag.tours.printed import tour_html
from rag.tours.stops import AnswerBasis, TourQuote, TourStop, TourValue
from rag.tours.tours import Tour, Tours

__all__ = ["AnswerBasis", "Tour", "TourQuote", "TourStop", "TourValue", "Tours", "tour_html"]
