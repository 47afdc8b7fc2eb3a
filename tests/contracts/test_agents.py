"""Agents that tune retrieval over MCP: two stories, what stays unseen, and what is recorded."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from rag import KnowledgeBase, Workspace
from tests.agents import WHY, call, tune
from tests.answer_runs import Chat, with_chat
from tests.api import served
from tests.rooms import ROOT
from tests.workspaces import QUICK, add, fill_home, surroundings, workspace_at

SCOPES = ("read", "experiment", "label", "recipe")
PARTS = ("flow", "weight", "torque", "noise")
IDEAS = [{"search.mode": "lexical"}, {"search.mode": "hybrid"}, {"search.top_k": 4}]
# Prose repeats the words of questions, so a search by vectors alone ranks it before the tables.
PROSE = "Which {} the pump in the table has is said by the table, and in which units it is."
BLIND = QUICK.with_fields({"search.mode": "dense", "search.refuse": "off"})

FEW = [
    f'{{"id": "x{n}", "text": "Which {PARTS[n % 4]} has the pump X{n:02} in the table?", '
    f'"answer": "{n * 7 + 11} units", "evidence": [{{"document": "pump-{n}.md"}}]}}'
    for n in range(4)
]

Connect = Callable[..., AbstractAsyncContextManager[Any]]


def tables(workspace: Workspace, mode: str) -> KnowledgeBase:
    """The base with tables; its saved recipe searches in some mode."""
    base = workspace.base("pumps")
    base.recipes.save(BLIND.with_fields({"search.mode": mode}))
    return base


def _prepare(home: Path) -> None:
    """Tables of pumps, one in each document, with a question for each, and prose about them."""
    workspace = workspace_at(home)
    base = workspace.create("pumps", BLIND)
    rows = {f"pump-{n}.md": f"| X{n:02} {PARTS[n % 4]} | {n * 7 + 11} units |" for n in range(80)}
    prose = {
        f"about-{part}-{n}.md": f"{PROSE.format(part)} See part {n}."
        for part in PARTS
        for n in range(6)
    }
    add(workspace, base, rows | prose)
    base.questions.create_set("tables")
    ids = {info.name: info.id for info in base.documents.documents(BLIND.index)}
    for n in range(80):
        question = base.questions.add_question(
            "tables", f"Which {PARTS[n % 4]} has the pump X{n:02} in the table?"
        )
        end = len(rows[f"pump-{n}.md"])
        base.questions.label("tables", question, ids[f"pump-{n}.md"], 0, end, 1)
    workspace.close()


@asynccontextmanager
async def over_http(address: str, secret: str, **_: Any) -> AsyncIterator[Any]:
    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        transport = streamable_http_client(f"{address}/mcp", http_client=http)
        async with Client(transport) as client:
            yield client


@asynccontextmanager
async def over_stdio(home: Path, secret: str) -> AsyncIterator[Any]:
    command = ["-m", "rag", "mcp", "--home", str(home)]
    there = surroundings(home, TOUCHSTONE_API_TOKEN=secret)
    async with Client(
        StdioServerParameters(command=sys.executable, args=command, cwd=str(ROOT), env=there)
    ) as client:
        yield client


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    fill_home(tmp_path, _prepare)
    return workspace_at(tmp_path)


def visit(
    workspace: Workspace, transport: str, work: Any, scopes: Any = SCOPES, **more: Any
) -> Any:
    """The result of ``work`` with a client over a transport."""
    secret, _ = workspace.access.tokens.create("tuner", scopes, **more)

    async def use(connect: Connect) -> Any:
        async with connect() as client:
            return await work(client)

    if transport == "stdio":
        return anyio.run(use, partial(over_stdio, workspace.settings.home, secret))
    with served(workspace) as address:
        return anyio.run(use, partial(over_http, address, secret))


# test_mcp.py speaks over standard input and output
@pytest.mark.parametrize("transport", ["http", pytest.param("stdio", marks=pytest.mark.thorough)])
def test_from_poor_recall_on_tables_to_a_saved_recipe_that_gains_on_unseen_questions(
    workspace, transport
):
    base = tables(workspace, "dense")
    before = base.recipe()
    report = visit(workspace, transport, lambda client: tune(client, IDEAS))
    decided = report["decided"]
    assert decided["verdict"] == "better"
    assert next(iter(decided)) == "sentence"
    assert decided["part"] == "held-out"
    assert decided["questions"] == len(base.runs.tuning_part("tables").held_out)
    assert decided["difference"] > 0.5
    assert base.recipe().hash == report["saved"] != before.hash
    # The gain is there on all questions, by the ordinary evaluation.
    old, new = (base.runs.evaluate("tables", recipe).run for recipe in (before, base.recipe()))
    assert new.metrics["recall@5"] > old.metrics["recall@5"] + 0.5
    calls = base.runs.agent_calls()
    assert calls[0].tool == "save_recipe"
    assert {entry.agent for entry in calls} == {"tuner"}
    assert all(entry.reason for entry in calls if entry.tool != "list_questions")
    kinds = [trial.kind for trial in base.questions.tried("tables")]
    assert kinds.count("trial") >= len(IDEAS)
    assert kinds.count("comparison") == 1


def test_no_change_is_justified(workspace):
    base = tables(workspace, "lexical")
    before = base.recipe()
    ideas = [{"search.mode": "dense"}, {"search.k1": 0.9}, {"search.top_k": 4}, {"search.b": 0.2}]
    report = visit(workspace, "http", lambda client: tune(client, ideas))
    assert "no change is justified" in report["verdict"].lower()
    assert report["saved"] is None
    assert base.recipe() == before


def test_held_out_questions_are_unseen_until_they_are_asked_for_with_a_reason(workspace):
    base = tables(workspace, "lexical")
    held_out = set(base.runs.tuning_part("tables").held_out)

    async def work(client: Any) -> None:
        seen = await call(client, "list_questions", limit=200)
        assert held_out.isdisjoint(question["id"] for question in seen["questions"])
        refused = await client.call_tool("list_questions", {"held_out": True})
        assert refused.is_error
        asked = {"held_out": True, "reason": "To see whether the labels are right.", "limit": 200}
        unseen = await call(client, "list_questions", **asked)
        assert {question["id"] for question in unseen["questions"]} == held_out
        run = await call(client, "evaluate", reason=WHY)
        assert held_out.isdisjoint(question["id"] for question in run["worst"])
        assert run["questions"] == 80 - len(held_out)

    visit(workspace, "http", work)
    asked = [entry for entry in base.runs.agent_calls() if entry.arguments.get("held_out")]
    assert asked[0].reason == "To see whether the labels are right."
    assert asked[0].outcome == ""


def test_each_pair_of_runs_counts_once_and_later_ones_need_more(workspace):
    tables(workspace, "lexical")

    async def work(client: Any) -> list[float]:
        base = await call(client, "evaluate", reason=WHY)
        needed = []
        for fields in ({"search.mode": "dense"}, {"search.k1": 0.1, "search.b": 1.0}):
            run = await call(client, "evaluate", fields=fields, reason=WHY)
            for _ in range(2):
                pair = {"run": run["run"], "baseline": base["run"], "held_out": True}
                compared = await call(client, "compare_runs", **pair, metric="mrr@10", reason=WHY)
                needed.append(compared["needed_p"])
                assert compared["tokens"] == run["tokens"] > 0
                assert compared["baseline_tokens"] == base["tokens"] > 0
        return needed

    first, again, second, _ = visit(workspace, "http", work)
    assert first == again == 0.02
    assert second in (0.015, 0.02)  # 0.02 where no figure moved


def test_progress_is_told_while_a_job_works(workspace):
    tables(workspace, "lexical")
    steps = []

    async def work(client: Any) -> None:
        async def on_progress(done: float, total: float | None, message: str | None) -> None:
            steps.append((done, total, message))

        given = {"reason": WHY, "grid": {"search.k1": [0.5, 0.9], "search.top_k": [3, 5]}}
        result = await client.call_tool("sweep", given, progress_callback=on_progress)
        assert not result.is_error, result.content
        assert result.structured_content["part"] == "held-out"
        assert result.structured_content["tried"] >= 1

    visit(workspace, "http", work)
    assert steps[-1][:2] == (1.0, 1.0)
    assert "combinations" in steps[-1][2]


def test_a_budget_ends_the_calls_of_a_token(workspace):
    tables(workspace, "lexical")

    async def work(client: Any) -> list[bool]:
        return [(await client.call_tool("get_recipe", {})).is_error for _ in range(4)]

    refused = visit(workspace, "http", work, budget={"calls": 2})
    assert refused == [False, False, True, True]


def test_nothing_is_saved_or_measured_without_its_scope(workspace):
    base = tables(workspace, "lexical")
    before = base.recipe()

    async def work(client: Any) -> list[bool]:
        tries = [
            ("save_recipe", {"fields": {"search.top_k": 9}, "reason": WHY}),
            ("evaluate", {"reason": WHY}),
            ("add_question", {"question": "Which?", "reason": WHY}),
        ]
        return [(await client.call_tool(name, given)).is_error for name, given in tries]

    assert visit(workspace, "http", work, scopes=("read", "ask", "write")) == [True] * 3
    assert visit(workspace, "http", work, scopes=("read", "experiment"))[1] is False
    assert base.recipe() == before
    assert [row.name for row in base.questions.list_all()] == ["tables"]


def test_questions_and_labels_of_a_model_never_mix_with_those_of_people(workspace):
    base = tables(workspace, "lexical")
    version = base.questions.named("tables").version

    async def work(client: Any) -> None:
        given = {"question": "How heavy is the X01?", "reason": WHY}
        added = await call(client, "add_question", **given)
        quote = {"document": "pump-1.md", "quote": "18 units", "question_id": added["id"]}
        await call(client, "label", **quote, reason=WHY)
        missing = await client.call_tool(
            "label", {**quote, "quote": "19 units", "reason": "An answer that is not there."}
        )
        assert missing.is_error
        person = base.questions.usable("tables")[0].id
        refused = await client.call_tool("label", {**quote, "question_id": person, "reason": WHY})
        assert refused.is_error

    visit(workspace, "http", work)
    assert base.questions.named("tables").version == version
    (question,) = base.questions.labelled("tables by models")
    assert question.origin == question.labels[0].origin == "model (tuner)"


def test_answers_are_measured_with_the_scope_to_ask_and_within_the_money_of_a_token(
    workspace, monkeypatch
):
    base = tables(workspace, "lexical")
    base.questions.import_file("tables", "few.jsonl", "\n".join(FEW))

    async def measure(client: Any) -> None:
        tuned = await call(client, "evaluate", answers=True, reason=WHY)
        assert len(base.runs.answers(tuned["run"])) == len(FEW)
        tuning = base.runs.tuning_part("tables").tuning
        for name in ("answer_containment", "correct_decision"):
            values = [
                row.metrics[name]
                for row in base.runs.results(tuned["run"])
                if row.question_id in tuning
            ]
            assert tuned["metrics"][name] == fmean(values)

    visit(workspace, "http", measure)
    with_chat(monkeypatch, Chat())
    monkeypatch.setattr("rag.experiments.runs.quality.model_calls.AT_ONCE", 1)
    priced = {"answer.provider": "openai", "answer.model": "gpt-4o-mini"}
    base.recipes.save(base.recipe().with_fields(priced))

    async def refused(client: Any) -> list[str]:
        arguments = {"answers": True, "reason": WHY}
        results = [await client.call_tool("evaluate", arguments) for _ in range(2)]
        assert all(result.is_error for result in results)
        return [result.content[0].text for result in results]

    assert all("'ask'" in text for text in visit(workspace, "http", refused))
    before = len(base.runs.agent_calls())
    budget = {"scopes": (*SCOPES, "ask"), "budget": {"money": 1e-9}}
    paused, spent = visit(workspace, "http", refused, **budget)
    assert "budget" in paused.lower()
    assert "money" in spent
    money = [entry.money for entry in base.runs.agent_calls()[: -before or None]]
    assert sum(money) > 0


def test_gates_and_proposals(workspace):
    base, waiting = tables(workspace, "lexical"), list[int]()

    async def work(client: Any) -> None:
        passed = await call(client, "gate", minimums={"recall@5": 0.5}, reason=WHY)
        assert passed["outcome"] == "passed"
        failed = await call(
            client,
            "gate",
            minimums={"recall@5": 0.9},
            fields={"search.mode": "dense"},
            reason=WHY,
        )
        assert failed["outcome"] == "failed"
        assert len(failed["failures"]) == 1
        proposed = await call(client, "propose_questions", number=3, reason=WHY)
        waiting.append(int(proposed["sentence"].split()[0]))

    visit(workspace, "http", work)
    assert len(base.questions.proposals("tables")) == waiting[0] > 0
