"""The best of many recipes: chosen on all questions, worth what others say, no coin of a split."""

import numpy as np
import pytest

from rag import InvalidInput, Selection
from rag.evaluation.comparison import compare
from rag.evaluation.inference.spending import level
from rag.evaluation.selection import select
from rag.types import Floats

IDS = [f"q{number}" for number in range(120)]


def _recipes(lead: float, count: int = 20, noise: float = 0.15) -> Floats:
    """A baseline, and recipes that are as good but for the last, which leads."""
    rng = np.random.default_rng(3)
    scores = 0.5 + rng.normal(0, 0.1, len(IDS)) + rng.normal(0, noise, (count, len(IDS)))
    scores[-1] += lead
    return np.clip(scores, 0, 1)


def test_a_true_lead_is_found_by_every_seed():
    found = [select("ndcg@10", _recipes(0.1), IDS, 0, seed=seed) for seed in range(10)]
    assert {each.row for each in found} == {19}
    assert {each.comparison.verdict for each in found} == {"better"}
    assert len({each.comparison.p for each in found}) == 1
    gains = [each.gain for each in found]
    assert max(gains) - min(gains) < 0.002
    first = found[0]
    assert first.agreement == 1.0
    assert first.gain == pytest.approx(first.lead, abs=1e-12)
    low, high = first.comparison.interval
    assert 0 < low < 0.1 < high


def test_recipes_that_do_not_lead_are_counted():
    scores = _recipes(-0.1, 2)
    one = select("ndcg@10", scores, IDS, 0, tried=1)
    assert (one.row, one.lead) == (0, 0.0)


def test_equal_recipes_have_no_winner_and_next_to_no_gain():
    found = select("ndcg@10", _recipes(0.0), IDS, 0)
    assert found.lead > 0.01
    assert found.gain < 0.6 * found.lead
    assert found.agreement < 1.0
    assert found.comparison.verdict == "undecided"
    assert found.comparison.interval.low < 0 < found.comparison.interval.high
    assert found.comparison.p > 0.5 > 0.2 > found.comparison.raw_p


def test_recipes_that_do_the_same_count_once():
    scores = _recipes(0.06, 3)
    many = np.concatenate([scores, *[scores[1:]] * 50])
    one, other = select("ndcg@10", scores, IDS, 0), select("ndcg@10", many, IDS, 0)
    assert (one.tried, other.tried) == (3, 3)
    assert one.comparison.p == other.comparison.p
    assert one.comparison.interval == other.comparison.interval


def test_the_order_of_questions_does_not_matter():
    scores = _recipes(0.06)
    one = select("ndcg@10", scores, IDS, 0)
    other = select("ndcg@10", scores[:, ::-1], IDS[::-1], 0)
    assert one.comparison.p == other.comparison.p
    assert one.gain == pytest.approx(other.gain)


def test_questions_of_a_group_count_once():
    scores = np.repeat(_recipes(0.05)[:, :40], 3, axis=1)
    groups = {name: f"g{place // 3}" for place, name in enumerate(IDS)}
    alone = select("ndcg@10", scores, IDS, 0)
    grouped = select("ndcg@10", scores, IDS, 0, groups=groups)
    once = select("ndcg@10", scores[:, ::3], IDS[::3], 0)
    assert alone.comparison.p < grouped.comparison.p
    assert grouped.comparison.p == pytest.approx(once.comparison.p, abs=0.01)
    assert grouped.comparison.clusters == 40


def test_nothing_better_leaves_the_baseline():
    scores = _recipes(0.0, 4)
    scores[0] = 1.0
    found = select("ndcg@10", scores, IDS, 0)
    assert (found.row, found.lead, found.gain, found.comparison.p) == (0, 0.0, 0.0, 1.0)
    assert "none of 4 " in found.sentence


def test_one_question_tells_nothing():
    with pytest.raises(InvalidInput, match="Too few questions to choose a recipe"):
        select("ndcg@10", np.array([[0.1], [0.9]]), ["q"], 0)
    apart = select("ndcg@10", np.array([[0.1, 0.1], [0.9, 0.9]]), ["a", "b"], 0)
    assert isinstance(apart, Selection)
    assert apart.comparison.verdict == "undecided"
    assert apart.comparison.raw_p == 0.25  # one of the four ways to sign two questions


def test_one_group_of_questions_tells_nothing_either():
    scores = np.array([[0.1, 0.1, 0.1], [0.9, 0.8, 0.7]])
    found = select("ndcg@10", scores, ["a", "b", "c"], 0, groups=dict.fromkeys("abc", "g"))
    assert (found.row, found.comparison.clusters) == (1, 1)
    assert (found.comparison.p, found.comparison.raw_p) == (1.0, 1.0)
    assert tuple(found.comparison.interval) == (-1.0, 1.0)


def test_all_that_is_tried_on_a_set_shares_one_risk():
    assert [level(number) for number in (1, 2, 3, 4)] == pytest.approx([0.02, 0.015, 0.005, 0.0025])
    assert sum(level(number) for number in range(1, 5000)) <= 0.05


def test_on_few_questions_the_interval_is_that_of_a_plain_comparison():
    names = [str(number) for number in range(9)]
    base, lead = np.full(9, 0.4), np.array([0.5, 0.37, 0.0, 0.0, 0.38, 0.0, 0.0, 0.0, 0.0])
    found = select("ndcg@10", np.stack([base, base + lead]), names, 0).comparison
    run, other = (dict(zip(names, row.tolist(), strict=True)) for row in (base + lead, base))
    plain = compare("ndcg@10", run, other)
    assert (found.confidence, plain.confidence) == (0.96, 0.98)
    assert found.interval == pytest.approx(plain.interval)
