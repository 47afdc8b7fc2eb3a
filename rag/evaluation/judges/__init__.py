"""Language models as judges: rubrics with a version, replies that are checked, and their spread."""

from rag.evaluation.judges.asking import Judgement, NoGrade, Preferred, ask, decide, prefer
from rag.evaluation.judges.rubrics import RUBRICS, Rubric, passage_rubric

__all__ = [
    "RUBRICS",
    "Judgement",
    "NoGrade",
    "Preferred",
    "Rubric",
    "ask",
    "decide",
    "passage_rubric",
    "prefer",
]
