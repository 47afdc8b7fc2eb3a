"""Language models as judges: rubrics with a version, replies that are checked, and their spread."""

from rag.evaluation.judges.asking import (
    RUBRICS,
    Judgement,
    NoGrade,
    Preferred,
    Rubric,
    ask,
    decide,
    passage_rubric,
    prefer,
)

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
