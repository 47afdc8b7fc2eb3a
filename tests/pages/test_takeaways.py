"""What the curves of the tuning page say: what is within noise is called so."""

from dataclasses import replace

from pages.components.tuning.takeaways import (
    heat_takeaway,
    peak_takeaway,
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


def test_a_peak_within_noise_says_so():
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


def test_the_map_is_read_at_its_best():
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
