"""Answers that are measured by the API, as ``evaluate --answers`` measures them."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rag import Workspace
from tests.answer_runs import ASKED, ASKING, COUNT, Chat, with_chat
from tests.api import client
from tests.contracts.test_api_access import BASES, problem
from tests.runs import SET, WORDS, handbook

BASE = f"{BASES}/handbook"
RECIPE = ASKING.model_dump(mode="json")


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return handbook(home)[0]


def evaluated(api: TestClient, workspace: Workspace, **asked: Any) -> tuple[str, str]:
    """Has a set evaluated; returns the id of the run, and what the job says."""
    queued = api.post(f"{BASE}/evaluations", json={"set": SET, **asked})
    assert queued.status_code == 202, queued.text
    assert queued.json()["kind"] == ("evaluate-answers" if asked.get("answers") else "evaluate")
    done = workspace.jobs.run(queued.json()["id"])
    assert done.status == "done", done.message
    return queued.json()["run"], done.message


def test_quotes_are_measured_and_stand_in_the_run(api, workspace):
    run_id, _ = evaluated(api, workspace, answers=True)
    base = workspace.base("handbook")
    run = api.get(f"{BASE}/runs/{run_id}").json()
    assert run["metrics"] == base.runs.get(run_id).metrics
    assert run["metrics"]["groundedness"] == 1.0
    intervals = base.runs.intervals(run_id)
    assert run["intervals"]["groundedness"] == list(intervals["groundedness"])
    spent = run["answers_spent"]
    assert (spent["tokens"], spent["judge_tokens"]) == (0, 0)
    given = base.runs.answers(run_id)
    items = api.get(f"{BASE}/runs/{run_id}/questions").json()["items"]
    assert {each["id"]: each["answer"] for each in items} == {
        name: asdict(answer) for name, answer in given.items()
    }
    (leave,) = (each["answer"] for each in items if each["id"] == "q1")
    assert leave["status"] == "complete"
    assert "30 June" in leave["text"]


def test_a_judge_grades_and_a_budget_pauses(api, workspace, monkeypatch):
    chat = Chat()
    with_chat(monkeypatch, chat)
    monkeypatch.setattr("rag.evaluation.judges._grade", lambda *_: (1, "so"))
    asked = {"recipe": RECIPE, "answers": True, "judge": "ollama:judge"}
    first, message = evaluated(api, workspace, **asked, most=2)
    problem(api.get(f"{BASE}/runs/{first}"), 404)
    again, message = evaluated(api, workspace, **asked)
    assert (again, message) == (first, f"Run {first} is stored.")
    run = api.get(f"{BASE}/runs/{first}").json()
    assert run["metrics"]["judged_groundedness"] == 1.0
    spent = run["answers_spent"]
    assert (spent["tokens"], spent["judge_tokens"]) == (110 * ASKED, 110 * ASKED)
    assert spent["cost"] == {"known": {"USD": 0.0}, "not_known": COUNT - ASKED}  # it is free


def test_without_answers_there_are_none(api, workspace):
    run_id, _ = evaluated(api, workspace)
    assert api.get(f"{BASE}/runs/{run_id}").json()["answers_spent"] is None
    items = api.get(f"{BASE}/runs/{run_id}/questions").json()["items"]
    assert [each["answer"] for each in items] == [None] * COUNT


def test_what_makes_no_sense_and_what_no_token_allows_is_refused(api, workspace):
    address, asked = f"{BASE}/evaluations", {"set": SET, "answers": True}
    problem(api.post(address, json={"set": SET, "judge": "ollama:judge"}), 422)
    problem(api.post(address, json={"set": SET, "most": 3}), 422)
    problem(api.post(address, json=asked | {"most": 0}), 422)
    problem(api.post(address, json=asked | {"judge": "ollama:\0"}), 422)
    told = problem(api.post(address, json=asked | {"judge": "extractive"}), 422)
    assert told["detail"] == "'extractive' is not a language model, so it cannot judge."
    writes = client(workspace, "write")
    told = problem(writes.post(address, json=asked), 403)
    assert told["detail"] == "This token lacks the scope 'ask'."
    assert writes.post(address, json={"set": SET}).status_code == 202
    assert workspace.base("handbook").runs.latest_evaluation(SET, WORDS) is not None
