"""A decision between two stored runs: its draw stays, whoever judges, and whenever."""

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pages.components.runs.deciding import entries
from rag import InvalidInput, KnowledgeBase, NotFound, RunDecision, Workspace
from tests.verbs import run_verb
from tests.workspaces import QUICK, add, fill_home, workspace_at

SET = "checks"
LEFT, RIGHT = (
    QUICK.with_fields({"search.mode": "lexical", "search.documents": [f"{side}*"]})
    for side in ("left", "right")
)
P = "precision@5"
NAMES = ("alpha", "beta", "gamma", "delta", "omega", "kappa")
PLACES = ("north", "south", "east", "west")


def _prepare(home: Path) -> None:
    workspace = workspace_at(home)
    base = workspace.create("pumps", LEFT)
    text = "The alpha, beta, gamma, delta, omega and kappa pumps take oil in the {} wing."
    names = [f"{side} {place}" for side in ("left", "right") for place in PLACES]
    add(workspace, base, {f"{name}.md": text.format(name) for name in [*names, "rest"]})
    quote = {"document": "rest.md", "quote": text.format("rest")}
    prior = {"document": "left north.md", "quote": text.format("left north")}
    rows = [
        {
            "id": f"q{number}",
            "text": f"Which oil takes the {name} pump?",
            "evidence": [quote, prior] if number == 0 else [quote],
        }
        for number, name in enumerate(NAMES)
    ]
    base.questions.import_file(SET, "x.jsonl", "\n".join(map(json.dumps, rows)))
    for recipe in (LEFT, RIGHT):
        base.runs.evaluate(SET, recipe, (5,))
    workspace.close()


@pytest.fixture
def opened(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Workspace, KnowledgeBase, str, str]:
    """A knowledge base with two runs that have no hit in common; one of their hits has a label.

    The draw is the same for all run ids, which are random.
    """
    monkeypatch.setattr("rag.experiments.runs.decisions._seed", lambda *_: 7)
    fill_home(home, _prepare)
    workspace = workspace_at(home)
    base = workspace.base("pumps")
    other, run = (row.id for row in base.runs.list_all(SET))
    return workspace, base, run, other


def _judge_all(base: KnowledgeBase, run: str, other: str, relevant: Sequence[str]) -> RunDecision:
    """Judge until it is decided: hits are relevant whose document begins like one of some words."""
    while hits := base.runs.decision(run, other, P, most=3).next_hits:
        grades = [
            (hit.question_id, hit.item, int(hit.document.startswith(tuple(relevant))))
            for hit in hits
        ]
        base.runs.judge_decision(run, other, P, grades)
    return base.runs.decision(run, other, P)


def _difference(base: KnowledgeBase, run: str, other: str) -> float:
    """The difference of precision once all hits have labels, from new runs of both recipes."""
    means = [
        base.runs.evaluate(SET, base.runs.get(name).recipe, (5,)).run.metrics[P]
        for name in (run, other)
    ]
    return means[0] - means[1]


@pytest.mark.parametrize(
    ("relevant", "verdict"),
    [(["left"], "better"), (["left north", "right"], "worse"), (["left", "right"], "equal")],
)
def test_the_verdict_is_that_of_all_labels(opened, relevant, verdict):
    _, base, run, other = opened
    base.runs.start_decision(run, other, P)
    begun = base.runs.decision(run, other, P)
    assert (begun.state.verdict, begun.state.labels, begun.state.pool) == ("open", 0, 47)
    assert (begun.questions, begun.before, len(begun.next_hits)) == (6, 1, 10)
    decided = _judge_all(base, run, other, relevant)
    assert decided.state.verdict == verdict
    assert decided.next_hits == ()
    assert decided.state.labels < 47 or verdict == "equal"
    for hit in base.questions.judging_queue(run, other, k=5):
        grade = int(hit.document.startswith(tuple(relevant)))
        base.questions.label(SET, hit.question_id, hit.document_id, hit.start, hit.end, grade)
    low, high = decided.state.interval
    assert low - 1e-9 <= _difference(base, run, other) <= high + 1e-9


