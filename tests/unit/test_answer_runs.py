"""Evaluations with answers, and judges of hits: killed, paused, broken off, and gone on with."""

import json

import pytest

from pages.components.runs.table import metric_names
from rag import Budget, InvalidInput, KnowledgeBase, Recipe, Workspace
from tests.answer_runs import ASKED, ASKING, COUNT, Chat, evaluated, judgements, with_chat
from tests.runs import QUESTIONS, SET, WORDS
from tests.workspaces import add, workspace_at


@pytest.fixture
def workspace(parts: tuple[Workspace, KnowledgeBase]) -> Workspace:
    return parts[0]


def test_quotes_are_measured_without_a_model(workspace, base):
    message = evaluated(workspace, base, WORDS)
    (run,) = base.runs.list_all()
    assert message == f"Run {run.id} is stored."
    assert run.metrics["groundedness"] == 1.0
    assert "ndcg@10" in run.metrics
    answers = base.runs.answers(run.id)
    for result in base.runs.results(run.id):
        stored = answers[result.question_id].metrics
        assert {name: result.metrics[name] for name in stored} == stored
    assert run.metrics["groundedness"] in base.runs.intervals(run.id)["groundedness"]
    assert run.environment["answers"].startswith("4 answered, 1 refused; on average search ")


@pytest.mark.parametrize("answerable", [True, False])
def test_doubtful_answers_are_counted_apart(workspace, base, answerable):
    """Whether their questions have an answer or not."""
    near = "What may a hotel in Paris cost?"
    assert base.ask(near, WORDS).answer.state == "doubtful"
    label = {"document": "travel.txt", "quote": "Hotels may cost 140 euros a night."}
    rows = [
        {"id": "right", "text": "What may a hotel cost?", "evidence": [label]},
        {"id": "near", "text": near, "answerable": answerable, "evidence": [label] * answerable},
        {"id": "none", "text": "Who won the cup in 1954?", "answerable": False},
    ]
    base.questions.import_file("told", "told.jsonl", "\n".join(map(json.dumps, rows)))
    assert workspace.jobs.run(base.runs.start_answers("told", WORDS)).status == "done"
    (run,) = base.runs.list_all()
    assert run.environment["answers"].startswith("1 answered, 1 doubtful, 1 refused; ")


def test_an_expected_answer_is_scored_without_a_label(workspace, base):
    rows = [
        {"id": "right", "text": "What may a hotel cost?", "answer": "140 euros"},
        {"id": "wrong", "text": "Which class do we ride in?", "answer": "first class on Sundays"},
    ]
    asked = "\n".join([QUESTIONS, *map(json.dumps, rows)])
    base.questions.import_file(SET, "more.jsonl", asked)
    plain = base.runs.evaluate(SET, WORDS).run
    evaluated(workspace, base, WORDS)
    run = base.runs.list_all()[0]
    results = {item.question_id: item.metrics for item in base.runs.results(run.id)}
    measured = [results[name]["answer_containment"] for name in ("right", "wrong")]
    assert (measured, run.metrics["answer_containment"]) == ([1.0, 0.0], 0.5)
    assert "ndcg@10" not in results["right"]
    assert run.metrics["ndcg@10"] == plain.metrics["ndcg@10"]
    assert base.runs.failing_questions([run.id]) >= {"wrong"}
    assert "right" not in base.runs.failing_questions([run.id])
    assert base.runs.differences(run.id, plain.id).comparable
    assert all(row.comparable for row in base.runs.leaderboard(SET))


def test_a_set_of_expected_answers_alone_is_scored(workspace, base):
    row = {"id": "right", "text": "What may a hotel cost?", "answer": "140 euros"}
    base.questions.import_file(SET, "answers.jsonl", json.dumps(row))
    evaluated(workspace, base, WORDS)
    (run,) = base.runs.list_all()
    assert (run.metrics["answer_containment"], "ndcg@10" in run.metrics) == (1.0, False)
    with pytest.raises(InvalidInput):
        base.runs.evaluate(SET, WORDS)


def test_doubts_are_measured_by_the_answers_of_the_job(workspace, base):
    evaluated(workspace, base, WORDS)
    (run,) = base.runs.list_all()
    answers = base.runs.answers(run.id)
    doubts = {name: answer.metrics.get("correct_doubt") for name, answer in answers.items()}
    (unanswerable,) = (name for name, value in doubts.items() if value is not None)
    assert answers[unanswerable].status == "refused"
    assert run.metrics["correct_doubt"] == doubts[unanswerable] == 1.0
    # Answers that an earlier version stored have no such metric: it is measured by quotes.
    other = base.runs.evaluate(SET, WORDS, beside={unanswerable: {"groundedness": 0.5}})
    assert other.run.metrics["correct_doubt"] == 1.0
    assert other.run.metrics["groundedness"] == 0.5


