"""Verdicts on two runs: honest about noise, about what was left out, and in their words."""

import re
import tracemalloc
from collections.abc import Hashable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, permutation_test

from rag import Comparison, Interval, as_percent, signed
from rag.evaluation import Clusters, Figures, compare, compare_pairs, significance
from rag.evaluation.significance import RESAMPLES, holm, holm_levels, paired_tests, sign_patterns
from rag.types import Floats


def _figures(values: np.ndarray) -> dict[str, float]:
    return {f"q{number}": float(value) for number, value in enumerate(values)}


def _table(
    metric: str, runs: Mapping[Hashable, Figures], baseline: Figures
) -> dict[Hashable, Comparison]:
    """Every run against one baseline, corrected for all."""
    comparisons = compare_pairs([(metric, run, baseline) for run in runs.values()])
    return dict(zip(runs, comparisons, strict=True))


def test_a_clear_lead_is_better_and_the_reverse_is_worse():
    rng = np.random.default_rng(4)
    baseline = rng.beta(4, 2, 120)
    run = np.clip(baseline + rng.normal(0.06, 0.1, 120), 0, 1)
    result = compare("ndcg@10", _figures(run), _figures(baseline), kind="held-out")
    assert result.verdict == "better"
    assert result.difference == pytest.approx(np.mean(run - baseline), abs=1e-12)
    assert (result.won, result.lost) == (int((run > baseline).sum()), int((run < baseline).sum()))
    error = np.std(run - baseline) / np.sqrt(120)
    # Wider than the normal interval: a question may come that is lost, or won, outright.
    low, high = result.interval_95
    assert low == pytest.approx(result.difference - 2.5 * error, abs=0.3 * error)
    assert high == pytest.approx(result.difference + 2.3 * error, abs=0.3 * error)
    low, high = result.interval
    assert low == pytest.approx(result.difference - 3.5 * error, abs=0.3 * error)
    assert high == pytest.approx(result.difference + 3.2 * error, abs=0.4 * error)
    assert result.sentence == f"{result.headline} {result.evidence}"
    reverse = compare("ndcg@10", _figures(baseline), _figures(run))
    assert (reverse.verdict, reverse.recommendation) == ("worse", "Keep the baseline.")
    assert reverse.recommend("A", "B", saved="A") == "Use B."
    assert reverse.headline == f"Worse: −{result.difference:.3f} nDCG@10 on 120 questions."
    assert (reverse.won, reverse.lost) == (result.lost, result.won)


@pytest.mark.parametrize("metric", ["false_doubt", "false_refusal", "misleading@5"])
def test_fewer_faults_are_better(metric):
    many, few = (_figures(np.repeat([1.0, 0.0], [faults, 40 - faults])) for faults in (30, 6))
    result = compare(metric, few, many)
    assert result.difference == pytest.approx(-0.6)
    assert (result.verdict, result.won, result.lost, result.tied) == ("better", 24, 0, 16)
    assert sum(result.gains.values()) == pytest.approx(24)
    assert result.headline.startswith("Better: −0.600 ")
    reverse = compare(metric, many, few)
    assert (reverse.verdict, reverse.won, reverse.lost) == ("worse", 0, 24)
    assert reverse.recommendation == "Keep the baseline."


def test_noise_in_a_table_of_comparisons_rarely_wins_anywhere():
    rng = np.random.default_rng(7)
    crowned = 0
    for _ in range(30):
        baseline, *runs = np.round(rng.beta(2, 1, (9, 50)), 2)
        table = _table("mrr@10", dict(enumerate(map(_figures, runs))), _figures(baseline))
        crowned += any(each.verdict != "undecided" for each in table.values())
    assert crowned <= 2


def test_identical_runs_are_never_better():
    figures = _figures(np.random.default_rng(0).random(80))
    result = compare("mrr@10", figures, figures)
    assert (result.p, result.verdict) == (1.0, "undecided")
    assert (result.won, result.lost, result.tied) == (0, 0, 80)
    # 80 ties do not rule out that one question in forty is won or lost: 1 - 0.125 ** (1 / 80), and
    # 1 - 0.05 ** (1 / 80) at the level of the test.
    assert result.interval_95 == pytest.approx((-0.0257, 0.0257), abs=2e-4)
    assert result.interval == pytest.approx((-0.0368, 0.0368), abs=2e-4)


