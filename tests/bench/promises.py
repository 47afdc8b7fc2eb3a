"""Whether promises are kept: thresholds, bounds of pooled labels, means with a judge.

``python -m rag bench --only promises`` prints rates beside the level that each has to keep, of 500
draws (error at most .022). Thresholds are simulated and chosen on real halves of question sets;
pools are cut from real collections: labels outside the first ten of vector search are hidden, and
halves of the questions are drawn 200 times. ``PROMISES_HOME`` names a home that already holds
the collections.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rag import KnowledgeBase, PromiseCurves, Recipe, Settings, ThresholdCurve, Workspace
from rag.evaluation.calibration import LabelledCandidates
from rag.evaluation.inference.clusters import Clusters
from rag.evaluation.metrics import Ranked, evaluate
from rag.evaluation.pooling.difference import JudgedRankings, pooled_difference
from rag.evaluation.pooling.open_hits import open_hits
from rag.evaluation.pooling.sampling import sampled_mean
from rag.evaluation.relevance import best_grades
from rag.experiments.tuning.calibrator import Calibrator
from rag.services.services import Services
from rag.types import Floats, Mask

DRAWS = 500
HALVES = 200
WISHES = (0.5, 0.7, 0.8, 0.9)
JUDGES = {"of 85 percent": (0.85, 0.15), "that says yes": (0.99, 0.6), "that says no": (0.6, 0.01)}
"""How often each calls a relevant hit relevant, and another one."""
METRIC = "ndcg@10"
COLLECTIONS = ("sample", "cranfield", "scifact")


def measure(
    folder: Path,
    *,
    draws: int = DRAWS,
    halves: int = HALVES,
    collections: Sequence[str] = COLLECTIONS,
) -> dict[str, float]:
    """Rates by what was promised."""
    figures = {**_simulated_thresholds(draws), **_judges(draws)}
    with tempfile.TemporaryDirectory() as fresh:
        home = Path(os.environ.get("PROMISES_HOME", fresh))
        settings = Settings.from_env({}, home=home)
        workspace, services = Workspace(settings), Services.start(settings)
        for name in collections:
            base = _base(workspace, name, folder / name)
            figures |= _real_thresholds(services, base, halves)
            if name != "sample":
                figures |= _pooled_labels(base, halves)
        workspace.close()
    return figures


def _base(workspace: Workspace, name: str, collection: Path) -> KnowledgeBase:
    if name in {each.name for each in workspace.bases()}:
        return workspace.base(name)
    if name == "sample":
        base, job = workspace.start_demo()
    else:
        base = workspace.create(name, Recipe())
        job = base.documents.import_beir(collection, "test")
    workspace.jobs.run(job)
    return base


def _real_thresholds(services: Services, base: KnowledgeBase, number: int) -> dict[str, float]:
    """Cosines of candidates, a threshold chosen on half of the questions, kept on the others?"""
    recipe = base.recipe()
    _, questions = base.runs.questions(base.name)
    asked = Calibrator(services, base.id)._labelled(
        questions, recipe.index, recipe.search, lambda _done, _total: None
    )
    halves = list(_halves(asked, number))
    found: dict[str, float] = {}
    for wish in WISHES:
        found |= _kept(f"{base.name}, {len(asked)} questions", wish, iter(halves))
    possible = [PromiseCurves(*pair).promise(max(WISHES)).possible or 1.0 for pair in halves]
    return found | {f"threshold, {base.name}: can be promised": float(np.median(possible))}


def _halves(
    asked: Sequence[LabelledCandidates], number: int
) -> Iterator[tuple[ThresholdCurve, ThresholdCurve]]:
    rng = np.random.default_rng(0)
    for _ in range(number):
        order = rng.permutation(len(asked))
        middle = len(asked) // 2
        chosen, others = ([asked[at] for at in part] for part in np.split(order, [middle]))
        yield _curve_of(chosen), _curve_of(others)


def _curve_of(asked: Sequence[LabelledCandidates]) -> ThresholdCurve:
    return ThresholdCurve.of(
        np.concatenate([each.candidates.cosine for each in asked]).astype(np.float64),
        np.concatenate([each.relevant for each in asked]),
        np.repeat(np.arange(len(asked)), [len(each.relevant) for each in asked]),
        np.array([each.answerable for each in asked], np.bool_),
    )


def _simulated_thresholds(draws: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    found: dict[str, float] = {}
    for wish in WISHES:
        pairs = ((_simulated(rng), _simulated(rng)) for _ in range(draws))
        found |= _kept("simulated, 150 questions", wish, pairs)
        pairs = ((_simulated(rng, 5), _simulated(rng, 5)) for _ in range(draws))
        found |= _kept("simulated, 150 questions of 30 sources", wish, pairs)
    return found


def _simulated(rng: np.random.Generator, together: int = 1) -> ThresholdCurve:
    """Ten candidates a question, more relevant where they are higher, and in some questions.

    So many questions share a source, which all have more or fewer of them.
    """
    values = rng.uniform(0.0, 1.0, (150, 10))
    moved = 0.2 * rng.choice([-1.0, 1.0], (150 // together, 1)).repeat(together, axis=0)
    relevant = rng.uniform(0.0, 1.0, values.shape) < np.clip(values + moved, 0.0, 1.0)
    return _curve(values, relevant, Clusters(np.arange(150) // together))


def _curve(values: Floats, relevant: Mask, clusters: Clusters) -> ThresholdCurve:
    questions, width = values.shape
    owner, every = np.repeat(np.arange(questions), width), np.ones(questions, np.bool_)
    return ThresholdCurve.of(values.ravel(), relevant.ravel(), owner, every, clusters=clusters)


def _kept(
    where: str, wish: float, pairs: Iterator[tuple[ThresholdCurve, ThresholdCurve]]
) -> dict[str, float]:
    promises = [PromiseCurves(*pair).promise(wish) for pair in pairs]
    made = [each for each in promises if each.point is not None]
    name = f"threshold {wish:g}, {where}"
    refused = {f"{name}: refused": 1.0 - len(made) / len(promises)}
    if not made:
        return refused
    return {
        f"{name}: kept (0.9)": float(np.mean([each.kept is not False for each in made]))
    } | refused


def _judges(draws: int) -> dict[str, float]:
    """Sixty of a thousand hits judged by people, all by a judge."""
    rng = np.random.default_rng(0)
    found: dict[str, float] = {}
    for name, (right, wrong) in JUDGES.items():
        covered, narrower = [], []
        for _ in range(draws):
            truth = (rng.random(1000) < 0.5).astype(np.float64)
            judge = (rng.random(1000) < np.where(truth > 0, right, wrong)).astype(np.float64)
            drawn = rng.choice(1000, 60, replace=False)
            mean = sampled_mean(truth[drawn], 1000, judge[drawn], judge)
            covered.append(mean.interval.low <= truth.mean() <= mean.interval.high)
            narrower.append(mean.narrower)
        found[f"judge {name}: covers (0.95)"] = float(np.mean(covered))
        found[f"judge {name}: narrower than people alone"] = float(np.mean(narrower))
    return found


def _pooled_labels(base: KnowledgeBase, halves: int) -> dict[str, float]:
    _, questions = base.runs.questions(base.name)
    full = {each.id: best_grades(each) for each in questions}
    ranked = {}
    for mode in ("dense", "lexical", "hybrid"):
        searched = base.recipe().with_fields({"search.mode": mode, "search.threshold": None})
        results = base.runs.evaluate(base.name, searched, (10,)).results
        ranked[mode] = {each.question_id: [key for key, *_ in each.ranking] for each in results}
    found: dict[str, float] = {}
    for mode in ("lexical", "hybrid"):
        found |= _pooled(f"{base.name}, {mode}", ranked[mode], ranked["dense"], full, halves)
    return found


def _pooled(
    where: str,
    mine: dict[str, list[str]],
    dense: dict[str, list[str]],
    full: dict[str, dict[str, int]],
    halves: int,
) -> dict[str, float]:
    """Labels outside the first ten of ``dense`` are hidden, and half of the questions drawn."""
    highest = max(grade for grades in full.values() for grade in grades.values())
    rows, truth, seen = {}, {}, {}
    for name, grades in full.items():
        known = {item: grades.get(item, 0) for item in dense[name][:10]}
        if any(grade > 0 for grade in known.values()):
            rows[name] = JudgedRankings(mine[name], dense[name], known, known)
            truth[name] = _ndcg(mine[name], grades) - _ndcg(dense[name], grades)
            seen[name] = _ndcg(mine[name], known) - _ndcg(dense[name], known)
    rng = np.random.default_rng(0)
    inside, wronged, warned = [], 0, 0
    for _ in range(halves):
        half = rng.choice(list(rows), len(rows) // 2, replace=False).tolist()
        pooled = pooled_difference(METRIC, {each: rows[each] for each in half}, highest=highest)
        true, shown = (float(np.mean([each[name] for name in half])) for each in (truth, seen))
        inside.append(pooled.bounds.low <= true <= pooled.bounds.high)
        wronged += shown < 0.0 < true
        hits = open_hits([METRIC], {each: rows[each] for each in half})[METRIC]
        warned += shown < 0.0 < true and hits is not None and hits.interval.high >= 0.0
    name = f"labels of dense only, {where} against it"
    return {
        f"{name}: truth within bounds (0.95)": float(np.mean(inside)),
        f"{name}: seems worse and is better": wronged / halves,
        f"{name}: of these, said (1)": warned / wronged if wronged else 1.0,
    }


def _ndcg(ids: list[str], grades: dict[str, int]) -> float:
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    ranked = Ranked.of([[max(grades.get(each, 0), 0) for each in ids[:10]]], [ideal], 10)
    return float(evaluate(ranked, [METRIC])[METRIC][0])
