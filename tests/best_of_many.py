"""Simulations of the best of many recipes, and of looking again until something wins."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rag.evaluation import selection
from rag.evaluation.comparison import CROWNING_P
from rag.evaluation.inference.planning import level
from rag.evaluation.selection import select
from rag.evaluation.significance import paired_tests
from rag.evaluation.splits import choose, split
from rag.types import Floats


def reported(what: str, hits: npt.ArrayLike) -> dict[str, float]:
    """A rate with two standard errors."""
    share = float(np.mean(hits))
    error = 2.0 * float(np.sqrt(share * (1.0 - share) / np.size(hits)))
    return {f"{what} | rate": share, f"{what} | ±": error}


Recipes = Callable[[np.random.Generator, int, float], tuple[Floats, Floats]]
"""Figures of recipes, shape (recipes, questions), the first being the baseline, and true leads."""


def alike(rng: np.random.Generator, questions: int, lead: float) -> tuple[Floats, Floats]:
    """Forty weights between three systems, as neighbours alike; the later ones lead."""
    weights = np.linspace(-1, 1, 40)[:, None]
    parts = rng.normal(0, 0.25, (3, questions))
    moved = weights * parts[0] + 0.5 * np.sin(3 * weights) * parts[1] + 0.3 * weights**2 * parts[2]
    hill = lead * np.exp(-(((weights - 0.7) / 0.4) ** 2))
    figures = np.clip(0.5 + moved + hill, 0, 1)
    return np.concatenate([np.full((1, questions), 0.5), figures]), np.append(0.0, hill[:, 0])


def apart(rng: np.random.Generator, questions: int, lead: float) -> tuple[Floats, Floats]:
    """Fifty recipes that have nothing in common but how hard a question is."""
    easy = np.clip(rng.beta(1, 1, questions), 0.05, 1)
    ranks = rng.geometric(easy, (50, questions))
    figures = np.where(ranks <= 10, 1 / ranks, 0.0)
    figures[-1] = np.clip(figures[-1] + lead, 0, 1)
    return figures, np.append(np.zeros(49), lead)


def lopsided(rng: np.random.Generator, questions: int, lead: float) -> tuple[Floats, Floats]:
    """Fifty recipes that gain a little on most questions and lose much on one in twelve."""
    moved = np.where(rng.random((50, questions)) < 0.08, -0.46, 0.04)
    return np.concatenate([np.full((1, questions), 0.5), 0.5 + moved]), np.zeros(51)


def varied(rng: np.random.Generator, questions: int, lead: float) -> tuple[Floats, Floats]:
    """Forty recipes, some better than the baseline and some worse."""
    leads = np.append(0.0, rng.normal(0, 0.03, 40))
    noise = rng.normal(0, 0.12, (41, questions)) + rng.normal(0, 0.15, questions)
    return 0.5 + leads[:, None] + noise, leads


def of_sources(rng: np.random.Generator, questions: int, lead: float) -> tuple[Floats, Floats]:
    """Those with nothing in common, on questions of which three at a time share a source."""
    noise = rng.normal(0, 0.15, (50, questions // 3)).repeat(3, axis=1)
    return np.clip(0.5 + noise + rng.normal(0, 0.1, noise.shape), 0, 1), np.zeros(50)


def best_of_many(repetitions: int) -> dict[str, float]:
    """Simulate how "Search all" selects the best of many recipes.

    Return by name the rates of false winners, of coverage and of real winners, and the mean gains
    beyond the truth.
    """
    names: list[str] = [f"q{number}" for number in range(150)]
    threes = {name: f"g{place // 3}" for place, name in enumerate(names)}
    found: dict[str, float] = {}
    drawn: Mapping[str, Recipes] = {
        "neighbours": alike,
        "unlike ones": apart,
        "lopsided": lopsided,
        "of 50 sources": of_sources,
        "some better": varied,
    }
    for place, (name, draw) in enumerate(drawn.items()):
        rng = np.random.default_rng(place)
        groups = threes if draw is of_sources else {}
        won, covered, gains, leads = [], [], [], []
        for _ in range(repetitions):
            scores, truth = draw(rng, 150, 0.0)
            best = select("ndcg@10", scores, names, 0, groups=groups)
            low, high = best.comparison.interval
            true = float(truth[best.row])
            won.append(best.comparison.verdict == "better" and true <= 1e-9)
            covered.append(low <= true <= high)
            gains.append(best.gain - true)
            leads.append(best.lead - true)
        found |= reported(f"best of many wins falsely, {name}", np.array(won))
        found |= reported(f"best of many covered, {name}", np.array(covered))
        found[f"best of many, {name}, gain beyond the truth | mean"] = float(np.mean(gains))
        found[f"best of many, {name}, lead beyond the truth | mean"] = float(np.mean(leads))
    for lead in (0.05, 0.08):
        rng = np.random.default_rng(9)
        one, other = [], []
        for seed in range(repetitions):
            scores, _ = alike(rng, 150, lead)
            one.append(select("ndcg@10", scores, names, 0).comparison.verdict == "better")
            parts = split(names, 0.5, seed)
            other.append(choose("ndcg@10", scores, names, 0, parts).comparison.verdict == "better")
        found |= reported(f"best of many found, leads by {lead:g}", np.array(one))
        found |= reported(f"best of many found, leads by {lead:g}, held-out", np.array(other))
    return found


def looked_again(repetitions: int) -> dict[str, float]:
    """Equal recipes, looked at until one wins: splits, and metrics times seeds."""
    names = [f"q{number}" for number in range(150)]
    rng = np.random.default_rng(4)
    rows: dict[str, list[bool]] = {}
    for _ in range(repetitions):
        metrics = _four_metrics(rng)
        ten = [choose("m", metrics[0], names, 0, split(names, 0.5, seed)) for seed in range(10)]
        looks = [
            choose("m", each, names, 0, split(names, 0.5, s)) for each in metrics for s in range(3)
        ]
        best = [select("m", each, names, 0) for each in metrics]
        for what, held in (
            ("ten splits", ten),
            ("four metrics x three splits", looks),
            ("four metrics x three seeds, all questions", best),
        ):
            ahead = [each.comparison.difference > 0 for each in held]
            p = [each.comparison.p for each in held]
            spent = [
                won and value <= level(place)
                for place, (won, value) in enumerate(zip(ahead, p, strict=True), start=1)
            ]
            plain = [won and value <= CROWNING_P for won, value in zip(ahead, p, strict=True)]
            rows.setdefault(what, []).append(any(spent))
            rows.setdefault(f"{what}, without the ledger", []).append(any(plain))
    found: dict[str, float] = {}
    for what, won in rows.items():
        found |= reported(f"any winner, {what}", np.array(won))
    return found


def agents(repetitions: int, tries: int = 200) -> dict[str, float]:
    """An agent that compares equal recipes with a baseline on held-out questions, until one wins.

    It begins with the recipe that leads most on the tuning questions.
    """
    rng = np.random.default_rng(12)
    spent, plain = [], []
    for _ in range(repetitions):
        easy = np.clip(rng.beta(1, 1, 120), 0.05, 1)
        ranks = rng.geometric(easy, (tries + 1, 120))
        figures = np.where(ranks <= 10, 1 / ranks, 0.0)
        gains = figures[1:] - figures[0]
        order = np.argsort(-gains[:, :60].mean(axis=1))
        unseen = gains[order, 60:]
        p, ahead = paired_tests(unseen).p, unseen.mean(axis=1) > 0
        levels = np.array([level(look) for look in range(1, tries + 1)])
        spent.append(bool((ahead & (p <= levels)).any()))
        plain.append(bool((ahead & (p <= CROWNING_P)).any()))
    what = f"an agent that tries {tries} equal recipes wins"
    return reported(what, spent) | reported(f"{what}, without the trial log", plain)


def _four_metrics(rng: np.random.Generator) -> list[Floats]:
    """Reciprocal ranks, hits at 3 and 10, and nDCG of twenty equal recipes on 150 questions."""
    easy = np.clip(rng.beta(1, 1, 150), 0.05, 1)
    ranks = rng.geometric(easy, (20, 150))
    return [
        np.where(ranks <= 10, 1 / np.log2(ranks + 1.0), 0.0),
        np.where(ranks <= 10, 1.0 / ranks, 0.0),
        (ranks <= 3) * 1.0,
        (ranks <= 10) * 1.0,
    ]


def _gain(scores: Floats, names: Sequence[str], seed: int) -> float:
    """The gain of ``select`` with folds laid by a seed, without its p-value, which takes long."""
    differences = scores - scores[0]
    best = selection._leading(differences.mean(axis=1), [0])
    folds = selection._fold_codes(names, {}, {}, seed)
    return float(selection._cross_validated(differences, [0, best], folds)[0].mean())


def seeds(repetitions: int, count: int = 300) -> dict[str, float]:
    """Whether so many seeds give one verdict on a set, with a lead that half of it may show."""
    names = [f"q{number}" for number in range(150)]
    rng = np.random.default_rng(6)
    same, split_same, spread = [], [], []
    for _ in range(repetitions):
        scores, _ = alike(rng, 150, 0.08)
        first = select("ndcg@10", scores, names, 0)
        verdicts, gains = [], []
        for seed in range(count):
            gain = _gain(scores, names, seed)
            verdicts.append(first.comparison.verdict if gain > 0 else "undecided")
            gains.append(gain)
        halves = [
            choose("ndcg@10", scores, names, 0, split(names, 0.5, seed)).comparison.verdict
            for seed in range(count)
        ]
        same.append(max(map(verdicts.count, set(verdicts))) / count)
        split_same.append(max(map(halves.count, set(halves))) / count)
        spread.append(float(np.std(gains)))
    return {
        f"same verdict by {count} seeds, all questions | rate": float(np.mean(same)),
        f"same verdict by {count} seeds, all questions, worst set | rate": min(same),
        f"same verdict by {count} seeds, held-out | rate": float(np.mean(split_same)),
        f"gain by {count} seeds, all questions | deviation": float(np.mean(spread)),
    }
