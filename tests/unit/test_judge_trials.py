"""Judges: the version that answered, versions that mix, grades taken over, and a trial."""

import json

import pytest

from rag import NotFound
from rag.__main__ import main
from rag.types import Delta, Usage
from tests.answer_runs import Chat, judgements, with_chat
from tests.runs import SET, VECTORS, WORDS, handbook
from tests.verbs import output_of


class Versioned(Chat):
    """Grades 3 where the passage has a word, else 0, as the version that it is told to be."""

    def __init__(self, version, word=""):
        super().__init__()
        self.version, self.word = version, word

    def stream(self, messages, *, temperature, max_tokens):
        self.calls += 1
        grade = 3 if self.word in messages[1].content else 0
        yield Delta(json.dumps({"reason": "so", "grade": grade}))
        yield Delta(usage=Usage(100, 10), model=self.version)


def judged(workspace, base, run, judge="openai:m", **more):
    job = workspace.jobs.run(base.runs.start_judging(run.id, judge, **more))
    assert job.status == "done", job.message
    return [grade for grade in judgements(workspace, run.id) if grade.judge == judge]


@pytest.fixture
def workspace(home):
    return handbook(home)[0]


@pytest.fixture
def base(workspace):
    return workspace.base("handbook")


def test_the_version_that_answered_is_stored_and_mixed_versions_are_said(
    workspace, base, monkeypatch
):
    run = base.runs.evaluate(SET, WORDS).run
    with_chat(monkeypatch, Versioned("m-2026-05"))
    first = judged(workspace, base, run, depth=1)
    assert {grade.model for grade in first} == {"m-2026-05"}
    assert set(base.runs.open_hits(run.id).models) == {"m-2026-05"}
    with_chat(monkeypatch, Versioned("m-2026-11"))
    both = judged(workspace, base, run)
    assert len(both) > len(first)
    hits = base.runs.open_hits(run.id)
    assert hits.models == {"m-2026-05": len(first), "m-2026-11": len(both) - len(first)}
    (warning,) = [line for line in hits.sentences if "m-2026-05" in line]
    assert "m-2026-11" in warning


def test_only_what_is_new_down_to_a_rank_is_judged(workspace, base, monkeypatch):
    chat = Versioned("m-1")
    with_chat(monkeypatch, chat)
    before = base.runs.evaluate(SET, WORDS).run
    judged(workspace, base, before, depth=3)
    after = base.runs.evaluate(SET, VECTORS).run
    first, second = (
        {(row.question_id, hit[0]) for row in base.runs.results(run.id) for hit in row.ranking[:3]}
        for run in (before, after)
    )
    assert chat.calls == len(first)
    grades = judged(workspace, base, after, depth=3)
    assert {(grade.question_id, grade.item) for grade in grades} == second
    assert chat.calls == len(first | second)
    taken = [grade for grade in grades if (grade.question_id, grade.item) in first]
    assert {(grade.tokens, grade.model) for grade in taken} == {(0, "m-1")}


def test_agreement_with_people_stands_beside_each_judge(workspace, base, monkeypatch):
    run = base.runs.evaluate(SET, WORDS).run
    for place, hit in enumerate(base.questions.judging_queue(run.id, sampled=True)):
        spot = hit.document_id, hit.start, hit.end
        base.questions.label(SET, hit.question_id, *spot, place % 2, hit.origin)
    for judge, word in (("openai:kind", ""), ("openai:strict", "no such word")):
        with_chat(monkeypatch, Versioned("m", word))
        judged(workspace, base, run, judge)
    judges = base.runs.open_hits(run.id, judge="openai:kind").judges
    people = judges["openai:kind"].hits
    assert judges["openai:kind"].agreed == people // 2
    assert judges["openai:strict"].agreed == people - people // 2


def test_a_judge_is_tried_on_passages_that_people_graded(workspace, base, monkeypatch, capsys):
    texts = {info.name: info.id for info in base.documents.documents(WORDS.index)}
    pump = base.documents.document(texts["pump.txt"]).text
    start = pump.index("Grease")
    base.questions.label(SET, "q1", texts["pump.txt"], start, len(pump), 0)
    base.questions.label(SET, "q3", texts["pump.txt"], start, len(pump), 0)
    chat = Versioned("m-2026-11", "e")  # which all passages have
    with_chat(monkeypatch, chat)
    trial = output_of(capsys, "judge", "handbook", SET, "--judge", "openai:m", "--trial", "4")
    assert chat.calls == 4
    assert (trial["relevant"], trial["irrelevant"]) == (2, 2)
    assert (trial["missed"], trial["invented"], trial["agreed"]) == (0, 2, 2)
    assert (trial["models"], trial["tokens"]) == (["m-2026-11"], 440)
    with_chat(monkeypatch, Versioned("m", "Grease"))
    wrong = base.runs.try_judge(SET, "openai:m", 20)
    assert (wrong.agreement.hits, wrong.missed, wrong.invented) == (6, 4, 2)
    assert wrong.agreement.kappa < 0
    assert base.runs.list_all() == []
    with pytest.raises(NotFound):
        base.runs.try_judge("no set", "openai:m")
    assert main(["judge", "handbook", SET, "--judge", "openai:m", "--trial", "0"]) == 2


def test_an_evaluation_has_what_is_new_judged_and_pauses_at_the_budget(
    workspace, base, monkeypatch, capsys
):
    chat = Versioned("m-1")
    with_chat(monkeypatch, chat)
    call = ["evaluate", "handbook", SET, "--judge-hits", "openai:m", "--depth", "3"]
    paused = output_of(capsys, *call, "--most", "1", code=1)
    assert chat.calls < len(hits_of(base, paused["run"]))
    run = output_of(capsys, *call)["run"]
    grades = judgements(workspace, run)
    assert {grade.judge for grade in grades} == {"openai:m"}
    assert {(grade.question_id, grade.item) for grade in grades} == hits_of(base, run)
    assert chat.calls == len(grades)
    assert main(call) == 0
    assert chat.calls == len(grades)


def test_the_wording_of_a_knowledge_base_is_what_its_judge_reads(workspace, base, monkeypatch):
    chat = Versioned("m-1")
    with_chat(monkeypatch, chat)
    run = base.runs.evaluate(SET, WORDS).run
    shipped = judged(workspace, base, run)
    assert {grade.rubric for grade in shipped} == {"relevance-1"}
    base.conversations.prompts.save(
        "judge", 'Grade how well it helps. Reply {"reason": "...", "grade": 0 to 3}'
    )
    assert base.runs.open_hits(run.id).judge == ""
    both = judged(workspace, base, run)
    own = {grade.rubric for grade in both} - {"relevance-1"}
    assert len(own) == 1
    assert len(both) == 2 * len(shipped)
    assert base.runs.open_hits(run.id).judge == "openai:m"


def hits_of(base, run_id):
    results = base.runs.results(run_id)
    return {(row.question_id, hit[0]) for row in results for hit in row.ranking[:3]}
