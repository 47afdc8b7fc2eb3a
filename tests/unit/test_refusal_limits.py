"""The limit of refusal that labels choose, and what it does to questions that it never saw."""

from dataclasses import astuple

import numpy as np
import pytest

from rag import TopicProbabilities

VALUES = np.concatenate([(np.arange(100) + 0.5) / 100, np.linspace(0.0, 0.18, 10)])
ANSWERABLE = np.arange(110) < 100
FOUND = TopicProbabilities(VALUES, ANSWERABLE, 0.1)


def test_a_limit_refuses_what_is_below_it():
    assert astuple(FOUND.refused(None)) == (0.0, 0.0)
    assert astuple(FOUND.refused(0.1)) == (0.1, 0.5)
    assert [FOUND.limit(refuse) for refuse in ("off", "auto", 0.4)] == [None, 0.1, 0.4]


def test_the_limit_is_the_greatest_within_the_cost():
    found = FOUND.chosen(0.05)
    assert found.limit == pytest.approx(0.055)
    assert FOUND.refused(found.limit).answerable == pytest.approx(0.05)
    assert FOUND.refused(found.limit + 0.006).answerable == pytest.approx(0.06)


def test_what_is_expected_of_it_is_cross_validated():
    found = FOUND.chosen(0.05)
    assert 0.2 <= (found.expected.unanswerable or 0) <= 0.4
    assert 0.03 <= (found.expected.answerable or 0) <= 0.08
    dice = np.random.default_rng(1)
    alike = TopicProbabilities(dice.random(600), np.arange(600) < 300, 0.1)
    chosen = alike.chosen(0.2)
    assert abs((chosen.expected.answerable or 0) - 0.2) < 0.03
    assert abs((chosen.expected.unanswerable or 0) - 0.2) < 0.06


def test_what_chose_a_limit_and_what_did_not_are_told_apart():
    found = FOUND.chosen(0.05)
    assert found.in_sample == FOUND.refused(found.limit)


def test_a_limit_that_is_shown_and_used_refuses_no_more_than_was_allowed():
    values = np.linspace(0.10006, 0.9, 40)
    found = TopicProbabilities(values, np.ones(40, np.bool_), 0.1).chosen(0.0)
    assert found.limit == 0.1
    assert astuple(found.in_sample) == (0.0, None)


def test_few_questions_choose_no_limit():
    assert TopicProbabilities(VALUES[:19], ANSWERABLE[:19], 0.1).chosen(0.05) is None
    alone = TopicProbabilities(VALUES[:20], ANSWERABLE[:20], 0.1).chosen(0.1)
    assert alone.expected.unanswerable is None
