"""Null simulations: how often the product's own tests and intervals are wrong where the truth is
known.

Every figure is a rate over repetitions, with the error that so few of them leave (two standard
errors). ``docs/how-do-you-know.md`` says what each is for. ``repetitions`` and the seeds are fixed,
so two runs on one machine print the same.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from rag import PairedGate
from rag.evaluation.comparison import CROWNING_P, compare
from rag.evaluation.inference.clusters import Clusters
from rag.evaluation.intervals import mean_intervals
from rag.evaluation.significance import holm, paired_tests
from rag.types import Floats
from tests.best_of_many import agents, best_of_many, looked_again, reported, seeds

REPETITIONS = 2000
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
"""Figures of two runs that are equally good, each of shape (questions,)."""


def measure(
    _folder: Path, *, repetitions: int = REPETITIONS, seeds_each: int = 300
) -> Mapping[str, float]:
    """All simulations; prints nothing, needs no data."""
    return {
        **clustered(repetitions),
        **independent(repetitions),
        **differences(repetitions),
        **means(repetitions),
        **gate(max(1, repetitions // 4)),
        **leaderboard(repetitions),
        **best_of_many(max(1, repetitions // 4)),
        **looked_again(max(1, repetitions // 4)),
        **agents(max(1, repetitions // 20)),
        **seeds(max(1, repetitions // 200), seeds_each),
    }


def reciprocal_ranks(rng: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
    """Questions that are easy or hard for both, and ranks that differ by chance."""
    easy = np.clip(rng.beta(1, 1, questions), 0.05, 1)
    ranks = rng.geometric(easy, (2, questions))
    first, second = np.where(ranks <= 10, 1 / ranks, 0.0)
    return first, second


def near_recipes(rng: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
    """The same, of two recipes that agree on seven questions of ten."""
    first, second = reciprocal_ranks(rng, questions)
    return first, np.where(rng.random(questions) < 0.7, first, second)


def hits(rng: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
    """Hit or miss; one question in seven is drawn again."""
    easy = rng.beta(2, 1, questions)
    first = (rng.random(questions) < easy) * 1.0
    again = (rng.random(questions) < easy) * 1.0
    return first, np.where(rng.random(questions) < 0.15, again, first)


def uneven(rng: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
    """Equally good on average: one is steady, the other all or nothing."""
    mean = rng.beta(4, 1.2, questions)
    steady = np.clip(rng.beta(30 * mean, 30 * (1 - mean)), 0, 1)
    return steady, (rng.random(questions) < mean) * 1.0


def skewed(rng: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
    """Loses a little on most questions and wins much on one in twelve: equal on average."""
    base = 0.15 + 0.35 * rng.random(questions)
    return base + np.where(rng.random(questions) < 0.08, 0.46, -0.04), base


def sparse(rng: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
    """One question in twenty changes at all."""
    steps = np.array([1.0, 0.5, 1 / 3, 0.25, 0.1, 0.0])
    first, other = rng.choice(steps, (2, questions))
    return np.where(rng.random(questions) < 0.05, other, first), first


PAIRS: Mapping[str, Draw] = {
    "reciprocal ranks": reciprocal_ranks,
    "near recipes": near_recipes,
    "hits": hits,
    "uneven noise": uneven,
    "skewed": skewed,
    "sparse": sparse,
}


def _drawn(draw: Draw, questions: int, repetitions: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return np.array([np.subtract(*draw(rng, questions)) for _ in range(repetitions)])


def clustered(repetitions: int) -> dict[str, float]:
    """False winners where questions share a source, with their groups known and without."""
    found = {}
    for groups, each, shared in ((50, 3, 1.0), (50, 3, 0.5), (30, 5, 1.0)):
        rng = np.random.default_rng(each * groups)
        source = rng.normal(0, 0.2, (repetitions, groups)).repeat(each, axis=1)
        own = rng.normal(0, 0.2, source.shape)
        rows = np.clip(np.sqrt(shared) * source + np.sqrt(1 - shared) * own, -1, 1)
        clusters = Clusters(np.repeat(np.arange(groups), each))
        said = f"false winners, {groups} sources of {each}, correlation {shared:g}"
        found |= reported(said, paired_tests(rows, clusters).p <= 0.05)
        found |= reported(f"{said}, as if alone", paired_tests(rows).p <= 0.05)
    return found


def independent(repetitions: int) -> dict[str, float]:
    """Power at +0.05 on 150 independent questions, in groups of three and alone."""
    rng = np.random.default_rng(8)
    rows = np.clip(rng.normal(0.05, 0.25, (repetitions, 150)), -1, 1)
    grouped = Clusters(np.repeat(np.arange(50), 3))
    one, other = (
        paired_tests(rows, each).p <= CROWNING_P for each in (Clusters.single(150), grouped)
    )
    return {
        **reported("power at +0.05, 150 questions alone", one),
        **reported("power at +0.05, 150 questions in 50 groups", other),
    }


def differences(repetitions: int, questions: tuple[int, ...] = (20, 50, 150)) -> dict[str, float]:
    """How often the 95% interval of a difference holds 0, and an equal run is called a winner."""
    found = {}
    for count in questions:
        for place, (name, draw) in enumerate(PAIRS.items()):
            tests = paired_tests(_drawn(draw, count, repetitions, 100 * count + place))
            inside = (tests.intervals[:, 0] <= 0) & (tests.intervals[:, 1] >= 0)
            found |= reported(f"difference covered, {count} questions, {name}", inside)
            found |= reported(f"false winners, {count} questions, {name}", tests.p <= CROWNING_P)
    return found


def means(repetitions: int) -> dict[str, float]:
    """How often the 95% interval of a mean holds it, for hard, easy and graded questions."""
    populations: Mapping[str, tuple[Callable[..., Floats], float]] = {
        "hits, 0.97": (lambda rng, shape: (rng.random(shape) < 0.97) * 1.0, 0.97),
        "hits, 0.6": (lambda rng, shape: (rng.random(shape) < 0.6) * 1.0, 0.6),
        "graded, a third 0": (
            lambda rng, shape: np.where(rng.random(shape) < 1 / 3, 0.0, rng.beta(2, 2, shape)),
            1 / 3,
        ),
        "skewed, 0.25": (lambda rng, shape: rng.beta(0.4, 1.2, shape), 0.25),
    }
    found = {}
    for count in (5, 20, 150):
        for name, (draw, truth) in populations.items():
            ends = mean_intervals(draw(np.random.default_rng(count), (repetitions, count)))
            inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
            found |= reported(f"mean covered, {count} questions, {name}", inside)
    return found


def leaderboard(repetitions: int) -> dict[str, float]:
    """How often the best of equally good runs wins when it is ticked alone."""
    found = {}
    for runs in (10, 20, 50):
        rng = np.random.default_rng(runs)
        alone, among = [], []
        for _ in range(repetitions):
            easy = np.clip(rng.beta(1, 1, 100), 0.05, 1)
            ranks = rng.geometric(easy, (runs, 100))
            figures = np.where(ranks <= 10, 1 / ranks, 0.0)
            p = paired_tests(figures[1:] - figures[0], comparisons=runs - 1).p
            top = int(np.argmax(figures[1:].mean(axis=1)))
            alone.append(p[top] <= CROWNING_P)
            among.append(holm(p)[top] <= CROWNING_P)
        found |= reported(f"best of {runs} equal runs wins", np.array(among))
        found |= reported(f"best of {runs} equal runs wins, as if alone", np.array(alone))
    return found


def gate(repetitions: int) -> dict[str, float]:
    """What a gate with a tolerance of 0.05 says of 150 questions, by how much is really lost."""
    found = {}
    for lost in (0.0, 0.05, 0.15):
        rng = np.random.default_rng(int(100 * lost))
        before = rng.beta(4, 2, (repetitions, 150))
        after = before + rng.normal(-lost, 0.15, before.shape)
        outcomes = np.array([_outcome(*pair) for pair in zip(after, before, strict=True)])
        for outcome in ("passed", "failed"):
            found |= reported(f"gate {outcome}, {lost:g} lost of 0.05", outcomes == outcome)
    return found


def _outcome(after: Floats, before: Floats) -> str:
    run, baseline = (
        {str(place): value for place, value in enumerate(each.tolist())} for each in (after, before)
    )
    return PairedGate(compare("ndcg@10", run, baseline), 0.05).outcome
