"""Open hits: verdicts that they could turn, and means from samples with a judge."""

import itertools
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Grid, Interval, InvalidInput, KnowledgeBase, OpenHits, PairedGate, Workspace
from rag.__main__ import main
from rag.evaluation import (
    BOUNDED,
    UNJUDGED,
    JudgedRankings,
    OpenPair,
    Ranked,
    SampledMean,
    agreement,
    bpref,
    compare,
    condensed_ndcg,
    difference_bounds,
    evaluate,
    open_hits,
    pooled_difference,
    sampled_mean,
)
from rag.evaluation import OpenHits as HitsOfTwo
from tests.api import client
from tests.half_judged import NEW, OLD, SET, half_judged
from tests.verbs import output_of
from tests.workspaces import fill_home, workspace_at

M = "ndcg@10"


@pytest.fixture
def opened(home: Path) -> tuple[Workspace, KnowledgeBase, str, str]:
    """A knowledge base, a run whose hits all have labels, and one with hits nobody judged."""
    fill_home(home, evaluated)
    workspace = workspace_at(home)
    base = workspace.base("pumps")
    new, old = (run.id for run in base.runs.list_all())
    return workspace, base, old, new


def evaluated(home: Path) -> None:
    workspace, base = half_judged(home)
    for recipe in (OLD, NEW):
        base.runs.evaluate(SET, recipe, (10,))
    workspace.close()


def test_every_place_says_that_nothing_is_decided_and_why(opened):
    workspace, base, old, new = opened
    (found,) = base.runs.compare([new], old)
    assert (found.figures.verdict_by_labels, found.figures.verdict) == ("worse", "undecided")
    doubt = "100% of the first 10 hits of this run and 0% of the baseline's are not judged."
    assert found.figures.doubt.startswith(doubt)
    assert found.figures.headline == UNJUDGED
    assert found.figures.evidence.startswith(doubt)
    assert "a winner needs" not in found.figures.sentence
    assert {
        each.verdict for each in base.runs.changes(new, old, ["ndcg@10", "mrr@10"]).values()
    } == {"undecided"}
    page = base.runs.report(new, old)
    assert 'class="verdict undecided"' in page
    assert "small down" not in page
    told = client(workspace).get(
        f"/api/v1/knowledge-bases/{base.name}/runs/{new}/comparison?baseline={old}"
    )
    assert (told.json()["verdict"], told.json()["doubt"]) == ("undecided", found.figures.doubt)
    assert told.json()["sentence"] == found.figures.sentence


@pytest.mark.parametrize("held_out", [False, True])
def test_the_best_of_a_grid_is_not_called_better_for_its_labels(opened, held_out):
    _, base, _, _ = opened
    base.questions.set_split(SET, 1, 0.2)
    tuner = base.tuning.tuner(SET)
    grid = Grid.parse({"search.documents": [["old*"], ["new*"]]}, NEW)
    best = tuner.search(grid, NEW, M, held_out=held_out)
    found = best.selection.comparison
    assert (best.recipe, found.verdict_by_labels, found.verdict) == (OLD, "better", "undecided")
    assert found.sentence.startswith(f"{UNJUDGED} {found.doubt}")
    assert best.selection.headline == UNJUDGED


def test_the_change_of_a_recipe_that_is_tuned_waits_for_open_hits(opened):
    _, base, old, new = opened
    tuner = base.tuning.tuner(SET)
    now, before = (tuner.figures([each], [M, "mrr@10"]) for each in (NEW, OLD))
    by_labels = now.changes([M, "mrr@10", "answered"], before)
    assert {name: each.verdict for name, each in by_labels.items()} == {
        M: "worse",
        "mrr@10": "worse",
        "answered": "undecided",
    }
    changes = tuner.with_open_hits(by_labels, NEW, OLD)
    assert {each.verdict for each in changes.values()} == {"undecided"}
    assert changes["answered"] == by_labels["answered"]
    (run,) = base.runs.compare([new], old)
    assert changes[M].open_hits == run.figures.open_hits


