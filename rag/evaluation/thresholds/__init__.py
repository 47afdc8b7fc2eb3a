"""Thresholds on relevance: what each one does, and what can be promised of one."""

from rag.evaluation.thresholds.curve import OFF_TOPIC, Share, ThresholdCurve, ThresholdPoint
from rag.evaluation.thresholds.promise import (
    CONFIDENCE,
    PromiseCurves,
    ThresholdPromise,
    questions_needed,
)

__all__ = [
    "CONFIDENCE",
    "OFF_TOPIC",
    "PromiseCurves",
    "Share",
    "ThresholdCurve",
    "ThresholdPoint",
    "ThresholdPromise",
    "questions_needed",
]
