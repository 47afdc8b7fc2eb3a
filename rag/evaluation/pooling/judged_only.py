"""Metrics that pass over what nobody judged, for labels with gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag.evaluation.metrics import Ranked, evaluate


def condensed_ndcg(ids: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """nDCG@k of a ranking without its unjudged hits, those below moving up.

    Sakai: Alternatives to Bpref, SIGIR 2007. ``grades`` has every judged passage, 0 where it is
    not relevant. It is not the metric that full labels would give: runs that the labels were not
    made from tend to be flattered, where counting open hits as not relevant wrongs them.
    """
    gains = [max(grades[item], 0) for item in ids if item in grades][:k]
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    return float(evaluate(Ranked.of([gains], [ideal], k), [f"ndcg@{k}"])[f"ndcg@{k}"][0])


def bpref(ids: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return bpref, which falls with the judged non-relevant hits above relevant ones.

    Buckley and Voorhees: Retrieval Evaluation with Incomplete Information, SIGIR 2004, as trec_eval
    computes it. Relevant passages that are not in the ranking add nothing. The value is 0 without
    relevant passages.
    """
    relevant = sum(grade > 0 for grade in grades.values())
    least = min(relevant, len(grades) - relevant)
    total = above = 0.0
    for item in ids:
        grade = grades.get(item)
        if grade is not None and grade > 0:
            total += 1.0 - (min(above, least) / least if least else 0.0)
        elif grade is not None:
            above += 1
    return total / relevant if relevant else 0.0