@pytest.mark.parametrize("tolerance", ["0", "0.02"])
def test_the_gate_ends_with_5_where_judging_could_turn_it(opened, capsys, tmp_path, tolerance):
    _, base, old, _ = opened
    (tmp_path / "new.json").write_text(NEW.model_dump_json())
    recipe = ("--recipe", str(tmp_path / "new.json"))
    line = ["gate", base.name, SET, "--baseline", old, "--tolerance", tolerance, *recipe]
    told = output_of(capsys, *line, code=5)
    assert (told["outcome"], told["passed"], told["failures"]) == ("unjudged", False, [])
    assert told["paired"]["ndcg@10"]["unjudged"] == [1.0, 0.0]
    assert main(line) == 5
    shown = capsys.readouterr().out
    assert f"\n{UNJUDGED} 100% of the first 10 hits of this run and 0% of" in shown
    assert "FAILED" not in shown
    assert shown.endswith("not passed, not failed: judge the open hits first\n")


def _paired(difference: float, open_: HitsOfTwo | None, tolerance: float) -> PairedGate:
    values = {f"q{at}": 0.5 for at in range(40)}
    run = {name: value + difference for name, value in values.items()}
    return PairedGate(replace(compare("ndcg@10", run, values), open_hits=open_), tolerance)


@pytest.mark.parametrize(
    ("difference", "if_judged", "tolerance", "outcome"),
    [
        (-0.2, 0.02, 0.0, "unjudged"),
        (-0.2, -0.02, 0.0, "unjudged"),  # it may be nothing
        (-0.2, -0.04, 0.0, "failed"),
        (-0.2, -0.04, 0.05, "unjudged"),
        (-0.2, -0.09, 0.05, "failed"),
        (0.1, 0.01, 0.0, "passed"),
        (0.1, -0.01, 0.0, "passed"),  # it may be nothing
        (0.1, -0.05, 0.0, "unjudged"),
        (0.1, -0.05, 0.1, "passed"),
    ],
)
def test_an_outcome_holds_only_where_judging_leaves_it(difference, if_judged, tolerance, outcome):
    ends = Interval(if_judged - 0.03, if_judged + 0.03)
    hits = HitsOfTwo(10, (0.5, 0.0), if_judged, ends)
    assert _paired(difference, hits, tolerance).outcome == outcome
    assert _paired(difference, None, tolerance).outcome in ("passed", "failed")


def test_as_many_open_hits_on_both_sides_leave_a_verdict():
    """One label a question, as most sets have it: what is open speaks for neither."""
    rows = {
        f"q{at}": JudgedRankings(
            [f"r{at}", *(f"m{at}{rank}" for rank in range(9))],
            [*(f"t{at}{rank}" for rank in range(at % 9 + 1)), f"r{at}"],
            {f"r{at}": 1},
            {f"r{at}": 1},
        )
        for at in range(40)
    }
    found = open_hits(["mrr@10"], rows)["mrr@10"]
    assert found.shares == pytest.approx((0.9, 1 - 40 / sum(at % 9 + 2 for at in range(40))))
    assert found.interval.low > 0.0


def test_a_verdict_states_what_it_assumes_of_unjudged_hits():
    assumption = (
        " Not judged: 84% of the first 10 hits of this run and 83% of the baseline's. The verdict "
        "assumes that they favour neither run."
    )
    alike = HitsOfTwo(10, (0.84, 0.83), 0.2, Interval(0.1, 0.3))
    decided = _paired(0.2, alike, 0.0).comparison
    assert decided.verdict == "better"
    assert decided.evidence.endswith(assumption)
    undecided = replace(decided, p=0.5)
    assert "Not judged" not in undecided.evidence
    doubted = replace(decided, open_hits=replace(alike, interval=Interval(-0.1, 0.3)))
    assert "favour neither" not in doubted.evidence


def test_hits_that_are_all_judged_leave_no_doubt():
    rows = {"q": JudgedRankings(["a", "b"], ["b"], {"a": 1, "b": 0}, {"a": 1, "b": 0})}
    assert open_hits(["ndcg@2"], rows) == {"ndcg@2": None}


