"""MCP servers that are commands: any tool, results that are recognised, and who may run them."""

import json
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag import (
    HttpSystem,
    InvalidInput,
    NotAllowed,
    Principal,
    ScopedWorkspace,
    Workspace,
    mcp_system,
    system_of,
)
from rag.errors import ProviderRejected, ProviderUnavailable
from rag.experiments.systems.formats.tables import ReturnedText
from rag.experiments.systems.mcp_endpoints import started
from tests.api import client, served
from tests.foreign_server import TEXTS
from tests.rooms import ROOT
from tests.workspaces import QUICK, URL, add, workspace_at

COMMAND = shlex.join([sys.executable, str(ROOT / "tests" / "foreign_server.py")])
QUESTION = "How long may leave be carried over?"


def system(tool: str, *, command: str = COMMAND, **more: Any) -> HttpSystem:
    return mcp_system("rival", command=command, tool=tool, **more)


def asked(tool: str, **more: Any) -> tuple[ReturnedText, ...]:
    with started(system(tool, **more), {"TOUCHSTONE_TOOL_KEY": "secret"}) as session:
        return session.ask(QUESTION).texts


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = workspace_at(tmp_path)
    base = made.create("manuals", QUICK)
    add(made, base, TEXTS)
    base.recipes.save(QUICK)
    base.questions.create_set("policies")
    ids = {info.name: info.id for info in base.documents.documents(QUICK.index)}
    question = base.questions.add_question("policies", QUESTION)
    base.questions.label("policies", question, ids["leave.md"], 0, None, 1)
    return made


def test_results_are_recognised_and_fetched_where_they_have_no_text():
    leave, cats = TEXTS.values()
    assert asked("find") == (
        ReturnedText(leave, 3.5, "leave.md", "leave.md"),
        ReturnedText("", None, "cats.md", "cats.md"),
    )
    assert asked("find", fetch="open:path")[1].text == cats
    assert len(asked("find", arguments={"query": "{question}", "limit": 1})) == 1
    paths = {"results": "matches", "text": "snippet", "id": "path"}
    assert asked("find", paths=paths)[0] == ReturnedText(leave, id="leave.md")
    # The headings of a text do not begin a result; those like the first one do.
    assert asked("pages") == (
        ReturnedText(leave, id="leave.md", title="Leave"),
        ReturnedText("### Purr", id="cats.md", title="Cats"),
    )
    assert [text.text for text in asked("parts")] == [leave, cats]


def test_a_command_gets_no_variable_that_is_not_named(monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "figures")
    with started(
        system("environment", env={"KEY": "TOUCHSTONE_TOOL_KEY"}), {"TOUCHSTONE_TOOL_KEY": "secret"}
    ) as session:
        (text,) = session.call("environment", {})
    environment = dict(json.loads(text))
    assert environment["KEY"] == "secret"
    assert not {"MISTRAL_API_KEY", "TOUCHSTONE_TOOL_KEY"} & environment.keys()
    with (
        pytest.raises(ProviderRejected),
        started(system("find", env={"K": "TOUCHSTONE_TOOL_X"}), {}),
    ):
        pass
    with pytest.raises(InvalidInput):
        system("find", env={"KEY": "the value itself"})


@pytest.mark.parametrize("tool", ["sleep", "chatter"])
def test_a_command_that_does_not_answer_in_time_leaves_no_process(tool):
    late = system(tool).model_copy(update={"seconds": 0.3})
    with started(late, {}) as session:
        with pytest.raises(ProviderUnavailable, match="in time"):
            session.ask(QUESTION)
        pid = session.process.pid
        os.kill(pid, 0)  # it lives
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_that_fails_says_why():
    with pytest.raises(ProviderUnavailable, match="licence"):
        asked("find", command=f"{COMMAND} --broken")
    with pytest.raises(ProviderRejected, match="cannot start"):
        asked("find", command="/nowhere/at-all")


def test_an_evaluation_starts_one_process(workspace):
    base = workspace.base("manuals")
    base.systems.add(system("find", fetch="open:path"))
    workspace.jobs.run(base.systems.start_evaluation("policies", "rival"))
    run = base.runs.list_all()[0]
    assert run.metrics["recall@5"] == run.metrics["mrr@10"] == 1.0
    assert run.system.errors == {}
    assert run.system.located == {"exact": 2}


def test_a_recipe_ranks_alike_by_a_command_at_an_address_and_here(workspace):
    """The four ways to the same search: here, by REST, by MCP over HTTP, and by a command."""
    home = workspace.settings.home
    secret, _ = workspace.access.tokens.create("parity", ["read"])
    url = workspace.settings.database_url
    variables = f"PYTHONPATH={ROOT}" + (f" {URL}={url}" if url else "")
    command = f"env {variables} {sys.executable} -m rag mcp --home {home}"
    settings = replace(workspace.settings, allow_private_urls=True)
    own = Workspace(replace(settings, tool_variables={"TOUCHSTONE_TOOL_KEY": secret}))
    base = own.base("manuals")
    with served(own) as url:
        base.systems.add(system_of("touchstone", "rest", url, "manuals", 10, "TOUCHSTONE_TOOL_KEY"))
        base.systems.add(
            system_of("mcp", "http", f"{url}/mcp", "manuals", 10, "TOUCHSTONE_TOOL_KEY")
        )
        base.systems.add(mcp_system("stdio", command=command))
        here = base.runs.evaluate("policies", QUICK).run
        for name in ("rest", "http", "stdio"):
            job = own.jobs.run(base.systems.start_evaluation("policies", name))
            parity = base.runs.parity(job.payload["run"], here.id, 5)
            assert (name, job.status, parity.overlap) == (name, "done", 1.0)
    own.close()


def test_only_administrators_run_commands(workspace):
    """Nobody who may edit a knowledge base runs programs of the server by that."""
    base = workspace.base("manuals")
    definition = system("find")
    body = {"definition": definition.model_dump(mode="json"), "name": "rival"}
    address = "/api/v1/knowledge-bases/manuals/systems"
    with client(workspace, "read", "write") as api:
        assert api.post(address, json=body).status_code == 403
    base.systems.add(definition)
    with client(workspace, "read", "write", "experiment") as api:
        tried = api.post(f"{address}/rival/test", json={"question": QUESTION})
        assert tried.status_code == 403
        started_one = api.post(
            "/api/v1/knowledge-bases/manuals/evaluations",
            json={"set": "policies", "system": "rival"},
        )
        assert started_one.status_code == 403
    _, row = workspace.access.tokens.create("editor", ["read", "write"])
    view = ScopedWorkspace(workspace, Principal(via="api", token=row))
    for act in (
        lambda: view.base("manuals").systems.test("rival", QUESTION),
        lambda: view.base("manuals").systems.gate("policies", "rival", {"recall@5": 0.5}),
    ):
        with pytest.raises(NotAllowed):
            act()
    with client(workspace, "read", "write", "admin") as api:
        tried = api.post(f"{address}/rival/test", json={"question": QUESTION})
        assert (tried.status_code, tried.json()["located"]) == (200, 2)


def test_a_system_is_at_an_address_or_a_command():
    with pytest.raises(InvalidInput):
        mcp_system("rival", address="https://x.example/mcp", command="server")
    with pytest.raises(InvalidInput):
        mcp_system("rival")
    with pytest.raises(InvalidInput):
        HttpSystem.parse({**system("find").model_dump(), "protocol": "http"})
