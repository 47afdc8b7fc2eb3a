"""Systems under test: behind a real local server, and searches of a base without an index."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rag import (
    BlockedAddress,
    HttpSystem,
    InvalidInput,
    KnowledgeBase,
    ProviderUnavailable,
    Workspace,
    local_system,
    network,
    system_of,
)
from rag.errors import ProviderMisbehaved
from rag.experiments.systems.endpoints import ask
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.network import resolve
from rag.providers import http_tools
from tests.servers import Reply, scripted
from tests.verbs import output_of
from tests.workspaces import QUICK, add, workspace_at

ANSWERS: dict[str, Any] = {
    "dify-external": {
        "records": [
            {"content": "Leave lapses.", "score": 0.5, "title": "leave.md", "metadata": None},
            {"content": "Ask first.", "score": 0.25, "title": "ask.md"},
        ]
    },
    "dify-dataset": {
        "records": [
            {
                "score": 0.5,
                "segment": {"content": "Leave lapses.", "document": {"name": "leave.md"}},
            },
            {"score": 0.25, "segment": {"content": "Ask first.", "document": {"name": "ask.md"}}},
        ]
    },
    "openai": {
        "data": [
            {
                "filename": "leave.md",
                "score": 0.5,
                "content": [{"type": "text", "text": "Leave lapses."}],
            },
            {
                "filename": "ask.md",
                "score": 0.25,
                "content": [{"type": "image"}, {"type": "text", "text": "Ask first."}],
            },
        ]
    },
    "ragflow": {
        "code": 0,
        "data": {
            "chunks": [
                {"content": "Leave lapses.", "similarity": 0.5, "document_keyword": "leave.md"},
                {"content": "Ask first.", "similarity": 0.25, "document_keyword": "ask.md"},
            ]
        },
    },
}
REQUESTS = {
    "dify-external": (
        "/retrieval",
        {
            "knowledge_id": "kb",
            "query": "How long?",
            "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
        },
    ),
    "dify-dataset": ("/v1/datasets/kb/retrieve", {"query": "How long?"}),
    "openai": ("/vector_stores/kb/search", {"query": "How long?", "max_num_results": 5}),
    "ragflow": (
        "/api/v1/retrieval",
        {"question": "How long?", "dataset_ids": ["kb"], "page_size": 5},
    ),
}


@pytest.mark.parametrize("form", list(ANSWERS))
def test_each_form_sends_its_request_and_reads_the_same_results(form):
    with scripted(Reply(body=json.dumps(ANSWERS[form]))) as server:
        system = system_of(form, "rival", server.url + "/", "kb", 5, "TOUCHSTONE_TOOL_RIVAL")
        variables = {"TOUCHSTONE_TOOL_RIVAL": "s3cret"}
        returned = ask(system, "How long?", variables, allow_private=True)
    assert returned == Returned(
        "How long?",
        (
            ReturnedText("Leave lapses.", 0.5, title="leave.md"),
            ReturnedText("Ask first.", 0.25, title="ask.md"),
        ),
    )
    assert (server.paths[0], server.requests[0]) == REQUESTS[form]
    assert server.headers[0]["authorization"] == "Bearer s3cret"


def test_an_unknown_form_names_the_known_ones():
    with pytest.raises(InvalidInput) as caught:
        system_of("difi", "rival", "https://x.example", "kb")
    assert caught.value.hint == "Use dify-external, dify-dataset, openai, ragflow, touchstone, mcp."


def asked(reply: Reply, **fields: Any) -> tuple[ReturnedText, ...]:
    with scripted(reply) as server:
        definition = {"name": "rival", "url": f"{server.url}?q={{question}}", "score": "s"}
        system = HttpSystem.parse({**definition, "id": "id", **fields})
        return ask(system, "q", {}, allow_private=True).texts


def test_results_keep_their_rank_without_a_text_and_when_they_repeat():
    hits = [{"text": "One"}, {"id": 7}, {"text": "One"}, None, {"text": {"no": 1}}]
    texts = asked(Reply(body=json.dumps(hits)))
    assert [item.text for item in texts] == ["One", "", "One", "", ""]
    assert texts[1].id == "7"


def test_scores_that_are_no_finite_numbers_are_left_out():
    hits = [{"text": "x", "s": s} for s in (math.nan, -math.inf, "0.5", True, None, [1])]
    texts = asked(Reply(body=json.dumps(hits)))
    assert [item.score for item in texts] == [None, None, 0.5, None, None, None]


def test_ten_thousand_results_are_cut_and_long_texts_stay_whole():
    hits = [{"text": "x" * 20_000}] + [{"text": str(number)} for number in range(10_000)]
    texts = asked(Reply(body=json.dumps(hits)))
    assert (len(texts), len(texts[0].text), texts[99].text) == (100, 20_000, "98")


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (Reply(body="{oops"), ProviderMisbehaved, "The system rival did not answer with JSON."),
        (Reply(body="[" * 100_000), ProviderMisbehaved, "did not answer with JSON"),
        (Reply(body='{"hits": 1}'), ProviderMisbehaved, "results at its top. It has: hits."),
        (Reply(body="<html>", content_type="text/html"), ProviderMisbehaved, "instead of JSON"),
        (Reply(body="[]", delay=1.0), ProviderUnavailable, "did not answer within 0.3 s"),
        (Reply(503), ProviderUnavailable, "The system rival answers 503"),
    ],
)
def test_an_endpoint_that_misbehaves_is_described(reply, kind, message):
    with pytest.raises(kind) as caught:
        asked(reply, seconds=0.3 if reply.delay else 10)
    assert message in caught.value.message


def test_a_huge_answer_is_refused(monkeypatch):
    monkeypatch.setattr(http_tools, "MOST_BYTES", 1_000)
    with pytest.raises(ProviderMisbehaved, match="The response of the system rival is larger"):
        asked(Reply(body=json.dumps([{"text": "x" * 5_000}])))


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None)]
)
def test_the_wait_of_a_busy_endpoint_is_known(header, seconds):
    with pytest.raises(ProviderUnavailable) as caught:
        asked(Reply(429, headers={"Retry-After": header}))
    assert caught.value.retry_after == seconds


def test_a_redirect_into_the_private_network_is_refused(monkeypatch):
    def public(host: str, port: int, *, allow_private: bool) -> list[str]:
        if host == "public.example":
            return ["127.0.0.1"]
        return resolve(host, port, allow_private=allow_private)

    monkeypatch.setattr(network, "resolve", public)
    with scripted(Reply(307)) as server:
        server.replies[:] = [Reply(307, headers={"Location": f"{server.url}/secret"})]
        port = server.url.rpartition(":")[2]
        system = system_of("openai", "rival", f"http://public.example:{port}", "kb")
        with pytest.raises(BlockedAddress, match=r"127\.0\.0\.1"):
            ask(system, "q", {}, allow_private=False)
    assert len(server.paths) == 1


LEAVE = (
    "# Leave\n\nSome words.\n\n\nUnused leave may be carried over.\nUntil March.\n\n\n\nThe end."
)
TEXTS = {
    "cats.md": "Cats purr.\n\nThe leave of cats is unused.",
    "leave.md": LEAVE,
    "tax.md": "Taxes are due.",
}
QUESTION = "How long may unused leave be carried over?"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = workspace_at(tmp_path)
    base = made.create("manuals", QUICK)
    add(made, base, TEXTS)
    base.recipes.save(QUICK)
    base.questions.create_set("policies")
    question = base.questions.add_question("policies", QUESTION)
    ids = {info.name: info.id for info in base.documents.documents(QUICK.index)}
    start = LEAVE.index("Unused")
    base.questions.label("policies", question, ids["leave.md"], start, start + 34, 1)
    return made


def measured(base: KnowledgeBase, workspace: Workspace, form: str) -> tuple[list[str], float]:
    """The texts of a trial, and recall@5 of an evaluation."""
    base.systems.add(local_system(form, form))
    trial = base.systems.test(form, QUESTION)
    assert trial.located == len(trial.results)
    job = workspace.jobs.run(base.systems.start_evaluation("policies", form))
    run = base.runs.get(job.payload["run"])
    assert run.system.errors == {}
    return [result.text for result in trial.results], run.metrics["recall@5"]


def test_grep_ranks_lines_by_their_different_words(workspace):
    base = workspace.base("manuals")
    texts, recall = measured(base, workspace, "grep")
    first = "Unused leave may be carried over."
    assert first in texts[0]
    assert "# Leave" not in texts[0]  # two lines around, no more
    assert any("The leave of cats" in text for text in texts[1:])
    assert not any("Taxes" in text for text in texts)
    assert recall == 1.0
    nothing = base.systems.test("grep", "Zebras?")
    assert nothing.results == ()


def test_documents_are_those_of_the_passages_each_once(workspace):
    base = workspace.base("manuals")
    base.systems.add(local_system("whole", "documents"))
    trial = base.systems.test("whole", QUESTION)
    names = [result.document for result in trial.results]
    assert names[0] == "leave.md"
    assert len(set(names)) == len(names)
    assert trial.results[0].place == (0, len(LEAVE))


def test_they_are_added_by_their_form_alone(workspace, capsys):
    added = (
        "systems",
        "manuals",
        "add",
        "grep",
        "--form",
        "grep",
        "--home",
        workspace.settings.home,
    )
    told = output_of(capsys, *added, "--question", QUESTION)
    assert told["definition"]["protocol"] == "local"
    assert told["trial"]["located"] == len(told["trial"]["results"]) > 0
    with pytest.raises(InvalidInput):
        local_system("rival", "ripgrep")
    with pytest.raises(InvalidInput):
        HttpSystem.parse({**local_system("a", "grep").model_dump(), "url": "https://x.example"})
