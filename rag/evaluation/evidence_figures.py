"""Figures of evidence that ranking metrics do not see: parts of an answer, and what misleads.

- ``nugget_recall@k`` is the share of the parts (nuggets) of an answer of which one of the first k
  hits has a label (Voorhees, Overview of the TREC 2003 Question Answering Track, as nugget recall,
  with all parts vital).
- ``misleading@k`` counts the hits among the first k that mislead.
- ``udcg@k`` is UDCG (Trappolini, Cuconasu, Filice, Maarek and Silvestri, Redefining Retrieval
  Evaluation in the Era of LLMs, arXiv 2510.21440) in its form without fitted parameters: the
  logistic function of the mean utility of k passages, 1 for a relevant one and -1/3 for one that
  misleads. Where the paper takes the probability that a model answers from a passage as its
  utility, here a person said that a passage is relevant or misleads. There is no discount by rank:
  a model reads all passages. As in precision, the mean divides by k. Without hits it is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp

from rag.evaluation.judging import Judged
from rag.evaluation.relevance import nuggets_of
from rag.types import MISLEADING

MISLEADING_WEIGHT = 1 / 3
"""What a misleading passage takes away, as a share of what a relevant one gives."""


def evidence_figures(
    ranked: Sequence[Judged], cutoffs: Sequence[int]
) -> dict[str, dict[str, float]]:
    """Figures by question id, of the judged questions that have them.

    Recall of parts is there for questions with named parts; what misleads is counted for all
    questions as soon as one label of any of them says so.
    """
    judged = [item for item in ranked if item.ideal]
    misleads = any(label.grade == MISLEADING for item in ranked for label in item.question.evidence)
    figures = {
        item.question.id: dict(_figures(item, cutoffs, misleads=misleads)) for item in judged
    }
    return {name: row for name, row in figures.items() if row}


def _figures(
    item: Judged, cutoffs: Sequence[int], *, misleads: bool
) -> Iterator[tuple[str, float]]:
    names = nuggets_of(item.question.evidence)
    for k in cutoffs:
        if names:
            found = frozenset[str]().union(*item.nuggets[:k])
            yield f"nugget_recall@{k}", len(found) / len(names)
        if misleads:
            yield f"misleading@{k}", float(item.grades[:k].count(MISLEADING))
            yield f"udcg@{k}", udcg(item.grades, k)


def udcg(grades: Sequence[int], k: int) -> float:
    """UDCG of the first k grades; 0 without hits, 1/2 where nothing is relevant or misleads."""
    hits = grades[:k]
    if not hits:
        return 0.0
    relevant, misleading = sum(grade > 0 for grade in hits), hits.count(MISLEADING)
    return 1 / (1 + exp(-(relevant - MISLEADING_WEIGHT * misleading) / k))
