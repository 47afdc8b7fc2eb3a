"""The hits on which a comparison hangs come first, until few labels decide it."""

import json
import math
from collections.abc import Mapping
from math import log2

import numpy as np
import pytest

from rag import InvalidInput, KnowledgeBase, NotFound, Recipe, Workspace
from rag.evaluation.deciding import LIMIT, Decision, Draws, decide, drawn_columns, drawn_hits, worth
from rag.evaluation.judge_next import OpenHit, Pair, judge_next, sample_next
from tests.workspaces import QUICK, add

SET = "checks"
WORDS = QUICK.with_fields({"search.mode": "lexical"})
VECTORS = QUICK.with_fields({"search.mode": "dense"})
DOCUMENTS = {
    f"{name}.md": f"{name} one leave.\n\n{name} two train.\n\n{name} three {name} rotor."
    for name in ("alpha", "beta", "gamma", "delta")
}


def _discount(rank: int) -> float:
    return 1 / log2(1 + rank)


def test_the_weight_is_the_difference_of_the_discounts():
    hits = judge_next({"q": (["a", "b", "c"], ["b", "a", "d"])}, {"q": {"b"}}, k=3)
    assert [(hit.item, hit.ranks) for hit in hits] == [
        ("c", (3, None)),
        ("d", (None, 3)),
        ("a", (1, 2)),
    ]
    assert [hit.weight for hit in hits] == pytest.approx(
        [_discount(3), _discount(3), _discount(1) - _discount(2)]
    )


def test_the_same_place_in_both_comes_last_and_depth_counts():
    rankings = {"q1": (["a", "x"], ["a", "y"]), "q2": (["z"], ["z"])}
    hits = judge_next(rankings, {}, k=1)
    assert [(hit.question_id, hit.item, hit.weight) for hit in hits] == [
        ("q1", "a", 0.0),
        ("q2", "z", 0.0),
    ]
    assert [hit.item for hit in judge_next(rankings, {}, k=2)] == ["x", "y", "a", "z"]


def test_with_one_run_the_top_is_judged_first():
    hits = judge_next({"q1": (["a", "b"], []), "q2": (["c", "d"], [])}, {"q1": ["b"]}, k=5)
    assert [hit.item for hit in hits] == ["a", "c", "d"]
    assert hits[2].weight == pytest.approx(_discount(2))


def _base(workspace: Workspace, *, whole: bool) -> KnowledgeBase:
    base = workspace.create("handbook", WORDS)
    add(workspace, base, DOCUMENTS)
    label = {"document": "alpha.md"} | ({} if whole else {"quote": "alpha one leave."})
    rows = [
        {"id": "q1", "text": "leave rotor alpha", "evidence": [label]},
        {"id": "q2", "text": "beta train", "evidence": [label]},
        {"id": "q3", "text": "gamma", "answerable": False},
    ]
    base.questions.import_file(SET, "x.jsonl", "\n".join(map(json.dumps, rows)))
    return base


def _run(base: KnowledgeBase, recipe: Recipe) -> str:
    return base.runs.evaluate(SET, recipe, (5,)).run.id


@pytest.mark.parametrize("whole", [False, True])
def test_judging_empties_the_queue(workspace, whole):
    base = _base(workspace, whole=whole)
    first, second = _run(base, WORDS), _run(base, VECTORS)
    queue = base.questions.judging_queue(first, second, k=5)
    assert queue
    assert {each.question_id for each in queue} <= {"q1", "q2"}
    assert [each.weight for each in queue] == sorted((e.weight for e in queue), reverse=True)
    for each in queue:
        document = base.documents.document(each.document_id)
        assert (each.document, each.text) == (document.name, document.text[each.start : each.end])
        assert (each.end is None) is whole
        assert "alpha one" not in each.text  # that is judged
        asked = {"leave", "rotor", "alpha", "beta", "train"}
        assert {each.text[start:end] for start, end in each.matches} <= asked
    assert any(each.matches for each in queue)
    results = {item.question_id: item for item in base.runs.results(first)}
    top = queue[0]
    if not whole and top.ranks[0] is not None:
        ranking = results[top.question_id].ranking
        chunks = base.documents.chunks(top.document_id, WORDS.index)
        (chunk,) = [each for each in chunks if each.start == top.start]
        assert ranking[top.ranks[0] - 1][0] == chunk.id
    remaining = len(queue)
    while queue:
        each = queue[0]
        base.questions.label(
            SET, each.question_id, each.document_id, each.start, each.end, remaining % 2
        )
        queue = base.questions.judging_queue(first, second, k=5)
        assert len(queue) == remaining - 1
        remaining -= 1