def test_a_run_knows_its_prompts_and_a_comparison_says_when_they_differ(
    workspace, base, monkeypatch
):
    with_chat(monkeypatch, Chat())
    prompt = ASKING.answer.mode
    shipped = base.conversations.prompts.wording().version(prompt)
    evaluated(workspace, base, ASKING)
    base.conversations.prompts.save(
        prompt, base.conversations.prompts.wording().text(prompt) + "Be brief."
    )
    edited = base.conversations.prompts.wording().version(prompt)
    assert edited != shipped
    evaluated(workspace, base, ASKING, budget=Budget(calls=2))
    base.conversations.prompts.reset(prompt)
    evaluated(workspace, base, ASKING)  # goes on in another wording
    evaluated(workspace, base, WORDS)
    quotes, mixed, first = base.runs.list_all()
    both = " ".join(sorted([shipped, edited]))
    assert [each.prompts for each in (quotes, mixed, first)] == ["", both, shipped]
    told = base.runs.differences(mixed.id, first.id).sentences
    assert told == (f"The prompts of the answers differ: {shipped}, then {both}.",)
    assert base.runs.differences(quotes.id, first.id).sentences == ()


def test_a_provider_that_goes_away_loses_nothing(workspace, base, monkeypatch):
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    chat = Chat(fails_from=2, fails_until=3)
    with_chat(monkeypatch, chat)
    said = evaluated(workspace, base, ASKING)
    assert said.startswith(
        f"Paused: {COUNT - 1} of {COUNT} questions are answered. 1 failed: The server is"
    )
    evaluated(workspace, base, ASKING)
    assert chat.calls == ASKED + 1  # the one that failed, again
    (run,) = base.runs.list_all()
    assert run.environment["answers"].startswith(f"0 answered, {COUNT - 1} doubtful, 1 refused; ")


def test_a_provider_that_stays_away_is_not_asked_for_every_question(workspace, base, monkeypatch):
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    chat = Chat(fails_from=1)
    with_chat(monkeypatch, chat)
    said = evaluated(workspace, base, ASKING)
    assert chat.calls == 3
    assert said.startswith("Paused: 0 of ")
    assert base.runs.list_all() == []


def test_hits_are_judged_once_each_and_held_against_a_sample_of_people(
    workspace, base, monkeypatch
):
    run = base.runs.evaluate(SET, WORDS).run
    chat = Chat()
    with_chat(monkeypatch, chat)
    job = base.runs.start_judging(run.id, "ollama:judge", budget=Budget(calls=2))
    assert workspace.jobs.run(job).message.startswith("Paused at the budget: 2 of ")
    job = base.runs.start_judging(run.id, "ollama:judge")
    assert workspace.jobs.run(job).message.endswith("hits are judged.")
    hits = sum(len(each.ranking[:10]) for each in base.runs.results(run.id))
    assert chat.calls == hits
    stored = judgements(workspace, run.id)
    assert len(stored) == hits
    assert {(each.judge, each.rubric, each.probability, each.grade) for each in stored} == {
        ("ollama:judge", "relevance-1", 1.0, 3)
    }
    queue = base.questions.judging_queue(run.id, sampled=True)
    before = base.runs.open_hits(run.id)
    assert (before.pool, before.sampled, before.graded) == (len(queue), 0, len(queue))
    for place, hit in enumerate(queue[:10]):
        spot = hit.document_id, hit.start, hit.end
        base.questions.label(SET, hit.question_id, *spot, place % 2, hit.origin)
    found = base.runs.open_hits(run.id)
    assert (found.pool, found.sampled) == (before.pool, min(len(queue), 10))
    assert found.questions == ASKED
    assert found.agreement.agreed == found.sampled // 2


def test_an_answer_whose_sources_disagree_is_told_apart(home):
    workspace = workspace_at(home)
    recipe = Recipe().with_fields({"index.embedder": "wordllama"})
    base = workspace.create("fees", recipe)
    fee = "The fee of a course is {} euros, as the board decided."
    add(workspace, base, {f"fees-{year}.md": fee.format(year - 1000) for year in (2024, 2026)})
    label = {"document": "fees-2026.md", "quote": fee.format(1026)}
    lines = [
        {"id": "fee", "text": "How much is the fee of a course?", "evidence": [label]},
        {"id": "who", "text": "Who decided on the fee?", "evidence": [label]},
    ]
    base.questions.import_file("fees", "x.jsonl", "\n".join(map(json.dumps, lines)))
    states = {row["id"]: base.ask(row["text"], recipe).answer.state for row in lines}
    assert states["fee"] == "conflicting"
    assert workspace.jobs.run(base.runs.start_answers("fees", recipe)).status == "done"
    (run,) = base.runs.list_all()
    told = {
        row.question_id: row.metrics["conflicting_sources"] for row in base.runs.results(run.id)
    }
    assert told == {name: float(state == "conflicting") for name, state in states.items()}
    assert run.metrics["conflicting_sources"] == sum(told.values()) / 2
    assert workspace.jobs.run(base.runs.start_answers("fees", recipe)).status == "done"
    second = base.runs.list_all()[0]
    (compared,) = base.runs.compare([second.id], run.id, "conflicting_sources", None)
    assert compared.figures.verdict == "incomparable"
    rows = base.runs.leaderboard("fees", "conflicting_sources")
    assert [row.place for row in rows] == [None, None]
    assert "conflicting_sources" not in metric_names([run, second]).values()
