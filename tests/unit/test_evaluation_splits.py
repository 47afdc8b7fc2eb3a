"""Splits stay put when questions come and go; a choice is reported where it was not made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import InvalidInput, Split
from rag.evaluation.splits import choose, folds, split

IDS = [f"question {number}" for number in range(400)]


@given(st.integers(0, 399), st.integers(0, 5))
def test_another_question_moves_one_at_most(dropped, seed):
    whole = split(IDS, seed=seed)
    kept = [each for number, each in enumerate(IDS) if number != dropped]
    part = split(kept, seed=seed)
    assert len(set(part.tuning) ^ (set(whole.tuning) & set(kept))) <= 1
    # The order is that of the questions, and which side one is on does not depend on it.
    assert list(part.tuning) == [each for each in kept if each in set(part.tuning)]
    assert set(split(kept[::-1], seed=seed).tuning) == set(part.tuning)


def test_groups_stay_whole_and_strata_are_split_alike():
    groups = {each: f"group {number // 4}" for number, each in enumerate(IDS) if number < 200}
    kinds = {each: ("rare" if number % 40 < 4 else "usual") for number, each in enumerate(IDS)}
    for seed in range(5):
        parts = split(IDS, 0.5, seed, groups=groups, strata=kinds)
        for name in set(groups.values()):
            sides = {each in parts.tuning for each, group in groups.items() if group == name}
            assert len(sides) == 1
        assert abs(len(parts.tuning) - 200) <= 2
        rare = [each for each in IDS if kinds[each] == "rare"]
        assert abs(sum(each in parts.tuning for each in rare) - len(rare) / 2) <= 4


def test_the_largest_stratum_is_divided_first_whatever_the_order():
    strata = {each: ("usual" if number < 5 else "rare") for number, each in enumerate(IDS[:8])}
    for ids in (IDS[:8], IDS[7::-1]):
        chosen = [strata[each] for each in split(ids, 0.5, strata=strata).tuning]
        # 3 of 5, as one that half fits is in; 1 of 3, for 4 of 8 in all.
        assert (chosen.count("usual"), chosen.count("rare")) == (3, 1)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_share_is_met(share):
    for seed in range(20):
        assert len(split(IDS, share, seed).tuning) == share * 400


def test_the_same_on_every_machine():
    assert split(["a", "b", "c", "d", "e"], seed=1) == Split(("a", "b", "e"), ("c", "d"))
    assert split(IDS, seed=1) != split(IDS, seed=2)


def test_a_larger_share_keeps_the_tuning_questions():
    assert set(split(IDS, 0.3).tuning) < set(split(IDS, 0.6).tuning)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_shares_that_leave_a_side_empty_are_refused(share):
    with pytest.raises(InvalidInput, match="one side of the split is empty"):
        split(IDS, share)


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


@pytest.mark.parametrize("count", [2, 5])
def test_folds_keep_groups_whole_and_are_alike(count):
    groups = {each: f"g{place // 3}" for place, each in enumerate(IDS[:90])}
    strata = {each: place % 4 == 0 for place, each in enumerate(IDS)}
    found = dict(zip(IDS, folds(IDS, count, 7, groups=groups, strata=strata), strict=True))
    held = [{found[each] for each in IDS if groups.get(each) == f"g{n}"} for n in range(30)]
    assert {len(each) for each in held} == {1}
    sizes = np.bincount(list(found.values()))
    assert len(sizes) == count
    assert sizes.max() - sizes.min() <= 3
    rare = np.bincount([found[each] for each in IDS[90:] if strata[each]], minlength=count)
    assert rare.min() >= len(IDS[90:]) // 4 // count - 6
    assert folds(IDS[::-1], count, 7, groups=groups, strata=strata) == list(found.values())[::-1]
    assert folds(IDS, count, 8) != folds(IDS, count, 9)


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
        chosen = choose("mrr@10", rng.beta(2, 1, (50, 400)), IDS, 0, split(IDS))
        decided += chosen.comparison.verdict != "undecided"
        leads.append((chosen.tuning_lead, chosen.held_out_lead))
    tuning, held_out = np.mean(leads, axis=0)
    assert tuning > 0.03
    assert abs(held_out) < 0.01
    assert decided <= 3