def test_metrics_that_are_looked_at_together_get_what_each_gets_alone():
    dice = np.random.default_rng(8)
    pool = [f"d{at}" for at in range(25)]
    rows = {
        f"q{at}": JudgedRankings(
            dice.permutation(pool)[: dice.integers(3, 15)].tolist(),
            dice.permutation(pool)[:12].tolist(),
            *[{name: int(dice.integers(3)) for name in dice.permutation(pool)[:8]} | {"d0": 2}] * 2,
        )
        for at in range(20)
    }
    metrics = ["ndcg@10", "recall@10", "precision@5", "map@20"]
    together = open_hits(metrics, rows)
    assert together == {name: open_hits([name], rows)[name] for name in metrics}
    assert together["ndcg@10"].difference == pytest.approx(-0.047684222)


def test_open_hits_of_runs_that_cut_differently_are_judged_apart():
    row = JudgedRankings(["a"], ["b"], {"r": 1}, {"b": 1})
    found = open_hits(["precision@1"], {"q": row}, same_cut=False)["precision@1"]
    # The other's first hit is relevant, so the open one is taken to be as well.
    assert (found.shares, found.difference) == ((1.0, 0.0), 0.0)


def test_labels_of_one_run_never_decide_against_the_better_other():
    """The second run is the better one, and labels are kept only where the first found them."""
    dice = np.random.default_rng(5)
    wronged = 0
    for _ in range(40):
        rows, first, second, truth = {}, {}, {}, []
        for number in range(30):
            name, full = str(number), {f"d{at}" for at in dice.choice(30, 4, replace=False)}
            rankings = []
            for skill in (0.8, 1.4):
                scores = dice.normal(size=30) + skill * np.array(
                    [f"d{at}" in full for at in range(30)]
                )
                rankings.append([f"d{at}" for at in np.argsort(-scores)[:10]])
            known = {item: int(item in full) for item in rankings[0]}
            if any(known.values()):
                rows[name] = JudgedRankings(rankings[1], rankings[0], known, known)
                first[name], second[name] = (_value(M, r, known, 10) for r in reversed(rankings))
                ideal = dict.fromkeys(full, 1)
                truth.append(_value(M, rankings[1], ideal, 10) - _value(M, rankings[0], ideal, 10))
        seen = compare(M, first, second)
        hits = open_hits([M], rows)[M]
        wronged += seen.verdict == "worse"
        assert hits.interval.high > 0.0
        bounds = pooled_difference(M, rows).bounds
        assert bounds.low <= np.mean(truth) <= bounds.high
    assert wronged >= 10


def _value(metric: str, ids: list[str], grades: dict[str, int], k: int) -> float:
    gains = [grades.get(item, 0) for item in ids]
    ideal = sorted((each for each in grades.values() if each > 0), reverse=True)
    return float(evaluate(Ranked.of([gains], [ideal], max(len(ids), 1)), [metric])[metric][0])


def test_bounds_by_hand():
    # One relevant passage, which only the second has; the first has two that nobody judged.
    pair = OpenPair(["a", "b"], ["r"], {"r": 1}, 2, 1)
    second = 1 / log2(3)
    low, high = difference_bounds("ndcg", pair)
    assert low == pytest.approx(-1.0)  # neither is relevant: 0 against 1
    # Both are: their DCG less the first rank of the other, of an ideal of two.
    assert high == pytest.approx(second / (1 + second))
    assert difference_bounds("precision", pair) == (-0.5, 0.5)


def test_one_run_alone_may_lack_any_number_of_passages():
    low, high = difference_bounds("ndcg", OpenPair(["r", "x"], (), {"r": 1}, 2, 3))
    assert low == pytest.approx(1 / (3 * (1 + 1 / log2(3))))
    assert high == pytest.approx(1.0)  # if the open one has grade 1, nothing better is possible


ITEMS = ["a", "b", "c", "d"]
RANKING = st.lists(st.sampled_from(ITEMS), unique=True, max_size=3)


