"""What the curves of the tuning page say: what is within noise is called so."""

from __future__ import annotations

from dataclasses import replace

from pages.components.tuning.takeaways import (
    depth_takeaway,
    heat_takeaway,
    peak_takeaway,
    threshold_takeaway,
    time_takeaway,
)
from rag import Comparison, Interval


def _comparison(difference: float, p: float, low: float) -> Comparison:
    return Comparison(
        metric="ndcg@10",
        differences={"a": difference, "b": difference},
        mean=0.5 + difference,
        baseline=0.5,
        interval=Interval(low, 2 * difference),
        interval_95=Interval(low, 2 * difference),
        raw_p=p,
        p=p,
    )


def test_a_peak_within_noise_says_so() -> None:
    assert peak_takeaway("weight", 0.45, 0.6, _comparison(0.012, 0.3, -0.01)) == (
        "nDCG@10 peaks at weight 0.45: +0.012 on all 2 questions, which picked it; within noise "
        "against the present 0.60."
    )
    decided = peak_takeaway("weight", 0.45, 0.6, _comparison(0.05, 0.001, 0.02))
    assert decided == (
        "nDCG@10 peaks at weight 0.45: +0.050 on all 2 questions, which picked it; more than noise "
        "against the present 0.60. *Search all* measures it on questions that did not pick it."
    )
    half = replace(_comparison(0.012, 0.3, -0.01), kind="tuning")
    assert "+0.012 on the 2 tuning questions, which picked it; within" in (
        peak_takeaway("weight", 0.45, 0.6, half)
    )
    assert peak_takeaway("weight", 0.6, 0.6, _comparison(0.0, 1.0, 0.0)) == (
        "nDCG@10 is at its best where it is, at weight 0.60."
    )


def test_the_cost_of_refusing_is_told() -> None:
    lines = {
        "Passages returned, answerable": [1.0, 0.8, 0.2],
        "Refused by the search": [0.0, 0.9, 1.0],
    }
    assert threshold_takeaway([0.0, 0.4, 0.8], lines, 0.2) == (
        "At 0.40, 90% of the questions without an answer are refused by the search, and it returns "
        "passages for 80% of the answerable ones; now it is 0.20."
    )
    overlapping = {
        "Passages returned, answerable": [1.0, 0.95, 0.2],
        "Refused by the search": [0.0, 0.3, 0.9],
    }
    assert threshold_takeaway([0.0, 0.4, 0.8], overlapping, None) == (
        "No threshold tells most questions apart. The nearest is 0.40: the search returns passages "
        "for 95% of the answerable ones and refuses 30% of those without an answer; now it is off."
    )
    worse = {
        "Passages returned, answerable": [1.0, 0.95, 0.2],
        "Refused by the search": [0.0, 0.0, 0.7],
    }
    assert threshold_takeaway([0.2, 0.4, 0.8], worse, 0.2) == (
        "No threshold tells most questions apart, and none does better; now it is 0.20."
    )
    answerable = {"Recall@5": [0.8, 0.795, 0.4], "Passages returned, answerable": [1.0, 1.0, 0.5]}
    assert threshold_takeaway([0.0, 0.4, 0.8], answerable, None) == (
        "Recall stays within a point of its best up to 0.40; now it is off."
    )


def test_fewer_passages_than_are_shown_are_told_in_a_whole_sentence() -> None:
    assert depth_takeaway((1, 2), {"Recall": [0.4, 0.6], "tokens": [100.0, 200.0]}, 5, 350) == (
        "The first 2 passages contain 60% of the relevant ones."
    )


def test_more_depth_is_weighed_against_the_budget() -> None:
    lines = {"Recall": [0.4, 0.6, 0.7, 0.8], "tokens": [100.0, 200.0, 300.0, 400.0]}
    said = depth_takeaway((1, 2, 3, 4), lines, 2, 350)
    assert said == (
        "The first 2 contain 60% of the relevant passages in 200 tokens; 4 would contain 80% in "
        "400. That is over the context budget."
    )


def test_the_map_is_read_at_its_best() -> None:
    scores = [[0.1, 0.2], [0.3, 0.25]]
    noise, sure = _comparison(0.1, 0.3, -0.01), _comparison(0.1, 0.001, 0.02)
    assert heat_takeaway([0.0, 1.0], [0.2, 0.4], scores, 0.2, noise) == (
        "The highest place is weight 1.00 and threshold 0.20: +0.100 against the present one on "
        "all 2 questions, which picked it; within noise."
    )
    said = heat_takeaway([0.0, 1.0], [0.2, 0.4], scores, 0.2, sure)
    assert said.endswith("which picked it; more than noise.")
    nothing = heat_takeaway([0.0, 1.0], [0.2, 0.4], scores, 0.3, noise)
    assert nothing.startswith("No place on the map")


def test_less_time_is_worth_a_sentence() -> None:
    equal = _comparison(0.0, 1.0, 0.0)
    assert time_takeaway((40, 0.6), (20, 0.6), "lexical, 10 candidates", equal) == (
        "As good in 50% less time: lexical, 10 candidates (20 ms instead of 40, nDCG@10 of "
        "the returned passages 0.600 as now, on all 2 questions, which picked it)."
    )
    assert "No recipe here" in time_takeaway((40, 0.6), (39, 0.6), "", equal)
    # Means alone do not make it as good: here 0.03 of nDCG may be lost.
    said = time_takeaway((40, 0.6), (20, 0.6), "lexical", _comparison(0.0, 1.0, -0.03))
    assert said == (
        "The same nDCG@10 of the returned passages (0.600) on all 2 questions in 50% less time: "
        "lexical (20 ms instead of 40). The questions picked it, and are too few to exclude a loss "
        "of 0.030 on others."
    )
    higher = time_takeaway((40, 0.6), (20, 0.62), "lexical", _comparison(0.02, 1.0, -0.03))
    assert higher.startswith(
        "No lower nDCG@10 of the returned passages (0.620 instead of 0.600) on all 2 questions in "
    )
    close = time_takeaway((40, 0.6), (20, 0.6), "lexical", _comparison(0.0, 1.0, -0.01))
    assert close.startswith("As good in 50% less time")
