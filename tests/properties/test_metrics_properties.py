"""Metrics equal those of pytrec_eval and ir_measures, whatever the run."""

import ir_measures
import numpy as np
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.evaluation.metrics import evaluate_rankings, evaluate_run

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


@given(QRELS, RUNS)
@settings(max_examples=150, deadline=None)
def test_equal_to_pytrec_eval(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    ours = evaluate_run(qrels, run, NAMES)
    names = {f"{name}.{','.join(map(str, CUTS))}" for name in PYTREC.values()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    for measure, name in PYTREC.items():
        for k in CUTS:
            expected = [theirs.get(question, {}).get(f"{name}_{k}", 0.0) for question in qrels]
            np.testing.assert_allclose(ours[f"{measure}@{k}"], expected, atol=1e-9)


@given(QRELS, RUNS)
@settings(max_examples=30, deadline=None)
def test_equal_to_ir_measures(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
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
    ours, rows = evaluate_run(qrels, run, list(names.values())), list(qrels)
    for metric in ir_measures.iter_calc(list(wanted), qrels, run):
        value = ours[wanted[metric.measure]][rows.index(metric.query_id)]
        np.testing.assert_allclose(value, metric.value, atol=1e-9)


@given(QRELS, RUNS)
@settings(max_examples=50, deadline=None)
def test_a_list_in_the_order_of_a_run_scores_like_the_run(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    lists = {question: _ascending(hits)[::-1] for question, hits in run.items()}
    ours, other = evaluate_run(qrels, run, NAMES), evaluate_rankings(qrels, lists, NAMES)
    for name in NAMES:
        np.testing.assert_array_equal(ours[name], other[name])


@given(QRELS, RUNS)
@settings(max_examples=50, deadline=None)
def test_f1_is_the_harmonic_mean(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    ours = evaluate_run(qrels, run, NAMES)
    for k in CUTS:
        precision, recall = np.array(ours[f"precision@{k}"]), np.array(ours[f"recall@{k}"])
        either = precision + recall > 0
        expected = np.zeros(len(qrels))
        expected[either] = (2 * precision * recall)[either] / (precision + recall)[either]
        np.testing.assert_allclose(ours[f"f1@{k}"], expected, atol=1e-12)
