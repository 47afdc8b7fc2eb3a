"""The simulations of ``bench --only honesty``, short: every rate within what is promised."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench import honesty


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
