"""Shares in percent: halves are rounded up on pages, in reports and on the command line."""

import numpy as np
import pytest

from rag import half_up, percent, signed, signed_points, whole_percent
from rag.types import told_apart


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (5 / 8, 0, "63%"),
        (7 / 8, 0, "88%"),
        (1 / 8, 0, "13%"),
        (0.575, 0, "58%"),
        (float(np.mean([0.1, 0.2, 0.3, 0.1])), 1, "17.5%"),
        (np.float64(0.0625), 1, "6.3%"),
        (1.0, 0, "100%"),
        (0.0, 0, "0%"),
        (-0.001, 0, "0%"),
        (float("inf"), 0, "Infinity%"),
        (float("-inf"), 1, "-Infinity%"),
        (np.float64("nan"), 0, "NaN%"),
    ],
)
def test_halves_of_percents_are_rounded_up(share, digits, shown):
    assert percent(share, digits) == shown


def test_whole_percents_and_points_are_rounded_alike():
    assert whole_percent(5 / 8) == "63%"
    assert [signed(100 * change, 0) for change in (0.125, -0.125, -0.001)] == ["+13", "−13", "+0"]
    assert str(half_up(2.5)) == "3"


def test_a_change_below_half_a_point_is_not_shown_as_none():
    changes = (0.004, -0.0006, 0.005, -0.031)
    assert [signed_points(change) for change in changes] == ["+0.4", "−0.1", "+1", "−3"]


def test_numbers_have_as_many_digits_as_tell_them_apart():
    assert told_apart(0.1, 0.2) == ("0.100", "0.200")
    assert told_apart(0.19996, 0.2) == ("0.19996", "0.20000")
    assert told_apart(0.2, 0.2) == ("0.200", "0.200")
