"""What the tuning page says where no recipe of a search is better."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pages.components.metrics.cards import CARDS
from pages.components.tuning.cards import _spread
from pages.components.tuning.search import _nothing_better
from rag import Comparison, Interval


@pytest.mark.parametrize(
    ("combinations", "tried", "words"),
    [
        (756, 2, "the 756 combinations give only 2 different results, and none beats the baseline"),
        (8, 1, "the 8 combinations give only one other result, which does not beat the baseline"),
        (2, 2, "none of 2 different recipes beats the baseline"),
    ],
)
def test_combinations_that_find_the_same_are_said_once(
    combinations: int, tried: int, words: str
) -> None:
    headline = f"No reason to change: none of {tried} different recipes beats the baseline."
    selection = SimpleNamespace(tried=tried, headline=headline)
    best = cast(Any, SimpleNamespace(combinations=combinations, selection=selection))
    assert _nothing_better(best).replace("\\", "") == f"No reason to change: {words}."


def test_an_interval_that_says_nothing_is_not_printed_as_one() -> None:
    open_one = cast(Comparison, SimpleNamespace(interval=Interval(-1.0, 1.0)))
    assert _spread(open_one, CARDS[0]) == "too few questions to tell"
    compared = cast(Comparison, SimpleNamespace(interval=Interval(-0.1, 0.1)))
    assert _spread(compared, CARDS[0]) == "±0.100"
    assert _spread(compared, replace(CARDS[0], percent=True)) == "±10"
