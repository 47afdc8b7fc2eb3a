"""Language models as judges: rubrics with a version, replies that are checked, and their spread."""

from rag.evaluation.judges.asking import Judgement, ask
from rag.evaluation.judges.rubrics import RUBRICS, Rubric

__all__ = ["RUBRICS", "Judgement", "Rubric", "ask"]
