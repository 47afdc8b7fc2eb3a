"""Results of HTTP tools beside the passages: one relevance, one threshold, visible failures."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag import Grid, HttpTool, InvalidInput, NotFound, Recipe, Settings, Trace, Workspace
from rag.retrieval.topic import TopicModel
from tests.servers import Reply, Script, scripted
from tests.verbs import run_verb
from tests.workspaces import QUICK, stocked, stored_bytes

LEAVE = "Unused leave may be carried over until 30 June."
QUESTION = "How long may unused leave be carried over?"
RESULTS = [
    {"text": "Pumps grind.", "title": "Pumps", "link": "https://x.example/pumps"},
    {"text": LEAVE + " Always.", "title": "<b>Leave</b> $x$", "link": "ftp://x.example"},
]
ASKING: Recipe = QUICK.with_fields({"search.tools": ["docs"]})


@pytest.fixture
def server() -> Iterator[Script]:
    with scripted(Reply(body=json.dumps({"results": RESULTS}))) as script:
        yield script


@pytest.fixture
def workspace(home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TOUCHSTONE_ALLOW_PRIVATE_URLS", "1")
    monkeypatch.setenv("TOUCHSTONE_TOOL_KEY", "s3cret")
    stocked(home, {"leave.txt": LEAVE}, name="notes")[0].close()
    return Workspace(Settings.from_env())


def define(workspace: Workspace, url: str, **fields: Any) -> HttpTool:
    data = {"name": "docs", "url": f"{url}/?q={{question}}", "results": "results"}
    tool = HttpTool.parse({**data, "title": "title", "link": "link", **fields})
    workspace.tools.save(tool)
    return tool


def note(trace: Trace, stage: str) -> str:
    found = trace.stage(stage)
    return found.note


def test_a_name_that_cannot_be_says_what_can():
    with pytest.raises(InvalidInput) as refused:
        HttpTool.parse({"name": "<b>my wiki</b>", "url": "https://x.example/?q={question}"})
    said = "The tool, name: use up to 40 letters, digits, hyphens and underscores."
    assert refused.value.message == said


def test_results_stand_among_the_passages(workspace, server):
    define(workspace, server.url)
    trace = workspace.base("notes").search(QUESTION, ASKING)
    assert [(hit.base, hit.document, hit.url, hit.from_tool) for hit in trace.hits] == [
        ("notes", "leave.txt", "", False),
        ("docs", "Pumps", "https://x.example/pumps", True),
        ("docs", "<b>Leave</b> $x$", "", True),
    ]
    assert [stage.name for stage in trace.stages][-5:] == [
        "tool",
        "threshold",
        "top_k",
        "merge",
        "context",
    ]
    assert note(trace, "tool").startswith("docs 2 of 2 · ")
    assert {hit.document for hit in trace.context} == {"leave.txt", "Pumps", "<b>Leave</b> $x$"}


def test_whether_the_documents_speak_of_it_is_not_asked_of_results(workspace, server, monkeypatch):
    never = TopicModel({"joint_share": 1.0}, -50.0, limit=0.3, source="a test")
    monkeypatch.setattr("rag.search.corpus.shipped", lambda _name: never)
    define(workspace, server.url)
    trace = workspace.base("notes").search(QUESTION, ASKING)
    refused = trace.stage("refuse")
    assert [drop.hit.document for drop in refused.dropped] == ["leave.txt"]
    assert refused.note.startswith("the question is off-topic: ")
    assert [hit.document for hit in trace.hits] == ["Pumps", "<b>Leave</b> $x$"]


def test_one_threshold_holds_for_all(workspace, server):
    define(workspace, server.url)
    trace = workspace.base("notes").search(QUESTION, ASKING.with_fields({"search.threshold": 0.5}))
    assert [hit.document for hit in trace.hits] == ["leave.txt", "<b>Leave</b> $x$"]
    below = trace.stage("threshold")
    assert [drop.hit.document for drop in below.dropped] == ["Pumps"]
    assert below.dropped[0].reason.endswith("is below 0.500")


def test_the_relevance_of_a_result_is_that_of_a_passage_of_its_words(workspace, server):
    server.replies[:] = [Reply(body=json.dumps({"results": [{"text": LEAVE}]}))]
    define(workspace, server.url)
    passage, result = workspace.base("notes").search(QUESTION, ASKING).hits
    assert result.relevance == pytest.approx(passage.relevance, abs=1e-6)
    assert result.document == "docs, result 1"


def test_a_base_without_documents_answers_from_the_tool_alone(workspace, server):
    define(workspace, server.url)
    base = workspace.create("empty", QUICK)
    answer = base.ask(QUESTION, ASKING).answer
    assert [citation.hit.base for citation in answer.citations][:1] == ["docs"]


def test_an_answer_is_held_until_the_question_or_the_tool_is_another(workspace, server):
    define(workspace, server.url)
    base = workspace.base("notes")
    first = base.search(QUESTION, ASKING)
    longer = ASKING.with_fields({"answer.context_tokens": 9})
    again = base.search(QUESTION, longer)
    assert (len(server.paths), again.hits) == (1, first.hits)
    assert (first.recipe, again.recipe) == (ASKING.hash, longer.hash)
    base.search("And then?", ASKING)
    assert len(server.paths) == 2
    state = base.state(ASKING)
    define(workspace, server.url, headers={"X-Team": "TOUCHSTONE_TOOL_KEY"})
    base.search(QUESTION, ASKING)
    assert (len(server.paths), base.state(ASKING) == state) == (3, False)
    server.replies[:] = [Reply(503)]
    for _ in range(2):  # what failed is asked for anew
        assert base.search("What now?", ASKING).failures
    assert len(server.paths) == 5


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(503), "docs 0 of 0 · The tool docs answers 503"),
        (Reply(body="nonsense"), "did not answer with JSON"),
        (Reply(body="{}"), "without a list of results"),
    ],
)
def test_a_tool_that_fails_is_a_note_and_the_documents_answer(workspace, server, reply, said):
    server.replies[:] = [reply]
    define(workspace, server.url)
    trace = workspace.base("notes").search(QUESTION, ASKING)
    assert said in note(trace, "tool")
    assert [stage.name for stage in trace.failures] == ["tool"]
    assert [hit.document for hit in trace.hits] == ["leave.txt"]


def test_a_tool_that_is_gone_is_a_note(workspace):
    trace = workspace.base("notes").search(QUESTION, ASKING)
    assert "There is no tool named 'docs'" in note(trace, "tool")
    assert [hit.document for hit in trace.hits] == ["leave.txt"]


def test_private_addresses_are_a_note_by_default(workspace, server, monkeypatch):
    define(workspace, server.url)
    monkeypatch.delenv("TOUCHSTONE_ALLOW_PRIVATE_URLS")
    careful = Workspace(Settings.from_env())
    trace = careful.base("notes").search(QUESTION, ASKING)
    assert "inside this computer" in note(trace, "tool")
    assert server.paths == []


def test_measuring_with_tools_is_refused(workspace):
    base = workspace.base("notes")
    row = {"id": "q", "text": QUESTION, "evidence": [{"document": "leave.txt", "quote": LEAVE}]}
    base.questions.import_file("checks", "checks.jsonl", json.dumps(row))
    with pytest.raises(InvalidInput, match="docs"):
        base.runs.evaluate("checks", ASKING)
    with pytest.raises(InvalidInput, match="docs"):
        base.tuning.sweeper("checks").sweep(Grid.parse({"search.top_k": [1, 2]}, ASKING), [1])


def test_no_secret_is_stored(workspace, server):
    tool = define(workspace, server.url, headers={"X-Key": "TOUCHSTONE_TOOL_KEY"})
    workspace.base("notes").search(QUESTION, ASKING)
    assert server.headers[0]["x-key"] == "s3cret"
    assert "s3cret" not in repr(workspace.settings)
    assert workspace.tools.unset(tool) == []
    stored = stored_bytes(workspace)
    assert b"TOUCHSTONE_TOOL_KEY" in stored
    assert b"s3cret" not in stored


def test_a_tool_is_replaced_and_removed(workspace):
    define(workspace, "https://x.example")
    define(workspace, "https://y.example", most=3)
    assert [(tool.url, tool.most) for tool in workspace.tools.list_all()] == [
        ("https://y.example/?q={question}", 3)
    ]
    workspace.tools.remove("docs")
    assert workspace.tools.list_all() == []
    with pytest.raises(NotFound):
        workspace.tools.remove("docs")


def test_the_verbs(workspace, server, capsys):
    url = f"{server.url}/?q={{question}}"
    where = ("--results", "results", "--title", "title", "--link", "link")
    header = ("--header", "X-Key=TOUCHSTONE_TOOL_OTHER")
    code, said, _ = run_verb(capsys, "add-tool", "docs", url, *where, *header)
    assert (code, said["unset"]) == (0, ["TOUCHSTONE_TOOL_OTHER"])
    code, _, error = run_verb(capsys, "test-tool", "docs", QUESTION)
    assert (code, "TOUCHSTONE_TOOL_OTHER, which is not set" in error) == (2, True)
    assert run_verb(capsys, "add-tool", "docs", url, *where)[0] == 0
    code, said, _ = run_verb(capsys, "test-tool", "docs", QUESTION)
    assert [row["title"] for row in said["results"]] == ["Pumps", "<b>Leave</b> $x$"]
    code, said, _ = run_verb(capsys, "search", "notes", QUESTION, "--set", 'search.tools=["docs"]')
    assert [hit["knowledge_base"] for hit in said["hits"]] == ["notes", "docs", "docs"]
    assert [row["name"] for row in run_verb(capsys, "tools")[1]["tools"]] == ["docs"]
    assert run_verb(capsys, "remove-tool", "docs")[1] == {"removed": "docs"}
    assert run_verb(capsys, "remove-tool", "docs")[0] == 2
    assert run_verb(capsys, "add-tool", "docs", "ftp://x/{question}")[0] == 2