@given(
    RANKING,
    RANKING,
    st.dictionaries(st.sampled_from([*ITEMS, "missed"]), st.integers(0, 2)),
    st.sampled_from(BOUNDED),
    st.integers(1, 3),
)
def test_no_judgement_leads_out_of_the_bounds(first, second, grades, measure, k):
    low, high = difference_bounds(measure, OpenPair(first, second, grades, k, 2))
    open_ = sorted({*first, *second} - grades.keys())
    found = []
    for judged in itertools.product(range(3), repeat=len(open_)):
        for never_retrieved in ([], [1], [2, 2, 2]):
            more = {f"n{at}": grade for at, grade in enumerate(never_retrieved)}
            every = {**grades, **dict(zip(open_, judged, strict=True)), **more}
            values = [_value(f"{measure}@{k}", ids, every, k) for ids in (first, second)]
            found.append(values[0] - values[1])
    assert low - 1e-9 <= min(found)
    assert max(found) <= high + 1e-9
    if measure == "precision":
        assert (low, high) == pytest.approx((min(found), max(found)))
    if measure == "ndcg":
        # Attained: nothing narrower is true. (Behind, it takes more than three more passages.)
        assert high == pytest.approx(max(found)) or high <= 0
        assert low == pytest.approx(min(found)) or low >= 0


def test_metrics_of_judged_hits_alone():
    grades = {"r": 1, "n": 0, "s": 1}
    assert condensed_ndcg(["x", "r", "y", "s"], grades, 2) == 1.0
    # One of the two relevant ones stands below the only one judged not relevant.
    assert bpref(["r", "x", "n", "s"], grades) == 0.5
    assert bpref(["r"], {"r": 1, "s": 2}) == 0.5
    assert bpref(["r"], {"n": 0}) == 0.0


def test_a_comparison_says_what_is_open_and_what_it_could_do():
    rows = {
        str(number): JudgedRankings(["x", "y"], ["r", "n"], {"r": 1, "n": 0}, {"r": 1, "n": 0})
        for number in range(5)
    }
    found = pooled_difference("precision@2", rows, unlabelled=2)
    assert found.open_shares == (1.0, 0.0)
    assert found.bounds == (-0.5, 0.5)
    judged = pooled_difference(
        "precision@2", {"q": JudgedRankings(["n"], ["r"], {"r": 1, "n": 0}, {"r": 1, "n": 0})}
    )
    assert judged.sentence == ""


def test_the_bounds_of_runs_that_cut_differently_are_those_of_each_alone():
    row = JudgedRankings(["a", "r"], ["n", "x"], {"r": 1}, {"s": 1, "n": 0})
    found = pooled_difference("precision@2", {"q": row}, same_cut=False)
    # The first has 0.5 to 1, the second 0 to 0.5, and nothing that one has tells of the other.
    assert found.bounds == (0.0, 1.0)
    assert found.open_shares == (0.5, 0.5)
    # Both have 0.5 to 1.
    row = JudgedRankings(["a", "r"], ["s", "x"], {"r": 1}, {"s": 1})
    assert pooled_difference("precision@2", {"q": row}, same_cut=False).bounds == (-0.5, 0.5)


def test_a_loss_of_just_what_is_tolerated_does_not_fail_by_rounding():
    assert 0.7 < 0.8 - 0.1  # in binary
    for after, before, questions, tolerance, outcome in (
        (0.7, 0.8, 50, 0.1, "undecided"),
        (0.7, 0.8, 50, 0.05, "failed"),
        (0.79, 0.8, 200, 0.1, "passed"),
        (0.8, 0.8, 5, 0.0, "passed"),
    ):
        figures = (dict.fromkeys(map(str, range(questions)), mean) for mean in (after, before))
        assert PairedGate(compare(M, *figures), tolerance).outcome == outcome


def test_the_gate_fails_where_the_test_says_worse():
    rng = np.random.default_rng(5)
    before = rng.random(120)
    worse = np.clip(before - 0.1 + rng.normal(0, 0.1, 120), 0, 1)
    figures = (dict(enumerate(values.tolist())) for values in (worse, before))
    found = PairedGate(compare(M, *figures), 0.02)
    assert found.outcome == "failed"
    assert "0.02" in found.sentence


POOL, SAMPLE, DRAWS = 1000, 60, 500


