"""The hits on which a comparison hangs come first."""

import json
from math import log2

import pytest

from rag import InvalidInput, KnowledgeBase, NotFound, Recipe, Workspace
from rag.evaluation.judge_next import judge_next, sample_next
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