def test_rounding_is_not_a_difference():
    result = compare("f1@5", {"a": 0.1 + 0.2, "b": 1.0}, {"a": 0.3, "b": 1.0})
    assert (result.won, result.lost, result.tied) == (0, 0, 2)


def test_without_shared_questions_there_is_nothing_to_compare():
    result = compare("mrr@10", {"a": 1.0}, {"b": 0.0, "c": 1.0})
    assert (result.p, result.verdict, result.left_out) == (1.0, "undecided", 3)
    assert (result.mean, result.baseline, result.difference) == (0.0, 0.0, 0.0)
    assert compare("mrr@10", {}, {}).verdict == "undecided"


def test_only_shared_questions_count_and_the_sentence_says_so():
    result = compare("hit@5", {"a": 1.0, "b": 1.0, "x": 0.0}, {"b": 0.0, "a": 1.0})
    assert result.differences == {"a": 0.0, "b": 1.0}
    assert (result.mean, result.baseline) == (1.0, 0.5)


def test_undecided_promises_nothing_of_more_questions():
    values = np.array([-1.0, 1.0] * 25)
    values = values / values.std(ddof=1) * 0.1 + 0.02
    result = compare("ndcg@10", _figures(0.5 + values), _figures(np.full(50, 0.5)))
    assert result.verdict == "undecided"
    assert re.search(r"p = 0\.\d+, on 50 questions\.$", result.sentence)


def test_a_table_is_corrected_as_a_whole():
    rng = np.random.default_rng(1)
    baseline = rng.random(60)
    runs = {
        "clear": _figures(baseline + rng.normal(0.2, 0.1, 60)),
        "same": _figures(baseline),
    }
    table = _table("recall@5", runs, _figures(baseline))
    assert table["clear"].p == 2 * table["clear"].raw_p == 2 / 10_000
    assert table["same"].p == 1.0
    assert "p < 0.001 corrected for 2 comparisons" in table["clear"].sentence


def test_what_was_picked_is_corrected_for_all_that_it_was_picked_from():
    rng = np.random.default_rng(4)
    better, baseline = rng.normal(0.55, 0.1, 40), rng.normal(0.5, 0.1, 40)
    alone = compare("mrr@10", _figures(better), _figures(baseline))
    picked = compare("mrr@10", _figures(better), _figures(baseline), picked_from=20)
    assert picked.raw_p == pytest.approx(alone.p, abs=0.002)
    assert (picked.p, picked.compared) == (min(1.0, 20 * picked.raw_p), 20)
    assert picked.interval_95 == alone.interval_95
    assert picked.interval.low < alone.interval.low
    assert picked.confidence == 1 - 0.02 / 20


def _borderline(**fields: object) -> Comparison:
    values = {f"q{n}": value for n, value in enumerate([0.1, -0.05, 0.1, 0.0])}
    known = {
        "mean": 0.5,
        "baseline": 0.4,
        "interval": Interval(0.01, 0.2),
        "interval_95": Interval(0.01, 0.2),
        "raw_p": 0.03,
        "p": 0.03,
    }
    return Comparison("span_iou@5", values, **(known | fields))


def test_between_the_usual_level_and_the_crowning_one_the_sentence_says_why():
    result = _borderline()
    assert result.verdict == "undecided"
    assert "Span IoU@5 is 0.500 instead of 0.400" in result.evidence
    assert "p = 0.03 (a winner needs p ≤ 0.02)" in result.sentence
    assert _borderline(alpha=0.05).verdict == "better"


def test_an_interval_that_holds_zero_decides_nothing():
    assert _borderline(p=0.01, interval=Interval(0.0, 0.1)).verdict == "undecided"
    assert _borderline(p=0.01).verdict == "better"


def test_one_question_decides_nothing():
    result = compare("hit@1", {"a": 1.0}, {"a": 0.0})
    assert (result.verdict, result.p, result.interval) == ("undecided", 1.0, Interval(-1.0, 1.0))


