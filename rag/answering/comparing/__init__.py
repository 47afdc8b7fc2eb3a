"""Questions that compare: superlatives over a table, the differences of two things, dates."""

from rag.answering.comparing.comparison import Compared, Uncompared, compare
from rag.answering.comparing.dating import Dated, dated

__all__ = ["Compared", "Dated", "Uncompared", "compare", "dated"]