def test_one_run_and_a_limit(workspace):
    base = _base(workspace, whole=False)
    run = _run(base, WORDS)
    every = base.questions.judging_queue(run)
    assert base.questions.judging_queue(run, limit=2) == every[:2]
    assert all(each.ranks[1] is None for each in every)
    ranks = [each.ranks[0] or 0 for each in every]
    assert ranks == sorted(ranks)
    base.documents.delete_documents([each.document_id for each in every])
    assert base.questions.judging_queue(run) == []


def test_without_a_limit_there_are_fifty_at_most(workspace):
    base = _base(workspace, whole=False)
    label = {"document": "alpha.md", "quote": "alpha one leave."}
    rows = [
        {"id": f"q{number}", "text": f"leave train rotor {number}", "evidence": [label]}
        for number in range(17)
    ]
    base.questions.import_file(SET, "x.jsonl", "\n".join(map(json.dumps, rows)))
    run = _run(base, WORDS)
    every = base.questions.judging_queue(run, k=5, limit=1000)
    assert len(every) == 51
    assert base.questions.judging_queue(run, k=5) == every[:50]


def test_runs_that_do_not_belong_together(workspace):
    base = _base(workspace, whole=False)
    run = _run(base, WORDS)
    base.questions.import_file("other", "x.jsonl", base.questions.export_text(SET, "jsonl"))
    other = base.runs.evaluate("other", WORDS, (5,)).run.id
    with pytest.raises(InvalidInput, match="different question sets"):
        base.questions.judging_queue(run, other)
    with pytest.raises(NotFound, match="no run"):
        base.questions.judging_queue(run, "unknown")


def test_a_sample_goes_on_where_it_was_interrupted():
    rankings = {f"q{number}": (["a", "b", "c"], ["d", "a"]) for number in range(20)}
    every = [(hit.question_id, hit.item) for hit in sample_next(rankings, {}, k=3)]
    assert sorted(every) == sorted((name, item) for name in rankings for item in "abcd")
    assert every != sorted(every)
    judged: dict[str, list[str]] = {}
    for name, item in every[:30]:
        judged.setdefault(name, []).append(item)
    rest = [(hit.question_id, hit.item) for hit in sample_next(rankings, judged, k=3)]
    assert rest == every[30:]


def test_hits_of_questions_with_few_relevant_passages_weigh_more():
    rankings = {"many": (["a"], []), "one": (["b"], [])}
    hits = judge_next(rankings, {}, 1, {"many": 4.0, "one": 1.0})
    assert [(hit.item, hit.weight) for hit in hits] == [("b", 1.0), ("a", 0.25)]


def test_a_label_knows_the_runs_that_it_came_from(workspace):
    base = _base(workspace, whole=False)
    first, second = _run(base, WORDS), _run(base, VECTORS)
    sampled = base.questions.judging_queue(first, second, k=5, sampled=True)[0]
    telling = base.questions.judging_queue(first, second, k=5)[0]
    runs = " ".join(sorted((first, second)))
    assert (telling.origin, sampled.origin) == (f"runs {runs}", f"sample of runs {runs}")
    place = sampled.document_id, sampled.start, sampled.end
    made = base.questions.label(SET, sampled.question_id, *place, 0, sampled.origin)
    kept = {
        label.id: label.origin for item in base.questions.labelled(SET) for label in item.labels
    }
    assert kept.pop(made) == sampled.origin
    assert set(kept.values()) == {"file"}


def test_the_difference_of_two_runs_says_what_is_open(workspace):
    base = _base(workspace, whole=False)
    first, second = _run(base, WORDS), _run(base, VECTORS)
    found = base.runs.pooled_difference(first, second, "ndcg@5")
    assert (found.questions, found.unlabelled, found.highest) == (2, 0, 1)
    assert min(found.open_shares) > 0.0
    assert found.bounds.low == 0.0 < found.bounds.high
    assert base.runs.pooled_difference(first, second, "ndcg@5", only=["q3"]) is None