def test_two_hundred_runs_do_not_hide_a_clear_winner():
    baseline = np.random.default_rng(3).random(60)
    runs = {f"r{i}": _figures(baseline) for i in range(200)}
    runs["clear"] = _figures(baseline + np.random.default_rng(4).normal(0.3, 0.1, 60))
    found = _table("recall@5", runs, _figures(baseline))["clear"]
    # 500 sign patterns a comparison: with 9,999 the smallest p was 201 / 10,000
    assert (found.p, found.verdict) == (pytest.approx(201 / (500 * 201)), "better")


def test_twenty_small_losses_do_not_rule_out_a_large_win():
    result = compare("ndcg@10", _figures(np.full(20, 0.46)), _figures(np.full(20, 0.5)))
    assert result.verdict == "undecided"
    assert result.interval.low < -0.04 < 0.0 < result.interval.high


def test_questions_of_a_group_count_as_one():
    rng = np.random.default_rng(4)
    baseline = np.repeat(rng.beta(4, 2, 20), 4)
    run = np.clip(baseline + np.repeat(rng.normal(0.05, 0.1, 20), 4), 0, 1)
    groups = {f"q{i}": f"g{i // 4}" for i in range(80)}
    alone, grouped = (
        compare("ndcg@10", _figures(run), _figures(baseline), groups=each)
        for each in (None, groups)
    )
    assert (alone.clusters, grouped.clusters) == (80, 20)
    assert grouped.raw_p > 4 * alone.raw_p
    assert grouped.design_effect == pytest.approx(4.0, abs=0.3)
    assert "groups" not in alone.sentence
    single = compare(
        "ndcg@10", _figures(run), _figures(baseline), groups={f"q{i}": f"g{i}" for i in range(80)}
    )
    assert single == alone


def test_what_is_shown_together_is_corrected_together():
    rng = np.random.default_rng(1)
    baseline = rng.random(60)
    shifted = _figures(baseline + rng.normal(0.06, 0.15, 60))
    lone = compare("mrr@10", shifted, _figures(baseline))
    pairs = [(name, shifted, _figures(baseline)) for name in ("mrr@10", "map@10")]
    one, other = compare_pairs(pairs)
    assert one.raw_p == other.raw_p == lone.p
    assert one.p == other.p == pytest.approx(2 * lone.p)


def test_an_interval_leaves_zero_out_just_where_the_test_decides():
    rng = np.random.default_rng(6)
    decided = between = 0
    for _ in range(40):
        baseline = rng.random(60)
        shifts = rng.choice([0.0, 0.08, 0.15], 4)
        runs = {
            f"r{at}": _figures(baseline + rng.normal(shift, 0.3, 60))
            for at, shift in enumerate(shifts)
        }
        for result in _table("mrr@10", runs, _figures(baseline)).values():
            low, high = result.interval
            assert (low > 0 or high < 0) == (result.p <= 0.02) == (result.verdict != "undecided")
            assert low <= result.difference <= high
            usual = result.interval_95
            assert low <= usual.low <= usual.high <= high
            assert f"({as_percent(result.confidence)} interval {signed(low)} to" in result.evidence
            decided += result.p <= 0.02
            between += result.verdict == "undecided" and not usual.low <= 0 <= usual.high
    assert decided > 20
    assert between > 10  # a 95% interval would contradict these verdicts


@pytest.mark.parametrize(
    ("p_values", "levels"),
    [
        ([0.5], [0.02]),
        ([0.001, 0.9], [0.01, 0.02]),
        ([0.9, 0.001, 0.002], [0.02, 0.02 / 3, 0.01]),
        # The first that is not rejected ends the procedure: the second is not tried at 0.02.
        ([0.012, 0.015], [0.01, 0.01]),
    ],
)
def test_the_level_of_a_comparison_is_the_one_that_holm_decides_at(p_values, levels):
    assert holm_levels(p_values, 0.02).tolist() == pytest.approx(levels)


def test_a_level_is_told_as_exactly_as_it_is():
    assert [as_percent(level) for level in (0.95, 0.98, 1 - 0.02 / 3)] == ["95%", "98%", "99.33%"]


def test_a_level_has_its_reason():
    alone = compare("ndcg@10", {"a": 0.5, "b": 0.6}, {"a": 0.4, "b": 0.4})
    assert alone.level == "98%, because a verdict needs p ≤ 0.02"
    three = replace(alone, confidence=1 - 0.02 / 3, compared=3)
    assert three.level == "99.33%, because a verdict needs p ≤ 0.02 over 3 comparisons together"


