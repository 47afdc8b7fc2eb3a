"""Metrics equal those of pytrec_eval and ir_measures, whatever the run."""

import ir_measures
import numpy as np
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.evaluation.formats import trec
from rag.evaluation.measuring import measured
from tests.measures import figures, ordered, searched

CUTS = (1, 3, 5, 10, 100)
MEASURES = ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg")
NAMES = [f"{measure}@{k}" for measure in MEASURES for k in CUTS]
PYTREC = {"precision": "P", "recall": "recall", "hit": "success", "map": "map_cut"} | {
    "ndcg": "ndcg_cut"
}
IR = {"precision": "P", "recall": "R", "hit": "Success", "mrr": "RR", "map": "AP", "ndcg": "nDCG"}

PASSAGES = st.integers(0, 30).map(lambda n: f"d{n}")
SCORES = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-9, -2.0]), st.floats(-1e6, 1e6))
QUESTIONS = st.sampled_from(["q1", "q2", "q3", "q4"])
QRELS = st.dictionaries(
    QUESTIONS, st.dictionaries(PASSAGES, st.integers(-1, 3), min_size=1), min_size=1
)
RUNS = st.dictionaries(QUESTIONS, st.dictionaries(PASSAGES, SCORES, max_size=25))


@given(QRELS, RUNS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_equal_to_pytrec_eval(qrels, run, by_document):
    ours = figures(qrels, ordered(run), NAMES, by_document=by_document)
    _compare_with_pytrec_eval(ours, qrels, run)


@given(QRELS, RUNS)
@settings(max_examples=100, deadline=None)
def test_an_exported_run_scores_elsewhere_what_it_scored_here(qrels, run):
    # Whatever the order of equal scores here is: the file must make others keep it.
    rankings = {
        question: sorted(hits, key=lambda hit: -hits[hit]) for question, hits in run.items()
    }
    scored = {
        question: [(hit, run[question][hit]) for hit in ranking]
        for question, ranking in rankings.items()
    }
    exported: dict[str, dict[str, float]] = {}
    for line in trec.write_run(scored, "t").splitlines():
        question, _, hit, _, score, _ = line.split()
        exported.setdefault(question, {})[hit] = float(score)
    _compare_with_pytrec_eval(figures(qrels, rankings, NAMES), qrels, exported)


@given(QRELS, RUNS)
@settings(max_examples=50, deadline=None)
def test_means_are_over_the_questions_that_have_something_to_find(qrels, run):
    rankings = ordered(run)
    ours, means = (
        figures(qrels, rankings, NAMES),
        measured(searched(qrels, rankings).judged(100), CUTS)[1],
    )
    has = [any(grade > 0 for grade in grades.values()) for grades in qrels.values()]
    for name in NAMES if any(has) else ():
        np.testing.assert_allclose(means[name], np.array(ours[name])[has].mean(), atol=1e-12)


def _compare_with_pytrec_eval(
    ours: dict[str, list[float]], qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    names = {f"{name}.{','.join(map(str, CUTS))}" for name in PYTREC.values()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    for measure, name in PYTREC.items():
        for k in CUTS:
            expected = [theirs.get(question, {}).get(f"{name}_{k}", 0.0) for question in qrels]
            np.testing.assert_allclose(ours[f"{measure}@{k}"], expected, atol=1e-9)


@given(QRELS, RUNS)
@settings(max_examples=30, deadline=None)
def test_equal_to_ir_measures(qrels, run):
    # Its reciprocal rank has another rule for ties than its other measures: compare without ties.
    distinct = {
        question: {hit: float(place) for place, hit in enumerate(_ascending(hits))}
        for question, hits in run.items()
    }
    _compare_with_ir_measures(qrels, run, [name for name in IR if name != "mrr"])
    _compare_with_ir_measures(qrels, distinct, ["mrr"])


def _ascending(hits: dict[str, float]) -> list[str]:
    return sorted(hits, key=lambda hit: (np.float32(hits[hit]), hit))


def _compare_with_ir_measures(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], measures: list[str]
) -> None:
    names = {f"{IR[measure]}@{k}": f"{measure}@{k}" for measure in measures for k in (1, 3, 10)}
    wanted = {ir_measures.parse_measure(theirs): ours for theirs, ours in names.items()}
    ours, rows = figures(qrels, ordered(run), names.values()), list(qrels)
    for metric in ir_measures.iter_calc(list(wanted), qrels, run):
        value = ours[wanted[metric.measure]][rows.index(metric.query_id)]
        np.testing.assert_allclose(value, metric.value, atol=1e-9)


@given(QRELS, RUNS)
@settings(max_examples=50, deadline=None)
def test_f1_is_the_harmonic_mean(qrels, run):
    ours = figures(qrels, ordered(run), NAMES)
    for k in CUTS:
        precision, recall = np.array(ours[f"precision@{k}"]), np.array(ours[f"recall@{k}"])
        either = precision + recall > 0
        expected = np.zeros(len(qrels))
        expected[either] = (2 * precision * recall)[either] / (precision + recall)[either]
        np.testing.assert_allclose(ours[f"f1@{k}"], expected, atol=1e-12)