QUESTIONS = 12


def _pairs(seed: int, questions: int = QUESTIONS) -> dict[str, Pair]:
    rng = np.random.default_rng(seed)
    return {
        f"q{at}": (
            [f"d{item}" for item in rng.permutation(8)[:5]],
            [f"d{item}" for item in rng.permutation(8)[:5]],
        )
        for at in range(questions)
    }


def _relevance(hits: list[OpenHit], lead: float, seed: int) -> np.ndarray:
    """Of every hit, more often of those that the first run ranks higher."""
    rng = np.random.default_rng(seed)
    truth = {
        (hit.question_id, hit.item): rng.random() < (0.3 + lead if hit.weight > 0 else 0.3)
        for hit in sorted(hits, key=lambda hit: (hit.question_id, hit.item))
    }
    return np.array([float(truth[hit.question_id, hit.item]) for hit in hits])


@pytest.mark.parametrize("lead", [0.0, 0.3])
@pytest.mark.parametrize("misled", [False, True])
def test_the_true_difference_is_hardly_ever_ruled_out_however_often_somebody_looks(lead, misled):
    pairs, missed = _pairs(1), 0
    plain = drawn_hits(pairs, {}, "dcg", 5, 0)
    relevant = dict(zip(map(_place, plain), _relevance(plain, lead, 7), strict=True))
    verdicts = {place: value == 0.0 for place, value in relevant.items()} if misled else {}
    for seed in range(300):
        hits = drawn_hits(pairs, {}, "dcg", 5, seed, verdicts)
        draws = Draws(*drawn_columns(hits))
        relevance = np.array([relevant[_place(hit)] for hit in hits])
        higher, lower = draws.capital(relevance, np.array([draws.weights @ relevance]))
        missed += bool((higher >= LIMIT).any() or (lower >= LIMIT).any())
    assert missed <= 15


def _place(hit: OpenHit) -> tuple[str, str]:
    return hit.question_id, hit.item


def test_the_estimate_after_any_number_of_labels_is_without_bias():
    pairs = _pairs(2)
    means, truth = [], 0.0
    for seed in range(600):
        hits = drawn_hits(pairs, {}, "precision", 5, seed)
        relevance = _relevance(hits, 0.2, 3)
        draws = Draws(*drawn_columns(hits))
        truth = float(draws.weights @ relevance)
        means.append(draws.means(relevance[:10])[-1])
    error = np.std(means) / math.sqrt(len(means))
    assert abs(np.mean(means) - truth) < 3 * error


def test_a_hit_is_drawn_first_as_often_as_its_probability_says():
    pairs = {"q": (["a", "b", "c"], ["c", "d", "a"])}
    first = [drawn_hits(pairs, {}, "dcg", 3, seed)[0] for seed in range(2000)]
    for item in "abcd":
        mine = [hit.probability for hit in first if hit.item == item]
        assert abs(len(mine) / 2000 - mine[0]) < 0.04
        assert len(set(mine)) == 1


def test_hits_that_count_alike_in_both_are_not_asked_for():
    pairs: dict[str, Pair] = {"same": (["a", "b"], ["a", "b"]), "q": (["a", "b"], ["a", "c"])}
    assert {_place(hit) for hit in drawn_hits(pairs, {}, "dcg", 2, 0)} == {("q", "b"), ("q", "c")}
    moved = {"q": (["a", "b"], ["b", "a"])}
    assert drawn_hits(moved, {}, "precision", 2, 0) == []
    assert {hit.item for hit in drawn_hits(moved, {}, "dcg", 2, 0)} == {"a", "b"}


def test_a_weight_is_what_the_mean_changes_by():
    pairs: dict[str, Pair] = {"q": (["a", "b"], ["b", "c"]), "r": ([], [])}
    weights = {hit.item: hit.weight for hit in drawn_hits(pairs, {}, "dcg", 2, 0)}
    second = 1 / math.log2(3)
    assert weights == pytest.approx({"a": 0.5, "b": (second - 1) / 2, "c": -second / 2})
    assert worth("precision", 4).tolist() == [0.25] * 4


