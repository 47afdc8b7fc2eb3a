"""Sweeps: search once, score thousands of recipes."""

from rag.evaluation.sweeping.grid import Grid
from rag.evaluation.sweeping.ranking import CONTEXT, QuestionFigures, compared, measure, rank
from rag.evaluation.sweeping.table import CandidateTable

__all__ = [
    "CONTEXT",
    "CandidateTable",
    "Grid",
    "QuestionFigures",
    "compared",
    "measure",
    "rank",
]