def test_the_same_decision_goes_on_for_either_order_and_every_person(opened):
    workspace, base, run, other = opened
    base.runs.start_decision(run, other, P)
    (first, *rest) = base.runs.decision(run, other, P, most=100).next_hits
    base.runs.judge_decision(run, other, P, [(first.question_id, first.item, 1)])
    again = Workspace(workspace.settings).base("pumps")  # after a crash, or somebody else
    again.runs.start_decision(other, run, P)
    turned, mine = again.runs.decision(other, run, P), base.runs.decision(run, other, P)
    assert [hit.item for hit in mine.next_hits] == [hit.item for hit in rest[:10]]
    assert [hit.item for hit in turned.next_hits] == [hit.item for hit in rest[:10]]
    assert turned.next_hits[0].ranks == mine.next_hits[0].ranks[::-1]
    assert (turned.before, turned.state.pool) == (mine.before, mine.state.pool)
    assert turned.state.difference == pytest.approx(-mine.state.difference)
    assert turned.state.interval.low == pytest.approx(-mine.state.interval.high)


def test_a_label_made_elsewhere_counts_when_its_turn_comes(opened):
    _, base, run, other = opened
    base.runs.start_decision(run, other, P)
    hits = base.runs.decision(run, other, P, most=100).next_hits
    third = hits[2]
    base.questions.label(SET, third.question_id, third.document_id, third.start, third.end, 0)
    waiting = base.runs.decision(run, other, P, most=100)
    assert waiting.state.labels == 0
    assert waiting.next_hits == (*hits[:2], *hits[3:])
    base.runs.judge_decision(run, other, P, [(hit.question_id, hit.item, 0) for hit in hits[:2]])
    assert base.runs.decision(run, other, P).state.labels == 3
    base.runs.start_decision(run, other, P)
    assert base.runs.decision(run, other, P).before == waiting.before


def test_a_hit_that_somebody_judged_meanwhile_keeps_its_label(opened):
    _, base, run, other = opened
    base.runs.start_decision(run, other, P)
    first, second, *_ = base.runs.decision(run, other, P).next_hits
    judge = base.runs.judge_decision
    (label,) = judge(run, other, P, [(first.question_id, first.item, 2)], replace_labels=False)
    assert label is not None
    both = [(hit.question_id, hit.item, 0) for hit in (first, second)]
    kept, new = judge(other, run, P, both, replace_labels=False)
    assert kept is None
    grades = {item.id: item.grade for each in base.questions.labelled(SET) for item in each.labels}
    assert (grades[label], grades[new]) == (2, 0)
    assert base.runs.decision(run, other, P).state.labels == 2
    assert judge(run, other, P, [(first.question_id, first.item, 1)]) == [label]
    with pytest.raises(InvalidInput, match="changed this grade meanwhile"):
        base.questions.remove_label(SET, label, 2)
    base.questions.remove_label(SET, label, 1)
    assert base.runs.decision(run, other, P).next_hits[0] == first


def test_a_page_lists_the_decisions_of_its_question_set_as_they_are(opened):
    _, base, run, other = opened
    base.questions.import_file("others", "x.jsonl", json.dumps({"id": "o", "text": "Which oil?"}))
    assert entries(base, SET) == []
    base.runs.start_decision(run, other, P)
    assert base.runs.started_decisions(SET) == [(run, other, P)]
    assert [(entry.run, entry.other) for entry in entries(base, SET)] == [(run, other)]
    assert entries(base, "others") == entries(base, "no such set") == []
    _judge_all(base, run, other, ["left"])
    assert [entry.finished for entry in entries(base, SET, other, run)] == [True]


