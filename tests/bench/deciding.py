"""Labels that a verdict on two recipes takes, against judging all that they retrieved.

``python -m rag bench --only deciding`` runs it: recipes of ``unjudged`` in pairs, first ten hits,
one passage for each document, the labels of the collections as truth. Every pair is decided with
many seeds in DCG@10, looking after each label. A pair *differs* by more than the margin, is *near*
within it, or *equal*: two recipes whose rankings are swapped by the toss of a coin for each
question. ``graded`` is with a model that finds four of five relevant hits and is wrong about one
other in ten, ``misled`` with one that tosses a coin.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag import Settings, Workspace
from rag.evaluation.deciding import LIMIT, Draws, decide, drawn_columns, drawn_hits
from rag.evaluation.judge_next import Pair
from tests.bench.unjudged import COLLECTIONS, RECIPE, RECIPES

PAIRS = (
    ("dense", "lexical"),
    ("dense", "hybrid"),
    ("dense", "hybrid, dense weight 0.3"),
    ("hybrid", "hybrid by reciprocal ranks"),
    ("hybrid", "hybrid, dense weight 0.3"),
    ("lexical", "hybrid"),
    ("lexical", "lexical, b 0.4"),
    ("lexical", "lexical, k1 0.6"),
)
MEASURE, K, MARGIN = "dcg", 10, 0.05
SEEDS = 200
Grades = Mapping[str, Mapping[str, int]]
Rankings = Mapping[str, Mapping[str, Sequence[str]]]
"""Ids by recipe and question."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision with labels known in advance. ``pool``: all first ten hits of both."""

    truth: float
    labels: int
    pool: int
    false: bool
    covered: bool


def measure(
    folder: Path, *, collections: Sequence[str] = COLLECTIONS, seeds: int = SEEDS
) -> dict[str, float]:
    """Figures by pair, then over all pairs of a kind."""
    figures: dict[str, float] = {}
    kinds: dict[str, list[Decided]] = {}
    for name in collections:
        rankings, grades = _retrieved(folder, name)
        for first, second in PAIRS:
            pairs = {
                question: (rankings[first][question], rankings[second][question])
                for question in grades
            }
            decided = [_decided(pairs, grades, seed) for seed in range(seeds)]
            swapped = [_decided(_swapped(pairs, seed), grades, seed) for seed in range(seeds)]
            kind = "differ" if abs(decided[0].truth) > MARGIN else "near"
            kinds.setdefault(kind, []).extend(decided)
            kinds.setdefault("equal", []).extend(swapped)
            if kind == "differ":
                for help_, hit, wrong in (("graded", 0.8, 0.1), ("misled", 0.5, 0.5)):
                    helped = [_decided(pairs, grades, seed, hit, wrong) for seed in range(seeds)]
                    kinds.setdefault(f"differ, {help_}", []).extend(helped)
            title = f"{name}, {first} - {second}"
            figures[f"{title}: difference"] = decided[0].truth
            figures[f"{title}: labels"] = float(np.median([each.labels for each in decided]))
            figures[f"{title}: pool"] = decided[0].pool
    for kind, decisions in kinds.items():
        figures[f"{kind}: decisions"] = len(decisions)
        figures[f"{kind}: covered after every label"] = _share([x.covered for x in decisions])
        figures[f"{kind}: false verdicts"] = _share([x.false for x in decisions])
        ratios = [each.pool / max(each.labels, 1) for each in decisions]
        figures[f"{kind}: times fewer labels, median"] = float(np.median(ratios))
        figures[f"{kind}: times fewer labels, worst tenth"] = float(np.quantile(ratios, 0.1))
    return figures


def _share(flags: Sequence[bool]) -> float:
    return float(np.mean(flags))


def _swapped(pairs: Mapping[str, Pair], seed: int) -> dict[str, Pair]:
    """Two runs that are equally good but for the coins."""
    coins = np.random.default_rng(seed).random(len(pairs)) < 0.5
    return {
        question: (second, first) if coin else (first, second)
        for (question, (first, second)), coin in zip(pairs.items(), coins.tolist(), strict=True)
    }


def _decided(
    pairs: Mapping[str, Pair],
    grades: Grades,
    seed: int,
    hit: float | None = None,
    wrong: float = 0.0,
) -> Decided:
    verdicts = {} if hit is None else _verdicts(pairs, grades, seed, hit, wrong)
    hits = drawn_hits(pairs, {}, MEASURE, K, seed, verdicts)
    relevance = np.array([float(grades[x.question_id].get(x.item, 0) > 0) for x in hits])
    draws = Draws(*drawn_columns(hits))
    truth = float(draws.weights @ relevance)
    decision = decide([], hits, relevance, MARGIN)
    false = {
        "better": truth <= 0.0,
        "worse": truth >= 0.0,
        "equal": abs(truth) > MARGIN,
        "open": False,
    }[decision.verdict]
    higher, lower = draws.capital(relevance, np.array([truth]))
    covered = bool((higher < LIMIT).all() and (lower < LIMIT).all())
    pool = sum(len({*first[:K], *second[:K]}) for first, second in pairs.values())
    return Decided(truth, decision.labels, pool, false, covered)


def _verdicts(
    pairs: Mapping[str, Pair], grades: Grades, seed: int, hit: float, wrong: float
) -> dict[tuple[str, str], bool]:
    rng = np.random.default_rng(seed)
    return {
        (question, item): bool(rng.random() < (hit if grades[question].get(item, 0) > 0 else wrong))
        for question, (first, second) in pairs.items()
        for item in dict.fromkeys([*first[:K], *second[:K]])
    }


def _retrieved(folder: Path, name: str) -> tuple[Rankings, Grades]:
    """Rankings by recipe and question, and grades by question and document."""
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        base = workspace.create(name, RECIPE)
        workspace.jobs.run(base.documents.import_beir(folder / name, "test"))
        rankings = {}
        for title in dict.fromkeys(title for pair in PAIRS for title in pair):
            recipe = RECIPE.with_fields(RECIPES[title])
            run = base.runs.evaluate(name, recipe, (K,)).run
            rankings[title] = {
                result.question_id: [item for item, *_ in result.ranking[:K]]
                for result in base.runs.results(run.id)
            }
        asked = base.questions.usable(name)
        grades = {
            question.id: {label.document_id: label.grade for label in question.evidence}
            for question in asked
            if all(question.id in ranking for ranking in rankings.values())
        }
        workspace.close()
    return rankings, grades
