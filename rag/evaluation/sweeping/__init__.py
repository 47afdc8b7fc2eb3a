"""Sweeps: search once, score thousands of recipes."""

from rag.evaluation.sweeping.arithmetic import CONTEXT, Arithmetic
from rag.evaluation.sweeping.bm25_grid import Bm25Grid, Field, Pair
from rag.evaluation.sweeping.by_question import Closeup, Material, QuestionFigures, Total
from rag.evaluation.sweeping.deep import Deep, flattened
from rag.evaluation.sweeping.grid import Grid
from rag.evaluation.sweeping.layout import By
from rag.evaluation.sweeping.pool import Cut, Limit
from rag.evaluation.sweeping.pruning import Prepared

__all__ = [
    "CONTEXT",
    "Arithmetic",
    "Bm25Grid",
    "By",
    "Closeup",
    "Cut",
    "Deep",
    "Field",
    "Grid",
    "Limit",
    "Material",
    "Pair",
    "Prepared",
    "QuestionFigures",
    "Total",
    "flattened",
]