def test_the_order_of_judging_does_not_depend_on_which_run_is_named_first():
    pairs = _pairs(4)
    turned = {name: (second, first) for name, (first, second) in pairs.items()}
    hits, others = (drawn_hits(each, {}, "dcg", 5, 9) for each in (pairs, turned))
    assert list(map(_place, hits)) == list(map(_place, others))
    assert [hit.weight for hit in hits] == [-hit.weight for hit in others]
    relevance = _relevance(hits, 0.6, 1)
    one, other = (decide([], each, relevance, 0.1) for each in (hits, others))
    assert (one.verdict, other.verdict) == ("better", "worse")
    assert one.interval == pytest.approx((-other.interval.high, -other.interval.low))


def test_hits_with_a_label_come_first_and_count_for_certain():
    pairs: Mapping[str, Pair] = {"q": (["a", "b"], ["c", "d"])}
    judged = {"q": {"a", "d"}}
    hits = drawn_hits(pairs, judged, "precision", 2, 0)
    assert {hit.item for hit in hits[:2]} == {"a", "d"}
    assert [hit.probability for hit in hits][:2] == [1.0, 1.0]
    assert hits[-1].probability == 1.0
    labelled = [(hit, float(hit.item == "a")) for hit in hits[:2]]
    decision = decide(labelled, hits[2:], [], 0.0)
    assert decision.interval == pytest.approx((0.0, 1.0))
    assert decision.verdict == "open"


def test_runs_that_agree_are_equal_without_a_label():
    assert decide([], [], [], 0.0).verdict == "equal"
    few = drawn_hits({"q": (["a"], ["b"]), "r": (["a"], ["a"])}, {}, "precision", 1, 0)
    assert decide([], few, [], 0.5).verdict == "equal"
    assert decide([], few, [], 0.4).verdict == "open"


def test_once_all_is_judged_the_difference_is_known():
    hits = drawn_hits(_pairs(5), {}, "dcg", 5, 1)
    relevance = _relevance(hits, 0.0, 8)
    truth = sum(hit.weight * value for hit, value in zip(hits, relevance, strict=True))
    decision = decide([], hits, relevance, 0.0)
    assert decision.verdict == ("better" if truth > 0 else "worse")
    assert decision.difference == pytest.approx(truth, abs=0.2)
    alike = [0.0] * len(hits)
    assert decide([], hits, alike, 0.0).verdict == "equal"
    assert decide([], hits, alike, 0.0).interval == pytest.approx((0.0, 0.0), abs=1e-6)


def test_the_interval_narrows_label_by_label_until_a_verdict():
    hits = drawn_hits(_pairs(6, 60), {}, "dcg", 5, 2)
    decision = _decided(hits, len(hits))
    assert decision.verdict == "better"
    assert decision.labels < len(hits) / 3
    assert [step.labels for step in decision.steps] == list(range(decision.labels + 1))
    assert np.all(np.diff([step.low for step in decision.steps]) >= 0)
    assert np.all(np.diff([step.high for step in decision.steps]) <= 0)
    assert decision.interval.low >= -0.01
    assert decision == _decided(hits, decision.labels)


def test_the_labels_that_are_missing_are_forecast():
    hits = drawn_hits(_pairs(6, 60), {}, "dcg", 5, 2)
    needed = _decided(hits, len(hits)).labels
    assert _decided(hits, 9).more is None
    half = _decided(hits, needed // 2)
    assert half.verdict == "open"
    assert half.more is not None
    assert needed / 4 < half.more < 2 * needed
    assert _decided(hits, needed).more is None


def _decided(hits: list[OpenHit], labels: int) -> Decision:
    return decide([], hits, _relevance(hits, 0.5, 4)[:labels], 0.1)


def test_a_model_that_grades_well_saves_labels():
    pairs = _pairs(8, 80)
    plain = drawn_hits(pairs, {}, "dcg", 5, 0)
    relevant = dict(zip(map(_place, plain), _relevance(plain, 0.15, 5), strict=True))
    verdicts = {place: value > 0 for place, value in relevant.items()}
    needed: dict[bool, list[int]] = {False: [], True: []}
    for seed in range(11):
        for graded in (False, True):
            hits = drawn_hits(pairs, {}, "dcg", 5, seed, verdicts if graded else {})
            relevance = [relevant[_place(hit)] for hit in hits]
            needed[graded].append(decide([], hits, relevance, 0.05).labels)
    assert np.median(needed[True]) < np.median(needed[False])
