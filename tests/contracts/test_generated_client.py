"""A client that a public generator makes from the OpenAPI document works against the API."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag import SCOPES, Workspace
from tests.api import client, served
from tests.workspaces import QUICK, workspace_at

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PACKAGE = "generated_touchstone"
# The generator names no media type that it has no parser for.
CONFIG = """
content_type_overrides:
  "*/*": application/octet-stream
  application/jsonl: text/plain
post_hooks: []
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_at(tmp_path / "home")


@pytest.fixture
def generated(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The folder of the generated package, which can be imported."""
    document, config = tmp_path / "openapi.json", tmp_path / "config.yaml"
    document.write_text(json.dumps(client(workspace).get("/api/v1/openapi.json").json()))
    config.write_text(CONFIG)
    folder = tmp_path / "clients" / PACKAGE
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    options = ["--path", document, "--config", config, "--output-path", folder]
    made = subprocess.run(
        [*command, *options, "--fail-on-warning"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    monkeypatch.syspath_prepend(folder.parent)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def test_every_operation_is_a_function_of_the_client(generated):
    document = json.loads((generated.parents[1] / "openapi.json").read_text())
    names = [
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
    ]
    functions = [path.stem for path in generated.glob("api/*/*.py") if path.stem != "__init__"]
    assert sorted(functions) == sorted(names)


def test_a_generated_client_fills_searches_and_measures_a_knowledge_base(generated, workspace):
    workspace.create("manuals", QUICK)
    secret, _ = workspace.access.tokens.create("client", SCOPES)
    models = importlib.import_module(f"{PACKAGE}.models")
    clients = importlib.import_module(f"{PACKAGE}.client")

    with served(workspace) as address:
        caller = clients.AuthenticatedClient(
            f"{address}/api", token=secret, raise_on_unexpected_status=True
        )

        def call(name: str, *path: object, **arguments: Any) -> Any:
            module = importlib.import_module(f"{PACKAGE}.api.{name}")
            return module.sync(*path, client=caller, **arguments)

        page = call("knowledge_bases.list_knowledge_bases")
        assert isinstance(page, models.PageKnowledgeBaseData)
        assert [(base.name, base.documents) for base in page.items] == [("manuals", 0)]

        text = models.PastedText(title="Leave", text="Unused leave lapses on 31 March.")
        job = call("documents.add_text", "manuals", body=text)
        assert (type(job), job.status) == (models.JobData, "queued")
        workspace.jobs.run(job.id)
        done = call("jobs.get_job", job.id)
        assert (done.status, done.items[0].status) == ("done", "added")
        assert done.finished >= done.created

        question = "When does unused leave lapse?"
        trace = call(
            "search.search_passages", "manuals", body=models.SearchRequest(question=question)
        )
        assert isinstance(trace, models.TraceData)
        assert [hit.text for hit in trace.hits] == ["Unused leave lapses on 31 March."]
        assert trace.hits[0].parts.additional_properties["bm25"] > 0
        body = models.ExplainRequest(question=question, find="31 March")
        explained = call("search.explain_passage", "manuals", body=body)
        assert (type(explained), explained.found[0].rank) == (models.FindingsData, 1)
        answer = call("answers.ask_question", "manuals", body=models.AskRequest(question=question))
        assert (answer.mode, answer.citations[0].document) == ("quotes", "Leave")

        questions = call(
            "question_sets.create_question_set", "manuals", body=models.NewSet(name="policies")
        )
        body = models.NewQuestion(question=question)
        added = call("question_sets.add_question", "manuals", questions.id, body=body)
        document = call("documents.list_documents", "manuals").items[0]
        body = models.NewLabel(question_id=added.id, document_id=document.id, grade=1)
        label = call("labels.add_label", "manuals", "policies", body=body)
        assert (label.grade, label.end) == (1, None)
        body = models.EvaluateRequest(set_="policies")
        job = call("runs.start_evaluation", "manuals", body=body)
        workspace.jobs.run(job.id)
        run = call("runs.get_run", "manuals", call("jobs.get_job", job.id).run)
        assert run.metrics.additional_properties["recall@10"] == 1.0
        assert run.recipe_fields.index.embedder == "fake"

        problem = call("knowledge_bases.get_knowledge_base", "nowhere")
        assert (type(problem), problem.status) == (models.Problem, 404)
        assert problem.hint == "There are: manuals."
        exported = call("question_sets.export_question_set", "manuals", "policies")
        assert json.loads(exported.splitlines()[0])["text"] == question
