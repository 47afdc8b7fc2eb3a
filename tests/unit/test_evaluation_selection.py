"""The best of many recipes: chosen on all questions, worth what others say, no coin of a split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import InvalidInput, Selection, Split
from rag.evaluation import choose, compare, folds, level, select, split
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


NAMES = [f"question {number}" for number in range(400)]


@given(st.integers(0, 399), st.integers(0, 5))
def test_another_question_moves_one_at_most(dropped, seed):
    whole = split(NAMES, seed=seed)
    kept = [each for number, each in enumerate(NAMES) if number != dropped]
    part = split(kept, seed=seed)
    assert len(set(part.tuning) ^ (set(whole.tuning) & set(kept))) <= 1
    # The order is that of the questions, and which side one is on does not depend on it.
    assert list(part.tuning) == [each for each in kept if each in set(part.tuning)]
    assert set(split(kept[::-1], seed=seed).tuning) == set(part.tuning)


def test_groups_stay_whole_and_strata_are_split_alike():
    groups = {each: f"group {number // 4}" for number, each in enumerate(NAMES) if number < 200}
    kinds = {each: ("rare" if number % 40 < 4 else "usual") for number, each in enumerate(NAMES)}
    for seed in range(5):
        parts = split(NAMES, 0.5, seed, groups=groups, strata=kinds)
        for name in set(groups.values()):
            sides = {each in parts.tuning for each, group in groups.items() if group == name}
            assert len(sides) == 1
        assert abs(len(parts.tuning) - 200) <= 2
        rare = [each for each in NAMES if kinds[each] == "rare"]
        assert abs(sum(each in parts.tuning for each in rare) - len(rare) / 2) <= 4


def test_the_largest_stratum_is_divided_first_whatever_the_order():
    strata = {each: ("usual" if number < 5 else "rare") for number, each in enumerate(NAMES[:8])}
    for ids in (NAMES[:8], NAMES[7::-1]):
        chosen = [strata[each] for each in split(ids, 0.5, strata=strata).tuning]
        # 3 of 5, as one that half fits is in; 1 of 3, for 4 of 8 in all.
        assert (chosen.count("usual"), chosen.count("rare")) == (3, 1)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_share_is_met(share):
    for seed in range(20):
        assert len(split(NAMES, share, seed).tuning) == share * 400


def test_the_same_on_every_machine():
    assert split(["a", "b", "c", "d", "e"], seed=1) == Split(("a", "b", "e"), ("c", "d"))
    assert split(NAMES, seed=1) != split(NAMES, seed=2)


def test_a_larger_share_keeps_the_tuning_questions():
    assert set(split(NAMES, 0.3).tuning) < set(split(NAMES, 0.6).tuning)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_shares_that_leave_a_side_empty_are_refused(share):
    with pytest.raises(InvalidInput, match="one side of the split is empty"):
        split(NAMES, share)


def test_too_few_questions_are_refused():
    with pytest.raises(InvalidInput, match=r"Too few questions to split \(1\)"):
        split(["only"])
    with pytest.raises(InvalidInput, match=r"Too few questions to split \(0\)"):
        split([])


PARTS = Split(("a", "b"), ("c", "d", "e"))
COLUMNS = ["a", "c", "b", "d", "unused", "e"]


def test_chosen_on_tuning_reported_on_held_out():
    scores = np.array(
        [
            [0.5, 0.5, 0.5, 0.5, 0.0, 0.5],
            [0.9, 0.6, 0.7, 0.5, 0.0, 0.7],  # tuning mean 0.8
            [0.6, 1.0, 0.6, 1.0, 1.0, 1.0],  # the best on held-out questions is not chosen
        ]
    )
    chosen = choose("ndcg@10", scores, COLUMNS, 0, PARTS)
    assert (chosen.row, chosen.tried, chosen.tuning_questions) == (1, 3, 2)
    assert chosen.tuning_lead == pytest.approx(0.3)
    assert chosen.comparison.differences == pytest.approx({"c": 0.1, "d": 0.0, "e": 0.2})
    assert chosen.held_out_lead == pytest.approx(0.1)
    assert chosen.shrinkage == pytest.approx(2 / 3)
    assert chosen.comparison.verdict == "undecided"


@pytest.mark.parametrize(
    ("last", "word"), [(0.6, "higher"), (0.5, "same"), (0.4, "lower")], ids=str
)
def test_the_headline_says_how_the_best_stands_where_it_was_not_chosen(last, word):
    scores = np.full((2, 6), 0.5)
    scores[1] = [0.9, 0.5, 0.7, 0.5, 0.5, last]
    words = choose("ndcg@10", scores, COLUMNS, 0, PARTS).headline.split()
    assert [one for one in ("higher", "same", "lower") if one in words] == [word]


@pytest.mark.parametrize("count", [2, 5])
def test_folds_keep_groups_whole_and_are_alike(count):
    groups = {each: f"g{place // 3}" for place, each in enumerate(NAMES[:90])}
    strata = {each: place % 4 == 0 for place, each in enumerate(NAMES)}
    found = dict(zip(NAMES, folds(NAMES, count, 7, groups=groups, strata=strata), strict=True))
    held = [{found[each] for each in NAMES if groups.get(each) == f"g{n}"} for n in range(30)]
    assert {len(each) for each in held} == {1}
    sizes = np.bincount(list(found.values()))
    assert len(sizes) == count
    assert sizes.max() - sizes.min() <= 3
    rare = np.bincount([found[each] for each in NAMES[90:] if strata[each]], minlength=count)
    assert rare.min() >= len(NAMES[90:]) // 4 // count - 6
    assert folds(NAMES[::-1], count, 7, groups=groups, strata=strata) == list(found.values())[::-1]
    assert folds(NAMES, count, 8) != folds(NAMES, count, 9)


def test_the_baseline_wins_ties():
    scores = np.full((3, 6), 0.3)
    scores[0, 0] += 1e-16
    chosen = choose("ndcg@10", scores, COLUMNS, 2, PARTS)
    assert (chosen.row, chosen.tuning_lead, chosen.shrinkage) == (2, 0.0, None)


def test_a_part_without_figures_is_refused():
    with pytest.raises(InvalidInput, match="no metrics to choose by"):
        choose("ndcg@10", np.ones((2, 2)), ["a", "b"], 0, PARTS)


def test_the_best_of_many_equal_recipes_loses_its_lead():
    rng = np.random.default_rng(6)
    decided, leads = 0, []
    for _ in range(40):
        chosen = choose("mrr@10", rng.beta(2, 1, (50, 400)), NAMES, 0, split(NAMES))
        decided += chosen.comparison.verdict != "undecided"
        leads.append((chosen.tuning_lead, chosen.held_out_lead))
    tuning, held_out = np.mean(leads, axis=0)
    assert tuning > 0.03
    assert abs(held_out) < 0.01
    assert decided <= 3