def test_gate_and_report_show_a_finished_decision(opened):
    _, base, run, other = opened
    base.runs.start_decision(run, other, P)
    least = {"ndcg@5": 0.0}
    assert base.runs.gate(SET, LEFT, least, other).decisions == ()
    decided = _judge_all(base, run, other, ["left"])
    words = decided.headline("this run", "the baseline")
    assert words.startswith("this run is better than the baseline: +")
    (again,) = base.runs.gate(SET, LEFT, least, other).decisions  # of the run that did the same
    assert (again.run, again.state) == (run, decided.state)
    assert base.runs.gate(SET, RIGHT, least, other).decisions == ()
    assert f"By few labels: {words}" in html.unescape(base.runs.report(run, other))
    assert "By few labels" not in base.runs.report(run)


def test_words_of_the_question_are_marked(opened):
    _, base, run, other = opened
    base.runs.start_decision(run, other, P)
    (hit,) = base.runs.decision(run, other, P, most=1).next_hits
    name = NAMES[int(hit.question_id[1:])]
    assert [hit.text[slice(*span)] for span in hit.matches] == [name, "pumps", "take", "oil"]


def test_a_deleted_label_is_named(opened):
    _, base, run, other = opened
    base.runs.start_decision(run, other, P)
    label = base.questions.usable(SET)[0].evidence[1]
    base.documents.delete_documents([label.document_id])
    with pytest.raises(InvalidInput, match="earlier label of question 'q0' no longer exists"):
        base.runs.decision(run, other, P)


@pytest.mark.parametrize(
    ("metric", "words"),
    [("ndcg@10", "cannot be decided"), ("dcg@0", "from 1 to 100"), ("dcg@20", "down to rank 5")],
)
def test_other_metrics_are_refused(opened, metric, words):
    _, base, run, other = opened
    with pytest.raises(InvalidInput, match=words):
        base.runs.start_decision(run, other, metric)
    with pytest.raises(NotFound, match="no decision"):
        base.runs.decision(run, other, metric)


def test_a_decision_goes_with_its_runs(opened):
    _, base, run, other = opened
    with pytest.raises(InvalidInput, match="with itself"):
        base.runs.start_decision(run, run, P)
    base.runs.start_decision(run, other, P)
    base.runs.remove(other)
    with pytest.raises(NotFound, match="no decision"):
        base.runs.decision(run, other, P)


def _decide(
    capsys: pytest.CaptureFixture[str], home: Path, run: str, other: str, *rest: str
) -> tuple[int, Any, str]:
    arguments = ["decide", "pumps", run, "--against", other, "--metric", P, "--home", str(home)]
    return run_verb(capsys, *arguments, *rest)


def test_the_verb_lists_hits_and_stores_judgements(opened, capsys, tmp_path):
    workspace, base, run, other = opened
    home = workspace.settings.home
    code, begun, _ = _decide(capsys, home, run, other, "--next", "2")
    assert (code, begun["verdict"], begun["labels"], len(begun["next"])) == (0, "open", 0, 2)
    lines = [
        {"question": hit["question"], "passage": hit["passage"], "grade": 1}
        for hit in begun["next"]
    ]
    file = tmp_path / "judged.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    for _ in range(2):  # the same file again changes nothing
        _, judged, _ = _decide(capsys, home, run, other, "--judgements", str(file))
        assert judged["labels"] == 2
        assert judged["pool"] == begun["pool"]
    labels = [item for each in base.questions.usable(SET) for item in each.evidence]
    assert len(labels) == len(NAMES) + 1 + 2
    file.write_text('{"question": "q0", "passage": "unknown", "grade": 1}')
    code, _, error = _decide(capsys, home, run, other, "--judgements", str(file))
    assert code == 2
    assert "is no hit of this decision" in error
    file.write_text('{"question": "q0"}')
    assert "Line 1 of" in _decide(capsys, home, run, other, "--judgements", str(file))[2]
