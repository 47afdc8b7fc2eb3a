"""Language models as judges: rubrics with a version, replies that are checked, and their spread."""

from rag.evaluation.judges.asking import Judgement, NoGrade, Preferred, ask, prefer
from rag.evaluation.judges.rubrics import RUBRICS, Rubric

__all__ = ["RUBRICS", "Judgement", "NoGrade", "Preferred", "Rubric", "ask", "prefer"]
