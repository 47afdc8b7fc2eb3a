"""What a set can show before anything is measured, and what a difference means afterwards."""

import numpy as np
import pytest

from rag import Plan, Posterior, posterior
from rag.evaluation import CROWNING_P, compare, plan, smallest_difference


def test_the_smallest_difference_is_noticed_as_often_as_promised():
    rng = np.random.default_rng(5)
    smallest = smallest_difference(60, 0.3)
    assert smallest == pytest.approx(0.126, abs=0.001)
    names = [f"q{number}" for number in range(60)]
    nothing = dict.fromkeys(names, 0.0)
    decided = 0
    for _ in range(120):
        drawn = rng.normal(smallest, 0.3, 60)
        decided += compare("m", dict(zip(names, drawn.tolist(), strict=True)), nothing).p <= (
            CROWNING_P
        )
    assert decided / 120 == pytest.approx(0.8, abs=0.1)


def test_a_plan_goes_by_how_earlier_runs_differ():
    names = [f"q{number}" for number in range(40)]
    first = dict.fromkeys(names, 0.5)
    second = {name: 0.5 + (0.2 if number % 2 else -0.2) for number, name in enumerate(names)}
    near = {name: 0.5 + (0.01 if name.endswith("7") else 0.0) for name in names}
    # The pair of equal runs tells nothing, and nearly equal ones do not hide the others.
    found = plan(40, [first, dict(first), second, near])
    assert (found.questions, found.pairs) == (40, 5)
    assert found.deviation == pytest.approx(0.2 * np.sqrt(40 / 39), abs=0.001)
    assumed = (
        "This is an estimate, until three different recipes were evaluated on 20 labelled "
        "questions."
    )
    assert (plan(40).basis, plan(6).basis) == (assumed, "")
    assert "0.11 recall@5 or more" in plan(40, [first, near, second], "recall@5").headline
    # Two runs raise the usual spread, and never lower it.
    assert plan(40, [first, near]) == plan(40, [first, second]) == plan(40)
    far = {name: 1.0 if number % 2 else 0.0 for number, name in enumerate(names)}
    wide = plan(40, [first, far])
    assert wide.pairs == 1
    assert wide.deviation > 0.5
    assert plan(40) == Plan(40, smallest_difference(40, 0.25), 0.25, 0)


def test_the_posterior_of_a_clear_an_equal_and_an_open_difference():
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, 0.1, 400)
    noise -= noise.mean()
    noise *= 0.1 / noise.std()

    def of(mean: float, count: int = 400) -> Posterior:
        values = noise[:count] - noise[:count].mean() + mean
        found = posterior({f"q{number}": float(each) for number, each in enumerate(values)})
        assert found is not None
        return found

    assert of(0.05).better > 0.999
    assert of(0.0).same == pytest.approx(0.954, abs=0.01)  # two standard errors of 0.005
    assert of(-0.05).worse > 0.999
    unclear = of(0.0, 20)
    assert unclear.better == pytest.approx(unclear.worse, abs=0.05)
    assert 0.2 < unclear.better < 0.45
    assert sum((unclear.better, unclear.same, unclear.worse)) == pytest.approx(1.0)


def test_questions_that_belong_together_make_it_less_sure():
    differences = {f"q{number}": 0.1 if number % 20 < 12 else -0.1 for number in range(200)}
    together = {name: int(name[1:]) % 20 for name in differences}
    alone, grouped = posterior(differences), posterior(differences, clusters=together)
    assert alone.better == pytest.approx(0.92, abs=0.02)
    assert grouped.better == pytest.approx(0.66, abs=0.04)
    assert posterior(dict(list(differences.items())[:7])) is None
