"""The simulations of ``bench --only honesty``, short: every rate within what is promised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from rag.evaluation.inference.spending import level
from rag.evaluation.selection import select
from rag.evaluation.splits import choose, split
from tests.bench import honesty
from tests.best_of_many import apart

pytestmark = pytest.mark.thorough


def _rates(found: Mapping[str, float], beginning: str) -> dict[str, float]:
    return {
        what.partition(" | ")[0]: value
        for what, value in found.items()
        if what.startswith(beginning) and what.endswith("| rate")
    }


def test_questions_of_one_source_make_no_winners() -> None:
    rates = _rates(honesty.clustered(200), "false winners")
    alone = {what: rate for what, rate in rates.items() if what.endswith("as if alone")}
    assert len(alone) == 3
    assert min(alone.values()) > 0.1
    # Three standard errors of 200 above 0.05.
    assert max(rate for what, rate in rates.items() if what not in alone) <= 0.096


def test_groups_of_independent_questions_cost_little_power() -> None:
    rates = _rates(honesty.independent(200), "power")
    alone, grouped = rates.values()
    assert alone > 0.4
    assert grouped >= 0.9 * alone


def test_differences_are_covered_also_where_they_are_skewed() -> None:
    found = honesty.differences(100, (20,))
    covered, winners = _rates(found, "difference"), _rates(found, "false winners")
    assert min(covered.values()) >= 0.9
    assert covered["difference covered, 20 questions, skewed"] >= 0.95
    assert max(winners.values()) <= 0.05


def test_the_gate_fails_what_is_worse_and_passes_what_is_not() -> None:
    rates = _rates(honesty.gate(15), "gate")
    assert rates["gate passed, 0 lost of 0.05"] >= 0.7
    assert rates["gate passed, 0.05 lost of 0.05"] <= 0.2
    assert rates["gate failed, 0.05 lost of 0.05"] <= 0.1
    assert rates["gate failed, 0.15 lost of 0.05"] == 1.0


NAMES = [f"q{number}" for number in range(150)]


def test_the_best_of_fifty_equal_recipes_is_hardly_ever_a_winner() -> None:
    rng = np.random.default_rng(1)
    best = [select("ndcg@10", apart(rng, 150, 0.0)[0], NAMES, 0) for _ in range(30)]
    assert sum(each.comparison.verdict == "better" for each in best) <= 3
    assert sum(low <= 0 <= high for low, high in (each.comparison.interval for each in best)) >= 27
    # In sample the best of fifty leads by luck; out of fold hardly any of it is left.
    assert np.mean([each.lead for each in best]) > 0.04
    assert abs(np.mean([each.gain for each in best])) < 0.02


def test_splitting_again_until_something_wins_is_paid_for() -> None:
    rng = np.random.default_rng(2)
    paid = unpaid = 0
    for _ in range(20):
        scores = apart(rng, 150, 0.0)[0][:20]
        looks = [
            choose("m", scores, NAMES, 0, split(NAMES, 0.5, seed)).comparison for seed in range(10)
        ]
        ahead = [(place, each) for place, each in enumerate(looks, 1) if each.difference > 0]
        paid += any(each.p <= level(place) for place, each in ahead)
        unpaid += any(each.p <= honesty.CROWNING_P for _, each in ahead)
    assert paid <= 2  # 0.05 of 20, and a standard error
    assert paid <= unpaid