def test_intervals_end_at_what_the_labels_allow():
    before = {f"q{number}": 0.2 if number % 2 else 0.0 for number in range(12)}
    found = compare("precision@5", dict.fromkeys(before, 0.2), before)
    assert found.interval.high > 0.3
    within = found.within(0.2)
    assert within.interval == (found.interval.low, 0.2)
    assert within.interval_95.high == 0.2
    assert found.within(0.1).interval.low == -0.1
    assert (within.p, within.verdict) == (found.p, found.verdict)


def _noisy_pair(rng: np.random.Generator, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Reciprocal ranks of two runs that share their questions' difficulty and differ by noise."""
    easy = rng.beta(1, 1, questions)
    ranks = rng.geometric(np.clip(easy, 0.05, 1), (2, questions))
    first, second = np.where(ranks <= 10, 1 / ranks, 0.0)
    return first, second


def test_noise_wins_no_more_than_one_in_twenty_comparisons():
    rng = np.random.default_rng(2024)
    verdicts = []
    for _ in range(100):
        first, second = _noisy_pair(rng, 60)
        verdicts.append(compare("mrr@10", _figures(first), _figures(second)).verdict)
    assert 100 - verdicts.count("undecided") <= 5
    assert verdicts.count("better") <= 3


# Eighths, whose sums are exact: the other one takes rounding for a difference.
STEPS = st.integers(-4, 4).map(lambda step: step / 8)


def randomisation_p(
    differences: Floats, resamples: int = RESAMPLES, clusters: Clusters | None = None
) -> float:
    """The randomisation test of ``paired_tests`` without its margin for skewed differences."""
    units = clusters or Clusters.single(len(differences))
    totals = np.round(units.sums(differences[None]), significance._DECIMALS)
    if not totals.any():
        return 1.0
    ahead = totals if totals.sum() >= 0 else -totals
    return float(
        significance._sign_flips(*significance._sorted(ahead, units.sizes), resamples)[0][0]
    )


@given(st.lists(STEPS, min_size=2, max_size=9))
@settings(max_examples=40, deadline=None)
def test_the_exact_test_equals_scipys(steps):
    differences = np.array(steps)
    theirs = permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert randomisation_p(differences) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_by_hand():
    # Of the eight sign patterns of (1, 2, 3) only +++ and --- are as far from 0 as 6.
    assert randomisation_p(np.array([0.1, 0.2, 0.3])) == 2 / 8
    # 0.1 + 0.2 and 0.3 tie although their binary sums differ: patterns with |sum| >= 0 are all.
    assert randomisation_p(np.array([0.1, 0.2, -0.3])) == 1.0
    assert randomisation_p(np.array([0.5, 0.0, 0.0])) == 1.0
    # However many are equal, the patterns of those that differ are all tried.
    assert randomisation_p(np.array([0.1, 0.2, 0.3, *[0.0] * 20])) == 2 / 8


def test_identical_runs_and_no_questions_have_p_one():
    assert randomisation_p(np.zeros(50)) == 1.0
    assert randomisation_p(np.empty(0)) == 1.0


def test_random_patterns_agree_with_all_patterns():
    differences = np.random.default_rng(5).normal(0.3, 1.0, 13)
    doubled = np.repeat(differences, 2) / 2  # 26 differences: drawn at random
    theirs = permutation_test(
        (doubled,), np.sum, permutation_type="samples", n_resamples=50_000, rng=2
    )
    assert randomisation_p(doubled) == pytest.approx(theirs.pvalue, abs=0.02)


def test_p_is_never_zero():
    assert randomisation_p(np.full(300, 0.5), resamples=999) == 1 / 1000
    assert randomisation_p(np.full(5, 0.5)) == 2 / 32


def test_the_direction_does_not_matter_and_the_seed_repeats():
    differences = np.random.default_rng(8).normal(0.1, 1.0, 40)
    assert randomisation_p(differences) == pytest.approx(randomisation_p(-differences), abs=1e-12)
    assert randomisation_p(differences) == randomisation_p(differences)


def test_one_sign_for_each_cluster():
    differences = np.array([0.1, 0.2, 0.2, 0.1, 0.3])
    clusters = Clusters.of(["a", "b", "a", "b", "c"])  # sums 0.3, 0.3, 0.3
    assert randomisation_p(differences, clusters=clusters) == 2 / 8
    lone = Clusters.of(list("vwxyz"))
    assert randomisation_p(differences, clusters=lone) == randomisation_p(differences) == 2 / 32


def test_the_order_of_questions_does_not_matter():
    rng = np.random.default_rng(5)
    rows, names = rng.normal(0.05, 0.2, (3, 60)), rng.integers(25, size=60)
    order = rng.permutation(60)
    straight = paired_tests(rows, Clusters.of(names.tolist()))
    mixed = paired_tests(rows[:, order], Clusters.of(names[order].tolist()))
    assert np.array_equal(straight.p, mixed.p)
    assert straight.intervals == pytest.approx(mixed.intervals, abs=1e-12)


@given(st.lists(STEPS, min_size=2, max_size=30), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_p_and_interval_agree_and_mirror(steps, share):
    rows = np.array([steps])
    clusters = Clusters.of([place // share for place in range(len(steps))])
    found, turned = paired_tests(rows, clusters), paired_tests(-rows, clusters)
    low, high = found.intervals[0]
    assert low < high
    assert (low <= 0 <= high) == (found.p[0] > 0.05)
    assert low - 1e-9 <= rows.mean() <= high + 1e-9
    assert turned.p == pytest.approx(found.p)
    if rows.sum():
        assert turned.intervals[0] == pytest.approx([-high, -low])


def test_the_interval_holds_what_the_test_would_not_reject():
    differences = np.random.default_rng(9).normal(0.1, 0.2, 60)
    low, high = paired_tests(differences[None]).intervals[0]
    # No question is so bad that it would matter here more than the test does.
    assert randomisation_p(differences - high) == pytest.approx(0.05, abs=0.01)
    assert 0.02 < randomisation_p(differences - low) <= 0.055


def test_holm_by_hand():
    # Sorted 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1, and never below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]).tolist() == []


def test_of_few_clusters_every_sign_pattern_is_there_once():
    (found,) = sign_patterns(2, 9999)
    assert sorted(found.tolist()) == [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]


def test_sign_patterns_are_those_of_one_draw_however_many_are_held_at_once():
    at_once = np.random.default_rng(0).integers(2, size=(9999, 37), dtype=np.int8)
    parts = np.concatenate(list(sign_patterns(37, 9999)))
    assert (parts == np.concatenate([np.ones((1, 37)), 1.0 - 2.0 * at_once])).all()


def test_a_test_of_five_thousand_questions_holds_a_hundred_megabytes():
    rows = np.random.default_rng(1).choice([-0.5, 0.0, 0.5], (3, 5000))
    tracemalloc.start()
    paired_tests(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000


def test_p_values_are_uniform_when_the_runs_are_equal():
    rng = np.random.default_rng(17)
    # Skewed scores: of two equal runs, not of a normal distribution.
    first, second = rng.beta(2, 1, (400, 40)), rng.beta(2, 1, (400, 40))
    values = [randomisation_p(row, resamples=999) for row in first - second]
    assert kstest(values, "uniform").pvalue > 0.05


@pytest.mark.parametrize(
    ("sign", "gain", "guarded"),
    [(1, 0.2, True), (-1, 0.2, True), (1, 0.9, False), (1, 0.0, False)],
    ids=["small gains", "small losses", "large gains", "no difference"],
)
def test_a_comparison_that_one_more_question_leaves_undecided_says_so(sign, gain, guarded):
    values = np.repeat([gain, 0.0], [9, 6])
    run, baseline = (_figures(one) for one in ((values, 0 * values)[::sign]))
    result = compare("ndcg@10", run, baseline)
    assert sorted((result.won, result.lost))[0] == 0
    assert result.guarded == guarded == (result.verdict == "undecided" and gain > 0)
    fate = {1: "lost outright", -1: "won outright"}[sign]
    for evidence in (result.evidence, result.evidence_at_95):
        assert (fate in evidence) == guarded


def test_signs_that_decide_nothing_are_not_guarded():
    values = np.array([0.3, -0.2, 0.1, -0.3, 0.2, 0.0])
    result = compare("ndcg@10", _figures(values + 0.4), _figures(0 * values + 0.4))
    assert (result.verdict, result.guarded) == ("undecided", False)
    assert "outright" not in result.evidence
