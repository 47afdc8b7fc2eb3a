"""Judgements and rankings by name, measured by the code that measures evaluations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rag import Question
from rag.evaluation.judging import Judge, Judged
from rag.evaluation.measuring import measured
from rag.evaluation.metrics import parse_metric
from rag.types import Evidence, Keys, Scores

Qrels = Mapping[str, Mapping[str, int]]
"""Grades by question and passage; what is absent is not relevant."""
Rankings = Mapping[str, Sequence[str]]
"""Passages by question, best first."""
Run = Mapping[str, Mapping[str, float]]
"""Scores by question and passage."""


class Searched(NamedTuple):
    """The state of an evaluation after its searches: the judge, and the ranking by question."""

    judge: Judge
    rankings: list[tuple[Question, Keys, Scores]]

    def judged(self, depth: int) -> list[Judged]:
        """The first ``depth`` of every ranking, graded."""
        return [self.judge.judge(*ranking, depth) for ranking in self.rankings]


def searched(qrels: Qrels, rankings: Rankings, *, by_document: bool = True) -> Searched:
    """Every passage is a document of its own, or else a span of the only document."""
    names = sorted({name for each in (*qrels.values(), *rankings.values()) for name in each})
    number = {name: place for place, name in enumerate(names)}
    spans = {"all": [(key, 10 * key, 10 * key + 10) for key in number.values()]}
    whole = {"all": np.arange(len(names))}
    held = {name: np.array([key]) for name, key in number.items()} if by_document else whole

    def evidence(name: str, grade: int) -> Evidence:
        start = 10 * number[name]
        return (
            Evidence(name, 0, None, grade)
            if by_document
            else Evidence("all", start, start + 10, grade)
        )

    ranked = []
    for question, grades in qrels.items():
        keys = np.array([number[name] for name in rankings.get(question, ())], np.int64)
        labels = tuple(evidence(*judgement) for judgement in grades.items())
        ranked.append((Question(question, question, labels), keys, -np.arange(len(keys)) * 1.0))
    return Searched(Judge(spans, held), ranked)


def figures(
    qrels: Qrels, rankings: Rankings, names: Iterable[str], *, by_document: bool = True
) -> dict[str, list[float]]:
    """Metrics by name, one figure per question of ``qrels``, in its order."""
    wanted = list(names)
    cutoffs = sorted({parse_metric(name).k for name in wanted})
    judged = searched(qrels, rankings, by_document=by_document).judged(max(cutoffs))
    results, _ = measured(judged, cutoffs)
    return {name: [result.metrics.get(name, 0.0) for result in results] for name in wanted}


def ordered(run: Run) -> dict[str, list[str]]:
    """Passages as trec_eval ranks them: by score in single precision, then by id, descending."""
    return {
        question: sorted(hits, key=lambda name: (np.float32(hits[name]), name), reverse=True)
        for question, hits in run.items()
    }