def _draws(relevant: float, right: float, wrong: float) -> list[tuple[float, SampledMean]]:
    """The truth and an estimate of it, drawn again and again.

    The judge calls a share ``right`` of the relevant hits relevant, and ``wrong`` of the others.
    """
    rng = np.random.default_rng(11)
    found = []
    for _ in range(DRAWS):
        truth = (rng.random(POOL) < relevant).astype(np.float64)
        judge = (rng.random(POOL) < np.where(truth > 0, right, wrong)).astype(np.float64)
        drawn = rng.choice(POOL, SAMPLE, replace=False)
        estimate = sampled_mean(truth[drawn], POOL, judge[drawn], judge)
        found.append((float(truth.mean()), estimate))
    return found


@pytest.mark.parametrize(
    ("relevant", "right", "wrong"),
    [
        (0.5, 0.85, 0.15),
        (0.5, 0.99, 0.6),  # says yes too often
        (0.3, 0.6, 0.01),  # says no too often
        (0.2, 0.9, 0.3),
        (0.5, 0.5, 0.5),  # knows nothing
        (0.5, 0.15, 0.85),  # is wrong throughout
    ],
)
def test_the_interval_covers_the_truth_whatever_the_judge_does(relevant, right, wrong):
    draws = _draws(relevant, right, wrong)
    covered = np.mean(
        [found.interval.low <= truth <= found.interval.high for truth, found in draws]
    )
    assert covered >= 0.93  # 0.95 less twice the error of 500 draws
    assert all(found.narrower >= 0.0 for _, found in draws)  # never wider than people alone


def test_a_judge_of_85_percent_saves_a_fifth_of_the_width():
    narrower = [found.narrower for _, found in _draws(0.5, 0.85, 0.15)]
    assert 0.2 <= np.mean(narrower) <= 0.29


def test_people_alone():
    rng = np.random.default_rng(2)
    truth = (rng.random(400) < 0.1).astype(np.float64)
    found = sampled_mean(truth[:50], 400)
    assert (found.power, found.interval, found.mean) == (0.0, found.people, truth[:50].mean())
    everything = sampled_mean(truth, 400)
    assert everything.interval == (truth.mean(), truth.mean())
    none = sampled_mean(np.zeros(50), 400)
    assert none.interval.low == 0.0
    assert 0.05 < none.interval.high < 0.1
    with pytest.raises(InvalidInput, match="9 hits of the random sample"):
        sampled_mean(np.zeros(9), 400)


def test_a_judge_that_agreed_throughout_leaves_no_interval_without_width():
    truth = np.tile([0.0, 1.0], 30)
    found = sampled_mean(truth, 600, truth, np.tile([0.0, 1.0], 300))
    assert found.mean == pytest.approx(0.5)
    assert found.interval.high - found.interval.low > 0.05


def test_agreement():
    # Fleiss, Cohen and Everitt's formula by hand: 40 and 40 agreed, 10 and 10 not.
    people = np.repeat([1.0, 1.0, 0.0, 0.0], [40, 10, 10, 40])
    judge = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 10, 10, 40])
    found = agreement(people, judge)
    assert (found.hits, found.agreed) == (100, 80)
    assert found.kappa == pytest.approx(0.6)
    assert found.interval == pytest.approx((0.6 - 1.96 * 0.08, 0.6 + 1.96 * 0.08))
    assert agreement(np.ones(5), np.ones(5)).kappa is None
    assert agreement(np.empty(0), np.empty(0)).kappa is None


def test_a_sample_says_how_much_precision_the_labels_miss():
    mean = SampledMean(0.4, Interval(0.3, 0.5), Interval(0.3, 0.5), 0.0, 30, 60)
    hits = OpenHits(60, 30, mean, questions=20)
    assert hits.more_precision is not None
    more, (low, high) = hits.more_precision
    # 60 of 200 places are open: four tenths of them are 24 relevant hits more.
    assert (round(more, 9), round(low, 9), round(high, 9)) == (0.12, 0.09, 0.15)
    assert OpenHits(60, 30, mean).more_precision is None
